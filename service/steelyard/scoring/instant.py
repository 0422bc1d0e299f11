"""RFC 3339 timestamps as points in time that compare exactly."""

from __future__ import annotations

import re
from datetime import date

from steelyard.errors import InvalidInputError

__all__ = ["UNKNOWN", "Instant", "parse_instant"]

# Whole seconds since 0001-01-01T00:00:00Z and the fraction's digits without trailing zeros: exact
# at any precision, and tuples of the two sort in time order.
Instant = tuple[int, str]

MAX_LENGTH = 64

_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))",
    re.ASCII,
)
_DAY = 86_400

# Sorts before every instant: offsets reach less than a day before year 1.
UNKNOWN: Instant = (-_DAY, "")


def parse_instant(text: str, path: str) -> Instant:
    """The point in time that an RFC 3339 timestamp with an offset names.

    Errors: InvalidInputError TIMESTAMP_INVALID at `path`. A leap second is accepted where RFC 3339
    allows one, at 23:59:60 UTC, and equals the first second of the next day.
    """
    match = _RFC3339.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is not None:
        year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
        offset_hour, offset_minute = int(match[9] or 0), int(match[10] or 0)
        try:
            days = date(year, month, day).toordinal() - 1
        except ValueError:
            days = -1
        if days >= 0 and hour < 24 and minute < 60 and offset_hour < 24 and offset_minute < 60:
            offset = (offset_hour * 60 + offset_minute) * 60 * (-1 if match[8] == "-" else 1)
            seconds = days * _DAY + hour * 3600 + minute * 60 + second - offset
            if second < 60 or (second == 60 and seconds % _DAY == 0):
                return seconds, (match[7] or "").rstrip("0")
    raise InvalidInputError.at(
        path,
        "TIMESTAMP_INVALID",
        "must be an RFC 3339 timestamp with an offset, such as 2026-05-01T10:00:00+09:00",
    )
