"""Facts about a task turned into deterministic scores: profile `task-signals@1`.

The profile reads typed counts. Where those come from evidence, they are counted from its typed
fields: step statuses, commit entries, severities and durations. The wording of a log never matters,
so "12 passed, 0 failed" is no error and a seven-digit number is no commit.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from steelyard.errors import InvalidInputError
from steelyard.scoring.evidence import (
    FIELD_NAMES,
    SUBJECT_UNITS,
    Evidence,
    Group,
    LogEntry,
    Review,
    Severity,
    StepStatus,
    read_sha,
)
from steelyard.scoring.instant import UNKNOWN, Instant, parse_instant
from steelyard.scoring.text import clean, cut

__all__ = [
    "SIGNALS_PROFILE",
    "DeterministicScores",
    "TaskSignals",
    "check_signals",
    "score_signals",
    "signals_from_evidence",
]

SIGNALS_PROFILE = "task-signals@1"

# What the wire can carry; larger counts are a bug of the caller, not a bigger task.
MAX_COUNT = 2**32 - 1

_COUNTS = (
    "workflow_total",
    "workflow_passed",
    "workflow_failed",
    "workflow_pending",
    "commits",
    "errors",
    "warnings",
    "timing_entries",
)
_COUNTED = (
    Group.COMMITS,
    Group.WORKFLOW,
    Group.TASK_ACTIVITY,
    Group.AGENT_LOGS,
    Group.RUN_AUDIT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSignals:
    """What is known for certain about one task. All counts are 0..4,294,967,295.

    `workflow_total` counts every step; skipped ones count there and nowhere else, so passed, failed
    and pending together may be less than the total, never more. `review_status` is the caller's
    word for the state of the review, empty when there was none; only exactly "approved" is full
    marks.
    """

    workflow_total: int = 0
    workflow_passed: int = 0
    workflow_failed: int = 0
    workflow_pending: int = 0
    commits: int = 0
    errors: int = 0
    warnings: int = 0
    review_status: str = ""
    timing_entries: int = 0


@dataclass(frozen=True, slots=True)
class DeterministicScores:
    """The scores of the profile's three categories, each 0..100."""

    agent_performance: int
    task_outcome_quality: int
    process_compliance: int

    def by_category(self) -> dict[str, int]:
        """The same scores under the names of the contract."""
        return {
            "agentPerformance": self.agent_performance,
            "taskOutcomeQuality": self.task_outcome_quality,
            "processCompliance": self.process_compliance,
        }


def check_signals(signals: TaskSignals, path: str = "signals") -> TaskSignals:
    """The signals with a storable review status, once their counts are found possible.

    Errors: InvalidInputError COUNT_OUT_OF_RANGE, or COUNTS_INCONSISTENT when passed, failed and
    pending steps are more than all steps.
    """
    for name in _COUNTS:
        value = getattr(signals, name)
        if type(value) is not int or not 0 <= value <= MAX_COUNT:
            raise InvalidInputError.at(
                f"{path}.{name}",
                "COUNT_OUT_OF_RANGE",
                f"must be an integer between 0 and {MAX_COUNT}, is {value!r}",
            )
    parts = signals.workflow_passed + signals.workflow_failed + signals.workflow_pending
    if parts > signals.workflow_total:
        raise InvalidInputError.at(
            f"{path}.workflow_total",
            "COUNTS_INCONSISTENT",
            f"is {signals.workflow_total}, but passed, failed and pending steps are {parts}",
        )
    return replace(signals, review_status=cut(clean(signals.review_status), SUBJECT_UNITS))


def score_signals(signals: TaskSignals) -> DeterministicScores:
    """The deterministic scores under `task-signals@1`, for counts that `check_signals` passed."""
    total = signals.workflow_total
    workflow = signals.workflow_passed / total * 100 if total else 50.0
    error_cost = min(20 * signals.errors, 60)
    warning_cost = min(5 * signals.warnings, 25)
    commits = min(15 * signals.commits, 100)
    review = 100 if signals.review_status == "approved" else 70 if signals.review_status else 50
    timing = 100 if signals.timing_entries > 0 else 50
    return DeterministicScores(
        agent_performance=_score(workflow * 0.5 + review * 0.3 + commits * 0.2 - warning_cost),
        task_outcome_quality=_score(workflow * 0.6 + commits * 0.2 + (100 - error_cost) * 0.2),
        process_compliance=_score(workflow * 0.5 + review * 0.3 + timing * 0.2 - error_cost),
    )


def signals_from_evidence(evidence: Evidence, path: str = "evidence") -> TaskSignals:
    """Count the typed fields of evidence as it was recorded, before any cap.

    Errors: InvalidInputError SHA_INVALID and TIMESTAMP_INVALID; EVIDENCE_INCOMPLETE when an earlier
    normalisation dropped entries that would have to be counted.
    """
    for group in _COUNTED:
        if evidence.dropped.get(group, 0):
            raise InvalidInputError.at(
                f"{path}.dropped.{FIELD_NAMES[group]}",
                "EVIDENCE_INCOMPLETE",
                "signals cannot be counted from a bundle that lost entries; "
                "give the whole evidence, or the signals themselves",
            )
    steps = Counter(step.status for step in evidence.workflow)
    logs: tuple[LogEntry, ...] = (
        *evidence.task_activity,
        *evidence.agent_logs,
        *evidence.run_audit,
    )
    severities = Counter(entry.severity for entry in logs)
    return TaskSignals(
        workflow_total=len(evidence.workflow),
        workflow_passed=steps[StepStatus.PASSED],
        workflow_failed=steps[StepStatus.FAILED] + steps[StepStatus.ADVISORY_FAILURE],
        workflow_pending=steps[StepStatus.PENDING],
        commits=_count_commits(
            read_sha(commit, f"{path}.commits[{index}]")
            for index, commit in enumerate(evidence.commits)
        ),
        errors=severities[Severity.ERROR],
        warnings=severities[Severity.WARNING],
        review_status=_latest_status(evidence.reviews, f"{path}.reviews"),
        timing_entries=sum(step.duration_ms is not None for step in evidence.workflow)
        + sum(entry.duration_ms is not None for entry in logs),
    )


def _count_commits(shas: Iterable[str]) -> int:
    """Distinct commits; a sha that another one starts with is a short form of that one."""
    ordered = sorted(set(shas))
    # In sorted order whatever starts with a sha follows it at once.
    shortened = sum(longer.startswith(shorter) for shorter, longer in itertools.pairwise(ordered))
    return len(ordered) - shortened


def _latest_status(reviews: tuple[Review, ...], path: str) -> str:
    """The status of the newest review that has one; at one instant, of the last recorded."""
    latest: tuple[Instant, int] = (UNKNOWN, -1)
    status = ""
    for index, review in enumerate(reviews):
        at = f"{path}[{index}].timestamp"
        when = parse_instant(review.timestamp, at) if review.timestamp else UNKNOWN
        if review.status and (when, index) > latest:
            latest, status = (when, index), review.status
    return cut(clean(status), SUBJECT_UNITS)


def _score(value: float) -> int:
    return math.floor(min(max(value, 0.0), 100.0) + 0.5)
