"""The cases of the RecordsService about results."""

from __future__ import annotations

from collections.abc import Iterator

import records_store
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import code_pb2
from methods import (
    KEY_REUSED,
    NO_RUN,
    RUN_FINISHED,
    UNKNOWN,
    Json,
    Method,
    next_token,
    page_cases,
    pages,
)
from records_store import RECORDS
from wire_format import DIGEST, VERSION, Case, Group, Raw, Status

from steelyard.server.table import HandlerTable
from steelyard.v1 import records_pb2

DAYS = {"since": "2024-01-15T00:00:00Z", "until": "2024-01-17T00:00:00Z"}


def record_result(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}RecordResult", {})
    skipped = records_store.recorded("FN-3", "RESULT_STATUS_SKIPPED")
    fresh = records_store.recorded("FN-9", "RESULT_STATUS_ERROR")
    return method.group(
        "records_record_result",
        "A task without scores.",
        method.answered("again", "A key that has stored this; the run has ended since.", skipped),
        method.refused(
            "key_reused",
            "A key that has stored something else.",
            {**skipped, "reason": "Another reason."},
            KEY_REUSED,
        ),
        method.refused("run_finished", "A run that has ended.", fresh, RUN_FINISHED),
        method.refused("run_unknown", "A run that nobody created.", {**fresh, **UNKNOWN}, NO_RUN),
        method.refused(
            "scored",
            "Scores come from ScoreTask, which computes them.",
            {**fresh, "status": "RESULT_STATUS_SCORED"},
            Status.refused("STATUS_INVALID", "status"),
        ),
        method.refused(
            "status_zero",
            "The unspecified number of an enum.",
            {**fresh, "status": 0},
            Status.refused("ENUM_INVALID", "status"),
        ),
        method.refused(
            "reason_missing",
            "It has to say why.",
            {**fresh, "reason": " "},
            Status.refused("REQUIRED", "reason"),
        ),
        method.refused(
            "task_missing",
            "It has to say which task.",
            {**fresh, "taskId": ""},
            Status.refused("REQUIRED", "task_id"),
        ),
    )


def get_result(table: HandlerTable) -> Group:
    shapes = {
        "evaluation.provenance.engineVersion": VERSION,
        "evaluation.provenance.engineDigest": DIGEST,
    }
    method = Method(table, f"{RECORDS}GetResult", shapes)
    missing = Status.refused("RESULT_NOT_FOUND", "task_id", code_pb2.NOT_FOUND)
    done = {"runId": "run-done"}
    return method.group(
        "records_get_result",
        "One result in full.",
        method.answered("scored", "With its evaluation.", {**done, "taskId": "FN-1"}),
        method.answered(
            "with_follow_ups", "Suggested, and suppressed at once.", {**done, "taskId": "FN-2"}
        ),
        method.answered(
            "with_duplicate",
            "What another run suggests already.",
            {"runId": "run-failed", "taskId": "FN-2"},
        ),
        method.answered(
            "with_task",
            "A follow-up that another board made a task of.",
            {"runId": "run-outbox", "taskId": "FN-acknowledged"},
        ),
        method.answered("skipped", "Without an evaluation.", {**done, "taskId": "FN-3"}),
        method.answered("error", "Without one too.", {**done, "taskId": "FN-4"}),
        method.refused("task_unknown", "Of no such task.", {**done, "taskId": "FN-0"}, missing),
        method.refused("run_unknown", "Of no such run.", {**UNKNOWN, "taskId": "FN-1"}, missing),
    )


def bad_filters(method: Method) -> list[Case]:
    """Filters that are refused."""
    late = Timestamp(seconds=10**15)
    no_moment = records_pb2.ListResultsRequest(filter=records_pb2.ResultFilter(until=late))

    def refused(name: str, description: str, where: Json, reason: str, field: str) -> Case:
        status = Status.refused(reason, f"filter.{field}")
        return method.refused(name, description, {"filter": where}, status)

    return [
        refused(
            "score_too_high",
            "No score is that high.",
            {"maxScore": 101},
            "SCORE_OUT_OF_RANGE",
            "max_score",
        ),
        refused(
            "score_negative",
            "No score is that low.",
            {"minScore": -1},
            "SCORE_OUT_OF_RANGE",
            "min_score",
        ),
        refused(
            "scores_reversed",
            "Nothing can match.",
            {"minScore": 60, "maxScore": 59},
            "RANGE_EMPTY",
            "min_score",
        ),
        refused(
            "times_reversed",
            "Nothing can match.",
            {"since": "2024-01-16T00:00:00Z", "until": "2024-01-15T00:00:00Z"},
            "RANGE_EMPTY",
            "since",
        ),
        refused(
            "status_unknown",
            "A number that the enum does not have.",
            {"status": 99},
            "ENUM_INVALID",
            "status",
        ),
        # The JSON mapping cannot say this; the filter is field 1 of every request that has one.
        Case(
            "time_too_late",
            "A timestamp after the year 9999.",
            [Raw(no_moment.SerializeToString())],
            (),
            Status.refused("TIME_INVALID", "filter.until"),
        ),
    ]


def list_results(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}ListResults", {})
    weak = {"filter": {**DAYS, "band": "weak"}}
    of_task = {"filter": {"taskId": "FN-2"}}
    return method.group(
        "records_list_results",
        "Results, newest first.",
        method.answered("of_run", "One of each kind, and more.", {"filter": {"runId": "run-done"}}),
        method.answered("of_task", "In two runs.", of_task),
        method.answered(
            "of_status",
            "What could not be scored.",
            {"filter": {**DAYS, "status": "RESULT_STATUS_ERROR"}},
        ),
        method.answered("of_band", "By the band of the overall.", weak),
        method.answered(
            "of_scores", "Both bounds count.", {"filter": {**DAYS, "minScore": 81, "maxScore": 81}}
        ),
        method.answered(
            "of_least_score",
            "A bound of 0 is one: what is not scored is below it.",
            {"filter": {"runId": "run-done", "minScore": 0}},
        ),
        method.answered(
            "of_moment",
            "The first moment counts, the last does not.",
            {"filter": {"since": "2024-01-15T09:00:00Z", "until": "2024-01-16T09:00:00Z"}},
        ),
        method.answered("none", "Nothing matches.", {"filter": {"runId": "run-to-finish"}}),
        *page_cases(method, pages(method, of_task), next_token(table, "ListResults", weak)),
        *bad_filters(method),
    )


def aggregate_results(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}AggregateResults", {})
    return method.group(
        "records_aggregate_results",
        "Numbers over results.",
        method.answered("of_days", "Means, bands and the trend.", {"filter": DAYS}),
        method.answered("of_run", "Of one run.", {"filter": {"runId": "run-done"}}),
        method.answered(
            "none", "No mean where nothing is scored.", {"filter": {"runId": "run-to-finish"}}
        ),
        *bad_filters(method),
    )


def groups(table: HandlerTable) -> Iterator[Group]:
    """All files; the answers come from the table, over the store of records_store."""
    for group in (record_result, get_result, list_results, aggregate_results):
        yield group(table)
