"""Criteria: does the artifact bear out what its source asks for?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.gating.model import Criterion, CriterionResult, Kind, Status
from steelyard.gating.observe import CriterionFacts
from steelyard.gating.verdict import SEVERITY

__all__ = ["judge_criteria", "judge_criterion"]

_NOTHING_DECLARED = Criterion(
    id="source-rubric",
    kind=Kind.GROUNDING,
    statement="the squad declares criteria",
    source=None,
    executor=None,
    artifact=None,
    expected=(),
    critical=True,
)


def judge_criteria(
    criteria: Sequence[Criterion], facts: Sequence[CriterionFacts]
) -> tuple[CriterionResult, ...]:
    """One result per criterion; without any, one that says so and is unverified."""
    if not criteria:
        return (CriterionResult(_NOTHING_DECLARED, Status.UNVERIFIED, "NO_CRITERIA"),)
    return tuple(judge_criterion(*pair) for pair in zip(criteria, facts, strict=True))


def judge_criterion(criterion: Criterion, facts: CriterionFacts) -> CriterionResult:
    """The worst that can be said of a criterion; pass when nothing can be said against it.

    All objections are weighed, not only the first: a term that is missing fails the criterion even
    when its source cannot be resolved, so that taking a source away helps nobody.
    """
    passed = "NONE_PRESENT" if criterion.kind is Kind.ANTI_PATTERN else "ALL_PRESENT"
    objections = [*_objections(criterion, facts), (Status.PASS, passed)]
    status, reason = max(objections, key=lambda objection: SEVERITY[objection[0]])
    return CriterionResult(
        criterion=criterion,
        status=status,
        reason=reason,
        artifact=facts.artifact.path,
        source_hash=facts.source.hash,
        source_problem=facts.source.problem,
        artifact_hash=facts.artifact.hash,
        artifact_problem=facts.artifact.problem,
        missing=facts.missing,
    )


def _objections(criterion: Criterion, facts: CriterionFacts) -> Iterator[tuple[Status, str]]:
    source, artifact = facts.source, facts.artifact
    inverted = criterion.kind is Kind.ANTI_PATTERN
    if source.path is None:
        yield Status.UNVERIFIED, "NO_SOURCE"
    elif source.problem is not None:
        yield Status.UNVERIFIED, f"SOURCE_{source.problem}"
    if artifact.path is None:
        yield Status.UNVERIFIED, "NO_ARTIFACT"
    elif not artifact.readable or (inverted and artifact.problem is not None):
        yield Status.FAIL, f"ARTIFACT_{artifact.problem}"
    if not criterion.expected:
        yield Status.UNVERIFIED, "NO_EXPECTED_TERMS"
    if source.hash is not None and source.hash == artifact.hash:
        yield Status.UNVERIFIED, "SOURCE_IS_ARTIFACT"
    if facts.missing:
        yield Status.FAIL, "FORBIDDEN_TERMS" if inverted else "MISSING_TERMS"
