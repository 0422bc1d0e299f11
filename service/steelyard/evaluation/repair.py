"""Repair of EvalResult documents: what the contract or the document itself settles, nothing else.

A repair never invents evidence, feedback or a judgement and never changes a verdict. It fills in
what the contract says, respells what has one meaning, and recounts what is listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steelyard.evaluation.contract import Contract, Criterion
from steelyard.evaluation.judgement import MAX_LINE, is_repository_path
from steelyard.evaluation.lint import tally
from steelyard.evaluation.model import Category, Outcome, Priority, Severity, Verdict

__all__ = ["Repair", "repair_document"]


@dataclass(frozen=True, slots=True)
class Repair:
    """One change: the path of the field and what was done to it."""

    path: str
    message: str


def repair_document(
    document: object, contract: Contract | None = None
) -> tuple[object, tuple[Repair, ...]]:
    """A repaired copy of an EvalResult and what was changed in it, in order.

    - `description` and `required` of a criterion, and a missing `specId`, come from the contract
    - `"149-150"` as a line becomes line and endLine, `"2,346"` becomes line and locations
    - `"src/a.ts:7, src/b.ts:9"` as a file becomes file, line and locations
    - a word in other case or spacing (`"FAIL"`) becomes the word
    - `criterion` in a feedback item becomes `criterionId` when it is one of the contract
    - `score` is recounted when the list has exactly the contract's criteria, each with its result

    Any JSON value is accepted; repairing a repaired document changes nothing.
    """
    if not isinstance(document, dict):
        return document, ()
    repaired = {name: _copied(value) for name, value in document.items()}
    return repaired, tuple(_repairs(repaired, contract))


def _copied(value: object) -> object:
    """A copy down to where repairs reach, however deep the value nests."""
    if isinstance(value, list):
        return [dict(entry) if isinstance(entry, dict) else entry for entry in value]
    return dict(value) if isinstance(value, dict) else value


def _repairs(document: dict[str, object], contract: Contract | None) -> Iterator[Repair]:
    promised = {c.criterion_id: c for c in contract.criteria} if contract else {}
    yield from _respell(document, "overallResult", Verdict, "")
    if contract is not None and "specId" not in document:
        document["specId"] = contract.spec_id
        yield Repair("specId", "filled in from the contract")
    for path, entry in _objects(document, "strategyResults"):
        yield from _respell(entry, "result", Outcome, path)
    for path, entry in _objects(document, "criteriaResults"):
        yield from _respell(entry, "result", Outcome, path)
        yield from _from_contract(entry, promised, path)
    for path, entry in _objects(document, "regressions"):
        yield from _respell(entry, "severity", Severity, path)
    for path, entry in _objects(document, "generatorFeedback"):
        yield from _respell(entry, "priority", Priority, path)
        yield from _respell(entry, "category", Category, path)
        yield from _criterion_id(entry, promised, path)
        yield from _places(entry, path)
    yield from _recount(document, contract)


def _objects(document: dict[str, object], name: str) -> Iterator[tuple[str, dict[str, object]]]:
    entries = document.get(name)
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield f"{name}[{index}]", entry


_Words = type[Verdict] | type[Outcome] | type[Severity] | type[Priority] | type[Category]


def _respell(entry: dict[str, object], name: str, words: _Words, path: str) -> Iterator[Repair]:
    value = entry.get(name)
    if not isinstance(value, str) or len(value) > 100:
        return
    word = "-".join(value.lower().replace("_", " ").split())
    if word != value and word in {str(known) for known in words}:
        entry[name] = word
        yield Repair(f"{path}.{name}".lstrip("."), f"respelled {value!r} as {word!r}")


def _from_contract(
    entry: dict[str, object], promised: Mapping[str, Criterion], path: str
) -> Iterator[Repair]:
    name = entry.get("criterionId")
    criterion = promised.get(name) if isinstance(name, str) else None
    if criterion is None:
        return
    for member, value in (
        ("description", criterion.description),
        ("required", criterion.required),
    ):
        if entry.get(member) in (None, ""):
            entry[member] = value
            yield Repair(f"{path}.{member}", "filled in from the contract")


def _criterion_id(
    entry: dict[str, object], promised: Mapping[str, Criterion], path: str
) -> Iterator[Repair]:
    name = entry.get("criterion")
    if isinstance(name, str) and name in promised and "criterionId" not in entry:
        entry["criterionId"] = entry.pop("criterion")
        yield Repair(f"{path}.criterionId", "renamed from criterion")


# Places -----------------------------------------------------------------------------------------

_MAX_PLACES = 100
_SEPARATOR = re.compile(r"\s*(?:,|;|&|\band\b)\s*")
_RANGE = re.compile(r"[Ll]?(\d{1,9})(?:\s*[-\u2013]\s*[Ll]?(\d{1,9}))?")
_WITH_LINES = re.compile(
    r"(?P<file>[^\s:,;]+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?(?::\d{1,9})?"
)

_Place = tuple[str | None, int | None, int | None]


def _places(entry: dict[str, object], path: str) -> Iterator[Repair]:
    file, line = entry.get("file"), entry.get("line")
    if isinstance(line, str):
        own_file = file if isinstance(file, str) and is_repository_path(file) else None
        ranges = _ranges(line, own_file)
        # Several lines need a file to be places of.
        if ranges and (len(ranges) == 1 or own_file is not None):
            _place(entry, ranges)
            yield Repair(f"{path}.line", f"read {line!r} as {_told(ranges)}")
    elif isinstance(file, str) and line is None:
        places = _files(file)
        if places:
            _place(entry, places)
            yield Repair(f"{path}.file", f"read {file!r} as {_told(places)}")


def _ranges(text: str, file: str | None) -> list[_Place]:
    """Every line or range of a list; none when any part of it is something else."""
    found: list[_Place] = []
    for part in _SEPARATOR.split(text.strip(), maxsplit=_MAX_PLACES):
        match = _RANGE.fullmatch(part)
        place = _range(file, match[1], match[2]) if match else None
        if place is None:
            return []
        found.append(place)
    return found


def _files(text: str) -> list[_Place]:
    """Every `path:line` or `path:first-last` of a list, where `path:1-2,7` goes on in one file."""
    found: list[_Place] = []
    for part in _SEPARATOR.split(text.strip(), maxsplit=_MAX_PLACES):
        match, more = _WITH_LINES.fullmatch(part), _RANGE.fullmatch(part)
        place = None
        if match and is_repository_path(match["file"]):
            place = _range(match["file"], match["first"], match["last"])
        elif more and found:
            place = _range(found[-1][0], more[1], more[2])
        if place is None:
            return []
        found.append(place)
    return found


def _range(file: str | None, first: str, last: str | None) -> _Place | None:
    line, end = int(first), int(last) if last else None
    if not 1 <= line <= MAX_LINE or (end is not None and not line <= end <= MAX_LINE):
        return None
    return file, line, end


def _place(entry: dict[str, object], places: list[_Place]) -> None:
    file, line, end = places[0]
    if file is not None:
        entry["file"] = file
    entry["line"] = line
    if end is not None:
        entry["endLine"] = end
    if len(places) > 1:
        names = ("file", "line", "endLine")
        entry["locations"] = [
            {name: value for name, value in zip(names, place, strict=True) if value is not None}
            for place in places
        ]


def _told(places: list[_Place]) -> str:
    if len(places) > 1:
        return f"{len(places)} locations"
    _, line, end = places[0]
    return f"line {line}" if end is None else f"line {line} to endLine {end}"


# Counts -----------------------------------------------------------------------------------------


def _recount(document: dict[str, object], contract: Contract | None) -> Iterator[Repair]:
    score = document.get("score")
    if contract is None or not isinstance(score, dict):
        return
    criteria = [entry for _, entry in _objects(document, "criteriaResults")]
    listed = sorted(str(entry.get("criterionId")) for entry in criteria)
    if listed != sorted(criterion.criterion_id for criterion in contract.criteria):
        return
    counts = tally(criteria, contract)
    if len(counts) < 7:
        return
    for name, count in counts.items():
        if score.get(name) != count or type(score[name]) is not int:
            was = f"recounted, was {score[name]!r}" if name in score else "counted"
            score[name] = count
            yield Repair(f"score.{name}", f"{was}, is {count}")
