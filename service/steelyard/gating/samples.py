"""Scores as a scorer gives them: one number, or one per item."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from steelyard.strictjson import JsonValue

__all__ = ["MAX_SAMPLES", "Arm", "arm_score", "is_sampled", "read_arm", "score"]

MAX_SAMPLES: Final = 100_000


@dataclass(frozen=True, slots=True)
class Arm:
    """Sampled scores of one side, by item id.

    seed and engine: under which they were taken, None where the scorer leaves it to the case.
    """

    scores: Mapping[str, float]
    seed: int | None = None
    engine: str | None = None

    @property
    def mean(self) -> float:
        return math.fsum(self.scores.values()) / len(self.scores)

    @property
    def binary(self) -> bool:
        return all(value in (0.0, 1.0) for value in self.scores.values())


def score(value: JsonValue) -> float | None:
    """A JSON number from 0 to 1 as binary64; None for anything else, with nothing coerced."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value) + 0.0  # turns -0.0 into 0.0


def is_sampled(value: JsonValue) -> bool:
    """True when the scorer gives something else than one value for one side."""
    return isinstance(value, list | dict)


def read_arm(value: JsonValue) -> Arm | None:
    """`[{"id": "q1", "score": 0.5}, ...]`, or that as `samples` beside `seed` and `engine`.

    None when anything is wrong with it: no item, more than 100,000, an id twice, no valid score.
    """
    seed, engine = None, None
    if isinstance(value, dict):
        seed, engine, value = value.get("seed"), value.get("engine"), value.get("samples")
    if isinstance(seed, bool) or not isinstance(seed, int | None):
        return None
    if not isinstance(engine, str | None):
        return None
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_SAMPLES:
        return None
    scores: dict[str, float] = {}
    for item in value:
        name = item.get("id") if isinstance(item, dict) else None
        number = score(item.get("score")) if isinstance(item, dict) else None
        if not isinstance(name, str) or name in scores or number is None:
            return None
        scores[name] = number
    return Arm(scores, seed, engine)


def arm_score(value: JsonValue) -> float | None:
    """One side's score: the number, or the mean of its samples; None when it is neither."""
    if not is_sampled(value):
        return score(value)
    arm = read_arm(value)
    return None if arm is None else arm.mean
