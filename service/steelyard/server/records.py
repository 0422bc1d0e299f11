"""RecordsService: what the store keeps, over the wire."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from google.protobuf.message import Message

from steelyard.errors import InvalidInputError, PreconditionError
from steelyard.records.documents import (
    check_eval_result,
    check_gate_report,
    check_playbook_entry,
)
from steelyard.records.followups import FollowUpChange
from steelyard.records.model import (
    DocumentFilter,
    FinishRequest,
    FollowUpFilter,
    RunDraft,
    RunFilter,
    RunStatus,
    UnscoredResult,
)
from steelyard.records.ports import Records
from steelyard.server import records_codec as codec
from steelyard.server.messages import parse
from steelyard.server.table import CallContext, Handler, ServerStreamHandler, UnaryHandler
from steelyard.server.task_codec import evaluation_message
from steelyard.server.task_words import STATE
from steelyard.v1 import records_pb2 as pb

__all__ = ["records_handlers"]

SERVICE = "/steelyard.v1.RecordsService/"
WATCH_POLL_S = 0.25
WATCH_BATCH = 500

M = TypeVar("M", bound=Message)

# Answers one request; the number is the seconds that the caller still waits, None without a limit.
Answer = Callable[[Records, bytes, float | None], bytes]


def records_handlers(store: Records | None) -> dict[str, Handler]:
    """The handlers of the RecordsService. Without a store, or with None because the feature
    experimental_features.evals_view is off, each refuses with FAILED_PRECONDITION."""
    handlers: dict[str, Handler] = {
        SERVICE + method: UnaryHandler(_unary(store, answer)) for method, answer in _METHODS.items()
    }

    def watch(request: bytes, call: CallContext) -> Iterator[bytes]:
        return _watch(_present(store), parse(pb.WatchRunRequest, request), call)

    handlers[SERVICE + "WatchRun"] = ServerStreamHandler(watch)
    return handlers


def _present(store: Records | None) -> Records:
    if store is None:
        raise PreconditionError(
            "RECORDS_DISABLED", "experimental_features.evals_view is off on this server"
        )
    return store


def _unary(store: Records | None, answer: Answer) -> Callable[[bytes, CallContext], bytes]:
    def call(request: bytes, context: CallContext) -> bytes:
        return answer(_present(store), request, context.time_remaining())

    return call


def _rpc(kind: type[M], answer: Callable[[Records, M, float | None], Message]) -> Answer:
    """The answer of a method from its request message and the function that answers it."""

    def to_bytes(store: Records, request: bytes, left: float | None) -> bytes:
        return answer(store, parse(kind, request), left).SerializeToString()

    return to_bytes


def _watch(store: Records, request: pb.WatchRunRequest, call: CallContext) -> Iterator[bytes]:
    sequence = request.after_sequence
    while call.is_active():
        status, events = store.events_after(request.run_id, sequence, WATCH_BATCH)
        for event in events:
            sequence = event.sequence
            response = pb.WatchRunResponse(event=codec.event_message(event))
            yield response.SerializeToString()
        if len(events) == WATCH_BATCH:
            continue
        if status.is_terminal:
            return
        # Events are also written by other servers of the store, so it is asked, not told.
        time.sleep(WATCH_POLL_S)


def _create_run(store: Records, request: pb.CreateRunRequest, left: float | None) -> Message:
    draft = RunDraft(
        trigger=codec.TRIGGER.word(request.trigger, "trigger"),
        run_id=request.run_id,
        summary=request.summary,
        lease_seconds=request.lease_seconds,
        start=request.start,
        idempotency_key=request.idempotency_key,
    )
    return pb.CreateRunResponse(run=codec.run_message(store.create_run(draft, left)))


def _renew_run(store: Records, request: pb.RenewRunRequest, left: float | None) -> Message:
    run = store.renew_run(request.run_id, request.lease_seconds, left)
    return pb.RenewRunResponse(run=codec.run_message(run))


def _finish_run(store: Records, request: pb.FinishRunRequest, left: float | None) -> Message:
    status = codec.RUN_STATUS.word(request.status, "status")
    if status not in (RunStatus.COMPLETED, RunStatus.FAILED):
        raise InvalidInputError.at("status", "STATUS_INVALID", "must be completed or failed")
    finish = FinishRequest(request.run_id, status, request.summary, request.error)
    return pb.FinishRunResponse(run=codec.run_message(store.finish_run(finish, left)))


def _cancel_run(store: Records, request: pb.CancelRunRequest, left: float | None) -> Message:
    run = store.finish_run(FinishRequest(request.run_id, RunStatus.CANCELLED), left)
    return pb.CancelRunResponse(run=codec.run_message(run))


def _get_run(store: Records, request: pb.GetRunRequest, _left: float | None) -> Message:
    return pb.GetRunResponse(run=codec.run_message(store.get_run(request.run_id)))


def _list_runs(store: Records, request: pb.ListRunsRequest, _left: float | None) -> Message:
    where = RunFilter(
        codec.optional_word(codec.RUN_STATUS, request.status, "status"),
        codec.optional_word(codec.TRIGGER, request.trigger, "trigger"),
    )
    page = store.list_runs(where, codec.page_request(request))
    return pb.ListRunsResponse(
        runs=map(codec.run_message, page.items), next_page_token=page.next_token
    )


def _record_result(store: Records, request: pb.RecordResultRequest, left: float | None) -> Message:
    result = UnscoredResult(
        run_id=request.run_id,
        task_id=request.task_id,
        status=codec.RESULT_STATUS.word(request.status, "status"),
        reason=request.reason,
        idempotency_key=request.idempotency_key,
    )
    return pb.RecordResultResponse(replayed=store.save_unscored(result, left))


def _get_result(store: Records, request: pb.GetResultRequest, _left: float | None) -> Message:
    found = store.get_result(request.run_id, request.task_id)
    return pb.GetResultResponse(
        summary=codec.summary_message(found.summary),
        evaluation=evaluation_message(found.evaluation) if found.evaluation else None,
        follow_ups=map(codec.follow_up_message, found.follow_ups),
    )


def _list_results(store: Records, request: pb.ListResultsRequest, _left: float | None) -> Message:
    where = codec.result_filter(request.filter)
    page = store.list_results(where, codec.page_request(request))
    return pb.ListResultsResponse(
        results=map(codec.summary_message, page.items), next_page_token=page.next_token
    )


def _aggregate_results(
    store: Records, request: pb.AggregateResultsRequest, _left: float | None
) -> Message:
    found = store.aggregate(codec.result_filter(request.filter), days=True)
    return pb.AggregateResultsResponse(aggregates=codec.aggregates_message(found))


def _list_follow_ups(
    store: Records, request: pb.ListFollowUpsRequest, _left: float | None
) -> Message:
    where = FollowUpFilter(
        request.task_id,
        request.run_id,
        codec.optional_word(STATE, request.state, "state"),
    )
    page = store.list_follow_ups(where, codec.page_request(request))
    return pb.ListFollowUpsResponse(
        follow_ups=map(codec.follow_up_message, page.items), next_page_token=page.next_token
    )


def _update_follow_up(
    store: Records, request: pb.UpdateFollowUpRequest, left: float | None
) -> Message:
    change = FollowUpChange(
        request.number,
        codec.ACTION.word(request.action, "action"),
        request.task_id,
        request.note,
    )
    changed = store.change_follow_up(change, left)
    return pb.UpdateFollowUpResponse(follow_up=codec.follow_up_message(changed))


def _list_board_tasks(
    store: Records, request: pb.ListBoardTasksRequest, _left: float | None
) -> Message:
    page = store.list_board_tasks(codec.page_request(request))
    return pb.ListBoardTasksResponse(
        tasks=map(codec.board_task_message, page.items), next_page_token=page.next_token
    )


def _drain_outbox(store: Records, request: pb.DrainOutboxRequest, left: float | None) -> Message:
    items = store.drain_outbox(request.limit, request.hold_seconds, left)
    return pb.DrainOutboxResponse(items=map(codec.outbox_item_message, items))


def _acknowledge_outbox(
    store: Records, request: pb.AcknowledgeOutboxRequest, left: float | None
) -> Message:
    store.acknowledge(request.number, request.task_id, left)
    return pb.AcknowledgeOutboxResponse()


def _store_eval_result(
    store: Records, request: pb.StoreEvalResultRequest, left: float | None
) -> Message:
    found = store.save_eval_result(check_eval_result(request.document), left)
    return pb.StoreEvalResultResponse(eval_result=codec.eval_result_message(found))


def _get_eval_result(
    store: Records, request: pb.GetEvalResultRequest, _left: float | None
) -> Message:
    found = store.get_eval_result(request.eval_id)
    return pb.GetEvalResultResponse(eval_result=codec.eval_result_message(found))


def _list_eval_results(
    store: Records, request: pb.ListEvalResultsRequest, _left: float | None
) -> Message:
    where = DocumentFilter(request.contract_id, request.overall_result)
    page = store.list_eval_results(where, codec.page_request(request))
    return pb.ListEvalResultsResponse(
        eval_results=map(codec.eval_result_message, page.items), next_page_token=page.next_token
    )


def _store_gate_report(
    store: Records, request: pb.StoreGateReportRequest, left: float | None
) -> Message:
    found = store.save_gate_report(check_gate_report(request.document), left)
    return pb.StoreGateReportResponse(report=codec.gate_report_message(found))


def _get_gate_report(
    store: Records, request: pb.GetGateReportRequest, _left: float | None
) -> Message:
    found = store.get_gate_report(request.report_id)
    return pb.GetGateReportResponse(report=codec.gate_report_message(found))


def _list_gate_reports(
    store: Records, request: pb.ListGateReportsRequest, _left: float | None
) -> Message:
    where = DocumentFilter(request.squad, request.verdict)
    page = store.list_gate_reports(where, codec.page_request(request))
    return pb.ListGateReportsResponse(
        reports=map(codec.gate_report_message, page.items), next_page_token=page.next_token
    )


def _store_playbook_entry(
    store: Records, request: pb.StorePlaybookEntryRequest, left: float | None
) -> Message:
    checked = check_playbook_entry(request.squad, request.document)
    found = store.save_playbook_entry(checked, left)
    return pb.StorePlaybookEntryResponse(entry=codec.playbook_entry_message(found))


def _list_playbook_entries(
    store: Records, request: pb.ListPlaybookEntriesRequest, _left: float | None
) -> Message:
    where = DocumentFilter(request.squad, request.status)
    page = store.list_playbook_entries(where, codec.page_request(request))
    return pb.ListPlaybookEntriesResponse(
        entries=map(codec.playbook_entry_message, page.items), next_page_token=page.next_token
    )


_METHODS: Mapping[str, Answer] = {
    "CreateRun": _rpc(pb.CreateRunRequest, _create_run),
    "RenewRun": _rpc(pb.RenewRunRequest, _renew_run),
    "FinishRun": _rpc(pb.FinishRunRequest, _finish_run),
    "CancelRun": _rpc(pb.CancelRunRequest, _cancel_run),
    "GetRun": _rpc(pb.GetRunRequest, _get_run),
    "ListRuns": _rpc(pb.ListRunsRequest, _list_runs),
    "RecordResult": _rpc(pb.RecordResultRequest, _record_result),
    "GetResult": _rpc(pb.GetResultRequest, _get_result),
    "ListResults": _rpc(pb.ListResultsRequest, _list_results),
    "AggregateResults": _rpc(pb.AggregateResultsRequest, _aggregate_results),
    "ListFollowUps": _rpc(pb.ListFollowUpsRequest, _list_follow_ups),
    "UpdateFollowUp": _rpc(pb.UpdateFollowUpRequest, _update_follow_up),
    "ListBoardTasks": _rpc(pb.ListBoardTasksRequest, _list_board_tasks),
    "DrainOutbox": _rpc(pb.DrainOutboxRequest, _drain_outbox),
    "AcknowledgeOutbox": _rpc(pb.AcknowledgeOutboxRequest, _acknowledge_outbox),
    "StoreEvalResult": _rpc(pb.StoreEvalResultRequest, _store_eval_result),
    "GetEvalResult": _rpc(pb.GetEvalResultRequest, _get_eval_result),
    "ListEvalResults": _rpc(pb.ListEvalResultsRequest, _list_eval_results),
    "StoreGateReport": _rpc(pb.StoreGateReportRequest, _store_gate_report),
    "GetGateReport": _rpc(pb.GetGateReportRequest, _get_gate_report),
    "ListGateReports": _rpc(pb.ListGateReportsRequest, _list_gate_reports),
    "StorePlaybookEntry": _rpc(pb.StorePlaybookEntryRequest, _store_playbook_entry),
    "ListPlaybookEntries": _rpc(pb.ListPlaybookEntriesRequest, _list_playbook_entries),
}
