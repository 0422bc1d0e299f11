"""Why a verdict is not PASS, and what would have to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.gating.model import (
    CaseResult,
    Comparison,
    CriterionResult,
    Precheck,
    Reason,
    Status,
)
from steelyard.gating.verdict import SEVERITY, criterion_weight

__all__ = ["reasons", "required_changes"]

# What follows from another item of the same case and changes with it.
_CONSEQUENCES = {
    "SCORE_MISSING": "scorer-execution",
    "NOT_INDEPENDENT": "scorer-execution",
    "RUN_FAILED": "-execution",
}


def reasons(
    precheck: Precheck,
    criteria: Sequence[CriterionResult],
    cases: Sequence[CaseResult],
    comparison: Comparison,
) -> tuple[Reason, ...]:
    """Every item that is not PASS, worst first, then in report order."""
    found = [
        *_precheck_reasons(precheck),
        *_criterion_reasons(criteria),
        *_case_reasons(cases),
        *_comparison_reasons(comparison),
    ]
    return tuple(sorted(found, key=lambda reason: -SEVERITY[reason.status]))


def required_changes(
    verdict: Status, found: Sequence[Reason], cases: Sequence[CaseResult]
) -> tuple[str, ...]:
    """Paths of the smallest set of items that must change before the verdict can be any better.

    Nothing is averaged, so these are all items as bad as the verdict, without those that only
    follow from another one in the set (a score that is missing because the scorer failed).
    """
    follows = set(_following(cases))
    return tuple(
        reason.path for reason in found if reason.status is verdict and reason.path not in follows
    )


def _precheck_reasons(precheck: Precheck) -> Iterator[Reason]:
    for index, finding in enumerate(precheck.errors):
        message = f"{finding.path}: {finding.message}" if finding.path else finding.message
        yield Reason(Status.FAIL, finding.code, f"precheck.errors[{index}]", message)


def _criterion_reasons(criteria: Sequence[CriterionResult]) -> Iterator[Reason]:
    for index, result in enumerate(criteria):
        if result.status is not Status.PASS:
            message = f"criterion {result.criterion.id}: {result.criterion.statement}"
            path = f"source_rubric.criteria[{index}]"
            yield Reason(criterion_weight(result), result.reason, path, message)


def _case_reasons(cases: Sequence[CaseResult]) -> Iterator[Reason]:
    if not cases:
        message = "the squad declares no held-out case"
        yield Reason(Status.UNVERIFIED, "NO_CASES", "held_out.cases", message)
    for index, result in enumerate(cases):
        for position, dimension in enumerate(result.dimensions):
            if dimension.status is not Status.PASS:
                message = f"case {result.case.id}, {dimension.name}"
                path = f"held_out.cases[{index}].dimensions[{position}]"
                yield Reason(dimension.status, dimension.reason, path, message)


def _comparison_reasons(comparison: Comparison) -> Iterator[Reason]:
    # A comparison that was made is as good as the dimensions it compares, which speak above.
    if comparison.reason not in ("NO_BINDINGS", "COMPARED"):
        message = "the genome was not compared"
        yield Reason(comparison.status, comparison.reason, "genome_comparison", message)


def _following(cases: Sequence[CaseResult]) -> Iterator[str]:
    for index, result in enumerate(cases):
        causes = [one.name for one in result.dimensions if one.name.endswith("-execution")]
        for position, dimension in enumerate(result.dimensions):
            cause = _CONSEQUENCES.get(dimension.reason)
            if cause and any(name.endswith(cause) for name in causes):
                yield f"held_out.cases[{index}].dimensions[{position}]"
