"""A run inside a transaction: locked, changed, written back, with its events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from steelyard.errors import NotFoundError, PreconditionError, SteelyardError
from steelyard.records.model import EventType, FinishRequest, ResultStatus, RunStatus, Trigger
from steelyard.records.schema import run_events, runs
from steelyard.records.writer import Transaction

__all__ = [
    "COUNTER",
    "DEFAULT_LEASE_S",
    "MAX_LEASE_S",
    "RunState",
    "close_run",
    "event_row",
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

# The column that counts results of a status.
COUNTER = {
    ResultStatus.SCORED: "scored",
    ResultStatus.SKIPPED: "skipped",
    ResultStatus.ERROR: "errors",
}
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
    summary: str = "",
    **more: Any,
) -> dict[str, Any]:
    """The columns of a new run."""
    started = status is not RunStatus.PENDING
    return {
        "number": number,
        "run_id": run_id,
        "trigger": trigger.value,
        "status": status.value,
        "summary": summary,
        "error": "",
        "scored": 0,
        "skipped": 0,
        "errors": 0,
        "event_count": 0,
        "lease_seconds": lease_seconds,
        "lease_expires_at": now + lease_seconds * _MICROS if status is RunStatus.RUNNING else None,
        "started_at": now if started else None,
        "finished_at": now if status.is_terminal else None,
        "schedule_tick": None,
        "window_start": None,
        "window_end": None,
        "aggregates": None,
        **more,
    }


def event_row(
    run_id: str, sequence: int, kind: EventType, now: int, task_id: str = "", message: str = ""
) -> dict[str, Any]:
    """The columns of a new event."""
    return {
        "run_id": run_id,
        "sequence": sequence,
        "type": kind.value,
        "at": now,
        "task_id": task_id,
        "message": message,
    }


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

    def keep_alive(self, now: int, lease_seconds: int = 0) -> list[dict[str, Any]]:
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
        name = COUNTER[status]
        setattr(self, name, getattr(self, name) + 1)

    def event(self, kind: EventType, now: int, task_id: str = "") -> dict[str, Any]:
        """The next event of the run."""
        self.event_count += 1
        return event_row(self.run_id, self.event_count, kind, now, task_id)


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
    event = state.event(_EVENT_OF[request.status], tx.now)
    event["message"] = request.error or request.summary
    tx.connection.execute(insert(run_events), event)
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
