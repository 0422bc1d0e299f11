"""The `evaluation` block of a manifest: criteria and held-out cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from steelyard.gating.model import (
    Criterion,
    DimensionSpec,
    HeldOutCase,
    JsonObject,
    Kind,
    Precheck,
    RunSpec,
)
from steelyard.gating.names import GUARDS, NAME_PATTERN, is_name
from steelyard.gating.reading import MAX_ITEMS, MAX_TERMS, Reader
from steelyard.strictjson import JsonValue

__all__ = ["DEFAULT_THRESHOLD", "read_cases", "read_criteria", "read_dimension"]

DEFAULT_THRESHOLD: Final = 0.8

_CRITICAL_KINDS: Final = frozenset({Kind.DEPTH, Kind.GROUNDING})
_CASE_KEYS: Final = frozenset(
    {
        "id",
        "task",
        "executor",
        "worker",
        "input",
        "baselineRun",
        "candidateRun",
        "scorer",
        "artifact",
    }
    | {"expectedContains", "expectedNotContains", "deterministic", "seed"}
    | {"dimensions", "thresholds", "criticalDimensions"}
)
_CRITERION_KEYS: Final = frozenset(
    {"id", "kind", "statement", "claim", "source", "executor", "artifact", "critical"}
    | {"expectedTerms", "expected"}
)
_DIMENSION_KEYS: Final = frozenset({"threshold", "critical", "margin"})


def read_dimension(name: str, definition: JsonValue) -> tuple[DimensionSpec, Precheck]:
    """One declared dimension, `{threshold, critical, margin}`, and what is wrong with it."""
    reader = Reader()
    spec = _dimension(reader, name, definition, None, False, f"dimensions.{name}")
    return spec, reader.precheck


def read_criteria(reader: Reader, value: JsonValue) -> Iterator[Criterion]:
    base = "evaluation.criteria"
    seen: set[str] = set()
    for index, item in enumerate(reader.items(value, base, MAX_ITEMS)):
        path = f"{base}[{index}]"
        entry = reader.object(item, path)
        reader.known(entry, path, _CRITERION_KEYS)
        yield _criterion(reader, entry, path, index, seen)


def _criterion(
    reader: Reader, entry: JsonObject, path: str, index: int, seen: set[str]
) -> Criterion:
    name = _id(reader, entry.get("id"), path, f"criterion-{index + 1}", seen)
    kind = Kind.GROUNDING
    word = entry.get("kind")
    if isinstance(word, str) and word in set(Kind):
        kind = Kind(word)
    else:
        reader.error(f"{path}.kind", "INVALID_KIND", f"must be one of {', '.join(Kind)}")
    critical = reader.flag(entry.get("critical"), f"{path}.critical", otherwise=True)
    statement = reader.text(entry.get("statement"), f"{path}.statement")
    return Criterion(
        id=name,
        kind=kind,
        statement=statement or reader.text(entry.get("claim"), f"{path}.claim") or name,
        source=reader.text(entry.get("source"), f"{path}.source"),
        executor=reader.text(entry.get("executor"), f"{path}.executor"),
        artifact=reader.text(entry.get("artifact"), f"{path}.artifact"),
        expected=reader.terms(
            entry.get("expectedTerms", entry.get("expected")), f"{path}.expectedTerms"
        ),
        critical=critical or kind in _CRITICAL_KINDS,
    )


def _id(reader: Reader, value: JsonValue, path: str, otherwise: str, seen: set[str]) -> str:
    name = otherwise
    if value is None:
        reader.warn(f"{path}.id", "ID_MISSING", f"has no id and is called {otherwise}")
    elif isinstance(value, str) and is_name(value):
        name = value
    else:
        reader.error(f"{path}.id", "INVALID_NAME", f"must match {NAME_PATTERN}")
    if name in seen:
        reader.error(f"{path}.id", "DUPLICATE", f"{name} is the id of another entry")
    seen.add(name)
    return name


def read_cases(reader: Reader, value: JsonValue) -> Iterator[HeldOutCase]:
    base = "evaluation.heldOutCases"
    seen: set[str] = set()
    for index, item in enumerate(reader.items(value, base, MAX_ITEMS)):
        path = f"{base}[{index}]"
        entry = reader.object(item, path)
        reader.known(entry, path, _CASE_KEYS)
        name = _id(reader, entry.get("id"), path, f"case-{index + 1}", seen)
        yield _case(reader, entry, path, name)


def _case(reader: Reader, entry: JsonObject, path: str, name: str) -> HeldOutCase:
    candidate = entry.get("candidateRun")
    where = f"{path}.candidateRun"
    if candidate is None and (entry.get("worker") is not None or entry.get("input") is not None):
        candidate, where = {"worker": entry.get("worker"), "input": entry.get("input")}, path
    case = HeldOutCase(
        id=name,
        task=reader.text(entry.get("task"), f"{path}.task") or "",
        executor=reader.text(entry.get("executor"), f"{path}.executor"),
        baseline=_run(reader, entry.get("baselineRun"), f"{path}.baselineRun"),
        candidate=_run(reader, candidate, where),
        scorer=_run(reader, entry.get("scorer"), f"{path}.scorer"),
        artifact=reader.path(entry.get("artifact"), f"{path}.artifact"),
        expected_contains=reader.terms(entry.get("expectedContains"), f"{path}.expectedContains"),
        expected_not_contains=reader.terms(
            entry.get("expectedNotContains"), f"{path}.expectedNotContains"
        ),
        deterministic=reader.flag(
            entry.get("deterministic"), f"{path}.deterministic", otherwise=False
        ),
        seed=_seed(reader, entry.get("seed"), f"{path}.seed"),
        dimensions=tuple(_dimensions(reader, entry, path)),
    )
    if not case.task:
        reader.error(f"{path}.task", "TASK_MISSING", "must say what the task is")
    if case.candidate is None and (case.baseline or case.scorer or case.dimensions):
        reader.error(where, "CANDIDATE_MISSING", "scores need a candidate run")
    if case.artifact is None and (case.expected_contains or case.expected_not_contains):
        reader.error(f"{path}.artifact", "ARTIFACT_MISSING", "assertions need an artifact")
    return case


def _run(reader: Reader, value: JsonValue, path: str) -> RunSpec | None:
    if value is None:
        return None
    entry: JsonObject = {"worker": value} if isinstance(value, str) else reader.object(value, path)
    worker = entry.get("worker")
    if not isinstance(worker, str) or not is_name(worker):
        reader.error(f"{path}.worker", "INVALID_NAME", f"must match {NAME_PATTERN}")
        worker = None
    return RunSpec(worker, reader.object(entry.get("input"), f"{path}.input"))


def _seed(reader: Reader, value: JsonValue, path: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    reader.error(path, "INVALID_SEED", "must be an integer from 0 to 2^53 - 1")
    return None


def _dimensions(reader: Reader, entry: JsonObject, path: str) -> Iterator[DimensionSpec]:
    declared = reader.object(entry.get("dimensions"), f"{path}.dimensions")
    thresholds = reader.object(entry.get("thresholds"), f"{path}.thresholds")
    critical: set[str] = set()
    for index, item in enumerate(
        reader.items(entry.get("criticalDimensions"), f"{path}.criticalDimensions", MAX_TERMS)
    ):
        name = reader.text(item, f"{path}.criticalDimensions[{index}]")
        critical |= {name} if name else set()
    names = sorted({*declared, *thresholds, *critical})
    if len(names) > MAX_TERMS:
        reader.error(f"{path}.dimensions", "TOO_MANY", f"at most {MAX_TERMS} dimensions")
    for name in names[:MAX_TERMS]:
        where = f"{path}.dimensions.{name}"
        if not is_name(name):
            reader.error(where, "INVALID_NAME", f"a dimension's name must match {NAME_PATTERN}")
        elif name in GUARDS:
            reader.error(where, "RESERVED_NAME", "is the name of a guard")
        else:
            definition = declared.get(name)
            yield _dimension(
                reader, name, definition, thresholds.get(name), name in critical, where
            )


def _dimension(
    reader: Reader,
    name: str,
    definition: JsonValue,
    threshold: JsonValue,
    critical: bool,
    path: str,
) -> DimensionSpec:
    entry = reader.object(definition, path)
    reader.known(entry, path, _DIMENSION_KEYS)
    threshold = entry.get("threshold", DEFAULT_THRESHOLD if threshold is None else threshold)
    margin = reader.fraction(entry.get("margin", 0), f"{path}.margin", "MARGIN_INVALID")
    if margin == 1:
        reader.error(f"{path}.margin", "MARGIN_INVALID", "must be less than 1")
    return DimensionSpec(
        name=name,
        threshold=reader.fraction(threshold, f"{path}.threshold", "THRESHOLD_INVALID"),
        critical=reader.flag(entry.get("critical"), f"{path}.critical", otherwise=True) or critical,
        margin=margin if margin is not None and margin < 1 else 0.0,
    )
