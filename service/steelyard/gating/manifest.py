"""The manifest, read once into types: what is well-formed is kept, the rest is a finding.

A value of the wrong kind is an error and never silently something else. Where the judge still needs
a value it gets the one that cannot help: a flag that is no boolean counts as critical, a threshold
that is no number counts as none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from steelyard.gating.evaluation_block import read_cases, read_criteria
from steelyard.gating.model import (
    Executor,
    GenomeBinding,
    JsonObject,
    Precheck,
    Squad,
)
from steelyard.gating.names import NAME_PATTERN, SLUG_PATTERN, is_name, is_slug
from steelyard.gating.paths import normal_path
from steelyard.gating.reading import MAX_ITEMS, Reader
from steelyard.gating.references import manifest_reference
from steelyard.strictjson import JsonValue

__all__ = [
    "CONTRACT_VERSION",
    "genome_bindings",
    "read_manifest",
    "referenced_paths",
    "worker_names",
]

CONTRACT_VERSION: Final = "1.0.0"
DEFAULT_MAX_AGE_DAYS: Final = 30
MAX_MAX_AGE_DAYS: Final = 3650
MIN_DEFER_REASON_LENGTH: Final = 8


def read_manifest(manifest: JsonValue) -> tuple[Squad, Precheck]:
    """The parts that the gate reads, and everything that breaks the contract. Total."""
    reader = Reader()
    top = reader.object(manifest, "")
    if not top:
        reader.error("", "MANIFEST_EMPTY", "the manifest must be an object with content")
    slug = reader.text(top.get("slug"), "slug")
    if slug is not None and not is_slug(slug):
        reader.error("slug", "INVALID_SLUG", f"must match {SLUG_PATTERN}")
    executors = tuple(_executors(reader, top.get("executors")))
    evaluation = reader.object(top.get("evaluation"), "evaluation")
    if not evaluation:
        reader.error("evaluation", "EVALUATION_MISSING", "the manifest declares no evaluation")
    version = evaluation.get("contractVersion", CONTRACT_VERSION)
    if version != CONTRACT_VERSION:
        message = f'must be "{CONTRACT_VERSION}"'
        reader.error("evaluation.contractVersion", "CONTRACT_VERSION", message)
    squad = Squad(
        slug=slug,
        executors=executors,
        source_docs=tuple(_source_docs(reader, top.get("sourceDocs"))),
        bindings=_bindings(reader, top.get("genomeBindings"), "genomeBindings"),
        criteria=tuple(read_criteria(reader, evaluation.get("criteria"))),
        cases=tuple(read_cases(reader, evaluation.get("heldOutCases"))),
        max_age_days=_max_age_days(reader, evaluation.get("maxAgeDays")),
        ephemeral=reader.flag(top.get("ephemeral"), "ephemeral", otherwise=False),
        regulated=reader.flag(top.get("regulated"), "regulated", otherwise=True),
        defer_reason=_defer_reason(reader, evaluation.get("deferReason")),
    )
    return squad, reader.precheck


def referenced_paths(manifest: JsonValue) -> tuple[str, ...]:
    """Every project path that judging this manifest needs, each once, in normal form.

    These are the keys of `Project.files`: source documents, executors' prompts, criteria's sources
    and artifacts, cases' artifacts. A path that leaves the project is not among them.
    """
    squad, _ = read_manifest(manifest)
    raw: list[str | None] = [*squad.source_docs, *(one.file for one in squad.executors)]
    for criterion in squad.criteria:
        raw.append(criterion.artifact)
        if criterion.source and manifest_reference(manifest, criterion.source) is None:
            raw.append(criterion.source)
    raw.extend(case.artifact for case in squad.cases)
    paths = (normal_path(path) for path in raw if path)
    return tuple(dict.fromkeys(path for path in paths if path))


def worker_names(manifest: JsonValue) -> tuple[str, ...]:
    """Every worker that the cases name, each once. These are the keys of `Project.workers`."""
    squad, _ = read_manifest(manifest)
    runs = (run for case in squad.cases for run in (case.baseline, case.candidate, case.scorer))
    return tuple(dict.fromkeys(run.worker for run in runs if run and run.worker))


def genome_bindings(value: JsonValue) -> tuple[tuple[GenomeBinding, ...], Precheck]:
    """The bindings of a manifest's `genomeBindings`, one per genome, and what is wrong with them.

    `value` is a list, or an object of `squad` (a list) and `executors` (a list per executor). An
    entry is a slug or an object of slug, status (default pending), compilationId, sourceHash and
    priority (default 100). Of two for one genome the higher priority wins, then the later one.
    """
    reader = Reader()
    bindings = _bindings(reader, value, "genomeBindings")
    return bindings, reader.precheck


def _executors(reader: Reader, value: JsonValue) -> Iterator[Executor]:
    seen: set[str] = set()
    for index, item in enumerate(reader.items(value, "executors", MAX_ITEMS)):
        path = f"executors[{index}]"
        entry = reader.object(item, path)
        slug = reader.text(entry.get("slug"), f"{path}.slug")
        if slug is None or not is_name(slug):
            reader.error(f"{path}.slug", "INVALID_NAME", f"must match {NAME_PATTERN}")
            continue
        if slug in seen:
            reader.error(f"{path}.slug", "DUPLICATE", "is the slug of another executor")
            continue
        seen.add(slug)
        yield Executor(slug, reader.path(entry.get("file"), f"{path}.file"))


def _source_docs(reader: Reader, value: JsonValue) -> Iterator[str]:
    for index, item in enumerate(reader.items(value, "sourceDocs", MAX_ITEMS)):
        path = reader.path(item, f"sourceDocs[{index}]")
        if path is not None:
            yield path


def _bindings(reader: Reader, value: JsonValue, path: str) -> tuple[GenomeBinding, ...]:
    found: dict[str, GenomeBinding] = {}
    for where, item in _binding_entries(reader, value, path):
        entry: JsonObject = {"slug": item} if isinstance(item, str) else reader.object(item, where)
        slug = entry.get("slug")
        if not isinstance(slug, str) or not is_slug(slug):
            reader.error(f"{where}.slug", "INVALID_SLUG", f"must match {SLUG_PATTERN}")
            continue
        priority = entry.get("priority", 100)
        if isinstance(priority, bool) or not isinstance(priority, int | float):
            reader.error(f"{where}.priority", "NOT_A_NUMBER", "must be a number")
            priority = math.inf  # it stays the one that counts: no other binding can hide it
        binding = GenomeBinding(
            slug=slug,
            status=reader.text(entry.get("status"), f"{where}.status") or "pending",
            compilation_id=reader.text(entry.get("compilationId"), f"{where}.compilationId"),
            source_hash=reader.text(entry.get("sourceHash"), f"{where}.sourceHash"),
            priority=priority,
        )
        if slug not in found or priority >= found[slug].priority:
            found[slug] = binding
    return tuple(found.values())


def _binding_entries(
    reader: Reader, value: JsonValue, path: str
) -> Iterator[tuple[str, JsonValue]]:
    lists: list[tuple[str, JsonValue]] = [(path, value)]
    if isinstance(value, dict):
        reader.known(value, path, frozenset({"squad", "executors"}))
        executors = reader.object(value.get("executors"), f"{path}.executors")
        lists = [(f"{path}.squad", value.get("squad"))]
        lists += [(f"{path}.executors.{key}", executors[key]) for key in sorted(executors)]
    for where, items in lists:
        for index, item in enumerate(reader.items(items, where, MAX_ITEMS)):
            yield f"{where}[{index}]", item


def _max_age_days(reader: Reader, value: JsonValue) -> int:
    if value is None:
        return DEFAULT_MAX_AGE_DAYS
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_MAX_AGE_DAYS:
        return value
    message = f"must be an integer from 1 to {MAX_MAX_AGE_DAYS}"
    reader.error("evaluation.maxAgeDays", "INVALID_MAX_AGE", message)
    return 1


def _defer_reason(reader: Reader, value: JsonValue) -> str | None:
    reason = reader.text(value, "evaluation.deferReason")
    if reason is not None and len(reason.strip()) < MIN_DEFER_REASON_LENGTH:
        message = f"must have at least {MIN_DEFER_REASON_LENGTH} characters"
        reader.error("evaluation.deferReason", "DEFER_REASON_TOO_SHORT", message)
        return None
    return reason
