"""Idempotency keys: the same key never stores twice.

Keys are kept for good. A key that comes again with the same content returns what its first call
made; with other content it is refused. Keys of different kinds of call do not meet.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, insert, select

from steelyard.errors import AlreadyExistsError, SteelyardError
from steelyard.records.schema import idempotency_keys
from steelyard.records.writer import Transaction

__all__ = ["find", "find_many", "key_row", "remember", "reused"]

# Key -> (content hash, ids of what the first call made).
Found = dict[str, tuple[str, list[str]]]

_KNOWN = select(
    idempotency_keys.c.key, idempotency_keys.c.content_hash, idempotency_keys.c.made
).where(
    idempotency_keys.c.scope == bindparam("scope"),
    idempotency_keys.c.key.in_(bindparam("keys", expanding=True)),
)


def find_many(connection: Connection, scope: str, keys: Sequence[str]) -> Found:
    """Those of the keys that are known; empty keys are no keys."""
    wanted = [key for key in keys if key]
    if not wanted:
        return {}
    rows = connection.execute(_KNOWN, {"scope": scope, "keys": wanted})
    return {row.key: (row.content_hash, json.loads(row.made)) for row in rows}


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


def key_row(
    scope: str, key: str, content_hash: str, made: Sequence[str], now: int
) -> dict[str, object]:
    """The columns of a new key."""
    return {
        "scope": scope,
        "key": key,
        "content_hash": content_hash,
        "made": json.dumps(list(made)),
        "at": now,
    }


def remember(tx: Transaction, scope: str, key: str, content_hash: str, made: Sequence[str]) -> None:
    """Notes what a call with this key made; without a key nothing."""
    if key:
        tx.connection.execute(
            insert(idempotency_keys), key_row(scope, key, content_hash, made, tx.now)
        )
