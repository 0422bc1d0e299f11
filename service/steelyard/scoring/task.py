"""The scores of one task, with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.errors import InvalidInputError
from steelyard.scoring.batch import Provenance
from steelyard.scoring.policy import TASK_EVALUATION, Policy

__all__ = [
    "MAX_SAMPLES",
    "CategoryScore",
    "SampleSpread",
    "TaskScore",
    "sample_mean",
    "score_task",
]

MAX_SAMPLES = 1_024


@dataclass(frozen=True, slots=True)
class SampleSpread:
    """What k AI samples say about a final score; each is blended on its own."""

    min_score: int
    """Lowest final score over the samples, 0..100."""
    max_score: int
    """Highest final score over the samples, 0..100."""
    sample_count: int
    """Number of samples, k."""
    band_stability: float
    """Share of samples, 0..1, whose final score is in the reported band."""


@dataclass(frozen=True, slots=True)
class CategoryScore:
    """The score of one category."""

    category: str
    final_score: int
    band: str
    spread: SampleSpread | None
    """None where a single AI score was given."""
    below_floor: bool
    """True when the policy has a floor for this category and the final score is under it."""


@dataclass(frozen=True, slots=True)
class TaskScore:
    """The scores of one task: categories in policy order, and the overall."""

    categories: tuple[CategoryScore, ...]
    overall_score: int
    overall_band: str
    provenance: Provenance


def score_task(
    deterministic: Mapping[str, int],
    ai: Mapping[str, int | Sequence[int]],
    policy: Policy = TASK_EVALUATION,
) -> TaskScore:
    """Blends the scores of one task.

    Both mappings have exactly the policy's categories as keys and integers 0..100 as values; a
    value of `ai` may also be a sequence of 1 to 1,024 samples, whose mean (rounded half up) is
    blended.

    Raises InvalidInputError naming the place (`ai.taskOutcomeQuality[2]`): CATEGORY_UNKNOWN,
    CATEGORY_MISSING, SCORE_OUT_OF_RANGE, SAMPLES_TOO_MANY. Deterministic is checked before AI.
    """
    _check_categories("deterministic", deterministic, policy)
    facts = {
        category: _valid(f"deterministic.{category}", deterministic[category])
        for category in policy.categories
    }
    _check_categories("ai", ai, policy)
    categories = []
    for category, floor in zip(policy.categories, policy.floors, strict=True):
        final, spread = _final(category, facts[category], ai[category], policy)
        categories.append(
            CategoryScore(
                category=category,
                final_score=final,
                band=policy.band_name(final),
                spread=spread,
                below_floor=floor is not None and final < floor,
            )
        )
    overall = policy.overall(bytes(entry.final_score for entry in categories))
    return TaskScore(
        categories=tuple(categories),
        overall_score=overall,
        overall_band=policy.band_name(overall),
        provenance=Provenance.of(policy),
    )


def sample_mean(samples: Sequence[int]) -> int:
    """The mean of one sample or more, rounded half up in integers: what the core blends."""
    return (2 * sum(samples) + len(samples)) // (2 * len(samples))


def _final(
    category: str, deterministic: int, ai: int | Sequence[int], policy: Policy
) -> tuple[int, SampleSpread | None]:
    path = f"ai.{category}"
    if not isinstance(ai, Sequence) or isinstance(ai, str | bytes):
        return policy.blend(deterministic, _valid(path, ai)), None
    if not ai:
        raise InvalidInputError.at(path, "SCORE_MISSING", "no samples")
    if len(ai) > MAX_SAMPLES:
        raise InvalidInputError.at(
            path, "SAMPLES_TOO_MANY", f"{len(ai)} samples are more than the limit of {MAX_SAMPLES}"
        )
    samples = bytes(_valid(f"{path}[{index}]", sample) for index, sample in enumerate(ai))
    final, low, high, count, stability = policy.blend_samples(deterministic, samples)
    return final, SampleSpread(low, high, count, stability)


def _check_categories(name: str, scores: Mapping[str, object], policy: Policy) -> None:
    for category in scores:
        if category not in policy.categories:
            raise InvalidInputError.at(
                f"{name}.{category}", "CATEGORY_UNKNOWN", f"the policy has no category {category!r}"
            )
    for category in policy.categories:
        if category not in scores:
            raise InvalidInputError.at(name, "CATEGORY_MISSING", f"category {category} is missing")


def _valid(path: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100:
        return value
    raise InvalidInputError.at(
        path, "SCORE_OUT_OF_RANGE", f"{value!r} is not a score; a score is an integer from 0 to 100"
    )
