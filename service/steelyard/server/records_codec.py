"""Records between messages and the types of the store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from steelyard.errors import InvalidInputError
from steelyard.records.followups import FollowUpAction
from steelyard.records.model import (
    Aggregates,
    BoardTask,
    EventType,
    FollowUpRecord,
    GateReport,
    OutboxItem,
    PageRequest,
    PlaybookEntry,
    ResultFilter,
    ResultStatus,
    ResultSummary,
    RunEvent,
    RunRecord,
    RunStatus,
    StoredEvalResult,
    Trigger,
)
from steelyard.server.task_codec import suggestion_message
from steelyard.server.words import WordTable
from steelyard.v1 import records_pb2

__all__ = [
    "ACTION",
    "RESULT_STATUS",
    "RUN_STATUS",
    "TRIGGER",
    "aggregates_message",
    "board_task_message",
    "eval_result_message",
    "event_message",
    "follow_up_message",
    "gate_report_message",
    "optional_word",
    "outbox_item_message",
    "page_request",
    "playbook_entry_message",
    "result_filter",
    "run_message",
    "summary_message",
]

RUN_STATUS = WordTable(
    {
        RunStatus.PENDING: records_pb2.RUN_STATUS_PENDING,
        RunStatus.RUNNING: records_pb2.RUN_STATUS_RUNNING,
        RunStatus.COMPLETED: records_pb2.RUN_STATUS_COMPLETED,
        RunStatus.FAILED: records_pb2.RUN_STATUS_FAILED,
        RunStatus.CANCELLED: records_pb2.RUN_STATUS_CANCELLED,
    }
)
TRIGGER = WordTable(
    {
        Trigger.MANUAL: records_pb2.RUN_TRIGGER_MANUAL,
        Trigger.SCHEDULE: records_pb2.RUN_TRIGGER_SCHEDULE,
        Trigger.API: records_pb2.RUN_TRIGGER_API,
        Trigger.TASK_COMPLETION: records_pb2.RUN_TRIGGER_TASK_COMPLETION,
    }
)
RESULT_STATUS = WordTable(
    {
        ResultStatus.SCORED: records_pb2.RESULT_STATUS_SCORED,
        ResultStatus.SKIPPED: records_pb2.RESULT_STATUS_SKIPPED,
        ResultStatus.ERROR: records_pb2.RESULT_STATUS_ERROR,
    }
)
EVENT_TYPE = WordTable(
    {
        EventType.RUN_CREATED: records_pb2.RUN_EVENT_TYPE_RUN_CREATED,
        EventType.RUN_STARTED: records_pb2.RUN_EVENT_TYPE_RUN_STARTED,
        EventType.RESULT_STORED: records_pb2.RUN_EVENT_TYPE_RESULT_STORED,
        EventType.RUN_COMPLETED: records_pb2.RUN_EVENT_TYPE_RUN_COMPLETED,
        EventType.RUN_FAILED: records_pb2.RUN_EVENT_TYPE_RUN_FAILED,
        EventType.RUN_CANCELLED: records_pb2.RUN_EVENT_TYPE_RUN_CANCELLED,
    }
)
ACTION = WordTable(
    {
        FollowUpAction.ACCEPT: records_pb2.FOLLOW_UP_ACTION_ACCEPT,
        FollowUpAction.DISMISS: records_pb2.FOLLOW_UP_ACTION_DISMISS,
    }
)


def optional_word(table: WordTable[Any, Any], value: int, path: str) -> Any:
    """The word of a filter's enum: None when it is unspecified."""
    return None if value == 0 else table.word(value, path)


def page_request(message: Any) -> PageRequest:
    """The page that a list request asks for."""
    return PageRequest(message.page_size, message.page_token)


def result_filter(message: records_pb2.ResultFilter) -> ResultFilter:
    """Raises InvalidInputError with ENUM_INVALID, SCORE_OUT_OF_RANGE, RANGE_EMPTY, TIME_INVALID."""
    found = ResultFilter(
        task_id=message.task_id,
        run_id=message.run_id,
        status=optional_word(RESULT_STATUS, message.status, "filter.status"),
        band=message.band,
        min_score=_score(message, "min_score"),
        max_score=_score(message, "max_score"),
        since=_moment(message, "since"),
        until=_moment(message, "until"),
    )
    for low, high, names in (
        (found.min_score, found.max_score, ("min_score", "max_score")),
        (found.since, found.until, ("since", "until")),
    ):
        if low is not None and high is not None and low > high:  # type: ignore[operator]  # same kind
            raise InvalidInputError.at(f"filter.{names[0]}", "RANGE_EMPTY", f"is beyond {names[1]}")
    return found


def _score(message: records_pb2.ResultFilter, name: str) -> int | None:
    if not message.HasField(name):  # type: ignore[arg-type]  # one of the literal names
        return None
    value: int = getattr(message, name)
    if not 0 <= value <= 100:
        raise InvalidInputError.at(
            f"filter.{name}", "SCORE_OUT_OF_RANGE", f"{value} is not a score from 0 to 100"
        )
    return value


def _moment(message: records_pb2.ResultFilter, name: str) -> datetime | None:
    if not message.HasField(name):  # type: ignore[arg-type]  # one of the literal names
        return None
    stamp: Timestamp = getattr(message, name)
    try:
        return stamp.ToDatetime(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError.at(f"filter.{name}", "TIME_INVALID", str(error)) from error


def _stamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


def run_message(run: RunRecord) -> records_pb2.EvalRun:
    """The message of a run."""
    return records_pb2.EvalRun(
        run_id=run.run_id,
        trigger=TRIGGER.values[run.trigger],
        status=RUN_STATUS.values[run.status],
        summary=run.summary,
        error=run.error,
        scored_count=run.scored,
        skipped_count=run.skipped,
        error_count=run.errors,
        lease_seconds=run.lease_seconds,
        lease_expires_at=_stamp(run.lease_expires_at),
        created_at=_stamp(run.created_at),
        started_at=_stamp(run.started_at),
        finished_at=_stamp(run.finished_at),
        window_start=_stamp(run.window_start),
        window_end=_stamp(run.window_end),
        aggregates=aggregates_message(run.aggregates) if run.aggregates else None,
    )


def event_message(event: RunEvent) -> records_pb2.EvalRunEvent:
    """The message of an event."""
    return records_pb2.EvalRunEvent(
        run_id=event.run_id,
        sequence=event.sequence,
        type=EVENT_TYPE.values[event.type],
        at=_stamp(event.at),
        task_id=event.task_id,
        message=event.message,
    )


def summary_message(summary: ResultSummary) -> records_pb2.ResultSummary:
    """The message of a result as lists show it."""
    return records_pb2.ResultSummary(
        run_id=summary.run_id,
        task_id=summary.task_id,
        status=RESULT_STATUS.values[summary.status],
        overall_score=summary.overall_score,
        overall_band=summary.band,
        policy_name=summary.policy_name,
        policy_version=summary.policy_version,
        categories=[
            records_pb2.ResultCategory(
                category=each.category,
                deterministic_score=each.deterministic_score,
                ai_score=each.ai_score,
                final_score=each.final_score,
            )
            for each in summary.categories
        ],
        reason=summary.reason,
        created_at=_stamp(summary.created_at),
    )


def aggregates_message(found: Aggregates) -> records_pb2.ResultAggregates:
    """The message of aggregates."""
    return records_pb2.ResultAggregates(
        scored_count=found.scored,
        skipped_count=found.skipped,
        error_count=found.errors,
        mean_overall=found.mean_overall,
        categories=[
            records_pb2.CategoryMean(category=each.category, mean=each.mean, count=each.count)
            for each in found.categories
        ],
        bands=[records_pb2.BandCount(band=band, count=count) for band, count in found.bands],
        days=[
            records_pb2.DayMean(day=each.day, count=each.count, mean_overall=each.mean_overall)
            for each in found.days
        ],
    )


def follow_up_message(record: FollowUpRecord) -> records_pb2.StoredFollowUp:
    """The message of a follow-up."""
    return records_pb2.StoredFollowUp(
        number=record.number,
        run_id=record.suggestion.run_id,
        task_id=record.suggestion.parent_task_id,
        suggestion=suggestion_message(record.suggestion),
        note=record.note,
        created_at=_stamp(record.created_at),
        updated_at=_stamp(record.updated_at),
    )


def _task_message(
    title: str, body: str, column: str, parent: str, source: Mapping[str, Any]
) -> records_pb2.FollowUpTask:
    return records_pb2.FollowUpTask(
        title=title,
        body=body,
        column=column,
        source_parent_task_id=parent,
        source_metadata=records_pb2.FollowUpSource(
            type=source["type"],
            run_id=source["runId"],
            suggestion_id=source["suggestionId"],
            policy_mode=source["policyMode"],
            dedupe_key=source["dedupeKey"],
        ),
    )


def board_task_message(task: BoardTask) -> records_pb2.BoardTask:
    """The message of a task of the built-in board."""
    return records_pb2.BoardTask(
        task_id=task.task_id,
        task=_task_message(
            task.title, task.body, task.column, task.source_parent_task_id, task.source_metadata
        ),
        created_at=_stamp(task.created_at),
    )


def outbox_item_message(item: OutboxItem) -> records_pb2.OutboxItem:
    """The message of an item of the outbox."""
    task = item.task
    return records_pb2.OutboxItem(
        number=item.number,
        task=_task_message(
            task["title"],
            task["body"],
            task["column"],
            task["sourceParentTaskId"],
            task["sourceMetadata"],
        ),
        attempts=item.attempts,
        created_at=_stamp(item.created_at),
    )


def eval_result_message(found: StoredEvalResult) -> records_pb2.StoredEvalResult:
    """The message of an EvalResult."""
    return records_pb2.StoredEvalResult(
        eval_id=found.eval_id,
        contract_id=found.contract_id,
        spec_id=found.spec_id,
        iteration=found.iteration,
        overall_result=found.overall_result,
        document=found.document,
        created_at=_stamp(found.created_at),
    )


def gate_report_message(found: GateReport) -> records_pb2.StoredGateReport:
    """The message of a gate report."""
    return records_pb2.StoredGateReport(
        report_id=found.report_id,
        squad=found.squad,
        verdict=found.verdict,
        document=found.document,
        created_at=_stamp(found.created_at),
    )


def playbook_entry_message(found: PlaybookEntry) -> records_pb2.StoredPlaybookEntry:
    """The message of a playbook entry."""
    return records_pb2.StoredPlaybookEntry(
        squad=found.squad,
        entry_id=found.entry_id,
        status=found.status,
        document=found.document,
        created_at=_stamp(found.created_at),
        updated_at=_stamp(found.updated_at),
    )
