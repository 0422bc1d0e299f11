"""Sampled dimensions: did the candidate get worse, and could these samples have shown it?

Each item is scored for the baseline and for the candidate. Whether the candidate is worse is a
matter of a one-sided paired test at 5 %, adjusted over the sampled dimensions of the case (Holm
1979); whether it is not worse by the margin or more is a non-inferiority test at 5 %. Both are
exact or resampled with random numbers that are a function of the case's seed. What neither shows is
unverified.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard import _core
from steelyard.gating.dimensions import TOLERANCE, Paired, judge_dimension
from steelyard.gating.model import DimensionResult, DimensionSpec, JsonObject, Status
from steelyard.gating.samples import Arm, is_sampled, read_arm
from steelyard.gating.scores import Scored
from steelyard.strictjson import JsonValue

__all__ = ["ALPHA", "FLIPS", "POWER", "judge_dimensions"]

ALPHA: Final = 0.05
POWER: Final = 0.8
FLIPS: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Test:
    """A paired test: p-values named after what a small one shows, and how they came about."""

    worse: float
    non_inferior: float
    details: JsonObject


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The scores of one dimension, item by item in the order of their ids."""

    baseline: Arm
    candidate: Arm
    margin: float

    @property
    def differences(self) -> list[float]:
        scores = self.candidate.scores
        return [scores[key] - value for key, value in sorted(self.baseline.scores.items())]

    @property
    def binary(self) -> bool:
        return self.baseline.binary and self.candidate.binary


def judge_dimensions(
    specs: Sequence[DimensionSpec],
    scored: Scored,
    *,
    baseline_ran: bool,
    refusal: str | None,
    seed: int,
    engine_hash: str,
) -> tuple[DimensionResult, ...]:
    """Judge every dimension of a case, those with samples against each other.

    seed and engine_hash: what samples count as taken under where the scorer does not say.
    """
    paired: dict[str, Paired] = {}
    pairs: dict[str, _Pairs] = {}
    for spec in specs:
        sides = scored.baseline.get(spec.name), scored.candidate.get(spec.name)
        if sides[0] is None or not any(map(is_sampled, sides)):
            continue
        baseline, candidate = map(read_arm, sides)
        reasons = _not_comparable(baseline, candidate, seed, engine_hash)
        if baseline is None or candidate is None or reasons:
            details: JsonObject = {"mismatches": [*reasons]}
            paired[spec.name] = Paired(Status.UNVERIFIED, "NOT_COMPARABLE", details)
        else:
            pairs[spec.name] = _Pairs(baseline, candidate, spec.margin)
    paired |= _compared(pairs, seed)
    return tuple(
        judge_dimension(
            spec,
            scored,
            baseline_ran=baseline_ran,
            refusal=refusal,
            paired=paired.get(spec.name),
        )
        for spec in specs
    )


def _not_comparable(
    baseline: Arm | None, candidate: Arm | None, seed: int, engine: str
) -> list[str]:
    """Why two arms cannot be compared: one word per mismatch."""
    if baseline is None or candidate is None:
        return ["SAMPLES_INVALID"]
    ids = baseline.scores.keys() == candidate.scores.keys()
    checks = {
        "COUNT_DIFFERS": len(baseline.scores) == len(candidate.scores),
        "ITEMS_DIFFER": ids or len(baseline.scores) != len(candidate.scores),
        "SEED_DIFFERS": _or(baseline.seed, seed) == _or(candidate.seed, seed),
        "ENGINE_DIFFERS": _or(baseline.engine, engine) == _or(candidate.engine, engine),
    }
    return [reason for reason, holds in checks.items() if not holds]


def _compared(pairs: Mapping[str, _Pairs], seed: int) -> dict[str, Paired]:
    if not pairs:
        return {}
    tests = {name: _test(one, seed) for name, one in pairs.items()}
    adjusted = _core.stats_holm([test.worse for test in tests.values()])
    level = ALPHA / len(pairs)
    return {
        name: _judged(pairs[name], test, worse, level)
        for (name, test), worse in zip(tests.items(), adjusted, strict=True)
    }


def _test(pairs: _Pairs, seed: int) -> _Test:
    differences = pairs.differences
    if pairs.binary:
        losses = sum(difference < 0 for difference in differences)
        wins = sum(difference > 0 for difference in differences)
        _, worse, non_inferior = _core.stats_mcnemar(losses, wins, len(differences), pairs.margin)
        details: JsonObject = {"test": "mcnemar", "losses": losses, "wins": wins, "exact": True}
        return _Test(worse, non_inferior, details)
    keys = sorted(pairs.baseline.scores)
    _, _, worse, non_inferior, patterns, exact = _core.stats_sign_flip(
        [pairs.baseline.scores[key] for key in keys],
        [pairs.candidate.scores[key] for key in keys],
        seed=seed,
        margin=pairs.margin,
        flips=FLIPS,
    )
    details = {"test": "sign_flip", "patterns": patterns, "seed": seed, "exact": exact}
    return _Test(worse, non_inferior, details)


def _judged(pairs: _Pairs, test: _Test, worse: float, level: float) -> Paired:
    differences = pairs.differences
    count = len(differences)
    equal = all(abs(difference) <= TOLERANCE for difference in differences)
    least = _least(level)
    status, reason, needed = Status.PASS, "NOT_WORSE", None
    if test.non_inferior > ALPHA and not (equal and count >= least):
        if worse <= ALPHA:
            status, reason = Status.FAIL, "REGRESSED"
        else:
            status, reason = Status.UNVERIFIED, "INSUFFICIENT_POWER"
            needed = least if equal else _samples_needed(pairs, level)
    statistics: JsonObject = {
        "samples": count,
        "kind": "binary" if pairs.binary else "graded",
        "baseline": _interval(pairs.baseline),
        "candidate": _interval(pairs.candidate),
        **test.details,
        "margin": pairs.margin,
        "alpha": ALPHA,
        "power": POWER,
        "p_worse": test.worse,
        "p_worse_adjusted": worse,
        "p_non_inferior": test.non_inferior,
        "minimum_detectable_effect": _detectable(pairs, level),
        "samples_needed": needed,
    }
    return Paired(status, reason, statistics)


def _interval(arm: Arm) -> JsonObject:
    """Mean of an arm, and for outcomes of 0 and 1 its Wilson interval at 95 %."""
    low, high = None, None
    if arm.binary:
        passed = round(math.fsum(arm.scores.values()))
        low, high = _core.stats_wilson(passed, len(arm.scores), ALPHA)
    return {"mean": arm.mean, "low": low, "high": high}


def _detectable(pairs: _Pairs, level: float) -> float | None:
    """The least drop that so many pairs show with power 0.8, None when no drop could show."""
    count = len(pairs.differences)
    if pairs.binary:
        return _core.stats_mcnemar_detectable(count, _discordance(pairs), level, POWER)
    deviation = _deviation(pairs)
    if deviation == 0.0:
        return None
    return _core.stats_sign_flip_detectable(count, deviation, level, POWER)


def _samples_needed(pairs: _Pairs, level: float) -> int | None:
    """How many pairs would settle it if they went on like these, None when no number would.

    They must show the margin, or without one the difference that these samples suggest.
    """
    count = len(pairs.differences)
    effect = pairs.margin or abs(math.fsum(pairs.differences) / count)
    if effect <= TOLERANCE:
        return None
    if pairs.binary:
        discordance = _discordance(pairs)
        needed = _core.stats_mcnemar_pairs(discordance, min(effect, discordance), level, POWER)
    elif deviation := _deviation(pairs):
        needed = _core.stats_sign_flip_pairs(deviation, effect, level, POWER)
    else:
        needed = _least(level)
    return None if needed is None else max(needed, count + 1)


def _least(level: float) -> int:
    """With fewer pairs than this, not even the loss of every single one is significant."""
    return next(number for number in itertools.count(1) if 0.5**number <= level)


def _discordance(pairs: _Pairs) -> float:
    """Share of pairs that differ; where none does, the most that 95 % confidence allows."""
    differing = sum(difference != 0 for difference in pairs.differences)
    count = len(pairs.differences)
    return differing / count if differing else _core.stats_clopper_pearson(0, count, ALPHA)[1]


def _deviation(pairs: _Pairs) -> float:
    """Standard deviation of the differences."""
    differences = pairs.differences
    if len(differences) < 2:
        return 0.0
    mean = math.fsum(differences) / len(differences)
    squares = math.fsum((one - mean) * (one - mean) for one in differences)
    return math.sqrt(squares / (len(differences) - 1))


def _or(value: JsonValue, otherwise: JsonValue) -> JsonValue:
    return otherwise if value is None else value
