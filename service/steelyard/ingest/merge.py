"""One cause that several tools report is one item with several sources."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.ingest.model import Finding, Severity

__all__ = ["Merged", "Source", "merge"]

_GRAVITY = {severity: rank for rank, severity in enumerate(Severity)}
_NOT_WORDS = re.compile(r"[^0-9a-z]+")


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Who reported it: the name of the strategy, the tool, and the tool's rule (empty: none)."""

    strategy: str
    tool: str
    rule_id: str = ""


@dataclass(frozen=True, slots=True)
class Merged:
    """A finding and everyone who reported it, in the order of their names."""

    finding: Finding
    sources: tuple[Source, ...]


def merge(findings: Iterable[tuple[str, Finding]]) -> tuple[Merged, ...]:
    """Merge findings, given as (strategy, finding), that have one cause.

    Two have one cause when they lie at the same file and line and share their rule or the words of
    their message. Findings without a line are merged only when everything they say is the same,
    the test included. The gravest one speaks for its group. The result does not depend on the
    order of the input: it is sorted by gravity, file, line, column, rule and message.
    """
    items = sorted(findings, key=lambda item: (_order(item[1]), item[0]))
    parents = list(range(len(items)))

    def find(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    owners: dict[tuple[object, ...], int] = {}
    for index, (_, finding) in enumerate(items):
        for key in _causes(finding):
            owner = find(owners.setdefault(key, index))
            own = find(index)
            parents[max(owner, own)] = min(owner, own)
    groups: dict[int, list[tuple[str, Finding]]] = {}
    for index, item in enumerate(items):
        groups.setdefault(find(index), []).append(item)
    return tuple(
        Merged(
            group[0][1],
            tuple(sorted({Source(name, f.tool, f.rule_id or "") for name, f in group})),
        )
        for group in groups.values()
    )


def _causes(finding: Finding) -> list[tuple[object, ...]]:
    """Keys of which one in common means one cause."""
    words = " ".join(_NOT_WORDS.split(finding.message.casefold())).strip()
    if finding.path is None or finding.position is None:
        place = finding.path or finding.raw_location
        return [("whole", place, finding.rule_id, finding.test_name, words)]
    place_key = (finding.path, finding.position.line)
    keys: list[tuple[object, ...]] = [("message", *place_key, words)]
    if finding.rule_id:
        keys.append(("rule", *place_key, finding.rule_id))
    return keys


def _order(finding: Finding) -> tuple[object, ...]:
    position = finding.position
    return (
        _GRAVITY[finding.severity],
        finding.path or "\U0010ffff",
        position.line if position else 0,
        (position.column or 0) if position else 0,
        finding.rule_id or "",
        finding.message,
        finding.test_name or "",
        finding.tool,
        finding.kind.value,
        -finding.count,
        repr(finding),
    )
