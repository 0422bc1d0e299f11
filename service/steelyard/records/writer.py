"""Group commit: one thread per process writes for all, many calls in one transaction.

Calls that arrive while a transaction commits wait in a queue and share the next one, so the cost of
making data durable is paid once for all of them and a single caller never waits for company. A call
is answered only after the commit of its transaction.

Each call is isolated. A refusal (a `SteelyardError` in a work's outcomes) touches its own call
alone, and when a transaction fails for what is in it, its calls are run again one by one, each in a
savepoint. When it fails for the store's health (full, away), every call in it gets that error.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from steelyard.errors import LimitError, SteelyardError, UnavailableError
from steelyard.records.engine import storage_error, storage_errors, writing
from steelyard.records.numbering import Numbering

__all__ = ["Transaction", "Work", "Writer", "each"]

Q = TypeVar("Q")
T = TypeVar("T")

_MAX_BATCH = 512
_MAX_QUEUE = 10_000
# A race with another server is lost at most once per attempt: its winner has committed by then.
_ATTEMPTS = 5
_FOREVER = -1


@dataclass(frozen=True, slots=True)
class Transaction:
    """What a work writes with."""

    connection: Connection
    numbering: Numbering
    now: int

    @property
    def is_postgresql(self) -> bool:
        return self.connection.dialect.name == "postgresql"


# Writes a group of requests of one kind and gives one outcome for each, in order: a value, or the
# error that refuses this request alone.
Work = Callable[[Transaction, Sequence[Q]], Sequence[T | SteelyardError]]


def each(write: Callable[[Transaction, Q], T]) -> Work[Q, T]:
    """A work from a function for one request; what a refused request has written is undone."""

    def work(tx: Transaction, requests: Sequence[Q]) -> list[T | SteelyardError]:
        outcomes: list[T | SteelyardError] = []
        for request in requests:
            try:
                with tx.connection.begin_nested():
                    outcomes.append(write(tx, request))
            except SteelyardError as refusal:
                outcomes.append(refusal)
        return outcomes

    return work


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


@dataclass(slots=True, eq=False)
class _Call:
    """A request on its way through the writer.

    `answered` is held until the outcome is there. A bare lock, since a `Future` costs each call two
    more locks and a condition, and the calls of a busy server wait by the hundred. The writer's
    gate guards `started` and `given_up`: of the two, what comes first decides.
    """

    work: Work[Any, Any]
    request: Any
    answered: threading.Lock = field(default_factory=_held)
    outcome: Any = None
    started: bool = False
    given_up: bool = False


class Writer:
    """The writer thread of one process."""

    def __init__(self, engine: Engine, numbering: Numbering) -> None:
        self._engine = writing(engine)
        self._numbering = numbering
        self._queue: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name="steelyard-writer", daemon=True)
        self._thread.start()

    def write(self, work: Work[Q, T], request: Q, timeout: float | None = None) -> T:
        """Runs `work` on `request` and returns its outcome after the commit.

        Raises the refusal of this request, LimitError (queue or disk full), UnavailableError (store
        away, or `timeout` seconds over: the message says whether the call can still be stored).
        """
        call = _Call(work, request)
        with self._gate:
            if self._closed:
                raise UnavailableError("STORE_CLOSED", "the store is closing")
            if self._queue.qsize() >= _MAX_QUEUE:
                raise LimitError("WRITE_QUEUE_FULL", "too many writes are waiting")
            self._queue.put(call)
        # A deadline may lie beyond what a lock can wait for.
        wait = _FOREVER if timeout is None else min(max(timeout, 0), threading.TIMEOUT_MAX)
        if not call.answered.acquire(timeout=wait):
            self._give_up(call)
        if isinstance(call.outcome, Exception):
            raise call.outcome
        outcome: T = call.outcome
        return outcome

    def _give_up(self, call: _Call) -> None:
        """Raises what is true of a call whose time is over, unless it is answered by now."""
        with self._gate:
            call.given_up = not call.started
        if call.given_up:
            raise UnavailableError("WRITE_TIMEOUT", "no time left; nothing was stored")
        if not call.answered.acquire(blocking=False):
            raise UnavailableError(
                "WRITE_OUTCOME_UNKNOWN",
                "no time left while committing; try again with the same idempotency key",
            )

    def close(self) -> None:
        """Writes what waits, then ends the thread. Later calls are refused."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._next_batch()
            calls = self._start(batch)
            if calls:
                self._answer(calls)

    def _next_batch(self) -> tuple[list[_Call], bool]:
        batch: list[_Call] = []
        call = self._queue.get()
        while call is not None:
            batch.append(call)
            if len(batch) == _MAX_BATCH:
                return batch, False
            try:
                call = self._queue.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _start(self, batch: Sequence[_Call]) -> list[_Call]:
        with self._gate:
            calls = [call for call in batch if not call.given_up]
            for call in calls:
                call.started = True
        return calls

    def _answer(self, calls: Sequence[_Call]) -> None:
        try:
            outcomes = self._transact(calls)
        except Exception as error:  # whatever it is: the callers wait for an answer
            outcomes = [error] * len(calls)
        for call, outcome in zip(calls, outcomes, strict=True):
            call.outcome = outcome
            call.answered.release()
        # Those who were answered often come again at once. On a worker's core they run when this
        # thread lets them; without that they miss the next group, and groups are half as large.
        os.sched_yield()

    def _transact(self, calls: Sequence[_Call]) -> Sequence[Any]:
        with storage_errors():
            try:
                with self._engine.begin() as connection:
                    return self._grouped(connection, calls)
            except Exception as error:
                if _says_unhealthy(error):
                    raise
            with self._engine.begin() as connection:
                return [self._alone(connection, call) for call in calls]

    def _transaction(self, connection: Connection) -> Transaction:
        return Transaction(connection, self._numbering, self._numbering.now())

    def _grouped(self, connection: Connection, calls: Sequence[_Call]) -> Sequence[Any]:
        groups: dict[Work[Any, Any], list[int]] = {}
        for index, call in enumerate(calls):
            groups.setdefault(call.work, []).append(index)
        tx = self._transaction(connection)
        outcomes: list[Any] = [None] * len(calls)
        for work, indices in groups.items():
            answers = work(tx, [calls[index].request for index in indices])
            for index, answer in zip(indices, answers, strict=True):
                outcomes[index] = answer
        return outcomes

    def _alone(self, connection: Connection, call: _Call) -> Any:
        for _ in range(_ATTEMPTS):
            try:
                with connection.begin_nested():
                    return call.work(self._transaction(connection), [call.request])[0]
            except DBAPIError as error:
                if _says_unhealthy(error):
                    raise
                if not (isinstance(error, IntegrityError) or _is_conflict(error)):
                    return error
                lost = error
            except Exception as error:
                return error
        return lost


def _says_unhealthy(error: Exception) -> bool:
    if not isinstance(error, DBAPIError):
        return isinstance(error, PoolTimeoutError)
    meaning = storage_error(error)
    # A deadlock or a serialisation failure is no illness: the calls are run again one by one.
    return meaning is not None and not (meaning.reason == "STORE_BUSY" and _is_conflict(error))


def _is_conflict(error: DBAPIError) -> bool:
    return str(getattr(error.orig, "sqlstate", "") or "")[:2] == "40"
