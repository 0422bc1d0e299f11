"""Every blend and every overall, through every door: the recorded integers and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import steelyard
from steelyard import _core, reference
from steelyard.client import Client
from steelyard.v1 import score_pb2

Scores = NDArray[np.uint8]
# (n, 3) deterministic and AI scores to (n, 3) finals and (n,) overalls.
Door = Callable[[Scores, Scores], tuple[Scores, Scores]]

CATEGORIES = steelyard.TASK_EVALUATION.categories
ENGINE = _core.Engine([], 100_000)


def kernel(path: str, by_column: bool) -> Door:
    def door(det: Scores, ai: Scores) -> tuple[Scores, Scores]:
        flat = [
            np.ascontiguousarray(side.T if by_column else side).reshape(-1) for side in (det, ai)
        ]
        final, band = np.empty(det.size, np.uint8), np.empty(det.size, np.uint8)
        overall, overall_band = np.empty(len(det), np.uint8), np.empty(len(det), np.uint8)
        results = final, band, overall, overall_band
        _core.score_arrays(steelyard.TASK_EVALUATION, by_column, *flat, *results, path=path)
        shaped = final.reshape(3, -1).T if by_column else final.reshape(-1, 3)
        return shaped, overall

    return door


def library(order: str) -> Door:
    def door(det: Scores, ai: Scores) -> tuple[Scores, Scores]:
        batch = steelyard.score(np.array(det, order=order), np.array(ai, order=order))
        return batch.final, batch.overall

    return door


def field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def row_messages(det: Scores, ai: Scores) -> Iterator[bytes]:
    """ScoreRequests by rows, encoded by hand: the runtime would take minutes for a million."""
    entries = [
        [
            [field(2, field(1, name.encode()) + bytes([16, d, 24, a])) for a in range(101)]
            for d in range(101)
        ]
        for name in CATEGORIES
    ]
    for start in range(0, len(det), 10_000):
        rows = []
        for facts, opinions in zip(
            det[start : start + 10_000].tolist(), ai[start : start + 10_000].tolist(), strict=True
        ):
            cells = [entries[c][facts[c]][opinions[c]] for c in range(3)]
            rows.append(field(1, b"".join(cells)))
        body = b"".join(rows)
        request = score_pb2.ScoreRequest()
        request.rows.MergeFromString(body)
        yield request.SerializeToString()


def from_rows(answers: Iterator[bytes]) -> tuple[Scores, Scores]:
    finals, overalls = [], []
    for answer in answers:
        for result in score_pb2.ScoreResponse.FromString(answer).rows.results:
            finals.append([entry.final_score for entry in result.score.categories])
            overalls.append(result.score.overall_score)
    return np.array(finals, np.uint8), np.array(overalls, np.uint8)


def rows_here(det: Scores, ai: Scores) -> tuple[Scores, Scores]:
    return from_rows(map(ENGINE.score, row_messages(det, ai)))


def columns_here(det: Scores, ai: Scores) -> tuple[Scores, Scores]:
    finals, overalls = [], []
    for start in range(0, len(det), 100_000):
        part = slice(start, start + 100_000)
        columns = score_pb2.TaskColumns(
            deterministic=det[part].tobytes("F"), ai=ai[part].tobytes("F")
        )
        request = score_pb2.ScoreRequest(columns=columns).SerializeToString()
        answer = score_pb2.ScoreResponse.FromString(ENGINE.score(request)).columns
        finals.append(np.frombuffer(answer.final_scores, np.uint8).reshape(3, -1).T)
        overalls.append(np.frombuffer(answer.overall_scores, np.uint8))
    return np.concatenate(finals), np.concatenate(overalls)


def by_reference(det: Scores, ai: Scores) -> tuple[Scores, Scores]:
    policy = reference.TASK_EVALUATION
    finals = [
        [reference.blend(policy, d, a) for d, a in zip(*sides, strict=True)]
        for sides in zip(det.tolist(), ai.tolist(), strict=True)
    ]
    overalls = [reference.overall(policy, row) for row in finals]
    return np.array(finals, np.uint8), np.array(overalls, np.uint8)


def one_task_at_a_time(det: Scores, ai: Scores) -> tuple[Scores, Scores]:
    scored = [
        steelyard.score_task(
            dict(zip(CATEGORIES, facts, strict=True)), dict(zip(CATEGORIES, opinions, strict=True))
        )
        for facts, opinions in zip(det.tolist(), ai.tolist(), strict=True)
    ]
    finals = [[entry.final_score for entry in task.categories] for task in scored]
    return np.array(finals, np.uint8), np.array([task.overall_score for task in scored], np.uint8)


DOORS: dict[str, Door] = {
    **{f"kernel-{path}-columns": kernel(path, True) for path in _core.kernel_paths()},
    **{f"kernel-{path}-rows": kernel(path, False) for path in _core.kernel_paths()},
    "library-columns": library("F"),
    "library-rows": library("C"),
    "wire-columns": columns_here,
    "wire-rows": rows_here,
    "reference": by_reference,
}


def all_blends() -> tuple[Scores, Scores]:
    """Tasks that hold each of the 10,201 pairs at least once, in row-major order."""
    pairs = np.array([(d, a) for d in range(101) for a in range(101)], np.uint8)
    padded = np.concatenate([pairs, pairs[: -len(pairs) % 3]])
    return padded[:, 0].reshape(-1, 3), padded[:, 1].reshape(-1, 3)


def all_overalls() -> Scores:
    """Tasks whose finals are each of the 1,030,301 triples: a final is x when both scores are x."""
    return np.indices((101, 101, 101), np.uint8).reshape(3, -1).T


@pytest.mark.parametrize("door", DOORS)
def test_every_blend(door: str, score_vectors: dict[str, Any]) -> None:
    det, ai = all_blends()
    finals, _ = DOORS[door](det, ai)
    assert finals.reshape(-1)[:10_201].tolist() == score_vectors["blend"]


@pytest.mark.parametrize("door", DOORS)
def test_every_overall(door: str, score_vectors: dict[str, Any]) -> None:
    scores = all_overalls()
    finals, overalls = DOORS[door](scores, scores)
    assert (finals == scores).all()
    assert hashlib.sha256(overalls.tobytes()).hexdigest() == score_vectors["overall_bytes_sha256"]


def test_every_blend_one_task_at_a_time(score_vectors: dict[str, Any]) -> None:
    finals, _ = one_task_at_a_time(*all_blends())
    assert finals.reshape(-1)[:10_201].tolist() == score_vectors["blend"]


def test_rpc_every_blend_by_rows(client: Client, score_vectors: dict[str, Any]) -> None:
    det, ai = all_blends()
    requests = map(score_pb2.ScoreRequest.FromString, row_messages(det, ai))
    answers = (client.score_message(request).SerializeToString() for request in requests)
    finals, _ = from_rows(answers)
    assert finals.reshape(-1)[:10_201].tolist() == score_vectors["blend"]


def test_rpc_every_blend_by_columns(client: Client, score_vectors: dict[str, Any]) -> None:
    finals = client.score(*all_blends()).final
    assert finals.reshape(-1)[:10_201].tolist() == score_vectors["blend"]


def test_rpc_every_overall_by_columns(client: Client, score_vectors: dict[str, Any]) -> None:
    scores = all_overalls()
    batch = client.score(scores, scores)
    assert (batch.final == scores).all()
    digest = hashlib.sha256(batch.overall.tobytes()).hexdigest()
    assert digest == score_vectors["overall_bytes_sha256"]


def test_rpc_every_overall_by_rows(client: Client, score_vectors: dict[str, Any]) -> None:
    scores = all_overalls()
    messages = map(score_pb2.ScoreStreamRequest.FromString, row_messages(scores, scores))
    answers = (answer.SerializeToString() for answer in client.score_stream(messages))
    _, overalls = from_rows(answers)
    digest = hashlib.sha256(overalls.tobytes()).hexdigest()
    assert digest == score_vectors["overall_bytes_sha256"]


def test_recorded_tasks_with_their_bands(score_vectors: dict[str, Any]) -> None:
    assert len(score_vectors["tasks"]) == 204
    for task in score_vectors["tasks"]:
        scored = steelyard.score_task(
            dict(zip(CATEGORIES, task["deterministic"], strict=True)),
            dict(zip(CATEGORIES, task["ai"], strict=True)),
        )
        assert [entry.final_score for entry in scored.categories] == task["final"]
        assert [entry.band for entry in scored.categories] == task["bands"]
        assert (scored.overall_score, scored.overall_band) == (task["overall"], task["overallBand"])
        batch = steelyard.score([task["deterministic"]], [task["ai"]])
        assert [batch.bands[band] for band in batch.band[0]] == task["bands"]
        assert batch.bands[batch.overall_band[0]] == task["overallBand"]
