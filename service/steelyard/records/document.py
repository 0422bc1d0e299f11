"""Domain values as JSON documents, and back. Pure.

A dataclass is an object whose keys are its fields in camel case, an enum its word, a tuple an
array. Reading ignores keys it does not know and gives fields that are absent their default, so a
document of an earlier release can be read.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
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
    kind = value.__class__
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return [dump(entry) for entry in value]
    if known := _fields(kind):
        return {key: dump(getattr(value, name)) for name, key, _ in known}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): dump(entry) for key, entry in value.items()}
    raise TypeError(f"{kind.__name__} is no domain value")


def load(kind: type[T], value: Any) -> T:
    """JSON values as a domain value of type `kind`."""
    loaded: T = _load(kind, value)
    return loaded


def _load(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        inner = [each for each in get_args(kind) if each is not NoneType]
        return None if value is None else _load(inner[0], value)
    if origin is tuple:
        return tuple(_load(get_args(kind)[0], entry) for entry in value)
    if origin is not None:
        key_kind, value_kind = get_args(kind)
        return {_load(key_kind, key): _load(value_kind, entry) for key, entry in value.items()}
    if known := _fields(kind):
        return kind(**{name: _load(hint, value[key]) for name, key, hint in known if key in value})
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value


@cache
def _fields(kind: Hashable) -> tuple[tuple[str, str, Any], ...]:
    """Name, key and type of each field of a dataclass; nothing of any other type."""
    cls: Any = kind
    if not (isinstance(cls, type) and is_dataclass(cls)):
        return ()
    hints = get_type_hints(cls)
    return tuple((each.name, _camel(each.name), hints[each.name]) for each in fields(cls))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
