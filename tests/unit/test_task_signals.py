"""Signals: what is counted, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.errors import InvalidInputError
from steelyard.scoring.evidence import (
    Commit,
    Evidence,
    Group,
    LogEntry,
    Review,
    Severity,
    StepStatus,
    WorkflowStep,
    normalise,
)
from steelyard.scoring.signals import (
    TaskSignals,
    check_signals,
    score_signals,
    signals_from_evidence,
)


def test_the_wording_of_a_log_is_no_signal() -> None:
    evidence = Evidence(
        task_activity=(
            LogEntry(label="tests", excerpt="12 passed, 0 failed"),
            LogEntry(label="build", excerpt="no errors, 0 warnings"),
            LogEntry(label="processed 1000001 rows", excerpt="ERROR failed [timing] in 5ms"),
        ),
        agent_logs=(LogEntry(excerpt="commit abc1234, review approved"),),
    )
    assert signals_from_evidence(evidence) == TaskSignals()


def test_typed_fields_are_counted() -> None:
    evidence = Evidence(
        workflow=(
            *(WorkflowStep(status=status) for status in StepStatus),
            WorkflowStep(status=StepStatus.PASSED, duration_ms=0),
        ),
        task_activity=(LogEntry(severity=Severity.ERROR), LogEntry(severity=Severity.WARNING)),
        agent_logs=(LogEntry(severity=Severity.ERROR, duration_ms=5),),
        run_audit=(LogEntry(severity=Severity.WARNING), LogEntry(severity=Severity.DEBUG)),
        commits=(Commit(sha="abc1234"),),
        reviews=(Review(status="approved"),),
    )
    assert signals_from_evidence(evidence) == TaskSignals(
        workflow_total=6,
        workflow_passed=2,
        workflow_failed=2,
        workflow_pending=1,
        commits=1,
        errors=2,
        warnings=2,
        review_status="approved",
        timing_entries=2,
    )


@pytest.mark.parametrize(
    ("shas", "count"),
    [
        (("abc1234", "ABC1234"), 1),
        (("abc1234", "abc1234def567890abc1234def567890abc12345"), 1),
        (("abc1234d", "abc1234e", "abc1234"), 2),
        (("abc1234", "abc12345", "abc123456", "abc1235"), 2),
        (("abc1234", "def5678"), 2),
    ],
)
def test_short_and_full_form_of_one_sha_are_one_commit(shas: tuple[str, ...], count: int) -> None:
    for order in (shas, shas[::-1]):
        evidence = Evidence(commits=tuple(Commit(sha=sha) for sha in order))
        assert signals_from_evidence(evidence).commits == count


@pytest.mark.parametrize(
    ("reviews", "status"),
    [
        (((None, "approved"), (None, "rejected")), "rejected"),
        ((("2026-05-01T02:00:00Z", "approved"), ("2026-05-01T01:00:00Z", "rejected")), "approved"),
        ((("2026-05-01T02:00:00Z", "approved"), (None, "rejected")), "approved"),
        ((("2026-05-01T02:00:00Z", "approved"), ("2026-05-01T03:00:00Z", "")), "approved"),
        (((None, ""),), ""),
    ],
)
def test_the_newest_review_with_a_status_counts(
    reviews: tuple[tuple[str | None, str], ...], status: str
) -> None:
    evidence = Evidence(
        reviews=tuple(Review(timestamp=when or "", status=word) for when, word in reviews)
    )
    assert signals_from_evidence(evidence).review_status == status


def test_signals_are_counted_before_the_caps() -> None:
    steps = (WorkflowStep(status=StepStatus.FAILED),) * 5
    steps += (WorkflowStep(status=StepStatus.PASSED),) * 25
    evidence = Evidence(workflow=steps)
    assert signals_from_evidence(evidence).workflow_failed == 5
    capped = normalise(evidence).evidence
    assert capped.dropped[Group.WORKFLOW] == 5
    with pytest.raises(InvalidInputError) as caught:
        signals_from_evidence(capped)
    assert caught.value.reason == "EVIDENCE_INCOMPLETE"
    assert caught.value.violations[0].path == "evidence.dropped.workflow"


def test_evidence_that_cannot_be_counted_is_refused() -> None:
    with pytest.raises(InvalidInputError) as caught:
        signals_from_evidence(Evidence(commits=(Commit(sha="1000001x"),)))
    assert caught.value.violations[0].path == "evidence.commits[0].sha"
    with pytest.raises(InvalidInputError) as caught:
        signals_from_evidence(Evidence(reviews=(Review(status="ok", timestamp="now"),)))
    assert caught.value.violations[0].path == "evidence.reviews[0].timestamp"


@pytest.mark.parametrize(
    ("status", "performance"), [("approved", 55), ("Approved", 46), ("approved ", 46), ("", 40)]
)
def test_only_exactly_approved_is_full_marks(status: str, performance: int) -> None:
    assert score_signals(TaskSignals(review_status=status)).agent_performance == performance


@pytest.mark.parametrize(
    ("signals", "path", "reason"),
    [
        ({"errors": -1}, "signals.errors", "COUNT_OUT_OF_RANGE"),
        ({"commits": 2**32}, "signals.commits", "COUNT_OUT_OF_RANGE"),
        ({"warnings": True}, "signals.warnings", "COUNT_OUT_OF_RANGE"),
        ({"timing_entries": 1.0}, "signals.timing_entries", "COUNT_OUT_OF_RANGE"),
        ({"workflow_passed": 1}, "signals.workflow_total", "COUNTS_INCONSISTENT"),
        (
            {
                "workflow_total": 2,
                "workflow_passed": 1,
                "workflow_failed": 1,
                "workflow_pending": 1,
            },
            "signals.workflow_total",
            "COUNTS_INCONSISTENT",
        ),
    ],
)
def test_impossible_counts_are_refused(signals: dict[str, Any], path: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_signals(TaskSignals(**signals))
    assert caught.value.violations[0].path == path
    assert caught.value.reason == reason


def test_largest_counts_score() -> None:
    most = TaskSignals(
        workflow_total=2**32 - 1,
        workflow_passed=2**32 - 1,
        commits=2**32 - 1,
        errors=2**32 - 1,
        warnings=2**32 - 1,
        timing_entries=2**32 - 1,
    )
    assert score_signals(check_signals(most)).by_category() == {
        "agentPerformance": 60,
        "taskOutcomeQuality": 88,
        "processCompliance": 25,
    }


def test_a_review_status_becomes_storable() -> None:
    signals = check_signals(TaskSignals(review_status="\x00" + "x" * 500))
    assert signals.review_status == "\ufffd" + "x" * 159
