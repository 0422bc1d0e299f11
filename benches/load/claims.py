"""What the figures say: ratios of two rows of the table, taken repeat by repeat."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from measure import Result

__all__ = ["Claim", "claims"]

Row = tuple[str, str]
"""A scenario and a server."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A ratio of server CPU, how far its repeats lie apart, and what it should be."""

    what: str
    median: float
    lowest: float
    highest: float
    aim: str

    def document(self) -> dict[str, Any]:
        """For the JSON file."""
        return asdict(self)


# What is compared: CPU of the first row by that of the second, per request.
COSTS: tuple[tuple[str, Row, Row, str], ...] = (
    ("1 task / empty RPC", ("1 task", "steelyard"), ("1 task", "empty"), "at most 1.15"),
    (
        "1 task, records on / off",
        ("1 task", "steelyard"),
        ("1 task", "no-records"),
        "at most 1.05",
    ),
    (
        "message of a stream / call",
        ("stream, 1 task", "steelyard"),
        ("1 task", "steelyard"),
        "at most 0.5",
    ),
    ("ScoreTask / empty RPC", ("ScoreTask", "steelyard"), ("1 task", "empty"), ""),
    ("ScoreTask, kept / empty RPC", ("ScoreTask, kept", "steelyard"), ("1 task", "empty"), ""),
)
# Tasks per CPU second: the CPU of a peer by ours, for the same request.
GAINS: tuple[tuple[str, str, str], ...] = (
    ("10,000 columns", "python-sync", "at least 40"),
    ("10,000 rows", "python-sync", "at least 15"),
    ("10,000 columns", "messages", ""),
    ("10,000 rows", "messages", ""),
)


def claims(results: Sequence[Result]) -> Iterator[Claim]:
    """The ratios that the project answers for."""
    rows = {(result.scenario, result.server): result for result in results}
    for what, one, other, aim in COSTS:
        yield _claim(what, rows[one], rows[other], aim)
    for scenario, peer, aim in GAINS:
        ours, theirs = rows[scenario, "steelyard"], rows[scenario, peer]
        yield _claim(f"{scenario}, tasks per CPU second / {peer}", theirs, ours, aim)


def _claim(what: str, one: Result, other: Result, aim: str) -> Claim:
    """Repeats take turns, so that a repeat of one row lies beside the same repeat of the other."""
    ratios = [
        first.cpu_microseconds / second.cpu_microseconds
        for first, second in zip(one.samples, other.samples, strict=True)
    ]
    return Claim(what, statistics.median(ratios), min(ratios), max(ratios), aim)
