"""What the records hold: plain values, without SQL and without messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

from steelyard.scoring.followups import Suggestion, SuggestionState
from steelyard.scoring.task_types import TaskEvaluation

__all__ = [
    "Aggregates",
    "BoardTask",
    "CategoryMean",
    "CategoryNumbers",
    "DayTrend",
    "DocumentFilter",
    "EventType",
    "FinishRequest",
    "FollowUpFilter",
    "FollowUpRecord",
    "GateReport",
    "OutboxItem",
    "Page",
    "PageRequest",
    "PlaybookEntry",
    "ResultFilter",
    "ResultRecord",
    "ResultStatus",
    "ResultSummary",
    "RunDraft",
    "RunEvent",
    "RunFilter",
    "RunRecord",
    "RunStatus",
    "StoredEvalResult",
    "Trigger",
    "UnscoredResult",
]

T = TypeVar("T")

JsonObject = Mapping[str, Any]


class RunStatus(StrEnum):
    """Lifecycle of a run. The last three are terminal: such a run never changes again."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)


class Trigger(StrEnum):
    """What started a run."""

    MANUAL = "manual"
    SCHEDULE = "schedule"
    API = "api"
    TASK_COMPLETION = "task_completion"


class ResultStatus(StrEnum):
    """What became of one task in a run."""

    SCORED = "scored"
    SKIPPED = "skipped"
    ERROR = "error"


class EventType(StrEnum):
    """What happened to a run."""

    RUN_CREATED = "run_created"
    RUN_STARTED = "run_started"
    RESULT_STORED = "result_stored"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"
    RUN_CANCELLED = "run_cancelled"


@dataclass(frozen=True, slots=True)
class UnscoredResult:
    """That a task of a run was skipped, or could not be scored, and why."""

    run_id: str
    task_id: str
    status: ResultStatus
    reason: str
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True)
class FollowUpRecord:
    """A stored follow-up suggestion. `number` names it in the store; `note` is what a person who
    decided about it left."""

    number: int
    suggestion: Suggestion
    note: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CategoryNumbers:
    """The scores of one category of a result, 0..100."""

    category: str
    deterministic_score: int
    ai_score: int
    final_score: int


@dataclass(frozen=True, slots=True)
class ResultSummary:
    """A result as lists show it. Only a scored one has categories, overall, band and policy; a
    skipped or failed one has a reason."""

    number: int
    run_id: str
    task_id: str
    status: ResultStatus
    overall_score: int | None
    band: str
    policy_name: str
    policy_version: int
    categories: tuple[CategoryNumbers, ...]
    reason: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ResultRecord:
    """A result in full. `evaluation` is None unless it is scored; its suggestions have the fates
    they have now."""

    summary: ResultSummary
    evaluation: TaskEvaluation | None
    follow_ups: tuple[FollowUpRecord, ...]


@dataclass(frozen=True, slots=True)
class RunDraft:
    """A run to create. Without `run_id` the store names it."""

    trigger: Trigger
    run_id: str = ""
    summary: str = ""
    lease_seconds: int = 0
    start: bool = False
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True)
class FinishRequest:
    """Ends a run: `status` is terminal, `error` says why a failed run failed."""

    run_id: str
    status: RunStatus
    summary: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class CategoryMean:
    """Mean final score of one category over `count` results."""

    category: str
    mean: float
    count: int


@dataclass(frozen=True, slots=True)
class DayTrend:
    """Scored results of one UTC day; `day` is YYYY-MM-DD."""

    day: str
    count: int
    mean_overall: float


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Numbers over a set of results. Means are None or absent where nothing was scored."""

    scored: int
    skipped: int
    errors: int
    mean_overall: float | None
    categories: tuple[CategoryMean, ...]
    bands: tuple[tuple[str, int], ...]
    days: tuple[DayTrend, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A stored run. Times are None until they happened; the window belongs to scheduled runs."""

    number: int
    run_id: str
    trigger: Trigger
    status: RunStatus
    summary: str
    error: str
    scored: int
    skipped: int
    errors: int
    event_count: int
    lease_seconds: int
    lease_expires_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    window_start: datetime | None
    window_end: datetime | None
    aggregates: Aggregates | None


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event of a run; `sequence` counts from 1 without gaps within the run."""

    run_id: str
    sequence: int
    type: EventType
    at: datetime
    task_id: str
    message: str


@dataclass(frozen=True, slots=True)
class BoardTask:
    """A task of the built-in board, made from a follow-up. It starts in column `triage`."""

    number: int
    task_id: str
    column: str
    title: str
    body: str
    source_parent_task_id: str
    source_metadata: JsonObject
    created_at: datetime


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """A follow-up that another board shall turn into a task."""

    number: int
    suggestion_id: str
    task: JsonObject
    created_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class StoredEvalResult:
    """A stored EvalResult. `document` is its JSON text as it came, empty in lists."""

    number: int
    eval_id: str
    contract_id: str
    spec_id: str
    iteration: int
    overall_result: str
    document: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class GateReport:
    """A stored gate report. `document` is its JSON text as it came, empty in lists."""

    number: int
    report_id: str
    squad: str
    verdict: str
    document: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class PlaybookEntry:
    """A stored playbook entry. `document` is its JSON text as it came."""

    number: int
    squad: str
    entry_id: str
    status: str
    document: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list; an empty field matches all."""

    status: RunStatus | None = None
    trigger: Trigger | None = None


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """Which results to list or aggregate; an empty field matches all.

    Scores are inclusive bounds on the overall; `since` is inclusive and `until` exclusive.
    """

    task_id: str = ""
    run_id: str = ""
    status: ResultStatus | None = None
    band: str = ""
    min_score: int | None = None
    max_score: int | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class FollowUpFilter:
    """Which follow-ups to list; an empty field matches all."""

    task_id: str = ""
    run_id: str = ""
    state: SuggestionState | None = None


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which evaluations, gate reports or playbook entries to list.

    `group` is the contract id of evaluations and the squad of the others; `outcome` is the overall
    result, the verdict or the status. An empty field matches all.
    """

    group: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """How much to list: `size` 0 means 100, at most 1,000; `token` is empty for the first page."""

    size: int = 0
    token: str = ""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page, newest first. `next_token` is empty on the last one."""

    items: tuple[T, ...]
    next_token: str
