"""A report, read back: the facts in it that cannot be derived from anything else.

Reading is total. What is missing or of the wrong kind becomes a plain value of the right kind; the
report that is derived from it then differs from the one that was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from steelyard._core import hash_object
from steelyard.gating.judge import is_run_id, read_time
from steelyard.gating.model import (
    Completed,
    Contexts,
    Execution,
    Failed,
    FileHash,
    Finding,
    JsonObject,
    Precheck,
    Prompts,
    Provenance,
    RunLabel,
    Squad,
    Worker,
)
from steelyard.gating.observe import (
    CaseFacts,
    CriterionFacts,
    Observations,
    Searched,
    WorkerFacts,
    manifest_source,
    worker_facts,
)
from steelyard.gating.paths import shown_path
from steelyard.strictjson import JsonValue

__all__ = ["Carried", "carried_observations", "read_report"]

T = TypeVar("T")

_NO_PROVENANCE = Provenance("1970-01-01T00:00:00.000Z", "00000000-0000-0000-0000-000000000000", "")


@dataclass(frozen=True, slots=True)
class Carried:
    """What a report says of itself: which squad, where it comes from, what the runs returned."""

    squad: str
    manifest: JsonValue
    provenance: Provenance
    executions: tuple[Execution, ...]


def read_report(document: JsonObject) -> Carried:
    """The facts that only the run itself knows. Total."""
    reproduction = _object(document.get("reproduction"))
    generated_at = _text(document.get("generated_at"))
    run_id = _text(reproduction.get("run_id"))
    executions: dict[tuple[str, RunLabel], Execution] = {}
    for case in _objects(_object(document.get("held_out")).get("cases")):
        for entry in _objects(case.get("executions")):
            label = _text(entry.get("label"))
            if label in set(RunLabel):
                execution = _execution(_text(case.get("id")), RunLabel(label), entry)
                executions.setdefault((execution.case, execution.label), execution)
    return Carried(
        squad=_text(document.get("squad")),
        manifest=_object(document.get("inputs")).get("manifest"),
        provenance=Provenance(
            generated_at if read_time(generated_at) else _NO_PROVENANCE.generated_at,
            run_id if is_run_id(run_id) else _NO_PROVENANCE.run_id,
            _text(reproduction.get("command")),
        ),
        executions=tuple(executions.values()),
    )


def carried_observations(
    document: JsonObject, manifest: JsonValue, squad: Squad, findings: Precheck
) -> Observations:
    """What the report says the files showed, for whoever does not have them. Total.

    Whatever the manifest alone decides (sources that are values of the manifest, paths, the hash of
    the prompts with the genome) is not taken from the report.
    """
    inputs = _object(document.get("inputs"))
    results = _objects(_object(document.get("source_rubric")).get("criteria"))
    criteria = tuple(
        CriterionFacts(
            source=manifest_source(one.source, manifest) or _searched(one.source, result, "source"),
            artifact=_searched(_maybe(result.get("artifact")), result, "artifact"),
            missing=_among(one.expected, result.get("missing")),
        )
        for one, result in _paired(squad.criteria, results)
    )
    entries = _objects(_object(document.get("held_out")).get("cases"))
    cases = tuple(
        CaseFacts(
            artifact=_searched(_maybe(entry.get("artifact")) or None, entry, "artifact"),
            missing=_among(case.expected_contains, entry.get("missing")),
            forbidden=_among(case.expected_not_contains, entry.get("forbidden")),
        )
        for case, entry in _paired(squad.cases, entries)
    )
    sources = _inventory(inputs.get("sources"))
    searched = [*(one.artifact for one in criteria), *(one.artifact for one in cases)]
    known = {one.path: one.hash for one in searched} | dict(sources)
    return Observations(
        sources=sources,
        artifacts=tuple(
            (path, known.get(path, digest)) for path, digest in _inventory(inputs.get("artifacts"))
        ),
        criteria=criteria,
        cases=cases,
        workers=_workers(entries),
        prompts=_prompts(_object(inputs.get("contexts")), squad, sources),
        findings=_other_findings(_object(document.get("precheck")), findings),
    )


def _execution(case: str, label: RunLabel, entry: JsonObject) -> Execution:
    outcome: Completed | Failed
    if entry.get("ok") is True:
        outcome = Completed(entry.get("output"), _maybe(entry.get("repeat_output_hash")))
    else:
        outcome = Failed(_text(entry.get("failure")) or "NOT_RUN", _text(entry.get("detail")))
    return Execution(
        case=case,
        label=label,
        outcome=outcome,
        payload_hash=_maybe(entry.get("payload_hash")),
        duration_ms=_count(entry.get("duration_ms")),
        attempt=_count(entry.get("attempt")),
    )


def _searched(path: str | None, entry: JsonObject, what: str) -> Searched:
    problem = _maybe(entry.get(f"{what}_problem"))
    digest = _maybe(entry.get(f"{what}_hash"))
    if path is not None and digest is None and problem is None:
        problem = "UNRESOLVED" if what == "source" else "NOT_FOUND"
    return Searched(path, digest, problem)


def _workers(cases: list[JsonObject]) -> dict[str, WorkerFacts]:
    workers: dict[str, WorkerFacts] = {}
    for case in cases:
        for entry in _objects(case.get("executions")):
            name = _maybe(entry.get("worker"))
            files = tuple(
                FileHash(path, digest)
                for path, digest in _inventory(entry.get("worker_sources"))
                if digest is not None
            )
            if name is not None and files:
                workers.setdefault(name, worker_facts(Worker(files)))
    return workers


def _prompts(
    contexts: JsonObject, squad: Squad, sources: tuple[tuple[str, str | None], ...]
) -> Prompts:
    files = [one for one in squad.executors if one.file is not None]
    entries: list[JsonValue] = []
    for position, one in enumerate(files, start=len(squad.source_docs)):
        digest = sources[position][1] if position < len(sources) else None
        path = shown_path(one.file or "")
        entries.append({"executor": one.slug, "path": path, "hash": digest})
    intact = contexts.get("intact") is True
    off = _text(contexts.get("genome_off"))
    return Prompts(
        Contexts(off, False, intact, None),
        Contexts(hash_object(entries), contexts.get("effects_present") is True, intact, None),
    )


def _other_findings(precheck: JsonObject, known: Precheck) -> Precheck:
    """Findings about files and workers: those of the report that the manifest does not explain."""

    def others(key: str, explained: frozenset[Finding]) -> Iterator[Finding]:
        for entry in _objects(precheck.get(key)):
            keys = ("code", "path", "message")
            finding = Finding(*(_text(entry.get(part)) for part in keys))
            if finding not in explained:
                yield finding

    return Precheck(
        tuple(others("errors", frozenset(known.errors))),
        tuple(others("warnings", frozenset(known.warnings))),
    )


def _inventory(value: JsonValue) -> tuple[tuple[str, str | None], ...]:
    return tuple((_text(one.get("path")), _maybe(one.get("hash"))) for one in _objects(value))


def _among(terms: tuple[str, ...], value: JsonValue) -> tuple[str, ...]:
    found = _texts(value)
    return tuple(term for term in terms if term in found)


def _paired(declared: Sequence[T], results: Sequence[JsonObject]) -> Iterator[tuple[T, JsonObject]]:
    """Each declared thing with the result at its position, an empty one where there is none."""
    for index, one in enumerate(declared):
        yield one, results[index] if index < len(results) else {}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _objects(value: JsonValue) -> list[JsonObject]:
    return [_object(item) for item in value] if isinstance(value, list) else []


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: JsonValue) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()


def _maybe(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: JsonValue) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    return 0
