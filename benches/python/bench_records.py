"""Benches of the records, each beside a peer in the same run.

- Persisted evaluations per second, with many callers at once (group commit), beside a bare INSERT
  loop of the same rows through the driver: once with a commit for each evaluation, which is what an
  acknowledgement promises, and once with as many evaluations in a transaction as group commit had.
  All three take turns, on new databases; figures are medians, ratios are of one turn.
- Milliseconds for the 100 newest results among many, with and without a filter.

The process runs as a worker of the server does: on one core, in the same scheduling class. The
evaluations that are stored share their parts, as a worker that has just made one has it in its
cache; the interpreter's collector does not walk them.

Run: `python -m benches.python.bench_records` (`--help` for sizes).
PostgreSQL is a private cluster with fsync on; without its binaries that half is left out by name.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Table, select
from tests.support.evaluations import CATEGORIES, evaluation
from tests.support.postgres import Cluster, find_binaries

from steelyard.records import migrate
from steelyard.records.engine import is_embedded, open_engine, store_url
from steelyard.records.model import PageRequest, ResultFilter
from steelyard.records.schema import (
    idempotency_keys,
    result_categories,
    result_documents,
    results,
    run_events,
    runs,
)
from steelyard.records.store import Store
from steelyard.scoring.task_types import TaskEvaluation
from steelyard.server.workers import pin

# In the order of their foreign keys.
TABLES = (runs, results, result_documents, result_categories, run_events, idempotency_keys)
NUMBER_STEP = 1 << 12

Rows = list[tuple[Table, list[tuple[Any, ...]]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--evaluations", type=int, default=4000)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="steelyard-bench-"))
        stores = [embedded(Path(folder))]
        binaries = find_binaries()
        if binaries is not None:
            cluster = stack.enter_context(closing(Cluster(binaries, fsync=True)))
            stores.append(postgresql(cluster))
        # After the cluster has started: its processes keep all cores.
        pin(0)
        for name, new_url in stores:
            print(f"\n{name}")
            persisted(new_url, arguments.evaluations, arguments.callers, arguments.turns)
            newest(new_url, arguments.rows)
        if binaries is None:
            print("\nPostgreSQL is left out: initdb is not installed")


Maker = Callable[[], str]


def embedded(folder: Path) -> tuple[str, Maker]:
    """The store's name and a maker of empty databases."""
    names = itertools.count(1)
    return "SQLite (WAL, synchronous=FULL)", lambda: str(folder / f"bench-{next(names)}.db")


def postgresql(cluster: Cluster) -> tuple[str, Maker]:
    """The store's name and a maker of empty databases."""
    names = itertools.count(1)

    def make() -> str:
        name = f"bench_{next(names)}"
        cluster.execute(f"CREATE DATABASE {name}")
        migrate.upgrade(open_engine(store_url(cluster.url(name))))
        return cluster.url(name)

    return "PostgreSQL (fsync on)", make


def persisted(new_url: Maker, count: int, callers: int, turns: int) -> None:
    """Prints evaluations per second of group commit and of the bare loops."""
    one = evaluation("task")
    made = [replace(one, task_id=f"task-{index}") for index in range(count)]
    first = new_url()
    grouped_commit(first, made, callers)
    rows = rows_of_evaluations(first)
    gc.collect()
    gc.freeze()
    grouped, each, together, sizes = [], [], [], []
    for _ in range(turns):
        rate, size = grouped_commit(new_url(), made, callers)
        grouped.append(rate)
        sizes.append(size)
        each.append(bare_loop(new_url(), rows[: max(200, count // 10)], 1))
        together.append(bare_loop(new_url(), rows, size))
    size = round(statistics.median(sizes))
    label = f"group commit, {callers} callers, about {size} a commit"
    print(f"  {label:<48}{statistics.median(grouped):9,.0f} evaluations/s")
    for label, rates in (
        ("bare loop, commit each", each),
        (f"bare loop, {size} a commit", together),
    ):
        ratios = [ours / bare for ours, bare in zip(grouped, rates, strict=True)]
        print(
            f"  {label:<48}{statistics.median(rates):9,.0f} evaluations/s"
            f"   ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def grouped_commit(url: str, made: Sequence[TaskEvaluation], callers: int) -> tuple[float, int]:
    """Evaluations per second of many callers, and evaluations a transaction."""
    with Store(url) as store:
        transactions = _count_transactions(store)
        places = iter(range(len(made)))

        def call(_: int) -> None:
            for place in places:
                store.save_evaluation(made[place], f"key-{place}")

        started = time.perf_counter()
        with ThreadPoolExecutor(callers) as pool:
            list(pool.map(call, range(callers)))
        rate = len(made) / (time.perf_counter() - started)
        return rate, max(1, round(len(made) / len(transactions)))


def _count_transactions(store: Store) -> list[int]:
    """A list that grows with each transaction that the store writes."""
    seen: list[int] = []
    writer = store._writer
    original = writer._grouped

    def counted(connection: Any, calls: Sequence[Any]) -> Any:
        seen.append(len(calls))
        return original(connection, calls)

    writer._grouped = counted  # type: ignore[method-assign]  # observed for the figure alone
    return seen


def rows_of_evaluations(url: str) -> list[Rows]:
    """The stored rows, regrouped by evaluation: what a bare loop has to insert."""
    with Store(url) as store, store.engine.connect() as connection:
        stored = {table.name: connection.execute(select(table)).all() for table in TABLES}
    by_run: dict[str, Rows] = {row.run_id: [] for row in stored[runs.name]}
    run_of = {row.number: row.run_id for row in stored[results.name]}
    for table in TABLES:
        found: dict[str, list[tuple[Any, ...]]] = {}
        for row in stored[table.name]:
            if table is idempotency_keys:
                run_id = row.made.split('"')[1]
            else:
                run_id = row.run_id if "run_id" in table.c else run_of[row.number]
            found.setdefault(run_id, []).append(tuple(row))
        for run_id, rows in found.items():
            by_run[run_id].append((table, rows))
    return list(by_run.values())


def bare_loop(url: str, evaluations: list[Rows], size: int) -> float:
    """Evaluations per second of INSERTs one by one through the driver, `size` a transaction."""
    with Store(url) as store:
        mark = "?" if is_embedded(store.engine) else "%s"
        statements = {
            table.name: f"INSERT INTO {table.name} VALUES ({', '.join([mark] * len(table.c))})"  # noqa: S608  # names of our own tables
            for table in TABLES
        }
        with raw(store) as connection:
            cursor = connection.cursor()
            started = time.perf_counter()
            for start in range(0, len(evaluations), size):
                if is_embedded(store.engine):
                    cursor.execute("BEGIN IMMEDIATE")
                for rows in evaluations[start : start + size]:
                    for table, values in rows:
                        for value in values:
                            cursor.execute(statements[table.name], value)
                connection.commit()
            return len(evaluations) / (time.perf_counter() - started)


@contextmanager
def raw(store: Store) -> Iterator[Any]:
    """The driver's connection."""
    pooled = store.engine.raw_connection()
    try:
        yield pooled.driver_connection
    finally:
        pooled.close()


def newest(new_url: Maker, count: int) -> None:
    """Prints milliseconds for a page of 100 among `count` results."""
    bands = ("failing", "weak", "acceptable", "strong", "excellent")
    with Store(new_url()) as store:
        kept = store.save_evaluation(evaluation("first"), "")
        first = store.list_results(ResultFilter(), PageRequest()).items[0].number

        def result(index: int) -> tuple[Any, ...]:
            number = first + (index + 1) * NUMBER_STEP
            band = bands[index % 5]
            task = f"task-{index % 5000}-{index}"
            return (number, kept.run_id, task, "scored", 50, band, "task-evaluation", 1, "")

        categories = (
            (first + (index + 1) * NUMBER_STEP, place, name, 50, 50, 50)
            for index in range(count)
            for place, name in enumerate(CATEGORIES)
        )
        fill(store, results, (result(index) for index in range(count)))
        fill(store, result_categories, categories)
        for label, where in (
            ("all", ResultFilter()),
            ("of one band", ResultFilter(band="weak")),
            ("of one task", ResultFilter(task_id="task-77-77")),
            ("of scores 0..100", ResultFilter(min_score=0, max_score=100)),
        ):
            times = []
            for _ in range(30):
                started = time.perf_counter()
                store.list_results(where, PageRequest(100))
                times.append((time.perf_counter() - started) * 1e3)
            print(f"  100 newest among {count:,}, {label:<18} {statistics.median(times):8.2f} ms")
        started = time.perf_counter()
        store.aggregate(ResultFilter(), days=True)
        print(f"  aggregates of {count:,} results          {time.perf_counter() - started:8.2f} s")


def fill(store: Store, table: Table, rows: Iterator[tuple[Any, ...]]) -> None:
    """Many rows by the fastest way that the driver has."""
    names = [column.name for column in table.c]
    with raw(store) as connection:
        cursor = connection.cursor()
        if is_embedded(store.engine):
            marks = ", ".join("?" * len(names))
            cursor.execute("BEGIN IMMEDIATE")
            cursor.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)  # noqa: S608  # our own tables
        else:
            with cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        connection.commit()
        if not is_embedded(store.engine):
            cursor.execute(f"ANALYZE {table.name}")
            connection.commit()


if __name__ == "__main__":
    main()
