"""Dimensions: one score against its target, and against the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from steelyard.gating.model import DimensionResult, DimensionSpec, JsonObject, Status
from steelyard.gating.samples import arm_score
from steelyard.gating.scores import Scored
from steelyard.gating.text import is_visible
from steelyard.gating.verdict import SEVERITY

__all__ = ["TOLERANCE", "Paired", "judge_dimension", "shown_delta"]

# Two scores closer than this are the same score.
TOLERANCE: Final = 1e-9

_MESSAGES: Final[Mapping[str, str]] = {
    "SCORE_MISSING": "the scorer gave no score",
    "SCORE_INVALID": "the score is no number from 0 to 1",
    "THRESHOLD_INVALID": "the threshold is no number from 0 to 1",
    "BASELINE_MISSING": "the baseline ran and has no score, so a regression would not show",
    "BASELINE_INVALID": "the score of the baseline is no number from 0 to 1",
    "NOT_COMPARABLE": "the samples of baseline and candidate cannot be paired",
    "INSUFFICIENT_POWER": "so many samples show neither a regression nor its absence",
    "NO_SCORER": "no scorer is declared, and nothing else may score",
    "SCORER_NOT_INDEPENDENT": "the score does not come from an independent scorer",
}


@dataclass(frozen=True, slots=True)
class Paired:
    """What the comparison of sampled arms says: PASS, UNVERIFIED or FAIL, why, and how it came."""

    status: Status
    reason: str
    statistics: JsonObject


def judge_dimension(
    spec: DimensionSpec,
    scored: Scored,
    *,
    baseline_ran: bool,
    refusal: str | None = None,
    paired: Paired | None = None,
) -> DimensionResult:
    """One dimension: the worst that can be said of it.

    baseline_ran: the case has a baseline run, so the dimension needs a baseline score.
    refusal: why no score may count (NO_SCORER, SCORER_NOT_INDEPENDENT); what the score says against
        the dimension is still heard.
    paired: how sampled arms compare; without, a drop of the score is a regression.
    """
    candidate = arm_score(scored.candidate.get(spec.name))
    baseline = arm_score(scored.baseline.get(spec.name))
    objections = [
        *_objections(spec, scored, candidate, baseline, baseline_ran, refusal),
        *_regression(candidate, baseline, paired),
        (Status.PASS, "MET"),
    ]
    status, reason = max(objections, key=lambda objection: SEVERITY[objection[0]])
    evidence = scored.evidence.get(spec.name)
    shown = evidence if isinstance(evidence, str) and is_visible(evidence) else None
    return DimensionResult(
        name=spec.name,
        status=status,
        critical=spec.critical,
        reason=reason,
        baseline=baseline,
        candidate=candidate,
        delta_exact=None if candidate is None or baseline is None else candidate - baseline,
        threshold=spec.threshold,
        evidence=shown or _MESSAGES.get(reason),
        statistics=paired.statistics if paired else None,
    )


def _objections(
    spec: DimensionSpec,
    scored: Scored,
    candidate: float | None,
    baseline: float | None,
    baseline_ran: bool,
    refusal: str | None,
) -> Iterator[tuple[Status, str]]:
    if refusal is not None:
        yield Status.UNVERIFIED, refusal
    if candidate is None:
        if spec.name in scored.candidate:
            yield Status.UNVERIFIED, "SCORE_INVALID"
        elif refusal != "NO_SCORER":
            yield Status.FAIL if spec.critical else Status.UNVERIFIED, "SCORE_MISSING"
    if spec.threshold is None:
        yield Status.UNVERIFIED, "THRESHOLD_INVALID"
    elif candidate is not None and candidate < spec.threshold - TOLERANCE:
        yield Status.FAIL if spec.critical else Status.WARN, "BELOW_TARGET"
    if baseline is None:
        if scored.baseline.get(spec.name) is not None:
            yield Status.UNVERIFIED, "BASELINE_INVALID"
        elif baseline_ran:
            yield Status.UNVERIFIED, "BASELINE_MISSING"


def _regression(
    candidate: float | None, baseline: float | None, paired: Paired | None
) -> Iterator[tuple[Status, str]]:
    if paired is not None:
        yield paired.status, paired.reason
    elif candidate is not None and baseline is not None and baseline - candidate > TOLERANCE:
        yield Status.FAIL, "REGRESSED"


def shown_delta(exact: float | None) -> float | None:
    """Three decimals for people, half up; the exact value stands beside it in a report."""
    if exact is None:
        return None
    return math.floor(exact * 1000 + 0.5) / 1000
