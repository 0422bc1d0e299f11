"""Rows as the tables have them, and many of them in one statement.

The driver of SQLite gives the interpreter away for each row of an `executemany`, and a server full
of callers takes its time to give it back: a statement for each row makes group commit slower than
the disk. One statement with the rows in it runs in one go, and is one round trip to PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from sqlalchemy import Connection, Table

from steelyard.records import schema

__all__ = [
    "TABLES",
    "CategoryRow",
    "DocumentRow",
    "EventRow",
    "KeyRow",
    "ResultRow",
    "RunRow",
    "insert_rows",
    "placeholders",
]

# Rows of one statement. A group has any size, and a statement of a new size is parsed anew, which
# costs more than to run it: with few sizes the driver has all of them prepared.
_MAX_ROWS = 64


# The columns of the tables, in their order; `schema` says what they mean.


class RunRow(NamedTuple):
    number: int
    run_id: str
    trigger: str
    status: str
    summary: str
    error: str
    scored: int
    skipped: int
    errors: int
    event_count: int
    lease_seconds: int
    lease_expires_at: int | None
    started_at: int | None
    finished_at: int | None
    schedule_tick: int | None = None
    window_start: int | None = None
    window_end: int | None = None
    aggregates: str | None = None


class ResultRow(NamedTuple):
    number: int
    run_id: str
    task_id: str
    status: str
    overall_score: int | None
    band: str
    policy_name: str
    policy_version: int
    reason: str


class DocumentRow(NamedTuple):
    number: int
    document: str


class CategoryRow(NamedTuple):
    number: int
    position: int
    category: str
    deterministic_score: int
    ai_score: int
    final_score: int


class EventRow(NamedTuple):
    run_id: str
    sequence: int
    type: str
    at: int
    task_id: str = ""
    message: str = ""


class KeyRow(NamedTuple):
    scope: str
    key: str
    content_hash: str
    made: str
    at: int


Row = RunRow | ResultRow | DocumentRow | CategoryRow | EventRow | KeyRow

TABLES: dict[type[Row], Table] = {
    RunRow: schema.runs,
    ResultRow: schema.results,
    DocumentRow: schema.result_documents,
    CategoryRow: schema.result_categories,
    EventRow: schema.run_events,
    KeyRow: schema.idempotency_keys,
}


def insert_rows(connection: Connection, rows: Sequence[Row]) -> None:
    """Inserts rows of one kind."""
    if not rows:
        return
    kind = type(rows[0])
    names = kind._fields
    into = f"INSERT INTO {TABLES[kind].name} ({', '.join(names)}) VALUES "  # noqa: S608  # our own schema's names
    one = f"({placeholders(connection, len(names))})"
    for start in range(0, len(rows), _MAX_ROWS):
        some = rows[start : start + _MAX_ROWS]
        statement = into + ", ".join([one] * len(some))
        connection.exec_driver_sql(statement, tuple(chain.from_iterable(some)))


def placeholders(connection: Connection, count: int) -> str:
    """`count` parameters of a statement, in the style of the connection's driver."""
    return ", ".join(["?" if connection.dialect.paramstyle == "qmark" else "%s"] * count)
