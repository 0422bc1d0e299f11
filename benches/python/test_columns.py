"""Columns of 10,000,000 tasks on one thread: ours, an expert's numpy, the reference, a copy."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steelyard
from steelyard import reference

TASKS = int(os.environ.get("STEELYARD_BENCH_TASKS", "10000000"))
# The reference takes microseconds a task; its figure per task does not depend on their number.
REFERENCE_TASKS = TASKS // 200
GROUP = f"columns, {TASKS:,} tasks, one thread"
BLOCK = 65_536
WEIGHTS = (0.30, 0.45, 0.25)

Scores = NDArray[np.uint8]


@pytest.fixture(scope="module")
def tasks() -> tuple[Scores, Scores]:
    rng = np.random.default_rng(1)
    det, ai = (np.asfortranarray(rng.integers(0, 101, (TASKS, 3), np.uint8)) for _ in range(2))
    return det, ai


class Results:
    """Where the numpy formulas write: allocated anew in each round, as the library does."""

    def __init__(self, tasks: int) -> None:
        self.final = np.empty((3, tasks), np.uint8)
        self.band = np.empty((3, tasks), np.uint8)
        self.overall = np.empty(tasks, np.uint8)
        self.overall_band = np.empty(tasks, np.uint8)


def classify(scores: Scores, bands: Scores, flags: NDArray[np.bool_]) -> None:
    np.greater_equal(scores, 40, out=bands.view(bool))
    for threshold in (60, 75, 90):
        np.greater_equal(scores, threshold, out=flags)
        np.add(bands, flags.view(np.uint8), out=bands)


def blend_doubles(det: Scores, ai: Scores, final: Scores, scratch: list[NDArray[Any]]) -> None:
    left, right = scratch[0][: len(det)], scratch[1][: len(det)]
    np.multiply(det, 0.7, out=left)
    np.multiply(ai, 0.3, out=right)
    np.add(left, right, out=left)
    np.add(left, 0.5, out=left)
    np.copyto(final, left, casting="unsafe")


_TABLE = np.zeros((128, 128), np.uint8)
_TABLE[:101, :101] = [
    [reference.blend(reference.TASK_EVALUATION, d, a) for a in range(101)] for d in range(101)
]


def blend_table(det: Scores, ai: Scores, final: Scores, scratch: list[NDArray[Any]]) -> None:
    index = scratch[2][: len(det)]
    np.left_shift(det, 7, out=index, dtype=np.intp, casting="unsafe")
    np.add(index, ai, out=index)
    np.take(_TABLE.reshape(-1), index, out=final, mode="clip")


def by_numpy(blend: Any, det: Scores, ai: Scores) -> Results:
    """Blocked and in place, so that every intermediate stays in the cache."""
    out = Results(len(det))
    scratch = [np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK, np.intp)]
    sums, flags = np.empty(BLOCK), np.empty(BLOCK, bool)
    for start in range(0, len(det), BLOCK):
        rows = slice(start, min(start + BLOCK, len(det)))
        size = rows.stop - start
        for category, weight in enumerate(WEIGHTS):
            facts, opinions = det[rows, category], ai[rows, category]
            if facts.max() > 100 or opinions.max() > 100:
                raise ValueError("not a score")
            final = out.final[category, rows]
            blend(facts, opinions, final, scratch)
            classify(final, out.band[category, rows], flags[:size])
            if category == 0:
                np.multiply(final, weight, out=sums[:size])
            else:
                np.multiply(final, weight, out=scratch[0][:size])
                np.add(sums[:size], scratch[0][:size], out=sums[:size])
        np.add(sums[:size], 0.5, out=sums[:size])
        np.copyto(out.overall[rows], sums[:size], casting="unsafe")
        classify(out.overall[rows], out.overall_band[rows], flags[:size])
    return out


def test_library(measure: Any, tasks: tuple[Scores, Scores]) -> None:
    batch = measure(GROUP, "steelyard.score", TASKS, lambda: steelyard.score(*tasks))
    assert len(batch) == TASKS


@pytest.mark.parametrize("blend", [blend_doubles, blend_table])
def test_numpy(measure: Any, tasks: tuple[Scores, Scores], blend: Any) -> None:
    out = measure(GROUP, f"numpy, {blend.__name__}", TASKS, lambda: by_numpy(blend, *tasks))
    batch = steelyard.score(*tasks)
    assert (batch.final == out.final.T).all()
    assert (batch.band == out.band.T).all()
    assert (out.overall == batch.overall).all()
    assert (out.overall_band == batch.overall_band).all()


def test_copy(measure: Any) -> None:
    source = np.full(14 * TASKS, 7, np.uint8)
    measure(GROUP, "copy of 14 bytes a task, new memory", TASKS, source.copy)


def test_copy_into_warm_memory(measure: Any) -> None:
    source, target = np.full(14 * TASKS, 7, np.uint8), np.full(14 * TASKS, 1, np.uint8)
    measure(GROUP, "copy of 14 bytes a task, warm memory", TASKS, lambda: np.copyto(target, source))


def test_reference(measure: Any, tasks: tuple[Scores, Scores]) -> None:
    policy = reference.TASK_EVALUATION
    det, ai = (side[:REFERENCE_TASKS].tolist() for side in tasks)

    def run() -> list[int]:
        overalls = []
        for facts, opinions in zip(det, ai, strict=True):
            finals = [reference.blend(policy, d, a) for d, a in zip(facts, opinions, strict=True)]
            [reference.band(policy, score) for score in finals]
            overall = reference.overall(policy, finals)
            reference.band(policy, overall)
            overalls.append(overall)
        return overalls

    overalls = measure(GROUP, "reference (pure Python)", REFERENCE_TASKS, run)
    assert overalls == steelyard.score(det, ai).overall.tolist()
