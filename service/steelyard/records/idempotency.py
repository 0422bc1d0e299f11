"""Idempotency keys: the same key never stores twice.

Keys are kept for good. A key that comes again with the same content returns what its first call
made; with other content it is refused. Keys of different kinds of call do not meet.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection

from steelyard._core import canonical_json
from steelyard.errors import AlreadyExistsError, SteelyardError
from steelyard.records.rows import KeyRow, insert_rows, placeholders
from steelyard.records.writer import Transaction

__all__ = ["find", "find_many", "key_row", "remember", "reused"]

# Key -> (content hash, ids of what the first call made).
Found = dict[str, tuple[str, list[str]]]

# The driver's own SQL: to expand a list of keys costs SQLAlchemy more than the database to look.
_KNOWN = "SELECT key, content_hash, made FROM idempotency_keys WHERE scope = {} AND key IN ({})"


def find_many(connection: Connection, scope: str, keys: Sequence[str]) -> Found:
    """Those of the keys that are known; empty keys are no keys."""
    wanted = [key for key in keys if key]
    if not wanted:
        return {}
    statement = _KNOWN.format(placeholders(connection, 1), placeholders(connection, len(wanted)))
    rows = connection.exec_driver_sql(statement, (scope, *wanted))
    return {key: (content_hash, json.loads(made)) for key, content_hash, made in rows}


def find(connection: Connection, scope: str, key: str, content_hash: str) -> list[str] | None:
    """The ids that the key's first call made, None for a new key; raises on other content."""
    known = find_many(connection, scope, [key]).get(key)
    if known is None:
        return None
    if known[0] != content_hash:
        raise reused(key)
    return known[1]


def reused(key: str) -> SteelyardError:
    """The refusal of a known key with other content."""
    return AlreadyExistsError.at(
        "idempotency_key", "IDEMPOTENCY_KEY_REUSED", f"key {key!r} has stored other content"
    )


def key_row(scope: str, key: str, content_hash: str, made: Sequence[str], now: int) -> KeyRow:
    """The row of a new key."""
    return KeyRow(scope, key, content_hash, canonical_json(made).decode(), now)


def remember(tx: Transaction, scope: str, key: str, content_hash: str, made: Sequence[str]) -> None:
    """Notes what a call with this key made; without a key nothing."""
    if key:
        insert_rows(tx.connection, [key_row(scope, key, content_hash, made, tx.now)])
