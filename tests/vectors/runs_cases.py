"""The cases of the RecordsService about runs."""

from __future__ import annotations

from collections.abc import Iterator

from google.rpc import code_pb2
from methods import (
    KEY_REUSED,
    NO_RUN,
    RUN_FINISHED,
    UNKNOWN,
    Method,
    next_token,
    page_cases,
    pages,
)
from records_store import DONE, RECORDS, ask
from wire_format import RUN_ID, STAMP, Group, Status

from steelyard.server.table import HandlerTable

NEW_RUN = {"run.createdAt": STAMP, "run.startedAt": STAMP, "run.leaseExpiresAt": STAMP}
ENDED_RUN = {"run.finishedAt": STAMP}
TASK_RUNS = {"trigger": "RUN_TRIGGER_TASK_COMPLETION"}


def create_run(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}CreateRun", {**NEW_RUN, "run.runId": RUN_ID})
    pending = {
        "runId": "run-created",
        "trigger": "RUN_TRIGGER_MANUAL",
        "summary": "Made by a vector.",
        "idempotencyKey": "create run-created",
    }
    return method.group(
        "records_create_run",
        "A new run, or the one that the same key has made.",
        method.answered("pending", "A run that waits, with its own id and a key.", pending),
        method.answered(
            "started",
            "A run that the server names and that starts at once, under a lease.",
            {"trigger": "RUN_TRIGGER_API", "leaseSeconds": 604_800, "start": True},
        ),
        method.answered("again", "A known key: the run as it is now, completed.", DONE),
        method.refused(
            "key_reused",
            "A known key with a new run.",
            {**pending, **UNKNOWN, "idempotencyKey": DONE["idempotencyKey"]},
            KEY_REUSED,
        ),
        method.refused(
            "run_exists",
            "An id that is taken, without a key.",
            {**DONE, "idempotencyKey": ""},
            Status.refused("RUN_EXISTS", "run_id", code_pb2.ALREADY_EXISTS),
        ),
        method.refused(
            "trigger_zero",
            "The unspecified number of an enum.",
            {**pending, "trigger": 0},
            Status.refused("ENUM_INVALID", "trigger"),
        ),
        method.refused(
            "trigger_reserved",
            "Scheduled runs are made by the schedule alone.",
            {**pending, "trigger": "RUN_TRIGGER_SCHEDULE"},
            Status.refused("TRIGGER_RESERVED", "trigger"),
        ),
        method.refused(
            "lease_too_long",
            "A lease is at most a week long.",
            {**pending, "leaseSeconds": 604_801},
            Status.refused("LEASE_INVALID", "lease_seconds"),
        ),
        method.refused(
            "id_invalid",
            "A blank at the end of an id.",
            {**pending, "runId": "run "},
            Status.refused("ID_INVALID", "run_id"),
        ),
    )


def renew_run(table: HandlerTable) -> Group:
    shapes = {"run.startedAt": STAMP, "run.leaseExpiresAt": STAMP}
    method = Method(table, f"{RECORDS}RenewRun", shapes)
    renewed = {"runId": "run-to-renew"}
    return method.group(
        "records_renew_run",
        "A longer lease; a pending run starts.",
        method.answered("own_length", "A week more, as the run has it.", renewed),
        method.refused("run_unknown", "A run that nobody created.", UNKNOWN, NO_RUN),
        method.refused(
            "run_finished", "A run that has ended.", {"runId": "run-done"}, RUN_FINISHED
        ),
        method.refused(
            "lease_too_long",
            "A lease is at most a week long.",
            {**renewed, "leaseSeconds": 604_801},
            Status.refused("LEASE_INVALID", "lease_seconds"),
        ),
    )


def finish_run(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}FinishRun", ENDED_RUN)
    completed = {"runId": "run-done", "status": "RUN_STATUS_COMPLETED"}
    failed = {"runId": "run-to-fail", "status": "RUN_STATUS_FAILED", "error": "No judge."}
    return method.group(
        "records_finish_run",
        "The end of a run, with numbers over its results.",
        method.answered(
            "completed",
            "A run without results.",
            {**completed, "runId": "run-to-finish", "summary": "Nothing to do."},
        ),
        method.answered("failed", "A run that failed says why.", failed),
        method.answered("again", "The same end again changes nothing.", completed),
        method.refused(
            "ended_otherwise",
            "A completed run does not fail.",
            {**failed, "runId": "run-done"},
            RUN_FINISHED,
        ),
        method.refused(
            "run_unknown", "A run that nobody created.", {**completed, **UNKNOWN}, NO_RUN
        ),
        method.refused(
            "status_invalid",
            "A run is cancelled by CancelRun.",
            {**completed, "status": "RUN_STATUS_CANCELLED"},
            Status.refused("STATUS_INVALID", "status"),
        ),
        method.refused(
            "error_missing",
            "A run that failed has to say why.",
            {**failed, "error": ""},
            Status.refused("REQUIRED", "error"),
        ),
        method.refused(
            "error_unexpected",
            "A completed run has no error.",
            {**completed, "error": "No judge."},
            Status.refused("UNEXPECTED", "error"),
        ),
    )


def cancel_run(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}CancelRun", ENDED_RUN)
    return method.group(
        "records_cancel_run",
        "A run that is no longer wanted.",
        method.answered("cancelled", "A pending run.", {"runId": "run-to-cancel"}),
        method.answered("again", "The same end again changes nothing.", {"runId": "run-cancelled"}),
        method.refused("run_finished", "A completed run.", {"runId": "run-done"}, RUN_FINISHED),
        method.refused("run_unknown", "A run that nobody created.", UNKNOWN, NO_RUN),
    )


def get_run(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}GetRun", {})
    (scheduled,) = ask(table, f"{RECORDS}ListRuns", {"trigger": "RUN_TRIGGER_SCHEDULE"}).runs
    return method.group(
        "records_get_run",
        "One run.",
        method.answered("completed", "With results of each kind.", {"runId": "run-done"}),
        method.answered("failed", "With its error.", {"runId": "run-failed"}),
        method.answered("cancelled", "Never started.", {"runId": "run-cancelled"}),
        method.answered("scheduled", "With a window.", {"runId": scheduled.run_id}),
        method.refused("run_unknown", "A run that nobody created.", UNKNOWN, NO_RUN),
    )


def list_runs(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}ListRuns", {})
    manual = {"trigger": "RUN_TRIGGER_MANUAL", "status": "RUN_STATUS_COMPLETED"}
    return method.group(
        "records_list_runs",
        "Runs, newest first.",
        method.answered("of_trigger", "Three runs.", TASK_RUNS),
        method.answered(
            "of_trigger_and_status", "One of them.", {**TASK_RUNS, "status": "RUN_STATUS_FAILED"}
        ),
        method.answered(
            "none",
            "Nothing matches.",
            {"trigger": "RUN_TRIGGER_SCHEDULE", "status": "RUN_STATUS_FAILED"},
        ),
        *page_cases(method, pages(method, TASK_RUNS), next_token(table, "ListRuns", manual)),
        method.refused(
            "status_unknown",
            "A number that the enum does not have.",
            {"status": 99},
            Status.refused("ENUM_INVALID", "status"),
        ),
    )


def watch_run(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}WatchRun", {})
    return method.group(
        "records_watch_run",
        "The events of a run; the stream ends with the last one.",
        method.answered("all", "From the beginning.", {"runId": "run-done"}),
        method.answered(
            "resumed",
            "After the event that was seen last.",
            {"runId": "run-done", "afterSequence": 6},
        ),
        method.answered(
            "nothing_left", "After the last event.", {"runId": "run-failed", "afterSequence": 4}
        ),
        method.refused("run_unknown", "A run that nobody created.", UNKNOWN, NO_RUN),
    )


def groups(table: HandlerTable) -> Iterator[Group]:
    """All files; the answers come from the table, over the store of records_store."""
    for group in (create_run, renew_run, finish_run, cancel_run, get_run, list_runs, watch_run):
        yield group(table)
