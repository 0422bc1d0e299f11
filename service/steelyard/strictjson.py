"""JSON as evidence: read strictly once, or refused with a reason.

Refused are text that is not UTF-8 or not JSON, duplicate keys, NaN and Infinity, lone surrogates,
integers that a binary64 reader would alter, and nesting beyond a cap: whatever two readers could
understand differently.
"""

from __future__ import annotations

import json
from typing import Any, Final

from steelyard._core import canonicalize
from steelyard.errors import InvalidInputError

__all__ = [
    "MAX_DEPTH",
    "JsonValue",
    "as_object",
    "as_objects",
    "exceeds_depth",
    "parse",
    "parse_object",
]

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

MAX_DEPTH: Final = 64


def parse(data: bytes, name: str, max_depth: int = MAX_DEPTH) -> JsonValue:
    """The value of the JSON text `data`; `name` says in errors what was read.

    Raises InvalidInputError: TOO_DEEP (more than `max_depth` arrays and objects inside each other)
    or the reason of the core's parser (INVALID_JSON, INVALID_UTF8, DUPLICATE_KEY, ...).
    """
    try:
        canonicalize(data)
    except InvalidInputError as error:
        raise InvalidInputError.at(name, error.reason, error.message) from error
    try:
        value: JsonValue = json.loads(data)
    except RecursionError:
        raise _too_deep(name, max_depth) from None
    if exceeds_depth(value, max_depth):
        raise _too_deep(name, max_depth)
    return value


def parse_object(data: bytes, name: str) -> dict[str, JsonValue]:
    """Like `parse`, for a text that must hold an object (else NOT_AN_OBJECT)."""
    value = parse(data, name)
    if not isinstance(value, dict):
        raise InvalidInputError.at(name, "NOT_AN_OBJECT", "must be a JSON object")
    return value


def _too_deep(name: str, max_depth: int) -> Exception:
    message = f"nests deeper than {max_depth} levels"
    return InvalidInputError.at(name, "TOO_DEEP", message)


def exceeds_depth(value: object, limit: int) -> bool:
    """True when more than `limit` arrays and objects lie inside each other."""
    level: list[Any] = [value] if isinstance(value, (dict, list)) else []
    for _ in range(limit):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def as_object(value: JsonValue) -> dict[str, JsonValue]:
    """`value` when it is an object, else an empty one: for documents of any shape."""
    return value if isinstance(value, dict) else {}


def as_objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    """The objects among the items of `value`; none when it is no array."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
