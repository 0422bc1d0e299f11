"""Runs: lifecycle, lease and events.

pending -> running -> completed | failed | cancelled; a terminal run never changes again. A running
run has a lease that every stored result and every renewal extends; a run left running past its
lease is failed, since whoever ran it is gone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from steelyard._core import hash_object
from steelyard.errors import (
    AlreadyExistsError,
    InvalidInputError,
)
from steelyard.records import aggregates, idempotency
from steelyard.records.checks import check_text
from steelyard.records.model import (
    EventType,
    FinishRequest,
    Page,
    PageRequest,
    ResultFilter,
    RunDraft,
    RunEvent,
    RunFilter,
    RunRecord,
    RunStatus,
    Trigger,
)
from steelyard.records.numbering import moment_of, number_to_moment
from steelyard.records.paging import Pager
from steelyard.records.rows import EventRow, insert_rows
from steelyard.records.run_state import (
    DEFAULT_LEASE_S,
    MAX_LEASE_S,
    close_run,
    lock_run,
    lock_runs,
    new_run_id,
    no_run,
    run_row,
    save_run_states,
)
from steelyard.records.schema import run_events, runs
from steelyard.records.writer import Transaction
from steelyard.scoring.text import check_id

__all__ = [
    "check_run_draft",
    "create_run",
    "events_after",
    "expire_leases",
    "finish_run",
    "get_run",
    "list_runs",
    "renew_run",
]


def check_run_draft(draft: RunDraft) -> RunDraft:
    """Raises InvalidInputError that names the field; fills the default lease."""
    check_id("run_id", draft.run_id, required=False)
    check_id("idempotency_key", draft.idempotency_key, required=False)
    check_text("summary", draft.summary)
    if draft.trigger is Trigger.SCHEDULE:
        raise InvalidInputError.at(
            "trigger", "TRIGGER_RESERVED", "scheduled runs are made by the schedule alone"
        )
    if not 0 <= draft.lease_seconds <= MAX_LEASE_S:
        raise InvalidInputError.at(
            "lease_seconds",
            "LEASE_INVALID",
            f"is {draft.lease_seconds}, must be 0 (for {DEFAULT_LEASE_S}) to {MAX_LEASE_S}",
        )
    return replace(draft, lease_seconds=draft.lease_seconds or DEFAULT_LEASE_S)


def create_run(tx: Transaction, draft: RunDraft) -> RunRecord:
    """Creates a run, or returns the one that the same idempotency key or run id has created."""
    content = hash_object(
        [draft.run_id, draft.trigger.value, draft.summary, draft.lease_seconds, draft.start]
    )
    made = idempotency.find(tx.connection, "run", draft.idempotency_key, content)
    if made:
        return get_run(tx.connection, made[0])
    number = tx.numbering.next()
    run_id = draft.run_id or new_run_id(number)
    if draft.run_id and _exists(tx.connection, run_id):
        raise AlreadyExistsError.at("run_id", "RUN_EXISTS", f"run {run_id!r} exists")
    status = RunStatus.RUNNING if draft.start else RunStatus.PENDING
    kinds = [EventType.RUN_CREATED, *([EventType.RUN_STARTED] if draft.start else [])]
    row = run_row(
        number,
        run_id,
        draft.trigger,
        status,
        now=tx.now,
        lease_seconds=draft.lease_seconds,
        summary=draft.summary,
        event_count=len(kinds),
    )
    insert_rows(tx.connection, [row])
    insert_rows(
        tx.connection,
        [EventRow(run_id, index, kind.value, tx.now) for index, kind in enumerate(kinds, 1)],
    )
    idempotency.remember(tx, "run", draft.idempotency_key, content, [run_id])
    return get_run(tx.connection, run_id)


def _exists(connection: Connection, run_id: str) -> bool:
    return (
        connection.execute(select(runs.c.number).where(runs.c.run_id == run_id)).first() is not None
    )


def renew_run(tx: Transaction, request: tuple[str, int]) -> RunRecord:
    """Extends the lease of (run id, seconds; 0 keeps the run's own); a pending run starts."""
    run_id, lease_seconds = request
    if not 0 <= lease_seconds <= MAX_LEASE_S:
        raise InvalidInputError.at(
            "lease_seconds", "LEASE_INVALID", f"is {lease_seconds}, must be 0..{MAX_LEASE_S}"
        )
    state = lock_run(tx.connection, run_id)
    state.refuse_unless_open(tx.now)
    insert_rows(tx.connection, state.keep_alive(tx.now, lease_seconds))
    save_run_states(tx.connection, [state])
    return get_run(tx.connection, run_id)


def finish_run(tx: Transaction, request: FinishRequest) -> RunRecord:
    """Ends a run and stores its aggregates. Ending it the same way again returns it unchanged."""
    check_text("summary", request.summary)
    check_text("error", request.error, required=request.status is RunStatus.FAILED)
    if request.error and request.status is not RunStatus.FAILED:
        raise InvalidInputError.at("error", "UNEXPECTED", "belongs to failed runs")
    state = lock_run(tx.connection, request.run_id)
    if state.status.is_terminal:
        stored = get_run(tx.connection, request.run_id)
        if stored.status is request.status and _says_nothing_new(request, stored):
            return stored
    state.refuse_unless_open(tx.now)
    found = aggregates.aggregate(tx.connection, ResultFilter(run_id=request.run_id))
    close_run(tx, state, request, aggregates=aggregates.to_json(found))
    return get_run(tx.connection, request.run_id)


def _says_nothing_new(request: FinishRequest, stored: RunRecord) -> bool:
    return request.summary in ("", stored.summary) and request.error in ("", stored.error)


def expire_leases(tx: Transaction, _request: None) -> list[str]:
    """Fails every run left running past its lease; returns their ids."""
    over = tx.connection.execute(
        select(runs.c.run_id)
        .where(runs.c.status == RunStatus.RUNNING.value, runs.c.lease_expires_at <= tx.now)
        .order_by(runs.c.run_id)
    ).scalars()
    failed = []
    for state in lock_runs(tx.connection, over).values():
        # Between the two queries another server may have failed it or heard of it.
        expires = state.lease_expires_at
        if state.status is RunStatus.RUNNING and expires is not None and expires <= tx.now:
            error = f"lease of {state.lease_seconds} s is over"
            found = aggregates.aggregate(tx.connection, ResultFilter(run_id=state.run_id))
            request = FinishRequest(state.run_id, RunStatus.FAILED, error=error)
            close_run(tx, state, request, aggregates=aggregates.to_json(found))
            failed.append(state.run_id)
    return failed


def get_run(connection: Connection, run_id: str) -> RunRecord:
    """One run; raises NotFoundError."""
    row = connection.execute(select(runs).where(runs.c.run_id == run_id)).first()
    if row is None:
        raise no_run(run_id)
    return _run(row)


def list_runs(
    connection: Connection, pager: Pager, where: RunFilter, request: PageRequest
) -> Page[RunRecord]:
    """Runs, newest first."""
    query: Select[Any] = select(runs)
    if where.status is not None:
        query = query.where(runs.c.status == where.status.value)
    if where.trigger is not None:
        query = query.where(runs.c.trigger == where.trigger.value)
    return pager.page(
        connection,
        query,
        runs.c.number,
        request,
        ("runs", where),
        lambda rows: [_run(row) for row in rows],
    )


def events_after(
    connection: Connection, run_id: str, sequence: int, limit: int
) -> tuple[RunStatus, list[RunEvent]]:
    """The run's status and up to `limit` events after `sequence`, oldest first."""
    # The status is read first: once it is terminal, no event can follow those read after it.
    row = connection.execute(select(runs.c.status).where(runs.c.run_id == run_id)).first()
    if row is None:
        raise no_run(run_id)
    found = connection.execute(
        select(run_events)
        .where(run_events.c.run_id == run_id, run_events.c.sequence > sequence)
        .order_by(run_events.c.sequence)
        .limit(limit)
    )
    events = [
        RunEvent(
            event.run_id,
            event.sequence,
            EventType(event.type),
            moment_of(event.at),
            event.task_id,
            event.message,
        )
        for event in found
    ]
    return RunStatus(row.status), events


def _moment(micros: int | None) -> Any:
    return None if micros is None else moment_of(micros)


def _run(row: Row[Any]) -> RunRecord:
    return RunRecord(
        number=row.number,
        run_id=row.run_id,
        trigger=Trigger(row.trigger),
        status=RunStatus(row.status),
        summary=row.summary,
        error=row.error,
        scored=row.scored,
        skipped=row.skipped,
        errors=row.errors,
        event_count=row.event_count,
        lease_seconds=row.lease_seconds,
        lease_expires_at=_moment(row.lease_expires_at),
        created_at=number_to_moment(row.number),
        started_at=_moment(row.started_at),
        finished_at=_moment(row.finished_at),
        window_start=_moment(row.window_start),
        window_end=_moment(row.window_end),
        aggregates=None if row.aggregates is None else aggregates.from_json(row.aggregates),
    )
