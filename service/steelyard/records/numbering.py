"""Record numbers: unique 63-bit integers that ascend with time.

A number is the microseconds since 2020-01-01T00:00:00Z, shifted left by 12 bits, plus the 12-bit
node of the process that gave it. One integer is therefore the primary key, the creation time and
the place in every newest-first list. Numbers of one process strictly ascend, also when its clock
steps back; two processes collide only with the same node in the same microsecond, and then the
primary key refuses the second, which is tried again with a later number. Good until the year 2091.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

__all__ = [
    "NODES",
    "NUMBERS_PER_DAY",
    "Clock",
    "Numbering",
    "micros_of",
    "moment_of",
    "number_at",
    "number_to_moment",
]

Clock = Callable[[], datetime]

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
_EPOCH_MICROS = (_NUMBER_EPOCH - _UNIX_EPOCH) // timedelta(microseconds=1)
_NODE_BITS = 12
NODES = 1 << _NODE_BITS
# Numbers count from the start of a UTC day, so dividing by this gives the day.
NUMBERS_PER_DAY = 86_400_000_000 << _NODE_BITS
_LAST = (1 << 63) - 1
_LATEST_MOMENT = datetime(9999, 12, 31, tzinfo=UTC)


def micros_of(moment: datetime) -> int:
    """Microseconds since 1970 of an aware datetime: how every time is stored."""
    return (moment - _UNIX_EPOCH) // timedelta(microseconds=1)


def moment_of(micros: int) -> datetime:
    """The UTC datetime of stored microseconds; the far future is cut to the year 9999."""
    try:
        return _UNIX_EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return _LATEST_MOMENT


def number_at(moment: datetime) -> int:
    """The lowest number that a record made at `moment` can have, cut to the range of numbers."""
    return min(max((micros_of(moment) - _EPOCH_MICROS) << _NODE_BITS, 0), _LAST)


def number_to_moment(number: int) -> datetime:
    """When the record with this number was made."""
    return moment_of((number >> _NODE_BITS) + _EPOCH_MICROS)


class Numbering:
    """Gives the numbers of one process. Used by its one writer thread only, so it has no lock."""

    def __init__(self, clock: Clock, node: int) -> None:
        """`node` is 0..4095 and differs between the processes of one store, by chance at least."""
        self._clock = clock
        self._node = node % NODES
        self._last = 0

    def now(self) -> int:
        """The clock, in microseconds since 1970."""
        return micros_of(self._clock())

    def next(self) -> int:
        """A new number."""
        return self.many(1)[0]

    def many(self, count: int) -> Sequence[int]:
        """New numbers, ascending, of one look at the clock."""
        first = max(self._last + 1, self.now() - _EPOCH_MICROS)
        self._last = first + count - 1
        return range(first << _NODE_BITS | self._node, (first + count) << _NODE_BITS, NODES)
