"""The verdict: the worst status counts, nothing is averaged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from steelyard.gating.model import (
    CaseResult,
    Comparison,
    CriterionResult,
    Precheck,
    Status,
)

__all__ = ["SEVERITY", "combined", "criterion_weight", "critical_failures", "dimension_summary"]

# NOT_APPLICABLE says nothing, hence weighs nothing.
SEVERITY: Final[Mapping[Status, int]] = {
    Status.NOT_APPLICABLE: 0,
    Status.PASS: 1,
    Status.WARN: 2,
    Status.UNVERIFIED: 3,
    Status.FAIL: 4,
}


def combined(statuses: Iterable[Status]) -> Status:
    """FAIL before UNVERIFIED before WARN before PASS.

    Without any status, or with several that say nothing, UNVERIFIED: nothing was shown. One
    NOT_APPLICABLE alone stays what it is.
    """
    known = list(statuses)
    if known == [Status.NOT_APPLICABLE]:
        return Status.NOT_APPLICABLE
    worst = max(known, key=SEVERITY.__getitem__, default=Status.NOT_APPLICABLE)
    return Status.UNVERIFIED if worst is Status.NOT_APPLICABLE else worst


def criterion_weight(result: CriterionResult) -> Status:
    """What a criterion makes of the verdict: a failed one that is not critical only warns."""
    if result.status is Status.FAIL and not result.criterion.critical:
        return Status.WARN
    return result.status


def critical_failures(
    precheck: Precheck,
    criteria: Iterable[CriterionResult],
    cases: Iterable[CaseResult],
    comparison: Comparison,
) -> int:
    """Critical criteria and critical dimensions that failed, one for a failed precheck, one for a
    failed comparison."""
    failed = [precheck.status, comparison.status]
    failed += [result.status for result in criteria if result.criterion.critical]
    failed += [one.status for result in cases for one in result.dimensions if one.critical]
    return failed.count(Status.FAIL)


def dimension_summary(
    criteria: Iterable[tuple[str, Status, bool]],
    dimensions: Iterable[tuple[str, Status, bool]],
    compared: Iterable[tuple[str, Status, bool]],
) -> dict[str, dict[str, int]]:
    """How often each status occurs per criterion kind, dimension, and compared dimension.

    Each item is a name, a status and whether it is critical; compared dimensions are listed as
    `genome:<name>`.
    """
    items = [
        *criteria,
        *dimensions,
        *((f"genome:{name}", status, critical) for name, status, critical in compared),
    ]
    summary: dict[str, dict[str, int]] = {}
    for name, status, critical in items:
        counts = summary.setdefault(
            name, {**dict.fromkeys(_SUMMARY_ORDER, 0), "critical_failures": 0}
        )
        counts[status] += 1
        counts["critical_failures"] += critical and status is Status.FAIL
    return summary


_SUMMARY_ORDER: Final[Sequence[str]] = ("pass", "warn", "fail", "unverified", "not-applicable")
