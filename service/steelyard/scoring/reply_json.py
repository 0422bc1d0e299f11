"""The one JSON object in a model's reply, wherever the model put it.

Models answer with a bare object, with a fenced block somewhere in prose, or with prose around an
object. An object is found by its own brackets and strings in one pass, so the prose may hold
braces, quotes and fences of its own, and the time to read a reply is proportional to its length.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import NoReturn

from steelyard.errors import InvalidInputError, LimitError
from steelyard.scoring.text import clean, cut

__all__ = ["MAX_REPLY", "find_object"]

# Characters; a judgement of three categories needs a few thousand.
MAX_REPLY = 1_048_576
MAX_DEPTH = 64
# Of a key as it is quoted in a path.
MAX_KEY_UNITS = 80

_START = re.compile(r'\{\s*+"')
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<closed>")?|(?P<open>[{\[])|[}\]]', re.DOTALL)
_FENCE = re.compile(r"```[^\S\n]*\w*\s*\Z")
_FENCE_WINDOW = 64


class _Pairs(list[tuple[str, object]]):
    """An object as the list of its members, so that a repeated key can still be seen."""


def find_object(text: str, path: str) -> dict[str, object]:
    """The object in `text`; numbers are `Decimal`, exact and unbounded.

    Of several objects the one that fills a fenced block is meant, when there is exactly one such.

    Errors, all at `path` or below: LimitError TEXT_TOO_LONG; InvalidInputError with
    REPLY_WITHOUT_OBJECT, REPLY_AMBIGUOUS, REPLY_NOT_JSON (cut off, nested deeper than 64, not JSON)
    or DUPLICATE_KEY.
    """
    if len(text) > MAX_REPLY:
        raise LimitError.at(path, "TEXT_TOO_LONG", f"is longer than {MAX_REPLY} characters")
    found: list[tuple[bool, _Pairs]] = []
    failure: str | None = None
    position = 0
    while start := _START.search(text, position):
        end = _end_of_object(text, start.start(), path)
        if end is None:
            failure = failure or f"the object at character {start.start()} is not complete"
            break
        try:
            value = _DECODER.decode(text[start.start() : end])
        except ValueError as error:
            failure = failure or f"the object at character {start.start()} is not JSON: {error}"
        else:
            found.append((_is_fenced(text, start.start(), end), value))
        position = end
    chosen = [value for fenced, value in found if fenced] or [value for _, value in found]
    if len(chosen) == 1:
        return _plain_object(chosen[0], path)
    if chosen:
        raise InvalidInputError.at(
            path, "REPLY_AMBIGUOUS", f"holds {len(chosen)} JSON objects, exactly one is expected"
        )
    if failure:
        raise InvalidInputError.at(path, "REPLY_NOT_JSON", failure)
    raise InvalidInputError.at(path, "REPLY_WITHOUT_OBJECT", "holds no JSON object")


def _end_of_object(text: str, start: int, path: str) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token["open"]:
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidInputError.at(
                    path, "REPLY_NOT_JSON", f"is nested deeper than {MAX_DEPTH} levels"
                )
        elif token[0] in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
        elif token["closed"] is None:
            return None
    return None


def _is_fenced(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _FENCE_WINDOW) : start]
    return bool(_FENCE.search(before)) and text[end : end + _FENCE_WINDOW].lstrip().startswith(
        "```"
    )


def _number(literal: str) -> Decimal:
    try:
        return Decimal(literal)
    except InvalidOperation:
        # An exponent of twenty digits: no score, whatever it is.
        return Decimal("NaN")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Pairs,
    parse_int=_number,
    parse_float=_number,
    parse_constant=_refuse_constant,
)


def _plain(value: object, path: str) -> object:
    if isinstance(value, _Pairs):
        return _plain_object(value, path)
    if isinstance(value, list):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    return value


def _plain_object(pairs: _Pairs, path: str) -> dict[str, object]:
    plain: dict[str, object] = {}
    for key, value in pairs:
        at = f"{path}.{cut(clean(key), MAX_KEY_UNITS)}"
        if key in plain:
            raise InvalidInputError.at(at, "DUPLICATE_KEY", "is given twice")
        plain[key] = _plain(value, at)
    return plain
