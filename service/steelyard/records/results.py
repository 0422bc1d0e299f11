"""Task results: a whole group of them is checked and stored with a handful of statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, Select, select, text, tuple_

from steelyard.errors import AlreadyExistsError, NotFoundError, SteelyardError
from steelyard.records import idempotency
from steelyard.records.aggregates import matching
from steelyard.records.board import TaskBoard
from steelyard.records.checks import CheckedResult
from steelyard.records.document import read_evaluation
from steelyard.records.followups import follow_ups_of, save_follow_ups
from steelyard.records.model import (
    CategoryNumbers,
    EventType,
    Page,
    PageRequest,
    ResultFilter,
    ResultRecord,
    ResultStatus,
    ResultSummary,
    RunStatus,
    Trigger,
)
from steelyard.records.numbering import number_to_moment
from steelyard.records.paging import Pager
from steelyard.records.rows import (
    CategoryRow,
    DocumentRow,
    EventRow,
    KeyRow,
    ResultRow,
    RunRow,
    insert_rows,
)
from steelyard.records.run_state import (
    DEFAULT_LEASE_S,
    RunState,
    lock_runs,
    new_run_id,
    no_run,
    run_row,
    save_run_states,
)
from steelyard.records.schema import result_categories, result_documents, results
from steelyard.records.writer import Transaction
from steelyard.scoring.followups import Fate

__all__ = ["Saved", "fates_of", "get_result", "list_results", "save_results"]

_SCOPE = "result"
# (run id, task id, stored by an earlier call)
Saved = tuple[str, str, bool]


class _Group:
    """The rows that one group of results adds."""

    def __init__(self) -> None:
        self.runs: list[RunRow] = []
        self.results: list[ResultRow] = []
        self.documents: list[DocumentRow] = []
        self.categories: list[CategoryRow] = []
        self.events: list[EventRow] = []
        self.keys: list[KeyRow] = []

    def insert(self, connection: Connection) -> None:
        # In the order of their foreign keys.
        insert_rows(connection, self.runs)
        insert_rows(connection, self.results)
        insert_rows(connection, self.documents)
        insert_rows(connection, self.categories)
        insert_rows(connection, self.events)
        insert_rows(connection, self.keys)


def save_results(
    board: TaskBoard, tx: Transaction, requests: Sequence[CheckedResult]
) -> list[Saved | SteelyardError]:
    """Stores results; one outcome each, in order.

    A result of a known run belongs to it, starts it when pending and extends its lease. A result
    without a run gets a run of its own, completed with it. Refused: unknown or finished run, a task
    that the run has a result for, an idempotency key that stored other content. A key that stored
    this content is answered with what it stored.
    """
    if tx.is_postgresql:
        # The schedule takes this table in SHARE mode to know that nothing older is on its way.
        tx.connection.execute(text("LOCK TABLE eval_task_results IN ROW EXCLUSIVE MODE"))
    known_keys = idempotency.find_many(
        tx.connection, _SCOPE, [request.idempotency_key for request in requests]
    )
    states = lock_runs(tx.connection, (request.run_id for request in requests if request.run_id))
    taken = _taken(tx.connection, requests)
    # One for each result and for each run that comes with one, drawn under the lock.
    own_runs = sum(not request.run_id for request in requests)
    numbers = iter(tx.numbering.many(len(requests) + own_runs))
    group = _Group()
    outcomes: list[Saved | SteelyardError] = []
    suggestions = []
    for request in requests:
        try:
            known = known_keys.get(request.idempotency_key)
            if known is not None:
                if known[0] != request.content_hash:
                    raise idempotency.reused(request.idempotency_key)
                run_id, task_id = known[1]
                outcomes.append((run_id, task_id, True))
                continue
            run_id = _add(tx, group, states, taken, numbers, request)
        except SteelyardError as refusal:
            outcomes.append(refusal)
            continue
        made = [run_id, request.task_id]
        if request.idempotency_key:
            known_keys[request.idempotency_key] = (request.content_hash, made)
            group.keys.append(
                idempotency.key_row(
                    _SCOPE, request.idempotency_key, request.content_hash, made, tx.now
                )
            )
        if request.suggestions:
            suggestions.append((run_id, request.suggestions))
        outcomes.append((run_id, request.task_id, False))
    group.insert(tx.connection)
    save_run_states(tx.connection, list(states.values()))
    save_follow_ups(tx, board, suggestions)
    return outcomes


def _taken(connection: Connection, requests: Sequence[CheckedResult]) -> set[tuple[str, str]]:
    pairs = [(request.run_id, request.task_id) for request in requests if request.run_id]
    if not pairs:
        return set()
    columns = (results.c.run_id, results.c.task_id)
    found = connection.execute(select(*columns).where(tuple_(*columns).in_(pairs)))
    return {(row.run_id, row.task_id) for row in found}


def _add(
    tx: Transaction,
    group: _Group,
    states: dict[str, RunState],
    taken: set[tuple[str, str]],
    numbers: Iterator[int],
    request: CheckedResult,
) -> str:
    number = next(numbers)
    if request.run_id:
        run_id = request.run_id
        state = states.get(run_id)
        if state is None:
            raise no_run(run_id)
        state.refuse_unless_open(tx.now)
        if (run_id, request.task_id) in taken:
            raise AlreadyExistsError.at(
                "task_id", "RESULT_EXISTS", f"run {run_id!r} has a result for {request.task_id!r}"
            )
        taken.add((run_id, request.task_id))
        group.events += state.keep_alive(tx.now)
        group.events.append(state.event(EventType.RESULT_STORED, tx.now, request.task_id))
        state.count(request.status)
    else:
        run_id = _add_own_run(tx, group, next(numbers), request)
    group.results.append(
        ResultRow(
            number=number,
            run_id=run_id,
            task_id=request.task_id,
            status=request.status.value,
            overall_score=request.overall_score,
            band=request.band,
            policy_name=request.policy_name,
            policy_version=request.policy_version,
            reason=request.reason,
        )
    )
    if request.status is ResultStatus.SCORED:
        group.documents.append(DocumentRow(number, request.document))
    group.categories += [
        CategoryRow(
            number,
            position,
            each.category,
            each.deterministic_score,
            each.ai_score,
            each.final_score,
        )
        for position, each in enumerate(request.categories)
    ]
    return run_id


def _add_own_run(tx: Transaction, group: _Group, number: int, request: CheckedResult) -> str:
    run_id = new_run_id(number)
    events = (
        EventRow(run_id, 1, EventType.RUN_CREATED.value, tx.now),
        EventRow(run_id, 2, EventType.RESULT_STORED.value, tx.now, request.task_id),
        EventRow(run_id, 3, EventType.RUN_COMPLETED.value, tx.now),
    )
    group.events += events
    group.runs.append(
        run_row(
            number,
            run_id,
            Trigger.API,
            RunStatus.COMPLETED,
            now=tx.now,
            lease_seconds=DEFAULT_LEASE_S,
            event_count=len(events),
            counted=request.status,
        )
    )
    return run_id


def fates_of(connection: Connection, run_id: str, task_id: str) -> tuple[Fate, ...]:
    """What became of the suggestions of one result, in the order they came."""
    pair = (run_id, task_id)
    found = follow_ups_of(connection, [pair])[pair]
    return tuple(each.suggestion.fate for each in found)


def get_result(connection: Connection, run_id: str, task_id: str) -> ResultRecord:
    """One result in full; raises NotFoundError."""
    row = connection.execute(
        select(results, result_documents.c.document)
        .outerjoin(result_documents, result_documents.c.number == results.c.number)
        .where(results.c.run_id == run_id, results.c.task_id == task_id)
    ).first()
    if row is None:
        raise NotFoundError.at(
            "task_id", "RESULT_NOT_FOUND", f"run {run_id!r} has no result for {task_id!r}"
        )
    summary = _summaries(connection, [row])[0]
    pair = (run_id, task_id)
    follow_ups = tuple(follow_ups_of(connection, [pair])[pair])
    if row.document is None:
        return ResultRecord(summary, None, follow_ups)
    evaluation = replace(
        read_evaluation(row.document),
        run_id=run_id,
        suggestions=tuple(each.suggestion for each in follow_ups),
    )
    return ResultRecord(summary, evaluation, follow_ups)


def list_results(
    connection: Connection, pager: Pager, where: ResultFilter, request: PageRequest
) -> Page[ResultSummary]:
    """Results, newest first."""
    query: Select[Any] = select(results).where(*matching(where))
    return pager.page(
        connection,
        query,
        results.c.number,
        request,
        ("results", where),
        lambda rows: _summaries(connection, rows),
    )


def _summaries(connection: Connection, rows: Sequence[Row[Any]]) -> list[ResultSummary]:
    numbers: dict[int, list[CategoryNumbers]] = {row.number: [] for row in rows}
    found = connection.execute(
        select(result_categories)
        .where(result_categories.c.number.in_(numbers))
        .order_by(result_categories.c.number, result_categories.c.position)
    )
    for row in found:
        numbers[row.number].append(
            CategoryNumbers(row.category, row.deterministic_score, row.ai_score, row.final_score)
        )
    return [
        ResultSummary(
            number=row.number,
            run_id=row.run_id,
            task_id=row.task_id,
            status=ResultStatus(row.status),
            overall_score=row.overall_score,
            band=row.band,
            policy_name=row.policy_name,
            policy_version=row.policy_version,
            categories=tuple(numbers[row.number]),
            reason=row.reason,
            created_at=number_to_moment(row.number),
        )
        for row in rows
    ]
