"""The RecordsService by its handlers: bytes in, bytes out."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from steelyard.errors import AlreadyExistsError, InvalidInputError, NotFoundError, PreconditionError
from steelyard.records.store import Store
from steelyard.server.records import SERVICE, records_handlers
from steelyard.server.table import HandlerTable, ServerStreamHandler, UnaryHandler
from steelyard.server.task_codec import evaluation_message
from steelyard.v1 import records_pb2 as pb
from steelyard.v1 import steelyard_service_pb2, task_pb2
from tests.support.evaluations import eval_result, evaluation

M = TypeVar("M", bound=Message)


@dataclass
class Call:
    """A call that stays until it is told to go."""

    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def metadata(self) -> Mapping[str, str]:
        return {}

    def time_remaining(self) -> float | None:
        return 20.0

    def is_active(self) -> bool:
        return not self.gone.is_set()


@pytest.fixture
def table(store: Store) -> HandlerTable:
    return records_handlers(store)


def _ask(table: HandlerTable, request: Message, kind: type[M]) -> M:
    method = request.DESCRIPTOR.name.removesuffix("Request")
    handler = table[SERVICE + method]
    assert isinstance(handler, UnaryHandler)
    return kind.FromString(handler.call(request.SerializeToString(), Call()))


def test_every_method_of_the_service_has_a_handler(table: HandlerTable) -> None:
    service = steelyard_service_pb2.DESCRIPTOR.services_by_name["RecordsService"]
    assert set(table) == {SERVICE + method.name for method in service.methods}
    for method in service.methods:
        kind = ServerStreamHandler if method.server_streaming else UnaryHandler
        assert isinstance(table[SERVICE + method.name], kind)


def test_the_feature_flag_refuses_every_call() -> None:
    for handler in records_handlers(None).values():
        assert isinstance(handler, UnaryHandler | ServerStreamHandler)
        with pytest.raises(PreconditionError) as caught:
            list(handler.call(b"", Call()))
        assert caught.value.reason == "RECORDS_DISABLED"


def test_a_run_through_its_life(table: HandlerTable, store: Store) -> None:
    create = pb.CreateRunRequest(run_id="r", trigger=pb.RUN_TRIGGER_MANUAL, lease_seconds=90)
    run = _ask(table, create, pb.CreateRunResponse).run
    assert run.status == pb.RUN_STATUS_PENDING
    run = _ask(table, pb.RenewRunRequest(run_id="r"), pb.RenewRunResponse).run
    assert run.status == pb.RUN_STATUS_RUNNING
    assert run.lease_expires_at.ToDatetime() > run.started_at.ToDatetime()
    store.save_evaluation(evaluation("t", "r", 80), "")
    record = pb.RecordResultRequest(
        run_id="r", task_id="u", status=pb.RESULT_STATUS_ERROR, reason="judge away"
    )
    assert not _ask(table, record, pb.RecordResultResponse).replayed
    finish = pb.FinishRunRequest(run_id="r", status=pb.RUN_STATUS_COMPLETED, summary="done")
    run = _ask(table, finish, pb.FinishRunResponse).run
    assert (run.scored_count, run.error_count, run.summary) == (1, 1, "done")
    assert run.aggregates.mean_overall == 80
    assert _ask(table, pb.GetRunRequest(run_id="r"), pb.GetRunResponse).run == run
    assert list(_ask(table, pb.ListRunsRequest(), pb.ListRunsResponse).runs) == [run]
    _ask(
        table,
        pb.CreateRunRequest(run_id="c", trigger=pb.RUN_TRIGGER_API, start=True),
        pb.CreateRunResponse,
    )
    run = _ask(table, pb.CancelRunRequest(run_id="c"), pb.CancelRunResponse).run
    assert run.status == pb.RUN_STATUS_CANCELLED
    only = pb.ListRunsRequest(status=pb.RUN_STATUS_COMPLETED)
    assert [each.run_id for each in _ask(table, only, pb.ListRunsResponse).runs] == ["r"]


def test_results_and_follow_ups(table: HandlerTable, store: Store) -> None:
    given = evaluation("t", score=30, drafts=["Fix the retry loop"])
    run_id = store.save_evaluation(given, "").run_id
    store.save_evaluation(evaluation("u", score=90), "")
    listed = _ask(table, pb.ListResultsRequest(page_size=1), pb.ListResultsResponse)
    assert [each.task_id for each in listed.results] == ["u"]
    rest = pb.ListResultsRequest(page_size=1, page_token=listed.next_page_token)
    assert _ask(table, rest, pb.ListResultsResponse).results[0].task_id == "t"
    got = _ask(table, pb.GetResultRequest(run_id=run_id, task_id="t"), pb.GetResultResponse)
    assert got.summary.overall_score == 30
    assert got.evaluation.run_id == run_id
    expected = evaluation_message(given)
    assert list(got.evaluation.categories) == list(expected.categories)
    assert got.evaluation.evidence == expected.evidence
    assert got.evaluation.provenance == expected.provenance
    (follow_up,) = got.follow_ups
    assert follow_up.suggestion.state == task_pb2.SUGGESTION_STATE_CREATED
    assert list(got.evaluation.suggestions) == [follow_up.suggestion]
    followed = _ask(table, pb.ListFollowUpsRequest(task_id="t"), pb.ListFollowUpsResponse)
    assert list(followed.follow_ups) == [follow_up]
    (task,) = _ask(table, pb.ListBoardTasksRequest(), pb.ListBoardTasksResponse).tasks
    assert task.task_id == follow_up.suggestion.created_task_id
    assert task.task.source_metadata.suggestion_id == follow_up.suggestion.suggestion_id
    accept = pb.UpdateFollowUpRequest(number=follow_up.number, action=pb.FOLLOW_UP_ACTION_ACCEPT)
    assert _ask(table, accept, pb.UpdateFollowUpResponse).follow_up == follow_up
    weak = pb.ResultFilter(min_score=20, max_score=50, band="failing")
    found = _ask(
        table, pb.AggregateResultsRequest(filter=weak), pb.AggregateResultsResponse
    ).aggregates
    assert found.scored_count == 1
    assert [(each.band, each.count) for each in found.bands] == [("failing", 1)]
    assert len(found.days) == 1
    assert _ask(table, pb.DrainOutboxRequest(), pb.DrainOutboxResponse).items == []


def test_documents(table: HandlerTable) -> None:
    text = json.dumps(eval_result("c", 1, passed=False), indent=1)
    store = pb.StoreEvalResultRequest(document=text)
    stored = _ask(table, store, pb.StoreEvalResultResponse).eval_result
    assert stored.document == ""
    assert _ask(table, store, pb.StoreEvalResultResponse).eval_result == stored
    got = _ask(
        table, pb.GetEvalResultRequest(eval_id="eval-c-1"), pb.GetEvalResultResponse
    ).eval_result
    assert got.document == text
    assert got.overall_result == "fail"
    other = pb.StoreEvalResultRequest(document=json.dumps(eval_result("c", 1)))
    with pytest.raises(AlreadyExistsError) as caught:
        _ask(table, other, pb.StoreEvalResultResponse)
    assert caught.value.reason == "DOCUMENT_EXISTS"
    for where, count in (
        (pb.ListEvalResultsRequest(contract_id="c"), 1),
        (pb.ListEvalResultsRequest(overall_result="pass"), 0),
    ):
        assert len(_ask(table, where, pb.ListEvalResultsResponse).eval_results) == count
    for status in ("candidate", "promoted"):
        entry = json.dumps({"id": "rule-1", "status": status})
        put = pb.StorePlaybookEntryRequest(squad="alpha", document=entry)
        assert _ask(table, put, pb.StorePlaybookEntryResponse).entry.status == status
    listed = _ask(
        table, pb.ListPlaybookEntriesRequest(squad="alpha"), pb.ListPlaybookEntriesResponse
    )
    assert [each.status for each in listed.entries] == ["promoted"]
    with pytest.raises(NotFoundError):
        _ask(table, pb.GetGateReportRequest(report_id="0" * 64), pb.GetGateReportResponse)
    assert not _ask(table, pb.ListGateReportsRequest(), pb.ListGateReportsResponse).reports


NO_TOKEN = "x"  # noqa: S105  # a page token, no secret


def _stamp(seconds: int) -> Timestamp:
    return Timestamp(seconds=seconds)


@pytest.mark.parametrize(
    ("request_", "path", "reason"),
    [
        (pb.CreateRunRequest(), "trigger", "ENUM_INVALID"),
        (pb.CreateRunRequest(trigger=99), "trigger", "ENUM_INVALID"),  # type: ignore[arg-type]
        (pb.FinishRunRequest(run_id="r"), "status", "ENUM_INVALID"),
        (pb.FinishRunRequest(run_id="r", status=pb.RUN_STATUS_RUNNING), "status", "STATUS_INVALID"),
        (pb.RecordResultRequest(run_id="r", task_id="t", reason="x"), "status", "ENUM_INVALID"),
        (pb.ListRunsRequest(status=42), "status", "ENUM_INVALID"),  # type: ignore[arg-type]
        (pb.UpdateFollowUpRequest(number=1), "action", "ENUM_INVALID"),
        (pb.ListResultsRequest(page_size=-5), "page_size", "PAGE_SIZE_INVALID"),
        (pb.ListResultsRequest(page_token=NO_TOKEN), "page_token", "PAGE_TOKEN_INVALID"),
        (
            pb.ListResultsRequest(filter=pb.ResultFilter(min_score=101)),
            "filter.min_score",
            "SCORE_OUT_OF_RANGE",
        ),
        (
            pb.ListResultsRequest(filter=pb.ResultFilter(min_score=90, max_score=10)),
            "filter.min_score",
            "RANGE_EMPTY",
        ),
        (
            pb.AggregateResultsRequest(filter=pb.ResultFilter(since=_stamp(9), until=_stamp(3))),
            "filter.since",
            "RANGE_EMPTY",
        ),
        (
            pb.AggregateResultsRequest(filter=pb.ResultFilter(since=_stamp(2**60))),
            "filter.since",
            "TIME_INVALID",
        ),
        (pb.DrainOutboxRequest(limit=-1), "limit", "LIMIT_INVALID"),
        (pb.DrainOutboxRequest(hold_seconds=9999), "hold_seconds", "HOLD_INVALID"),
        (
            pb.StoreGateReportRequest(document="{}"),
            "document.reproduction.evidence_hash",
            "HASH_MISMATCH",
        ),
    ],
)
def test_bad_requests_are_refused_with_the_field_named(
    table: HandlerTable, request_: Message, path: str, reason: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        _ask(table, request_, pb.CreateRunResponse)
    assert [(each.path, each.reason) for each in caught.value.violations] == [(path, reason)]


def test_bytes_that_are_no_message_are_refused(table: HandlerTable) -> None:
    for name, handler in table.items():
        if isinstance(handler, UnaryHandler):
            with pytest.raises(InvalidInputError) as caught:
                handler.call(b"\xff\xff\xff", Call())
            assert caught.value.reason == "MALFORMED_MESSAGE", name


def test_watching_a_run_until_it_ends(url: str) -> None:
    """Two servers: one is asked, the other one works."""
    with Store(url) as asked, Store(url) as working:
        _ask(
            records_handlers(working),
            pb.CreateRunRequest(run_id="r", trigger=pb.RUN_TRIGGER_API, start=True),
            pb.CreateRunResponse,
        )
        seen: list[pb.EvalRunEvent] = []

        def watch(after: int, call: Call, done: Callable[[pb.EvalRunEvent], None]) -> None:
            handler = records_handlers(asked)[SERVICE + "WatchRun"]
            assert isinstance(handler, ServerStreamHandler)
            request = pb.WatchRunRequest(run_id="r", after_sequence=after)
            for answer in handler.call(request.SerializeToString(), call):
                done(pb.WatchRunResponse.FromString(answer).event)

        watcher = threading.Thread(target=watch, args=(0, Call(), seen.append), daemon=True)
        watcher.start()
        for index in range(5):
            working.save_evaluation(evaluation(f"t-{index}", "r"), "")
        _ask(records_handlers(working), pb.CancelRunRequest(run_id="r"), pb.CancelRunResponse)
        watcher.join(20)
        assert not watcher.is_alive()
        assert [event.sequence for event in seen] == list(range(1, 9))
        assert seen[-1].type == pb.RUN_EVENT_TYPE_RUN_CANCELLED
        later: list[pb.EvalRunEvent] = []
        watch(6, Call(), later.append)
        assert later == seen[6:]
        handler = records_handlers(asked)[SERVICE + "WatchRun"]
        assert isinstance(handler, ServerStreamHandler)
        unknown = handler.call(pb.WatchRunRequest(run_id="none").SerializeToString(), Call())
        with pytest.raises(NotFoundError):
            next(unknown)


def test_watching_stops_when_the_caller_has_gone(store: Store, table: HandlerTable) -> None:
    _ask(
        table,
        pb.CreateRunRequest(run_id="r", trigger=pb.RUN_TRIGGER_API, start=True),
        pb.CreateRunResponse,
    )
    handler = table[SERVICE + "WatchRun"]
    assert isinstance(handler, ServerStreamHandler)
    call = Call()
    stream = handler.call(pb.WatchRunRequest(run_id="r").SerializeToString(), call)
    assert len([next(stream), next(stream)]) == 2
    call.gone.set()
    assert list(stream) == []
