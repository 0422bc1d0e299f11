"""The store: one object per process that reads, writes and keeps leases."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from steelyard.errors import SteelyardError
from steelyard.records import (
    aggregates,
    board,
    documents,
    followups,
    migrate,
    results,
    runs,
    schedule,
)
from steelyard.records.board import BOARDS, TaskBoard
from steelyard.records.checks import CheckedResult, check_evaluation, check_unscored
from steelyard.records.documents import CheckedDocument
from steelyard.records.engine import is_embedded, open_engine, storage_errors, store_url
from steelyard.records.followups import FollowUpChange
from steelyard.records.model import (
    Aggregates,
    BoardTask,
    DocumentFilter,
    FinishRequest,
    FollowUpFilter,
    FollowUpRecord,
    GateReport,
    OutboxItem,
    Page,
    PageRequest,
    PlaybookEntry,
    ResultFilter,
    ResultRecord,
    ResultSummary,
    RunDraft,
    RunEvent,
    RunFilter,
    RunRecord,
    RunStatus,
    StoredEvalResult,
    UnscoredResult,
)
from steelyard.records.numbering import NODES, Clock, Numbering
from steelyard.records.paging import Pager, load_page_key
from steelyard.records.schedule import Tick
from steelyard.records.writer import Work, Writer, each
from steelyard.scoring.followups import Fate
from steelyard.scoring.policy import TASK_EVALUATION, Policy
from steelyard.scoring.ports import SavedEvaluation
from steelyard.scoring.task_types import TaskEvaluation

__all__ = ["Store", "utc_now"]

_log = logging.getLogger(__name__)

Q = TypeVar("Q")
T = TypeVar("T")

_LEASE_CHECK_S = 5.0


def utc_now() -> datetime:
    """The clock of a store that is not given another."""
    return datetime.now(UTC)


class Store:
    """Runs, results, follow-ups, outbox and documents of one database.

    Every writing method returns after its data is durable. All methods may raise UnavailableError
    (database away or busy; the next call tries again by itself) and writing ones LimitError (disk
    or queue full); nothing of such a call is acknowledged. `timeout` is in seconds.
    """

    def __init__(
        self,
        store: str = "",
        *,
        policies: Sequence[Policy] = (TASK_EVALUATION,),
        task_board: TaskBoard = BOARDS["builtin"],
        clock: Clock = utc_now,
        lease_check_seconds: float = _LEASE_CHECK_S,
    ) -> None:
        """Opens the store: a file path, a database URL, or empty for the embedded default.

        `policies` are those that stored results are recomputed with. An embedded store is migrated;
        PostgreSQL must have the schema of this release, else PreconditionError.
        """
        self._engine: Engine = open_engine(store_url(store))
        try:
            if is_embedded(self._engine):
                migrate.upgrade(self._engine)
            else:
                migrate.check_current(self._engine)
            with storage_errors(), self._engine.connect() as connection:
                self._pager = Pager(load_page_key(connection))
        except BaseException:
            self._engine.dispose()
            raise
        self._reader = (
            self._engine
            if is_embedded(self._engine)
            else self._engine.execution_options(isolation_level="REPEATABLE READ")
        )
        self._writer = Writer(self._engine, Numbering(clock, secrets.randbelow(NODES)))
        self._policies = {(policy.name, policy.version): policy for policy in policies}
        # One object per kind of write: the writer groups calls by it.
        self._save_results: Work[CheckedResult, results.Saved] = partial(
            results.save_results, task_board
        )
        self._change_follow_up = each(partial(followups.change_follow_up, task_board))
        self._keeper = _LeaseKeeper(self.expire_leases, lease_check_seconds)

    def close(self) -> None:
        """Writes what waits, ends the threads and closes the connections."""
        self._keeper.stop()
        self._writer.close()
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def engine(self) -> Engine:
        """The engine, for maintenance."""
        return self._engine

    def check(self) -> None:
        """Asks the database for a sign of life; raises UnavailableError."""
        with self._reading() as connection:
            connection.exec_driver_sql("SELECT 1")

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Connection]:
        with storage_errors(), self._reader.connect() as connection:
            yield connection

    # Runs

    def create_run(self, draft: RunDraft, timeout: float | None = None) -> RunRecord:
        return self._writer.write(_CREATE_RUN, runs.check_run_draft(draft), timeout)

    def renew_run(
        self, run_id: str, lease_seconds: int = 0, timeout: float | None = None
    ) -> RunRecord:
        return self._writer.write(_RENEW_RUN, (run_id, lease_seconds), timeout)

    def finish_run(self, request: FinishRequest, timeout: float | None = None) -> RunRecord:
        return self._writer.write(_FINISH_RUN, request, timeout)

    def get_run(self, run_id: str) -> RunRecord:
        with self._reading() as connection:
            return runs.get_run(connection, run_id)

    def list_runs(self, where: RunFilter, page: PageRequest) -> Page[RunRecord]:
        with self._reading() as connection:
            return runs.list_runs(connection, self._pager, where, page)

    def events_after(
        self, run_id: str, sequence: int, limit: int = 500
    ) -> tuple[RunStatus, list[RunEvent]]:
        with self._reading() as connection:
            return runs.events_after(connection, run_id, sequence, limit)

    def expire_leases(self) -> Sequence[str]:
        """Fails every run left running past its lease; returns their ids."""
        return self._writer.write(_EXPIRE_LEASES, None)

    # Results

    def save_evaluation(
        self, evaluation: TaskEvaluation, idempotency_key: str, timeout: float | None = None
    ) -> SavedEvaluation:
        """Stores a scored result; see `steelyard.scoring.ports`."""
        checked = check_evaluation(evaluation, idempotency_key, self._policies)
        run_id, task_id, replayed = self._writer.write(self._save_results, checked, timeout)
        fates: tuple[Fate, ...] = ()
        if checked.suggestions:
            with self._reading() as connection:
                fates = results.fates_of(connection, run_id, task_id)
        return SavedEvaluation(run_id, fates, replayed)

    def save_unscored(self, result: UnscoredResult, timeout: float | None = None) -> bool:
        """Stores that a task was skipped or failed; True when an earlier call had stored it."""
        return self._writer.write(self._save_results, check_unscored(result), timeout)[2]

    def get_result(self, run_id: str, task_id: str) -> ResultRecord:
        with self._reading() as connection:
            return results.get_result(connection, run_id, task_id)

    def list_results(self, where: ResultFilter, page: PageRequest) -> Page[ResultSummary]:
        with self._reading() as connection:
            return results.list_results(connection, self._pager, where, page)

    def aggregate(self, where: ResultFilter, *, days: bool = False) -> Aggregates:
        with self._reading() as connection:
            return aggregates.aggregate(connection, where, days=days)

    # Follow-ups, board and outbox

    def active_suggestions(self, suggestion_ids: Collection[str]) -> set[str]:
        with self._reading() as connection:
            return followups.active_suggestions(connection, suggestion_ids)

    def list_follow_ups(self, where: FollowUpFilter, page: PageRequest) -> Page[FollowUpRecord]:
        with self._reading() as connection:
            return followups.list_follow_ups(connection, self._pager, where, page)

    def change_follow_up(
        self, change: FollowUpChange, timeout: float | None = None
    ) -> FollowUpRecord:
        return self._writer.write(self._change_follow_up, change, timeout)

    def list_board_tasks(self, page: PageRequest) -> Page[BoardTask]:
        with self._reading() as connection:
            return board.list_board_tasks(connection, self._pager, page)

    def drain_outbox(
        self, limit: int = 0, hold_seconds: int = 0, timeout: float | None = None
    ) -> Sequence[OutboxItem]:
        return self._writer.write(_DRAIN, (limit, hold_seconds), timeout)

    def acknowledge(self, number: int, task_id: str, timeout: float | None = None) -> None:
        self._writer.write(_ACKNOWLEDGE, (number, task_id), timeout)

    # Documents

    def save_eval_result(
        self, checked: CheckedDocument, timeout: float | None = None
    ) -> StoredEvalResult:
        return self._writer.write(_SAVE_EVAL_RESULT, checked, timeout)

    def get_eval_result(self, eval_id: str) -> StoredEvalResult:
        with self._reading() as connection:
            return documents.get_eval_result(connection, eval_id)

    def list_eval_results(self, where: DocumentFilter, page: PageRequest) -> Page[StoredEvalResult]:
        with self._reading() as connection:
            return documents.list_eval_results(connection, self._pager, where, page)

    def save_gate_report(
        self, checked: CheckedDocument, timeout: float | None = None
    ) -> GateReport:
        return self._writer.write(_SAVE_GATE_REPORT, checked, timeout)

    def get_gate_report(self, report_id: str) -> GateReport:
        with self._reading() as connection:
            return documents.get_gate_report(connection, report_id)

    def list_gate_reports(self, where: DocumentFilter, page: PageRequest) -> Page[GateReport]:
        with self._reading() as connection:
            return documents.list_gate_reports(connection, self._pager, where, page)

    def save_playbook_entry(
        self, checked: CheckedDocument, timeout: float | None = None
    ) -> PlaybookEntry:
        return self._writer.write(_SAVE_PLAYBOOK_ENTRY, checked, timeout)

    def list_playbook_entries(
        self, where: DocumentFilter, page: PageRequest
    ) -> Page[PlaybookEntry]:
        with self._reading() as connection:
            return documents.list_playbook_entries(connection, self._pager, where, page)

    # Schedule

    def claim_tick(self, tick: datetime) -> Tick | None:
        """Claims a tick: from then on it is this server's to complete, for its lease."""
        return self._writer.write(_CLAIM_TICK, tick)

    def run_tick(self, tick: datetime) -> RunRecord | None:
        """Claims a tick and aggregates its window; None when it is not this server's."""
        claimed = self.claim_tick(tick)
        return None if claimed is None else self._writer.write(_COMPLETE_TICK, claimed)


_CREATE_RUN = each(runs.create_run)
_RENEW_RUN = each(runs.renew_run)
_FINISH_RUN = each(runs.finish_run)
_EXPIRE_LEASES = each(runs.expire_leases)
_DRAIN = each(board.drain)
_ACKNOWLEDGE = each(board.acknowledge)
_SAVE_EVAL_RESULT = each(documents.save_eval_result)
_SAVE_GATE_REPORT = each(documents.save_gate_report)
_SAVE_PLAYBOOK_ENTRY = each(documents.save_playbook_entry)
_CLAIM_TICK = each(schedule.claim_tick)
_COMPLETE_TICK = each(schedule.complete_tick)


class _LeaseKeeper:
    """The thread that looks for expired leases."""

    def __init__(self, expire: Callable[[], Sequence[str]], seconds: float) -> None:
        self._expire = expire
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="steelyard-leases", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                failed = self._expire()
            except (SteelyardError, SQLAlchemyError) as error:
                _log.warning("leases were not checked: %s", error)
            else:
                for run_id in failed:
                    _log.warning("run %s was left running past its lease and is failed", run_id)
