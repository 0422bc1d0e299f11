"""The words and values of an evaluation result. Plain frozen data, no rules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "Category",
    "Code",
    "CriterionResult",
    "EvalResult",
    "FeedbackItem",
    "Known",
    "Location",
    "Outcome",
    "Priority",
    "Progress",
    "Reason",
    "Regression",
    "Score",
    "Severity",
    "State",
    "StrategyResult",
    "Verdict",
    "shorten",
]


def shorten(text: str, limit: int) -> str:
    """Text of at most `limit` characters; what was longer ends in an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


class Verdict(StrEnum):
    """The result as a whole."""

    PASS = "pass"  # noqa: S105  a verdict, not a password
    FAIL = "fail"


class Outcome(StrEnum):
    """The result of one strategy or criterion."""

    PASS = "pass"  # noqa: S105  an outcome, not a password
    FAIL = "fail"
    SKIPPED = "skipped"


class Severity(StrEnum):
    """How grave a regression is. Only a critical one fails the evaluation by itself."""

    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"


class Priority(StrEnum):
    """How urgent a feedback item is. Declared most urgent first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Category(StrEnum):
    """What sort of thing a feedback item asks for."""

    BUG = "bug"
    MISSING_FEATURE = "missing-feature"
    REGRESSION = "regression"
    QUALITY = "quality"
    PERFORMANCE = "performance"


class State(StrEnum):
    """Where a feedback item stands against the rounds before."""

    NEW = "new"
    PERSISTING = "persisting"
    REOPENED = "reopened"


class Code(StrEnum):
    """Why an evaluation fails. None of these can ever raise a verdict."""

    REQUIRED_STRATEGY_FAILED = "REQUIRED_STRATEGY_FAILED"
    REQUIRED_CRITERION_FAILED = "REQUIRED_CRITERION_FAILED"
    REQUIRED_SKIPPED = "REQUIRED_SKIPPED"
    CRITICAL_REGRESSION = "CRITICAL_REGRESSION"
    NON_GOAL_BREACHED = "NON_GOAL_BREACHED"
    NOTHING_EVALUATED = "NOTHING_EVALUATED"
    CRITERION_UNJUDGED = "CRITERION_UNJUDGED"
    EXIT_CODE_DISAGREES = "EXIT_CODE_DISAGREES"
    REPORT_UNREADABLE = "REPORT_UNREADABLE"
    NO_TESTS_RAN = "NO_TESTS_RAN"
    EVALUATOR_ERROR = "EVALUATOR_ERROR"


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause of a fail: its code, the strategy or criterion it is about if any, a sentence."""

    code: Code
    message: str
    strategy: str | None = None
    criterion_id: str | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """Counts over `criteria_results`.

    total = passed + failed + skipped. `required_failed` counts required criteria that failed;
    required ones that were skipped are the rest of `required_total`.
    """

    criteria_total: int
    criteria_passed: int
    criteria_failed: int
    criteria_skipped: int
    required_passed: int
    required_failed: int
    required_total: int


@dataclass(frozen=True, slots=True)
class StrategyResult:
    """What one strategy came to. `error_count` is over the whole report, dropped items included."""

    strategy: str
    required: bool
    result: Outcome
    output: str
    details: str
    exit_code: int | None = None
    error_count: int | None = None


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """What one criterion of the contract came to. `feedback` is there exactly when it failed."""

    criterion_id: str
    description: str
    required: bool
    result: Outcome
    evidence: str
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class Regression:
    """Something that worked before and does not now."""

    description: str
    evidence: str
    severity: Severity
    affected_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the repository: POSIX path from its root; line and column count from 1."""

    file: str
    line: int | None = None
    end_line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class FeedbackItem:
    """One issue for the generator to act on.

    `locations` has every place, the first included, when there is more than one. `sources` are the
    strategies that reported it: empty when a judge did.
    """

    priority: Priority
    category: Category
    description: str
    expected: str
    location: Location | None = None
    reproduction: str | None = None
    locations: tuple[Location, ...] = ()
    rule_id: str | None = None
    criterion_id: str | None = None
    sources: tuple[str, ...] = ()
    fingerprint: str = ""
    state: State = State.NEW


@dataclass(frozen=True, slots=True)
class Known:
    """An issue of an earlier round, in the few fields that identify it."""

    fingerprint: str
    description: str
    file: str | None = None
    rule_id: str | None = None
    criterion_id: str | None = None
    strategy: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """This round against the rounds before, and what the next round needs to know.

    fixed               open before, looked for again, and not found
    unchecked           open before, not looked for: its strategy or criterion gave no answer
    same_failure_rounds rounds running with exactly these failures, this one included; 0 on pass
    stalled             `same_failure_rounds` has reached 3
    oscillating         these failures are those of two rounds ago and not those of the last
    closed              fingerprints fixed in any earlier round and not open now, newest first
    failure_sets        one digest per round, newest first, "" for a pass; at most 8
    passed_tests        the tests that passed, as opaque text
    """

    previous_eval_id: str | None = None
    fixed: tuple[Known, ...] = ()
    unchecked: tuple[Known, ...] = ()
    same_failure_rounds: int = 0
    stalled: bool = False
    oscillating: bool = False
    closed: tuple[str, ...] = ()
    failure_sets: tuple[str, ...] = ()
    passed_tests: str = ""


@dataclass(frozen=True, slots=True)
class EvalResult:
    """The whole evaluation. Every list is sorted, so the order of the input leaves no trace."""

    eval_id: str
    contract_id: str
    spec_id: str
    timestamp: str
    iteration: int
    overall_result: Verdict
    reasons: tuple[Reason, ...]
    score: Score
    strategy_results: tuple[StrategyResult, ...]
    criteria_results: tuple[CriterionResult, ...]
    regressions: tuple[Regression, ...]
    generator_feedback: tuple[FeedbackItem, ...]
    summary: str
    progress: Progress
