"""Scores for whole arrays of tasks, without an object for each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard import _core
from steelyard.errors import InvalidInputError, SteelyardError
from steelyard.scoring.policy import TASK_EVALUATION, Policy

__all__ = ["Provenance", "ScoreBatch", "Scores", "score"]

Scores = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Provenance:
    """What it takes to recompute a result: the policy and the engine, each with its digest."""

    policy_name: str
    policy_version: int
    policy_digest: str
    engine_version: str
    engine_digest: str

    @staticmethod
    def of(policy: Policy) -> Provenance:
        """The provenance of results of this process under a policy."""
        return Provenance(
            policy_name=policy.name,
            policy_version=policy.version,
            policy_digest=policy.digest,
            engine_version=_core.ENGINE_VERSION,
            engine_digest=_core.ENGINE_DIGEST,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ScoreBatch:
    """The scores of n tasks in C categories. All arrays are uint8 and read-only.

    Columns stand in the order of `categories`; a band is an index into `bands`, lowest first.
    """

    final: Scores
    """Final scores 0..100, shape (n, C)."""
    band: Scores
    """Band of each final score, shape (n, C)."""
    overall: Scores
    """Overall scores 0..100, shape (n,)."""
    overall_band: Scores
    """Band of each overall score, shape (n,)."""
    below_floor: Scores | None
    """1 where a final score is under its category's floor, shape (n, C); None without floors."""
    categories: tuple[str, ...]
    """Names of the C categories."""
    bands: tuple[str, ...]
    """Names of the bands."""
    provenance: Provenance
    """Policy and engine that gave these scores."""

    def __len__(self) -> int:
        return len(self.overall)


def score(deterministic: ArrayLike, ai: ArrayLike, policy: Policy = TASK_EVALUATION) -> ScoreBatch:
    """Blends two batches of scores into finals, bands and overalls.

    `deterministic` and `ai` have the shape (n, C): n tasks, C the number of the policy's
    categories, in its order. Anything that numpy reads as integers will do: arrays, nested lists,
    objects with the buffer protocol; a flat buffer of bytes is read as n rows of C bytes. Fastest
    are uint8 arrays whose columns lie one after the other (Fortran order): they need no copy.

    Raises InvalidInputError: SCORE_OUT_OF_RANGE names row and category of the first value that is
    no integer 0..100, deterministic before AI; LENGTH_MISMATCH for shapes that do not fit;
    BATCH_EMPTY for no rows.
    """
    det = as_scores("deterministic", deterministic, policy.categories)
    other = as_scores("ai", ai, policy.categories)
    check_shapes(det, other)
    by_column = det.flags.f_contiguous and not det.flags.c_contiguous
    final, band = np.empty(det.size, np.uint8), np.empty(det.size, np.uint8)
    overall, overall_band = np.empty(len(det), np.uint8), np.empty(len(det), np.uint8)
    below = np.empty(det.size, np.uint8) if any(policy.floors) else None
    sides = _flat(det, by_column), _flat(other, by_column)
    _core.score_arrays(policy, by_column, *sides, final, band, overall, overall_band, below)
    return ScoreBatch(
        final=_shaped(final, det.shape, by_column),
        band=_shaped(band, det.shape, by_column),
        overall=_frozen(overall),
        overall_band=_frozen(overall_band),
        below_floor=None if below is None else _shaped(below, det.shape, by_column),
        categories=policy.categories,
        bands=tuple(name for name, _, _ in policy.bands),
        provenance=Provenance.of(policy),
    )


def check_shapes(deterministic: Scores, ai: Scores) -> None:
    """Raises InvalidInputError (LENGTH_MISMATCH) where the two batches differ in shape."""
    if deterministic.shape != ai.shape:
        raise InvalidInputError.at(
            "ai",
            "LENGTH_MISMATCH",
            f"shape {ai.shape}, but deterministic has {deterministic.shape}",
        )


def as_scores(name: str, values: ArrayLike, categories: Sequence[str]) -> Scores:
    """The values as a (n, C) uint8 array; copies only what is not one yet.

    Values of wider integer types are checked here; bytes above 100 are left to the kernel.
    """
    columns = len(categories)
    array = np.asarray(_buffer(values))
    if array.ndim == 1 and isinstance(values, bytes | bytearray | memoryview):
        if array.size % columns:
            raise InvalidInputError.at(
                name,
                "LENGTH_MISMATCH",
                f"{array.size} bytes do not divide into rows of {columns} categories",
            )
        array = array.reshape(-1, columns)
    if array.size == 0:
        raise InvalidInputError.at(name, "BATCH_EMPTY", "the batch is empty")
    if array.ndim != 2 or array.shape[1] != columns:
        raise InvalidInputError.at(
            name, "LENGTH_MISMATCH", f"shape {array.shape}, expected (n, {columns})"
        )
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind in "iu":
        bad = (array < 0) | (array > 100)
        if bad.any():
            raise _refusal(name, array, bad, categories)
        return array.astype(np.uint8)
    bad = np.vectorize(_is_no_score, otypes=[bool])(array)
    raise _refusal(name, array, bad, categories)


def _buffer(values: ArrayLike) -> ArrayLike:
    return np.frombuffer(values, np.uint8) if isinstance(values, bytes | bytearray) else values


def _is_no_score(value: object) -> bool:
    """For floats and objects: a float is no integer, however whole it looks."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return not 0 <= int(value) <= 100
    return True


def _refusal(
    name: str, array: NDArray[Any], bad: NDArray[np.bool_], categories: Sequence[str]
) -> SteelyardError:
    rows = np.argwhere(bad)
    if len(rows) == 0:
        return InvalidInputError.at(
            name, "SCORE_OUT_OF_RANGE", f"dtype {array.dtype}: scores are integers, use uint8"
        )
    row, column = rows[0]
    return InvalidInputError.at(
        f"{name}[{row}].{categories[column]}",
        "SCORE_OUT_OF_RANGE",
        f"{array[row, column]!s} is not a score; a score is an integer from 0 to 100",
    )


def _flat(array: Scores, by_column: bool) -> Scores:
    ordered = array.T if by_column else array
    return np.ascontiguousarray(ordered).reshape(-1)


def _shaped(flat: Scores, shape: tuple[int, ...], by_column: bool) -> Scores:
    return _frozen(flat.reshape(shape[::-1]).T if by_column else flat.reshape(shape))


def _frozen(array: Scores) -> Scores:
    array.flags.writeable = False
    return array
