"""Canonical JSON and hashes: what every digest of Steelyard is made of.

Canonical JSON is RFC 8785: keys sorted by UTF-16 code units, ECMAScript numbers, the fewest
escapes. What it cannot hold without loss is refused, never altered: NaN, infinities, lone
surrogates, duplicate keys, integers beyond 2^53 - 1, nesting beyond 1,000. Every hash is the
lower-case hex SHA-256; an object hash is that of the canonical JSON in UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import Buffer

from steelyard import _core

__all__ = ["canonical_json", "canonicalize", "hash_contexts", "hash_json", "hash_object"]


def canonical_json(value: object) -> bytes:
    """Canonical JSON of a value made of None, bool, int, float, str, list, tuple and dict.

    Raises InvalidInputError with the JSON path of the element (`$.cases[3].seed`): NOT_FINITE,
    LONE_SURROGATE, INTEGER_OUT_OF_RANGE, TOO_DEEP, UNSUPPORTED_TYPE.
    """
    return _core.canonical_json(value)


def canonicalize(json: Buffer) -> bytes:
    """The canonical form of a JSON text in UTF-8.

    Raises InvalidInputError with the byte offset of the fault: INVALID_JSON, INVALID_UTF8,
    DUPLICATE_KEY, LONE_SURROGATE, INTEGER_OUT_OF_RANGE, NUMBER_OUT_OF_RANGE, TOO_DEEP, TOO_LARGE.
    """
    return _core.canonicalize(json)


def hash_object(value: object) -> str:
    """The object hash of a value, 64 hex digits. Raises what `canonical_json` raises."""
    return _core.hash_object(value)


def hash_json(json: Buffer) -> str:
    """The object hash of a JSON text, 64 hex digits. Raises what `canonicalize` raises."""
    return _core.hash_json(json)


def hash_contexts(contexts: Sequence[Buffer]) -> list[str]:
    """The SHA-256 of each context (the raw bytes of a prompt, file or record), in order."""
    return _core.hash_contexts(contexts)
