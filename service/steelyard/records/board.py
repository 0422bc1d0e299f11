"""Where follow-ups become tasks: the built-in board, or an outbox that other boards drain.

A board writes inside the transaction that stores the result, so a result and its tasks are stored
together or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from sqlalchemy import Connection, Row, insert, select, update

from steelyard.errors import InvalidInputError, NotFoundError, PreconditionError
from steelyard.records.model import (
    BoardTask,
    OutboxItem,
    Page,
    PageRequest,
)
from steelyard.records.numbering import number_to_moment
from steelyard.records.paging import Pager
from steelyard.records.schema import board_tasks, follow_ups, outbox
from steelyard.records.writer import Transaction
from steelyard.scoring.followups import Suggestion, SuggestionState
from steelyard.scoring.text import check_id

__all__ = [
    "BOARDS",
    "BuiltinBoard",
    "OutboxBoard",
    "TaskBoard",
    "acknowledge",
    "drain",
    "is_queued",
    "list_board_tasks",
    "task_document",
]

TRIAGE = "triage"
MAX_DRAIN = 1000
MAX_HOLD_S = 3600
DEFAULT_HOLD_S = 60


class TaskBoard(Protocol):
    """Turns a follow-up into a task, within the transaction of its result."""

    def create(self, tx: Transaction, number: int, task: dict[str, Any]) -> str:
        """The new task's id, or empty when the board will name it later. `number` is free to use;
        `task` is a `task_document`."""


def task_document(suggestion: Suggestion) -> dict[str, Any]:
    """The task that a suggestion asks for, as JSON."""
    evidence = "".join(f"- {ref.evidence_id}\n" for ref in suggestion.evidence_refs)
    body = (
        f"## Problem\n{suggestion.description}\n\n"
        f"## Expected outcome\n{suggestion.title}\n\n"
        f"## Severity\n{suggestion.severity} (priority {suggestion.priority})\n\n"
        f"## Rationale\n{suggestion.rationale}\n\n"
        f"## Evidence\n{evidence}"
    )
    return {
        "column": TRIAGE,
        "title": suggestion.title,
        "body": body,
        "priority": suggestion.priority.value,
        "sourceParentTaskId": suggestion.parent_task_id,
        "sourceMetadata": {
            "type": "eval_follow_up",
            "runId": suggestion.run_id,
            "suggestionId": suggestion.suggestion_id,
            "policyMode": suggestion.policy_mode.value,
            "dedupeKey": suggestion.dedupe_key,
        },
    }


class BuiltinBoard:
    """A table of the store."""

    def create(self, tx: Transaction, number: int, task: dict[str, Any]) -> str:
        task_id = f"task-{number:016x}"
        tx.connection.execute(
            insert(board_tasks).values(
                number=number,
                task_id=task_id,
                suggestion_id=task["sourceMetadata"]["suggestionId"],
                board_column=task["column"],
                title=task["title"],
                body=task["body"],
                source_parent_task_id=task["sourceParentTaskId"],
                source_metadata=json.dumps(task["sourceMetadata"], ensure_ascii=False),
            )
        )
        return task_id


class OutboxBoard:
    """Keeps the task until another board has drained and acknowledged it."""

    def create(self, tx: Transaction, number: int, task: dict[str, Any]) -> str:
        if is_queued(tx.connection, task["sourceMetadata"]["suggestionId"]):
            return ""
        tx.connection.execute(
            insert(outbox).values(
                number=number,
                suggestion_id=task["sourceMetadata"]["suggestionId"],
                task=json.dumps(task, ensure_ascii=False),
                attempts=0,
                held_until=0,
                external_task_id="",
            )
        )
        return ""


BOARDS: dict[str, TaskBoard] = {"builtin": BuiltinBoard(), "outbox": OutboxBoard()}


def is_queued(connection: Connection, suggestion_id: str) -> bool:
    """True while the outbox holds the suggestion and no board has acknowledged it."""
    query = select(outbox.c.number).where(
        outbox.c.suggestion_id == suggestion_id, outbox.c.acknowledged_at.is_(None)
    )
    return connection.execute(query).first() is not None


def drain(tx: Transaction, request: tuple[int, int]) -> list[OutboxItem]:
    """Up to `limit` items that nobody holds, oldest first, held for `seconds` (0: 60).

    An item that is not acknowledged by then is given out again, so its board must create a task
    once per suggestion id.
    """
    limit, seconds = request
    if not 0 <= limit <= MAX_DRAIN:
        raise InvalidInputError.at("limit", "LIMIT_INVALID", f"is {limit}, must be 0..{MAX_DRAIN}")
    if not 0 <= seconds <= MAX_HOLD_S:
        raise InvalidInputError.at(
            "hold_seconds", "HOLD_INVALID", f"is {seconds}, must be 0..{MAX_HOLD_S}"
        )
    rows = tx.connection.execute(
        select(outbox)
        .where(outbox.c.acknowledged_at.is_(None), outbox.c.held_until <= tx.now)
        .order_by(outbox.c.number)
        .limit(limit or 100)
        .with_for_update(skip_locked=True)
    ).all()
    tx.connection.execute(
        update(outbox)
        .where(outbox.c.number.in_([row.number for row in rows]))
        .values(
            held_until=tx.now + (seconds or DEFAULT_HOLD_S) * 1_000_000,
            attempts=outbox.c.attempts + 1,
        )
    )
    return [
        OutboxItem(
            row.number,
            row.suggestion_id,
            json.loads(row.task),
            number_to_moment(row.number),
            row.attempts + 1,
        )
        for row in rows
    ]


def acknowledge(tx: Transaction, request: tuple[int, str]) -> None:
    """Notes that item `number` became task `task_id`: its follow-up is created. Saying the same
    again changes nothing; another task id is refused."""
    number, task_id = request
    check_id("task_id", task_id)
    row = tx.connection.execute(
        select(outbox).where(outbox.c.number == number).with_for_update()
    ).first()
    if row is None:
        raise NotFoundError.at("number", "OUTBOX_ITEM_NOT_FOUND", f"there is no item {number}")
    if row.acknowledged_at is not None:
        if row.external_task_id == task_id:
            return
        raise PreconditionError.at(
            "task_id", "ALREADY_ACKNOWLEDGED", f"item {number} became {row.external_task_id!r}"
        )
    tx.connection.execute(
        update(outbox)
        .where(outbox.c.number == number)
        .values(acknowledged_at=tx.now, external_task_id=task_id)
    )
    tx.connection.execute(
        update(follow_ups)
        .where(
            follow_ups.c.suggestion_id == row.suggestion_id,
            follow_ups.c.state == SuggestionState.SUGGESTED.value,
        )
        .values(state=SuggestionState.CREATED.value, created_task_id=task_id, updated_at=tx.now)
    )


def list_board_tasks(connection: Connection, pager: Pager, request: PageRequest) -> Page[BoardTask]:
    """Tasks of the built-in board, newest first."""

    def build(rows: Sequence[Row[Any]]) -> list[BoardTask]:
        return [
            BoardTask(
                row.number,
                row.task_id,
                row.board_column,
                row.title,
                row.body,
                row.source_parent_task_id,
                json.loads(row.source_metadata),
                number_to_moment(row.number),
            )
            for row in rows
        ]

    return pager.page(
        connection, select(board_tasks), board_tasks.c.number, request, ("board",), build
    )
