"""Score, as plainly as it can be said: the readable specification.

Slow on purpose and independent of the Rust core, which must give the same integers. Tests compare
every other implementation with this one; the product itself never calls it.

The rules, in IEEE-754 binary64 (a Python float), without fused multiply-add:

- final = R(clamp(deterministic * w + ai * v, 0, 100)), w and v the doubles nearest to the policy's
  blend basis points / 10,000 (never 1 - w);
- overall = R(clamp(sum of final * weight, 0, 100)) over the rounded finals, summed from 0, left to
  right in the policy's category order;
- R(x) = floor(x + 0.5).

A policy with `arithmetic = "decimal"` computes the same sums in exact integers, rounded half up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Band", "Category", "Policy", "band", "band_stability", "blend", "mean", "overall"]

WHOLE = 10_000


@dataclass(frozen=True, slots=True)
class Category:
    """One category: its weight in basis points and the floor under which a final is marked."""

    name: str
    weight: int
    floor: int | None


@dataclass(frozen=True, slots=True)
class Band:
    """A name for the scores min..max, both included."""

    name: str
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Policy:
    """A scoring policy. Weights are basis points and sum to 10,000."""

    name: str
    version: int
    arithmetic: str
    deterministic: int
    ai: int
    categories: tuple[Category, ...]
    bands: tuple[Band, ...]

    @staticmethod
    def from_document(document: str) -> Policy:
        """The policy that a policy document (canonical JSON) describes."""
        data = json.loads(document)
        return Policy(
            name=data["name"],
            version=data["version"],
            arithmetic=data["arithmetic"],
            deterministic=data["blend"]["deterministic"],
            ai=data["blend"]["ai"],
            categories=tuple(
                Category(entry["name"], entry["weight"], entry.get("floor"))
                for entry in data["categories"]
            ),
            bands=tuple(Band(entry["name"], entry["min"], entry["max"]) for entry in data["bands"]),
        )


TASK_EVALUATION = Policy(
    name="task-evaluation",
    version=1,
    arithmetic="binary64",
    deterministic=7_000,
    ai=3_000,
    categories=(
        Category("agentPerformance", 3_000, None),
        Category("taskOutcomeQuality", 4_500, None),
        Category("processCompliance", 2_500, None),
    ),
    bands=(
        Band("failing", 0, 39),
        Band("weak", 40, 59),
        Band("acceptable", 60, 74),
        Band("strong", 75, 89),
        Band("excellent", 90, 100),
    ),
)


def weighted(policy: Policy, scores: Sequence[int], weights: Sequence[int]) -> int:
    """R of the weighted sum of scores 0..100; weights in basis points."""
    if policy.arithmetic == "decimal":
        points = sum(score * weight for score, weight in zip(scores, weights, strict=True))
        return (points + WHOLE // 2) // WHOLE
    total = 0.0
    for score, weight in zip(scores, weights, strict=True):
        total += score * (weight / WHOLE)
    return math.floor(min(max(total, 0.0), 100.0) + 0.5)


def blend(policy: Policy, deterministic: int, ai: int) -> int:
    """The final score of one category."""
    return weighted(policy, (deterministic, ai), (policy.deterministic, policy.ai))


def overall(policy: Policy, finals: Sequence[int]) -> int:
    """The overall score over the finals, one for each category, in policy order."""
    return weighted(policy, finals, [category.weight for category in policy.categories])


def band(policy: Policy, score: int) -> str:
    """The name of the band that a score falls into."""
    return next(entry.name for entry in policy.bands if entry.min <= score <= entry.max)


def mean(samples: Sequence[int]) -> int:
    """The mean of AI samples, rounded half up in exact integers."""
    return (2 * sum(samples) + len(samples)) // (2 * len(samples))


def band_stability(policy: Policy, deterministic: int, samples: Sequence[int]) -> float:
    """The share of samples whose own blend falls into the band of the reported final."""
    reported = band(policy, blend(policy, deterministic, mean(samples)))
    hits = [band(policy, blend(policy, deterministic, sample)) == reported for sample in samples]
    return sum(hits) / len(hits)


def score_task(
    policy: Policy, deterministic: Mapping[str, int], ai: Mapping[str, int]
) -> tuple[list[int], int]:
    """Finals in policy order and the overall of one valid task."""
    finals = [
        blend(policy, deterministic[category.name], ai[category.name])
        for category in policy.categories
    ]
    return finals, overall(policy, finals)
