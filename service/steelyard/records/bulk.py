"""Many rows in one statement.

The driver of SQLite gives the interpreter away for each row of an `executemany`, and a server full
of callers takes its time to give it back: a statement for each row makes group commit slower than
the disk. One statement with the rows in it runs in one go, and is one round trip to PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Table

__all__ = ["insert_rows"]

# Below the parameters that a statement may have: 32,766 in SQLite, 65,535 in PostgreSQL.
_MAX_PARAMETERS = 30_000


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Inserts rows that name every column of `table`, as values that its drivers take."""
    names = tuple(column.name for column in table.columns)
    values = itemgetter(*names)
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    step = _MAX_PARAMETERS // len(names)
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        parameters = tuple(chain.from_iterable(map(values, some)))
        connection.exec_driver_sql(_statement(table.name, names, mark, len(some)), parameters)


def _statement(table: str, names: tuple[str, ...], mark: str, rows: int) -> str:
    row = f"({', '.join([mark] * len(names))})"
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES {', '.join([row] * rows)}"  # noqa: S608  # our own schema's names
