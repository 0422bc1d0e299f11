"""A gate without processes: squads in memory whose workers answer from a function."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from steelyard._core import hash_object
from steelyard.gating.envelope import case_runs, payload, prompts
from steelyard.gating.judge import judge
from steelyard.gating.manifest import read_manifest, referenced_paths, worker_names
from steelyard.gating.model import (
    BrokenWorker,
    Completed,
    Evidence,
    Execution,
    Failed,
    FileHash,
    FileProblem,
    FoundFile,
    JsonObject,
    Project,
    ProjectFile,
    Provenance,
    Report,
    RunLabel,
    Worker,
)
from steelyard.gating.report import report_json
from steelyard.strictjson import JsonValue

SQUAD = "probe-squad"
NOW = "2026-01-02T03:04:05.678Z"
PROVENANCE = Provenance(NOW, "00000000-0000-4000-8000-000000000000", "steelyard gate .")
BLOCK = "<!-- AIOSON:GENOME-COMPILED:BEGIN -->\nrule\n<!-- AIOSON:GENOME-COMPILED:END -->\n"
COMPILED = {"slug": "g", "status": "compiled", "compilationId": "cid", "sourceHash": "sh"}

# What a worker answers: its name, which run, the payload; None when it fails.
Respond = Callable[[str, RunLabel, JsonObject], JsonValue]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def worker(program: str, **others: str) -> Worker:
    files = {"run.py": program, "worker.json": "{}", **others}
    return Worker(tuple(FileHash(path, sha(text.encode())) for path, text in files.items()))


def project(
    manifest: JsonValue,
    files: Mapping[str, str | bytes | ProjectFile],
    workers: Mapping[str, Worker] | None = None,
) -> Project:
    """A project that holds `files`, and workers that differ in content unless given."""
    known = {name: worker(f"print({name!r})") for name in ("prod", "prod2", "judge")}
    known.update(workers or {})
    found: dict[str, ProjectFile] = {}
    for path in referenced_paths(manifest):
        file = files.get(path, FileProblem.NOT_FOUND)
        if isinstance(file, str) and not isinstance(file, FileProblem):
            file = file.encode()
        found[path] = FoundFile(path, file) if isinstance(file, bytes) else file
    named: dict[str, Worker | BrokenWorker] = {
        name: known.get(name, BrokenWorker("WORKER_NOT_FOUND", "no such worker"))
        for name in worker_names(manifest)
    }
    return Project(SQUAD, manifest, found, named)


def run_workers(squad_project: Project, respond: Respond) -> tuple[Execution, ...]:
    """What a runner would report: every run of every case, each done twice."""
    squad, _ = read_manifest(squad_project.manifest)
    seen = prompts(squad, squad_project.files)
    executions: list[Execution] = []
    for case in squad.cases:
        outputs: dict[RunLabel, JsonValue] = {}
        for label, run in case_runs(case):
            given = payload(squad, case, label, seen, outputs)
            assert given is not None
            output = respond(run.worker, label, given) if run.worker else None
            outcome: Completed | Failed = Failed("WORKER_EXIT", "exit status 3")
            if output is not None:
                outcome = Completed(output, hash_object(output))
                outputs[label] = output
            executions.append(Execution(case.id, label, outcome, hash_object(given), 12))
    return tuple(executions)


def gate(squad_project: Project, respond: Respond) -> Report:
    return judge(evidence(squad_project, respond))


def evidence(squad_project: Project, respond: Respond) -> Evidence:
    return Evidence(squad_project, run_workers(squad_project, respond), PROVENANCE)


def table(outputs: Mapping[str, JsonValue]) -> Respond:
    """Workers that answer from a table: one answer per worker, or one per variant."""

    def respond(name: str, label: RunLabel, _given: JsonObject) -> JsonValue:
        answer = outputs.get(name)
        if isinstance(answer, dict) and "dimensions" not in answer:
            return answer.get(label.value)
        return answer

    return respond


def scores(**dimensions: JsonValue) -> JsonObject:
    """A scorer's output; a bare pair stands for baseline and candidate with evidence."""
    full: JsonObject = {}
    for name, value in dimensions.items():
        if isinstance(value, tuple):
            value = {"baseline": value[0], "candidate": value[1], "evidence": f"ev:{name}"}
        full[name] = value
    return {"dimensions": full}


def manifest(
    *,
    cases: list[JsonValue],
    criteria: list[JsonValue] | None = None,
    bindings: JsonValue = None,
    **more: JsonValue,
) -> JsonObject:
    criterion: JsonObject = {
        "id": "c1",
        "kind": "grounding",
        "statement": "cites sources",
        "source": "manifest.goal",
        "executor": "owner",
        "expectedTerms": ["cites every source"],
    }
    return {
        "slug": SQUAD,
        "goal": "Every claim cites a source.",
        "executors": [{"slug": "owner", "file": "agents/owner.md"}],
        "genomeBindings": bindings,
        "evaluation": {
            "contractVersion": "1.0.0",
            "criteria": [criterion] if criteria is None else criteria,
            "heldOutCases": cases,
        },
        **more,
    }


def case(**changes: JsonValue) -> JsonObject:
    """A plain case: one critical dimension, no baseline. A change to None takes a key away."""
    plain: JsonObject = {
        "id": "h",
        "task": "t",
        "worker": "prod",
        "scorer": "judge",
        "deterministic": True,
        "seed": 7,
        "dimensions": {"grounding": {"threshold": 0.8, "critical": True}},
    }
    return {key: value for key, value in {**plain, **changes}.items() if value is not None}


OWNER = {"agents/owner.md": "cites every source\n"}
GENOME_OWNER = {"agents/owner.md": f"cites every source\n{BLOCK}"}
GOOD = table(
    {
        "prod": {"baseline": {"t": "b"}, "candidate": {"t": "c"}},
        "judge": {"dimensions": {"grounding": {"candidate": 0.9, "evidence": "ev:ok"}}},
    }
)
GOOD_AB = table(
    {
        "prod": {"baseline": {"t": "b"}, "candidate": {"t": "c"}},
        "judge": scores(grounding=(0.7, 0.9), style=(0.8, 0.8)),
    }
)


def passing() -> Project:
    """A squad that passes with GOOD: one criterion, one case, one asserted artifact."""
    held_out = case(artifact="out.md", expectedContains=["approved"], expectedNotContains=["todo"])
    return project(manifest(cases=[held_out]), {**OWNER, "out.md": "Approved."})


def passing_ab() -> Project:
    """A squad that passes with GOOD_AB: a compiled genome, baseline and candidate runs."""
    held_out = case(
        worker=None,
        baselineRun={"worker": "prod", "input": {"a": 1}},
        candidateRun={"worker": "prod", "input": {"a": 1}},
        dimensions={"grounding": {"critical": True}, "style": {"threshold": 0.5}},
    )
    return project(manifest(cases=[held_out], bindings=[COMPILED]), GENOME_OWNER)


def document(squad_project: Project, respond: Respond) -> JsonObject:
    """The report as a reader gets it: nothing in it is shared with the squad or its workers."""
    document: JsonObject = json.loads(json.dumps(report_json(gate(squad_project, respond))))
    return document


def with_manifest(squad_project: Project, changed: JsonValue) -> Project:
    return replace(squad_project, manifest=changed)
