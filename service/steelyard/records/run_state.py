"""A run inside a transaction: locked, changed, written back, with its events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from steelyard.errors import NotFoundError, PreconditionError, SteelyardError
from steelyard.records.model import EventType, FinishRequest, ResultStatus, RunStatus, Trigger
from steelyard.records.rows import EventRow, RunRow, insert_rows
from steelyard.records.schema import runs
from steelyard.records.writer import Transaction

__all__ = [
    "DEFAULT_LEASE_S",
    "MAX_LEASE_S",
    "RunState",
    "close_run",
    "lock_run",
    "lock_runs",
    "new_run_id",
    "no_run",
    "run_row",
    "save_run_states",
]

DEFAULT_LEASE_S = 300
MAX_LEASE_S = 7 * 24 * 3600
_MICROS = 1_000_000

_EVENT_OF = {
    RunStatus.COMPLETED: EventType.RUN_COMPLETED,
    RunStatus.FAILED: EventType.RUN_FAILED,
    RunStatus.CANCELLED: EventType.RUN_CANCELLED,
}


def new_run_id(number: int) -> str:
    """The store's name for a run that came without one."""
    return f"er-{number:016x}"


def run_row(
    number: int,
    run_id: str,
    trigger: Trigger,
    status: RunStatus,
    *,
    now: int,
    lease_seconds: int,
    event_count: int,
    summary: str = "",
    counted: ResultStatus | None = None,
) -> RunRow:
    """The row of a new run; `counted` is the status of a result that comes with it."""
    scored, skipped, errors = _counts(counted)
    return RunRow(
        number=number,
        run_id=run_id,
        trigger=trigger.value,
        status=status.value,
        summary=summary,
        error="",
        scored=scored,
        skipped=skipped,
        errors=errors,
        event_count=event_count,
        lease_seconds=lease_seconds,
        lease_expires_at=now + lease_seconds * _MICROS if status is RunStatus.RUNNING else None,
        started_at=None if status is RunStatus.PENDING else now,
        finished_at=now if status.is_terminal else None,
    )


def _counts(status: ResultStatus | None) -> tuple[int, int, int]:
    """What a result of a status adds to a run's scored, skipped and errors."""
    return (
        int(status is ResultStatus.SCORED),
        int(status is ResultStatus.SKIPPED),
        int(status is ResultStatus.ERROR),
    )


@dataclass(slots=True)
class RunState:
    """What a transaction changes of a run it has locked; written back by `save_run_states`."""

    run_id: str
    status: RunStatus
    scored: int
    skipped: int
    errors: int
    event_count: int
    lease_seconds: int
    lease_expires_at: int | None
    started_at: int | None
    changed: bool = False

    def refuse_unless_open(self, now: int) -> None:
        """Raises PreconditionError for a run that takes no more results."""
        if self.status.is_terminal:
            raise PreconditionError.at(
                "run_id", "RUN_FINISHED", f"run {self.run_id!r} is {self.status} and immutable"
            )
        if self.lease_expires_at is not None and self.lease_expires_at <= now:
            raise PreconditionError.at(
                "run_id", "RUN_LEASE_EXPIRED", f"the lease of run {self.run_id!r} is over"
            )

    def keep_alive(self, now: int, lease_seconds: int = 0) -> list[EventRow]:
        """Starts a pending run, extends the lease; returns the events to write."""
        events = []
        self.changed = True
        if self.status is RunStatus.PENDING:
            self.status = RunStatus.RUNNING
            self.started_at = now
            events.append(self.event(EventType.RUN_STARTED, now))
        self.lease_seconds = lease_seconds or self.lease_seconds
        self.lease_expires_at = now + self.lease_seconds * _MICROS
        return events

    def count(self, status: ResultStatus) -> None:
        """One more result of this status."""
        scored, skipped, errors = _counts(status)
        self.scored += scored
        self.skipped += skipped
        self.errors += errors

    def event(self, kind: EventType, now: int, task_id: str = "", message: str = "") -> EventRow:
        """The next event of the run."""
        self.event_count += 1
        return EventRow(self.run_id, self.event_count, kind.value, now, task_id, message)


_STATE_COLUMNS = (
    runs.c.run_id,
    runs.c.status,
    runs.c.scored,
    runs.c.skipped,
    runs.c.errors,
    runs.c.event_count,
    runs.c.lease_seconds,
    runs.c.lease_expires_at,
    runs.c.started_at,
)

_LOCK = (
    select(*_STATE_COLUMNS)
    .where(runs.c.run_id.in_(bindparam("run_ids", expanding=True)))
    .order_by(runs.c.run_id)
    .with_for_update()
)


def lock_runs(connection: Connection, run_ids: Iterable[str]) -> dict[str, RunState]:
    """The states of those runs that exist, locked in one order so that servers cannot deadlock."""
    wanted = sorted(set(run_ids))
    if not wanted:
        return {}
    return {
        row.run_id: RunState(row.run_id, RunStatus(row.status), *row[2:])
        for row in connection.execute(_LOCK, {"run_ids": wanted})
    }


def lock_run(connection: Connection, run_id: str) -> RunState:
    """One locked run; raises NotFoundError."""
    state = lock_runs(connection, [run_id]).get(run_id)
    if state is None:
        raise no_run(run_id)
    return state


def no_run(run_id: str) -> SteelyardError:
    return NotFoundError.at("run_id", "RUN_NOT_FOUND", f"there is no run {run_id!r}")


def save_run_states(connection: Connection, states: Sequence[RunState]) -> None:
    """Writes back what changed."""
    for state in states:
        if not state.changed:
            continue
        connection.execute(
            update(runs)
            .where(runs.c.run_id == state.run_id)
            .values(
                status=state.status.value,
                scored=state.scored,
                skipped=state.skipped,
                errors=state.errors,
                event_count=state.event_count,
                lease_seconds=state.lease_seconds,
                lease_expires_at=state.lease_expires_at,
                started_at=state.started_at,
            )
        )


def close_run(tx: Transaction, state: RunState, request: FinishRequest, **values: Any) -> None:
    """Writes the terminal state and its event."""
    message = request.error or request.summary
    event = state.event(_EVENT_OF[request.status], tx.now, message=message)
    insert_rows(tx.connection, [event])
    if request.summary:
        values["summary"] = request.summary
    tx.connection.execute(
        update(runs)
        .where(runs.c.run_id == state.run_id)
        .values(
            status=request.status.value,
            error=request.error,
            event_count=state.event_count,
            lease_expires_at=None,
            finished_at=tx.now,
            **values,
        )
    )
