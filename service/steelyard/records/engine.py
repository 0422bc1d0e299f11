"""Engines for both stores, and what their failures mean to a caller."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import platformdirs
import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from steelyard.errors import (
    InvalidInputError,
    LimitError,
    PreconditionError,
    SteelyardError,
    UnavailableError,
)

__all__ = ["default_store", "is_embedded", "open_engine", "storage_errors", "store_url", "writing"]

_POOL_SIZE = 8
_POOL_OVERFLOW = 24
_POOL_TIMEOUT_S = 5
_BUSY_TIMEOUT_MS = 5000
_TURN_S = 0.002
_CONNECT_TIMEOUT_S = 5
# Prepared statements of a connection, enough for those of group commit in each of their sizes.
_STATEMENTS = 500
_WRITE = "steelyard_write"


def default_store() -> Path:
    """The embedded store's file under the user's data folder."""
    return Path(platformdirs.user_data_dir("steelyard", appauthor=False)) / "records.db"


def store_url(store: str) -> URL:
    """The database URL for a store setting: empty, a file path, sqlite:///FILE or postgresql://…"""
    if not store:
        return URL.create("sqlite", database=str(default_store()))
    if "://" not in store:
        return URL.create("sqlite", database=str(Path(store).expanduser()))
    try:
        url = make_url(store)
    except ArgumentError as error:
        raise InvalidInputError.at("store", "STORE_URL_INVALID", "not a database URL") from error
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database and url.database != ":memory:":
        return url
    raise InvalidInputError.at(
        "store",
        "STORE_URL_INVALID",
        "give a file path, sqlite:///FILE or postgresql://…; a store in memory would not survive",
    )


def is_embedded(engine: Engine) -> bool:
    """True for SQLite: the store is part of this process's host and migrates itself on start."""
    return engine.dialect.name == "sqlite"


def open_engine(url: URL) -> Engine:
    """An engine with the store's durability settings. Connects to nothing yet."""
    if url.drivername == "sqlite":
        return _open_sqlite(url)
    return create_engine(
        url,
        pool_pre_ping=True,
        pool_size=_POOL_SIZE,
        max_overflow=_POOL_OVERFLOW,
        pool_timeout=_POOL_TIMEOUT_S,
        connect_args={"connect_timeout": _CONNECT_TIMEOUT_S, "application_name": "steelyard"},
    )


def writing(engine: Engine) -> Engine:
    """The same engine and pool for writing: on SQLite a transaction takes the lock at once."""
    return engine.execution_options(**{_WRITE: True})


def _open_sqlite(url: URL) -> Engine:
    assert url.database is not None  # noqa: S101  store_url gives every SQLite URL a file
    engine = create_engine(
        url,
        pool_size=_POOL_SIZE,
        max_overflow=_POOL_OVERFLOW,
        pool_timeout=_POOL_TIMEOUT_S,
        # The connection that wrote last has the pages and the prepared statements for the next.
        pool_use_lifo=True,
        connect_args={"timeout": _BUSY_TIMEOUT_MS / 1000, "cached_statements": _STATEMENTS},
    )
    folder = Path(url.database).parent

    @event.listens_for(engine, "do_connect")
    def make_folder(*_: Any) -> None:
        # Where that fails, opening the file says so.
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: Any) -> None:
        # The driver's own transaction control is off: `begin` below opens every transaction.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A reader that turns writer in the middle fails with "database is locked" without waiting;
        # a transaction that will write therefore takes the write lock when it begins.
        if connection.get_execution_options().get(_WRITE, False):
            _take_turn(connection)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _take_turn(connection: Connection) -> None:
    """Begins a transaction that writes, once no other process does.

    SQLite itself asks for its lock ever more rarely, up to ten times a second; a writer beside a
    busy one would starve. Asked every other millisecond, writers take turns.
    """
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101  the engine is SQLite's
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        deadline = time.monotonic() + _BUSY_TIMEOUT_MS / 1000
        while time.monotonic() < deadline:
            try:
                driver.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    break
                time.sleep(_TURN_S)
            else:
                return
        # The last try says in the words of the engine why it fails.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    finally:
        driver.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turns what the database says of its health into LimitError, UnavailableError or
    PreconditionError. Anything else is a defect and passes through."""
    try:
        yield
    except PoolTimeoutError as error:
        raise UnavailableError(
            "STORE_BUSY", "no database connection became free in time"
        ) from error
    except DBAPIError as error:
        meaning = storage_error(error)
        if meaning is None:
            raise
        raise meaning from error


def storage_error(error: DBAPIError) -> SteelyardError | None:
    """What a driver's error means to a caller, None when it is not about the store's health."""
    if isinstance(error.orig, sqlite3.Error):
        return _sqlite_error(error.orig)
    if isinstance(error.orig, psycopg.Error):
        return _postgresql_error(error.orig)
    return None


def _full() -> LimitError:
    return LimitError("STORE_FULL", "the store's disk is full; nothing of this call was stored")


def _away(reason: str, said: object) -> UnavailableError:
    return UnavailableError(reason, f"the store cannot be used now: {said}")


def _no_schema(said: object) -> PreconditionError:
    return PreconditionError(
        "SCHEMA_MISSING", f"run `steelyard db upgrade` on this store first ({said})"
    )


def _sqlite_error(error: sqlite3.Error) -> SteelyardError | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return _full()
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return _away("STORE_BUSY", error)
        case (
            sqlite3.SQLITE_IOERR
            | sqlite3.SQLITE_CANTOPEN
            | sqlite3.SQLITE_READONLY
            | sqlite3.SQLITE_CORRUPT
            | sqlite3.SQLITE_NOTADB
        ):
            return _away("STORE_UNAVAILABLE", error)
        case sqlite3.SQLITE_ERROR if str(error).startswith("no such table"):
            return _no_schema(error)
        case _:
            return None


def _postgresql_error(error: psycopg.Error) -> SteelyardError | None:
    state = error.sqlstate
    # The driver's text can name hosts and roles: callers get the state only, logs the cause.
    said = f"PostgreSQL, SQLSTATE {state}"
    if state is None:
        # The connection never reached the server, or broke.
        away = isinstance(error, psycopg.OperationalError)
        return _away("STORE_UNAVAILABLE", "PostgreSQL is not reached") if away else None
    if state == "53100":
        return _full()
    if state == "42P01":
        return _no_schema("no tables")
    if state[:2] in ("08", "53", "57", "58") or state == "25006":
        return _away("STORE_UNAVAILABLE", said)
    if state[:2] in ("40", "55"):
        return _away("STORE_BUSY", said)
    return None
