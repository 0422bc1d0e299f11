"""Text as it may be stored: well-formed, bounded, measured in UTF-16 code units.

UTF-16 units are the measure because every client language can count them and JavaScript counts
nothing else; a limit then means the same text everywhere.
"""

from __future__ import annotations

import re
import unicodedata

from steelyard.errors import InvalidInputError

__all__ = ["MARKER", "check_id", "clean", "cut", "is_blank", "shorten", "trim", "utf16_units"]

MARKER = "… [truncated]"
MARKER_UNITS = 13

MAX_ID = 200

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD; a split surrogate pair is joined."""
    if not _UNSTORABLE.search(text):
        return text
    joined = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
    return joined.replace("\x00", "\ufffd")


def utf16_units(text: str) -> int:
    """The length of well-formed `text` in UTF-16 code units."""
    return len(text.encode("utf-16-le")) // 2


def cut(text: str, limit: int) -> str:
    """The longest start of well-formed `text` within `limit` units that ends on a code point."""
    if len(text) * 2 <= limit:
        return text
    return text[:limit].encode("utf-16-le")[: 2 * limit].decode("utf-16-le", "ignore")


def shorten(text: str, limit: int) -> tuple[str, bool]:
    """`text` in at most `limit` units, the marker included, and whether anything was cut.

    Shortening a shortened text changes nothing.
    """
    if len(text) * 2 <= limit or (len(text) <= limit and utf16_units(text) <= limit):
        return text, False
    return cut(text, limit - MARKER_UNITS) + MARKER, True


def is_blank(text: str) -> bool:
    """True when nothing in `text` is visible: separators, control and format characters only."""
    for char in text:  # noqa: SIM110  # most texts take one look, a generator costs several
        if unicodedata.category(char)[0] not in "ZC":
            return False
    return True


def trim(text: str) -> str:
    """`text` without blank characters at either end, invisible ones included."""
    start, end = 0, len(text)
    while start < end and is_blank(text[start]):
        start += 1
    while end > start and is_blank(text[end - 1]):
        end -= 1
    return text[start:end]


def check_id(path: str, value: str, *, required: bool = True) -> str:
    """An id that a caller chose: 1 to 200 characters, or none when it is not required.

    Errors: InvalidInputError REQUIRED, TOO_LONG, or ID_INVALID for control characters, lone
    surrogates and blanks at either end.
    """
    if not value and required:
        raise InvalidInputError.at(path, "REQUIRED", "must not be empty")
    if len(value) > MAX_ID:
        raise InvalidInputError.at(path, "TOO_LONG", f"has {len(value)} characters, limit {MAX_ID}")
    if _CONTROL.search(value) or value != trim(value):
        raise InvalidInputError.at(
            path, "ID_INVALID", "must not have control characters or blanks at its ends"
        )
    return value
