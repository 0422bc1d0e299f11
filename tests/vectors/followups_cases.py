"""The cases of the RecordsService about follow-ups, its board and its outbox."""

from __future__ import annotations

from collections.abc import Iterator

from google.rpc import code_pb2
from methods import Method, next_token, page_cases, pages
from records_store import CHOICES, RECORDS, number_of
from wire_format import STAMP, TASK_ID, Group, Status

from steelyard.server.table import HandlerTable


def list_follow_ups(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}ListFollowUps", {})
    done = {"runId": "run-done"}
    of_task = {"taskId": "FN-2"}
    return method.group(
        "records_list_follow_ups",
        "Follow-ups, newest first.",
        method.answered("of_task", "In two runs.", of_task),
        method.answered(
            "of_state", "Kept for audit.", {**of_task, "state": "SUGGESTION_STATE_SUPPRESSED"}
        ),
        method.answered("none", "Nothing matches.", {**done, "taskId": "FN-1"}),
        *page_cases(method, pages(method, done), next_token(table, "ListFollowUps", of_task)),
        method.refused(
            "state_unknown",
            "A number that the enum does not have.",
            {"state": 99},
            Status.refused("ENUM_INVALID", "state"),
        ),
    )


def update_follow_up(table: HandlerTable) -> Group:
    shapes = {
        "followUp.updatedAt": STAMP,
        "followUp.suggestion.createdTaskId": TASK_ID,
        "followUp.suggestion.recommendation.reason": TASK_ID,
    }
    method = Method(table, f"{RECORDS}UpdateFollowUp", shapes)
    created, _, _, dismissed, to_accept, to_name, to_dismiss = (
        {"number": number_of(table, "FN-6", title)} for title in CHOICES
    )
    accept = {"action": "FOLLOW_UP_ACTION_ACCEPT", "note": "Agreed."}
    dismiss = {"action": "FOLLOW_UP_ACTION_DISMISS", "note": "Not now."}
    # The newer of FN-2's two: the older one is suggested.
    duplicate = {"number": number_of(table, "FN-2")}
    queued = {"number": number_of(table, "FN-waits-1")}
    unknown = Status.refused("FOLLOW_UP_NOT_FOUND", "number", code_pb2.NOT_FOUND)
    return method.group(
        "records_update_follow_up",
        "What a person decides; the same again changes nothing.",
        method.answered("accepted", "The board makes a task.", {**to_accept, **accept}),
        method.answered(
            "accepted_as", "Somebody made the task.", {**to_name, **accept, "taskId": "FN-10"}
        ),
        method.answered("dismissed", "It is suppressed.", {**to_dismiss, **dismiss}),
        method.answered(
            "accepted_late",
            "What was dismissed can be accepted.",
            {**dismissed, **accept, "taskId": "FN-11"},
        ),
        method.refused(
            "decided",
            "What is a task cannot be dismissed.",
            {**created, **dismiss},
            Status.refused("FOLLOW_UP_DECIDED", "number", code_pb2.FAILED_PRECONDITION),
        ),
        method.refused(
            "active",
            "The same is suggested elsewhere.",
            {**duplicate, **accept},
            Status.refused("FOLLOW_UP_ACTIVE", "number", code_pb2.FAILED_PRECONDITION),
        ),
        method.refused(
            "queued",
            "It is on its way to another board.",
            {**queued, **dismiss},
            Status.refused("FOLLOW_UP_QUEUED", "number", code_pb2.FAILED_PRECONDITION),
        ),
        method.refused("unknown", "No such follow-up.", {**accept, "number": 1}, unknown),
        method.refused(
            "action_zero",
            "The unspecified number of an enum.",
            {**to_accept, "action": 0},
            Status.refused("ENUM_INVALID", "action"),
        ),
    )


def list_board_tasks(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}ListBoardTasks", {})
    # First comes what was accepted last. These pages follow one that records_store has made.
    old = pages(method, {})[-2:]
    return method.group(
        "records_list_board_tasks",
        "Tasks of the store's own board, newest first.",
        *page_cases(
            method, old, next_token(table, "ListRuns", {"trigger": "RUN_TRIGGER_TASK_COMPLETION"})
        ),
    )


def drain_outbox(table: HandlerTable) -> Group:
    shapes = {
        "items.*.number": "^[0-9]+$",
        "items.*.task.sourceParentTaskId": "[0-9]+",
        "items.*.task.sourceMetadata.suggestionId": "[0-9a-f]{32}",
        "items.*.task.sourceMetadata.dedupeKey": "[0-9]+",
        "items.*.createdAt": STAMP,
    }
    method = Method(table, f"{RECORDS}DrainOutbox", shapes)
    hold = Status.refused("HOLD_INVALID", "hold_seconds")
    limit = Status.refused("LIMIT_INVALID", "limit")
    return method.group(
        "records_drain_outbox",
        "What waits for another board, oldest first.",
        method.answered("first", "The next of many like it.", {"limit": 1, "holdSeconds": 3600}),
        method.refused("limit_too_large", "1,000 at most.", {"limit": 1001}, limit),
        method.refused("limit_negative", "Less than none.", {"limit": -1}, limit),
        method.refused("hold_too_long", "An hour at most.", {"holdSeconds": 3601}, hold),
        method.refused("hold_negative", "Shorter than none.", {"holdSeconds": -1}, hold),
    )


def acknowledge_outbox(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}AcknowledgeOutbox", {})
    item = {"number": number_of(table, "FN-to-acknowledge"), "taskId": "EXT-2"}
    known = {"number": number_of(table, "FN-acknowledged"), "taskId": "EXT-1"}
    unknown = Status.refused("OUTBOX_ITEM_NOT_FOUND", "number", code_pb2.NOT_FOUND)
    return method.group(
        "records_acknowledge_outbox",
        "The task that another board made.",
        method.answered("acknowledged", "The follow-up is created.", item),
        method.answered("again", "The same task again changes nothing.", known),
        method.refused(
            "other_task",
            "It has become another task.",
            {**known, "taskId": "EXT-3"},
            Status.refused("ALREADY_ACKNOWLEDGED", "task_id", code_pb2.FAILED_PRECONDITION),
        ),
        method.refused("unknown", "No such item.", {**item, "number": 1}, unknown),
        method.refused(
            "task_missing",
            "It has to say which task.",
            {**item, "taskId": ""},
            Status.refused("REQUIRED", "task_id"),
        ),
    )


def groups(table: HandlerTable) -> Iterator[Group]:
    """All files; the answers come from the table, over the store of records_store."""
    for group in (
        list_follow_ups,
        update_follow_up,
        list_board_tasks,
        drain_outbox,
        acknowledge_outbox,
    ):
        yield group(table)
