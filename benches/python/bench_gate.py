"""The gate beside plain Python, in one run and one table: python benches/python/bench_gate.py

The peer of a line does the same work with json, rfc8785, hashlib and random instead of the core.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import rfc8785
from rich.console import Console
from rich.table import Table

from steelyard import _core
from steelyard.gating.envelope import case_runs, payload, prompts
from steelyard.gating.judge import judge
from steelyard.gating.manifest import read_manifest, referenced_paths
from steelyard.gating.model import (
    Completed,
    Evidence,
    Execution,
    FileHash,
    FoundFile,
    JsonObject,
    Project,
    Provenance,
    RunLabel,
    Worker,
)
from steelyard.gating.report import report_json
from steelyard.gating.verify import verify
from steelyard.strictjson import JsonValue

CASES, DIMENSIONS = 50, 5
FLIPS, PAIRS = 10_000, 1_000
DOCUMENT_BYTES = 10_000_000
NOW = "2026-01-02T03:04:05.678Z"
ROUNDS = 5


def squad() -> Evidence:
    """A squad that passes: 50 A/B cases of 5 dimensions, a prompt of 8 KiB, outputs of 1 KiB."""
    names = [f"dimension-{index}" for index in range(DIMENSIONS)]
    run: JsonObject = {"worker": "producer", "input": {"question": "x" * 200}}
    cases: list[JsonValue] = [
        {
            "id": f"case-{index}",
            "task": "Answer from the sources, and say which.",
            "baselineRun": run,
            "candidateRun": run,
            "scorer": "scorer",
            "deterministic": True,
            "seed": index,
            "dimensions": {name: {"threshold": 0.8, "critical": True} for name in names},
        }
        for index in range(CASES)
    ]
    criterion: JsonObject = {"id": "c", "kind": "grounding", "source": "manifest.goal"}
    manifest: JsonObject = {
        "slug": "bench",
        "goal": "Cite every source.",
        "executors": [{"slug": "owner", "file": "owner.md"}],
        "genomeBindings": [{"slug": "g", "status": "compiled"}],
        "evaluation": {
            "criteria": [{**criterion, "executor": "owner", "expectedTerms": ["cite"]}],
            "heldOutCases": cases,
        },
    }
    block = "<!-- AIOSON:GENOME-COMPILED:BEGIN -->rule<!-- AIOSON:GENOME-COMPILED:END -->"
    prompt = FoundFile("owner.md", f"cite\n{'word ' * 1600}\n{block}\n".encode())
    workers = {
        name: Worker((FileHash("run.py", hashlib.sha256(name.encode()).hexdigest()),))
        for name in ("producer", "scorer")
    }
    project = Project("bench", manifest, dict.fromkeys(referenced_paths(manifest), prompt), workers)
    score: JsonObject = {"baseline": 0.8, "candidate": 0.9, "evidence": "seen in the answer"}
    scored: JsonObject = {"dimensions": {name: {**score} for name in names}}
    executions = tuple(runs(project, scored))
    provenance = Provenance(NOW, "00000000-0000-4000-8000-000000000000", "bench")
    return Evidence(project, executions, provenance)


def runs(project: Project, scored: JsonObject) -> Iterator[Execution]:
    read, _ = read_manifest(project.manifest)
    seen = prompts(read, project.files)
    for case in read.cases:
        outputs: dict[RunLabel, JsonValue] = {}
        for label, _run in case_runs(case):
            produced: JsonObject = {"answer": f"{label} {'y' * 1000}"}
            output = scored if label is RunLabel.SCORER else produced
            given = payload(read, case, label, seen, outputs)
            outcome = Completed(output, _core.hash_object(output))
            yield Execution(case.id, label, outcome, _core.hash_object(given))
            outputs[label] = output


def document() -> bytes:
    """A report-like document of about 10 MB."""
    entry = {"id": "case-1", "status": "pass", "delta": 0.125, "critical": True, "output": "z" * 60}
    entries = [{**entry, "seed": index, "score": index / 7} for index in range(1000)]
    size = len(json.dumps(entries))
    return json.dumps([entries] * (DOCUMENT_BYTES // size)).encode()


@contextmanager
def plain_hashes() -> Iterator[None]:
    """The judge with rfc8785 and hashlib where it calls the core."""
    plain: dict[str, Callable[[Any], str]] = {
        "hash_object": lambda value: hashlib.sha256(rfc8785.dumps(value)).hexdigest(),
        "sha256_hex": lambda data: hashlib.sha256(data).hexdigest(),
    }
    modules = [
        import_module(f"steelyard.gating.{name}")
        for name in ("envelope", "executions", "judge", "observe", "readback", "report", "verify")
    ]
    kept = [
        (module, name, getattr(module, name))
        for module in modules
        for name in plain
        if hasattr(module, name)
    ]
    for module, name, _ in kept:
        setattr(module, name, plain[name])
    yield
    for module, name, function in kept:
        setattr(module, name, function)


def plain_flips(differences: list[float]) -> float:
    """One-sided sign-flip p-value by one random bit per pair and flip."""
    observed = sum(differences)
    generator = random.Random(7)  # noqa: S311 - a peer of the resampling, no secret
    extreme = 0
    for _ in range(FLIPS):
        bits = generator.getrandbits(PAIRS)
        total = 0.0
        for value in differences:
            total += value if bits & 1 else -value
            bits >>= 1
        extreme += total <= observed
    return (extreme + 1) / (FLIPS + 1)


def seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The best of a few rounds: the least that anything else got in the way."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    evidence = squad()
    report = json.loads(json.dumps(report_json(judge(evidence))))
    assert report["verdict"] == "PASS"
    assert verify(report, evidence.project, now=NOW).valid
    data = document()
    generator = random.Random(7)  # noqa: S311 - sample data
    baseline = [generator.random() for _ in range(PAIRS)]
    candidate = [value * generator.uniform(0.9, 1.1) for value in baseline]
    differences = [one - other for one, other in zip(candidate, baseline, strict=True)]

    def gate() -> object:
        return report_json(judge(evidence))

    def check() -> object:
        return verify(report, evidence.project, now=NOW)

    def flips(threads: int) -> Callable[[], object]:
        return lambda: _core.stats_sign_flip(
            baseline, candidate, seed=7, flips=FLIPS, threads=threads
        )

    with plain_hashes():
        plain_gate, plain_check = seconds(gate), seconds(check)
    hashed = seconds(lambda: _core.hash_json(data))
    plain_hashed = seconds(
        lambda: hashlib.sha256(rfc8785.dumps(json.loads(data))).hexdigest(), rounds=2
    )
    flipped = seconds(lambda: plain_flips(differences), rounds=1)
    ours, both = seconds(flips(1)), seconds(flips(2))
    megabytes, signs = len(data) / 1e6, FLIPS * PAIRS / 1e6
    lines = [
        (f"judge {CASES} cases of {DIMENSIONS} dimensions", seconds(gate), plain_gate, ""),
        ("verify that report against its project", seconds(check), plain_check, ""),
        (
            f"canonical hash of {megabytes:.0f} MB",
            hashed,
            plain_hashed,
            f"{megabytes / hashed:,.0f} MB/s",
        ),
        (f"{FLIPS:,} sign flips of {PAIRS:,} pairs", ours, flipped, f"{signs / ours:,.0f} M/s"),
        ("the same on 2 threads", both, flipped, f"{signs / both:,.0f} M/s"),
    ]
    table = Table("work", "steelyard", "plain Python", "ratio", "throughput")
    for name, quick, slow, rate in lines:
        table.add_row(
            name, f"{quick * 1e3:,.2f} ms", f"{slow * 1e3:,.1f} ms", f"{slow / quick:,.1f}", rate
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
