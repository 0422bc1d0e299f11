"""Follow-up suggestions: stored with their result, then accepted or dismissed.

The domain decides a suggestion's fate from what it knew. The store has the last word on what is
suggested or created already, since two servers can decide at the same moment; and it makes the
tasks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from steelyard.errors import NotFoundError, PreconditionError
from steelyard.records.board import TaskBoard, is_queued, task_document
from steelyard.records.checks import check_text
from steelyard.records.document import dump, load, members
from steelyard.records.model import FollowUpFilter, FollowUpRecord, Page, PageRequest
from steelyard.records.numbering import moment_of, number_to_moment
from steelyard.records.paging import Pager
from steelyard.records.schema import follow_ups
from steelyard.records.writer import Transaction
from steelyard.scoring.followups import (
    Fate,
    Suggestion,
    SuggestionState,
    recommend,
)
from steelyard.scoring.suggesting import mark_duplicates
from steelyard.scoring.text import check_id

__all__ = [
    "FollowUpAction",
    "FollowUpChange",
    "active_suggestions",
    "change_follow_up",
    "follow_ups_of",
    "list_follow_ups",
    "save_follow_ups",
]

# A person may accept or dismiss what was suggested, and accept what was suppressed. A created
# suggestion is a task; its life goes on there.
_MOVES = {
    SuggestionState.SUGGESTED: (SuggestionState.SUPPRESSED, SuggestionState.CREATED),
    SuggestionState.SUPPRESSED: (SuggestionState.CREATED,),
    SuggestionState.CREATED: (),
}
# Their values stand in columns.
_APART = frozenset(("run_id", "fate"))
_ACTIVE = (SuggestionState.SUGGESTED.value, SuggestionState.CREATED.value)


class FollowUpAction(StrEnum):
    """What a person decides about a suggestion."""

    ACCEPT = "accept"
    DISMISS = "dismiss"


@dataclass(frozen=True, slots=True)
class FollowUpChange:
    """A decision about follow-up `number`. Accepting with `task_id` names the task that somebody
    made by hand; without it the board makes one. `note` is kept for audit."""

    number: int
    action: FollowUpAction
    task_id: str = ""
    note: str = ""


def active_suggestions(connection: Connection, suggestion_ids: Collection[str]) -> set[str]:
    """Those of the ids that are suggested or created already."""
    if not suggestion_ids:
        return set()
    return set(
        connection.execute(
            select(follow_ups.c.suggestion_id).where(
                follow_ups.c.suggestion_id.in_(set(suggestion_ids)), follow_ups.c.state.in_(_ACTIVE)
            )
        ).scalars()
    )


def save_follow_ups(
    tx: Transaction, board: TaskBoard, batches: Sequence[tuple[str, Sequence[Suggestion]]]
) -> None:
    """Stores the suggestions of several results, each (run id, suggestions in order), and creates a
    task for each that the policy says to create. One that is active already is stored as a
    suppressed duplicate."""
    ids = {each.suggestion_id for _, suggestions in batches for each in suggestions}
    active = active_suggestions(tx.connection, ids)
    rows = []
    for run_id, suggestions in batches:
        for each in mark_duplicates(suggestions, active):
            number = tx.numbering.next()
            fate = each.fate
            if fate.state is SuggestionState.SUGGESTED:
                active.add(each.suggestion_id)
                if recommend(each).should_create:
                    fate = _created(tx, board, number, replace(each, run_id=run_id))
            rows.append(_row(number, run_id, each, fate, tx.now))
    if rows:
        tx.connection.execute(insert(follow_ups), rows)


def _created(tx: Transaction, board: TaskBoard, number: int, suggestion: Suggestion) -> Fate:
    """The fate of a suggestion once the board has it; it stays suggested while it is queued."""
    task_id = board.create(tx, number, task_document(suggestion))
    return _fate_of_task(task_id) if task_id else Fate(SuggestionState.SUGGESTED)


def _fate_of_task(task_id: str) -> Fate:
    return Fate(SuggestionState.CREATED, created_task_id=task_id)


def _fate_columns(fate: Fate) -> dict[str, Any]:
    return {
        "state": fate.state.value,
        "suppressed_reason": fate.suppressed_reason.value if fate.suppressed_reason else "",
        "matched_task_id": fate.matched_task_id,
        "matched_suggestion_id": fate.matched_suggestion_id,
        "created_task_id": fate.created_task_id,
    }


def _row(number: int, run_id: str, suggestion: Suggestion, fate: Fate, now: int) -> dict[str, Any]:
    return {
        "number": number,
        "run_id": run_id,
        "task_id": suggestion.parent_task_id,
        "suggestion_id": suggestion.suggestion_id,
        **_fate_columns(fate),
        "note": "",
        "document": dump(members(suggestion, _APART)).decode(),
        "updated_at": now,
    }


def change_follow_up(board: TaskBoard, tx: Transaction, change: FollowUpChange) -> FollowUpRecord:
    """Accepts or dismisses a suggestion. The same decision again changes nothing.

    Raises NotFoundError, and PreconditionError for a move that the suggestion's life does not have.
    """
    check_id("task_id", change.task_id, required=False)
    check_text("note", change.note)
    query = select(follow_ups).where(follow_ups.c.number == change.number)
    row = tx.connection.execute(query.with_for_update()).first()
    if row is None:
        raise NotFoundError.at(
            "number", "FOLLOW_UP_NOT_FOUND", f"there is no follow-up {change.number}"
        )
    stored = _record(row)
    fate = _next_fate(board, tx, change, stored)
    if fate == stored.suggestion.fate:
        return stored
    tx.connection.execute(
        update(follow_ups)
        .where(follow_ups.c.number == change.number)
        .values(**_fate_columns(fate), note=change.note, updated_at=tx.now)
    )
    return _record(tx.connection.execute(query).one())


def _next_fate(
    board: TaskBoard, tx: Transaction, change: FollowUpChange, stored: FollowUpRecord
) -> Fate:
    suggestion, fate = stored.suggestion, stored.suggestion.fate
    if is_queued(tx.connection, suggestion.suggestion_id):
        if change.action is FollowUpAction.ACCEPT and not change.task_id:
            return fate
        raise PreconditionError.at(
            "number",
            "FOLLOW_UP_QUEUED",
            f"follow-up {stored.number} is on its way to another board",
        )
    if change.action is FollowUpAction.DISMISS:
        # A dismissal is the suppression that has no reason of the policy.
        wanted = Fate(SuggestionState.SUPPRESSED)
    else:
        wanted = Fate(SuggestionState.CREATED, created_task_id=change.task_id)
        if fate.state is SuggestionState.CREATED and not change.task_id:
            return fate
    if wanted == fate:
        return fate
    if wanted.state not in _MOVES[fate.state]:
        raise PreconditionError.at(
            "number", "FOLLOW_UP_DECIDED", f"follow-up {stored.number} is {fate.state}"
        )
    if change.action is FollowUpAction.DISMISS:
        return wanted
    if fate.state is SuggestionState.SUPPRESSED and active_suggestions(
        tx.connection, [suggestion.suggestion_id]
    ):
        raise PreconditionError.at(
            "number", "FOLLOW_UP_ACTIVE", "the same suggestion is suggested or created elsewhere"
        )
    if change.task_id:
        return wanted
    return _created(tx, board, tx.numbering.next(), suggestion)


def follow_ups_of(
    connection: Connection, pairs: Collection[tuple[str, str]]
) -> dict[tuple[str, str], list[FollowUpRecord]]:
    """The follow-ups of results named (run id, task id), each in the order they came."""
    found: dict[tuple[str, str], list[FollowUpRecord]] = {pair: [] for pair in pairs}
    rows = connection.execute(
        select(follow_ups)
        .where(follow_ups.c.run_id.in_({run_id for run_id, _ in pairs}))
        .order_by(follow_ups.c.number)
    )
    for row in rows:
        if (row.run_id, row.task_id) in found:
            found[row.run_id, row.task_id].append(_record(row))
    return found


def list_follow_ups(
    connection: Connection, pager: Pager, where: FollowUpFilter, request: PageRequest
) -> Page[FollowUpRecord]:
    """Follow-ups, newest first."""
    query: Select[Any] = select(follow_ups)
    if where.task_id:
        query = query.where(follow_ups.c.task_id == where.task_id)
    if where.run_id:
        query = query.where(follow_ups.c.run_id == where.run_id)
    if where.state is not None:
        query = query.where(follow_ups.c.state == where.state.value)
    return pager.page(
        connection,
        query,
        follow_ups.c.number,
        request,
        ("follow_ups", where),
        lambda rows: [_record(row) for row in rows],
    )


def _record(row: Row[Any]) -> FollowUpRecord:
    fate = {
        "state": row.state,
        "suppressedReason": row.suppressed_reason or None,
        "matchedTaskId": row.matched_task_id,
        "matchedSuggestionId": row.matched_suggestion_id,
        "createdTaskId": row.created_task_id,
    }
    kept = json.loads(row.document) | {"runId": row.run_id, "fate": fate}
    return FollowUpRecord(
        number=row.number,
        suggestion=load(Suggestion, kept),
        note=row.note,
        created_at=number_to_moment(row.number),
        updated_at=moment_of(row.updated_at),
    )
