"""Domain values as JSON documents, and back. Pure.

A dataclass is an object whose keys are its fields in camel case, an enum its word, a tuple an
array. Reading ignores keys it does not know and gives fields that are absent their default, so a
document of an earlier release can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from steelyard.scoring.evidence import Evidence, EvidenceBundle, Group
from steelyard.scoring.task_types import TaskEvaluation

__all__ = ["dump", "load", "read_evaluation", "stored_document"]

T = TypeVar("T")

_PLAIN = frozenset((str, int, float, bool, NoneType))


def stored_document(evaluation: TaskEvaluation) -> dict[str, Any]:
    """What is kept of an evaluation: all but its run and suggestions, which have their own rows."""
    document: dict[str, Any] = dump(replace(evaluation, run_id="", suggestions=(), bundle=None))
    if evaluation.bundle is not None:
        document["bundle"] = dump(evaluation.bundle.evidence)
    return document


def read_evaluation(document: Mapping[str, Any]) -> TaskEvaluation:
    """The inverse of `stored_document`."""
    found = load(TaskEvaluation, {**document, "bundle": None})
    if document["bundle"] is None:
        return found
    evidence = load(Evidence, document["bundle"])
    sources = {entry.id: group for group in Group for entry in evidence.entries(group)}
    return replace(found, bundle=EvidenceBundle(evidence, sources))


def dump(value: Any) -> Any:
    """A domain value as JSON values."""
    write = _writer(value.__class__)
    return value if write is None else write(value)


@cache
def _writer(kind: Any) -> Callable[[Any], Any] | None:
    """Turns values of a type into JSON values; None where they are some already.

    Made once from the type, since every evaluation that is stored passes here.
    """
    if kind in _PLAIN:
        return None
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        inner = _writer(_not_none(kind))
        return inner and (lambda value: None if value is None else inner(value))
    if origin is tuple:
        return _array_writer(_writer(get_args(kind)[0]))
    if origin is not None:
        key, entry = (_writer(each) or _same for each in get_args(kind))
        return lambda value: {key(name): entry(each) for name, each in value.items()}
    if issubclass(kind, Enum):
        return attrgetter("value")
    parts = [(name, key, _writer(hint)) for name, key, hint in _fields(kind)]
    return lambda value: {
        key: getattr(value, name) if write is None else write(getattr(value, name))
        for name, key, write in parts
    }


def _array_writer(entry: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return list if entry is None else (lambda value: [entry(each) for each in value])


def _same(value: Any) -> Any:
    return value


def _not_none(kind: Any) -> Any:
    """The type that an optional one has a value of."""
    return next(each for each in get_args(kind) if each is not NoneType)


def load(kind: type[T], value: Any) -> T:
    """JSON values as a domain value of type `kind`."""
    loaded: T = _load(kind, value)
    return loaded


def _load(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return None if value is None else _load(_not_none(kind), value)
    if origin is tuple:
        return tuple(_load(get_args(kind)[0], entry) for entry in value)
    if origin is not None:
        key_kind, value_kind = get_args(kind)
        return {_load(key_kind, key): _load(value_kind, entry) for key, entry in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        known = {name: _load(hint, value[key]) for name, key, hint in _fields(kind) if key in value}
        return kind(**known)
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value


@cache
def _fields(kind: Hashable) -> tuple[tuple[str, str, Any], ...]:
    """Name, key and type of each field of a dataclass."""
    cls: Any = kind
    hints = get_type_hints(cls)
    return tuple((each.name, _camel(each.name), hints[each.name]) for each in fields(cls))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
