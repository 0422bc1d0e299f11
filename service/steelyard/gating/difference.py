"""Differences between two JSON values, with a path to each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from steelyard.strictjson import JsonValue

__all__ = ["Difference", "Kind", "differences"]

Path = tuple[str | int, ...]

# Lists of objects are paired by the first of these that tells all their items apart.
_IDENTITIES: Final = ("path", "id", "label", "name")


class Kind(Enum):
    """What a difference is."""

    CHANGED = "changed"
    MISSING = "missing"  # only expected
    UNEXPECTED = "unexpected"  # only found


@dataclass(frozen=True, slots=True)
class Difference:
    """Steps are keys of objects, positions in lists, and the paths that inventories list."""

    steps: Path
    kind: Kind
    expected: JsonValue
    found: JsonValue

    @property
    def in_list(self) -> bool:
        """True for a whole item of a list, False for a member of an object."""
        last = self.steps[-1] if self.steps else ""
        return isinstance(last, int) or last.startswith('["')

    @property
    def path(self) -> str:
        """`held_out.cases[0].status`, `inputs.sources["a.md"].hash`."""
        text = ""
        for step in self.steps:
            if isinstance(step, int):
                text += f"[{step}]"
            elif step.startswith('["'):
                text += step
            else:
                text += f".{step}" if text else step
        return text


def differences(expected: JsonValue, found: JsonValue, at: Path = ()) -> Iterator[Difference]:
    """Every difference, in the order of `expected`. Numbers are equal by value, and no boolean is a
    number."""
    if isinstance(expected, dict) and isinstance(found, dict):
        yield from _in_objects(expected, found, at)
    elif isinstance(expected, list) and isinstance(found, list):
        yield from _in_lists(expected, found, at)
    elif isinstance(expected, bool) is not isinstance(found, bool) or expected != found:
        yield Difference(at, Kind.CHANGED, expected, found)


def _in_objects(
    expected: dict[str, JsonValue], found: dict[str, JsonValue], at: Path
) -> Iterator[Difference]:
    for key, value in expected.items():
        if key in found:
            yield from differences(value, found[key], (*at, key))
        else:
            yield Difference((*at, key), Kind.MISSING, value, None)
    for key in sorted(found.keys() - expected.keys()):
        yield Difference((*at, key), Kind.UNEXPECTED, None, found[key])


def _in_lists(expected: list[JsonValue], found: list[JsonValue], at: Path) -> Iterator[Difference]:
    identity = _identity(expected, found)
    if identity is None:
        pairs = [(index, value, found[index]) for index, value in enumerate(expected[: len(found)])]
        for index, value, other in pairs:
            yield from differences(value, other, (*at, index))
        for index in range(len(found), len(expected)):
            yield Difference((*at, index), Kind.MISSING, expected[index], None)
        for index in range(len(expected), len(found)):
            yield Difference((*at, index), Kind.UNEXPECTED, None, found[index])
        return
    wanted = {_key(item, identity): (index, item) for index, item in enumerate(expected)}
    present = {_key(item, identity): (index, item) for index, item in enumerate(found)}
    for key, (index, item) in wanted.items():
        if key in present:
            position, other = present[key]
            yield from differences(item, other, (*at, _step(other, position)))
        else:
            yield Difference((*at, _step(item, index)), Kind.MISSING, item, None)
    for key, (index, item) in present.items():
        if key not in wanted:
            yield Difference((*at, _step(item, index)), Kind.UNEXPECTED, None, item)
    common = [key for key in wanted if key in present]
    if common != [key for key in present if key in wanted]:
        yield Difference(at, Kind.CHANGED, list(wanted), list(present))


def _identity(expected: list[JsonValue], found: list[JsonValue]) -> str | None:
    for name in _IDENTITIES:
        if all(_identifies(name, items) for items in (expected, found)) and (expected or found):
            return name
    return None


def _identifies(name: str, items: list[JsonValue]) -> bool:
    keys = [item.get(name) if isinstance(item, dict) else None for item in items]
    return all(isinstance(key, str) for key in keys) and len(set(map(str, keys))) == len(keys)


def _key(item: JsonValue, identity: str) -> str:
    return str(item[identity]) if isinstance(item, dict) else ""


def _step(item: JsonValue, index: int) -> str | int:
    if isinstance(item, dict) and item.keys() == {"path", "hash"}:
        return f'["{item["path"]}"]'
    return index
