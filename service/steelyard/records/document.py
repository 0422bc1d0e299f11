"""Domain values as JSON documents, and back. Pure.

A dataclass is an object whose keys are its fields in camel case, an enum its word, a tuple an
array; the text is canonical. Reading ignores keys it does not know and gives fields that are absent
their default, so a document of an earlier release can be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from operator import itemgetter
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from steelyard._core import Members, canonical_record
from steelyard.scoring.evidence import Evidence, EvidenceBundle, Group
from steelyard.scoring.task_types import TaskEvaluation

__all__ = ["StoredDocument", "dump", "load", "members", "read_evaluation", "stored_document"]

T = TypeVar("T")

# What has columns or rows of its own, or is added below.
_APART = frozenset(("run_id", "suggestions", "provenance"))


class StoredDocument(NamedTuple):
    """What is kept of an evaluation: all but its run and suggestions, which have their own rows."""

    text: bytes
    """The whole document."""
    content: bytes
    """The document without the provenance: what the same call gives with every build."""


def stored_document(evaluation: TaskEvaluation) -> StoredDocument:
    """The document of an evaluation.

    Raises InvalidInputError with the path of what JSON cannot hold: LONE_SURROGATE,
    INTEGER_OUT_OF_RANGE.
    """
    kept = members(evaluation, _APART)
    if evaluation.bundle is not None:
        kept["bundle"] = evaluation.bundle.evidence
    content = dump(kept)
    provenance = dump({"provenance": evaluation.provenance})
    # Two objects that are not empty and share no key, made one.
    return StoredDocument(content[:-1] + b"," + provenance[1:], content)


def read_evaluation(document: str) -> TaskEvaluation:
    """The inverse of `stored_document`, with neither run nor suggestions."""
    kept = json.loads(document)
    found = load(TaskEvaluation, kept | {"runId": "", "suggestions": (), "bundle": None})
    if kept["bundle"] is None:
        return found
    evidence = load(Evidence, kept["bundle"])
    sources = {entry.id: group for group in Group for entry in evidence.entries(group)}
    return replace(found, bundle=EvidenceBundle(evidence, sources))


def dump(value: Any) -> bytes:
    """A domain value as canonical JSON."""
    return canonical_record(value, _members)


def members(value: Any, apart: frozenset[str]) -> dict[str, Any]:
    """The fields of a dataclass without those named `apart`, by key and still domain values."""
    return {key: getattr(value, name) for name, key in _keys(value.__class__) if name not in apart}


@cache
def _keys(kind: Any) -> tuple[tuple[str, str], ...]:
    """Name and key of each field of a dataclass, by key: canonical JSON needs no sorting then."""
    return tuple(
        sorted(((each.name, _camel(each.name)) for each in fields(kind)), key=itemgetter(1))
    )


@cache
def _members(kind: Any) -> Members | None:
    return None if issubclass(kind, Mapping) else Members(_keys(kind))


def load(kind: type[T], value: Any) -> T:
    """JSON values as a domain value of type `kind`."""
    loaded: T = _load(kind, value)
    return loaded


def _load(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        inner = next(each for each in get_args(kind) if each is not NoneType)
        return None if value is None else _load(inner, value)
    if origin is tuple:
        return tuple(_load(get_args(kind)[0], entry) for entry in value)
    if origin is not None:
        key_kind, value_kind = get_args(kind)
        return {_load(key_kind, key): _load(value_kind, entry) for key, entry in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        known = {name: _load(hint, value[key]) for name, key, hint in _fields(kind) if key in value}
        return kind(**known)
    # Canonical JSON writes 1.0 as 1.
    is_named = isinstance(kind, type) and (issubclass(kind, Enum) or kind is float)
    return kind(value) if is_named else value


@cache
def _fields(kind: Any) -> tuple[tuple[str, str, Any], ...]:
    """Name, key and type of each field of a dataclass."""
    hints = get_type_hints(kind)
    return tuple((name, key, hints[name]) for name, key in _keys(kind))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
