"""Scheduled evaluations: at each tick of a cron expression, the results since the last completed
scheduled run are aggregated into a new run.

A tick is claimed by inserting its run: the tick is unique in the store, so one server wins it. The
window ends at the tick and starts where the last completed scheduled run ended, so the results of a
tick that failed or that no server was there for are in the next one's window.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo

from cronsim import CronSim, CronSimError
from sqlalchemy import Connection, and_, or_, select, text
from sqlalchemy.exc import SQLAlchemyError

from steelyard.errors import InvalidInputError, PreconditionError, SteelyardError
from steelyard.records import aggregates
from steelyard.records.model import (
    EventType,
    FinishRequest,
    ResultFilter,
    RunRecord,
    RunStatus,
    Trigger,
)
from steelyard.records.numbering import Clock, micros_of, moment_of
from steelyard.records.rows import EventRow, insert_rows
from steelyard.records.run_state import (
    close_run,
    lock_run,
    new_run_id,
    run_row,
)
from steelyard.records.runs import expire_leases, get_run
from steelyard.records.schema import runs
from steelyard.records.writer import Transaction

__all__ = ["Cron", "Schedule", "Tick", "claim_tick", "complete_tick"]

_log = logging.getLogger(__name__)

TICK_LEASE_S = 300


class Cron:
    """A cron expression in a time zone."""

    def __init__(self, expression: str, zone: tzinfo) -> None:
        """Five fields as in Debian's cron. Raises InvalidInputError for any other text."""
        self._zone = zone
        try:
            CronSim(expression, datetime(2020, 1, 1, tzinfo=zone))
        except CronSimError as error:
            raise InvalidInputError.at("schedule.cron", "CRON_INVALID", str(error)) from error
        if len(expression.split()) != 5:
            raise InvalidInputError.at("schedule.cron", "CRON_INVALID", "must have five fields")
        self._expression = expression

    def next_after(self, moment: datetime) -> datetime | None:
        """The first tick after `moment`, None when the expression never fires again."""
        return next(CronSim(self._expression, moment.astimezone(self._zone)), None)


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick that this server has claimed."""

    run_id: str
    window_start: datetime
    window_end: datetime


def claim_tick(tx: Transaction, tick: datetime) -> Tick | None:
    """Inserts the tick's run, running under a lease; None when another server has it, or while an
    earlier tick still runs: windows never overlap, and the next tick takes what this one leaves.

    From here on no result can come to the window: the results table is locked for a moment against
    writers that took their time before the tick, which on SQLite the write lock does by itself.
    """
    if tx.is_postgresql:
        tx.connection.execute(text("LOCK TABLE eval_task_results IN SHARE MODE"))
    expire_leases(tx, None)
    micros = micros_of(tick)
    start = _window_start(tx.connection)
    if micros <= start or _is_claimed(tx.connection, micros):
        return None
    number = tx.numbering.next()
    run_id = new_run_id(number)
    row = run_row(
        number,
        run_id,
        Trigger.SCHEDULE,
        RunStatus.RUNNING,
        now=tx.now,
        lease_seconds=TICK_LEASE_S,
        event_count=2,
    )
    window = row._replace(schedule_tick=micros, window_start=start, window_end=micros)
    insert_rows(tx.connection, [window])
    insert_rows(
        tx.connection,
        [
            EventRow(run_id, 1, EventType.RUN_CREATED.value, tx.now),
            EventRow(run_id, 2, EventType.RUN_STARTED.value, tx.now),
        ],
    )
    return Tick(run_id, moment_of(start), tick)


def _is_claimed(connection: Connection, tick: int) -> bool:
    query = select(runs.c.number).where(
        or_(
            runs.c.schedule_tick == tick,
            and_(
                runs.c.trigger == Trigger.SCHEDULE.value, runs.c.status == RunStatus.RUNNING.value
            ),
        )
    )
    return connection.execute(query).first() is not None


def _window_start(connection: Connection) -> int:
    last = connection.execute(
        select(runs.c.window_end)
        .where(runs.c.trigger == Trigger.SCHEDULE.value, runs.c.status == RunStatus.COMPLETED.value)
        .order_by(runs.c.window_end.desc())
        .limit(1)
    ).scalar_one_or_none()
    return 0 if last is None else int(last)


def complete_tick(tx: Transaction, tick: Tick) -> RunRecord:
    """Aggregates the window into the run and completes it."""
    state = lock_run(tx.connection, tick.run_id)
    state.refuse_unless_open(tx.now)
    window = ResultFilter(since=tick.window_start, until=tick.window_end)
    found = aggregates.aggregate(tx.connection, window)
    total = found.scored + found.skipped + found.errors
    close_run(
        tx,
        state,
        FinishRequest(tick.run_id, RunStatus.COMPLETED, summary=f"{total} results in the window"),
        aggregates=aggregates.to_json(found),
        scored=found.scored,
        skipped=found.skipped,
        errors=found.errors,
    )
    return get_run(tx.connection, tick.run_id)


class Schedule:
    """The thread that waits for ticks. It survives a store that is away: that tick's results are in
    the next window."""

    def __init__(
        self,
        cron: Cron,
        run_tick: Callable[[datetime], RunRecord | None],
        clock: Clock,
    ) -> None:
        """`run_tick` claims and completes a tick."""
        self._cron = cron
        self._run_tick = run_tick
        self._clock = clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="steelyard-schedule", daemon=True)

    def start(self) -> None:
        """Begins to wait for the next tick; ticks of the past are not made up for."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, after the tick that is running."""
        self._stop.set()
        self._thread.join()

    def _loop(self) -> None:
        while (tick := self._cron.next_after(self._clock())) is not None:
            while (left := (tick - self._clock()).total_seconds()) > 0:
                # Short waits, since the clock may be set meanwhile.
                if self._stop.wait(min(left, 30.0)):
                    return
            self._tick(tick)
        _log.warning("the schedule's cron expression never fires again")

    def _tick(self, tick: datetime) -> None:
        try:
            run = self._run_tick(tick)
        except PreconditionError as error:
            _log.warning("scheduled run at %s was overtaken: %s", tick.isoformat(), error)
        except (SteelyardError, SQLAlchemyError) as error:
            _log.error("scheduled run at %s failed: %s", tick.isoformat(), error)
        else:
            if run is not None:
                _log.info("scheduled run %s at %s is complete", run.run_id, tick.isoformat())
