"""The recorded verifications: whatever was rejected is rejected here, and more."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.gating.model import FoundFile, Record
from steelyard.gating.report import evidence_hash
from steelyard.gating.verify import verify
from tests.support.gate_world import (
    GOOD,
    GOOD_AB,
    NOW,
    OWNER,
    case,
    document,
    manifest,
    passing,
    passing_ab,
    project,
    table,
)

VECTORS = [
    vector
    for vector in json.loads((Path(__file__).parents[1] / "vectors" / "gate.json").read_text())[
        "cases"
    ]
    if vector["kind"] == "verify"
]

# Recorded as valid although something was changed. The rule: verification derives the whole report
# again, and compares what cannot be derived with what the squad's folder keeps.
REJECTED_HERE = "003 017 042 046 047 048 053 054 055 057 065"


def put(*path: Any) -> Callable[[Any], None]:
    """Replace the value at all but the last of `path` by the last."""

    def change(report: Any) -> None:
        *steps, key, value = path
        for step in steps:
            report = report[step]
        assert not isinstance(report, dict) or report.get(key) != value
        report[key] = value

    return change


def drop(name: str) -> Callable[[Any], None]:
    """Take a dimension out of the first case."""

    def change(report: Any) -> None:
        dimensions = report["held_out"]["cases"][0]["dimensions"]
        kept = [one for one in dimensions if one["name"] != name]
        assert len(kept) < len(dimensions)
        dimensions[:] = kept

    return change


def twice(*path: Any) -> Callable[[Any], None]:
    def change(report: Any) -> None:
        for step in path:
            report = report[step]
        report.append(report[0])

    return change


def grow(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(report: Any) -> None:
        for step in path:
            report = report[step]
        report.append(value)

    return change


def nothing(report: Any) -> None:
    assert report["verdict"] == "PASS"


def both(*changes: Callable[[Any], None]) -> Callable[[Any], None]:
    def change(report: Any) -> None:
        for one in changes:
            one(report)

    return change


ZERO = "0" * 64
INVENTED = {"name": "invented", "status": "pass", "critical": False}
CASE = ("held_out", "cases", 0)
DIMENSION = (*CASE, "dimensions", 0)
RUN = (*CASE, "executions", 0)

MUTATIONS: dict[str, Callable[[Any], None]] = {
    "none (honest PASS)": nothing,
    "generated_at changed": put("generated_at", "2026-01-02T03:04:05.000Z"),
    "squad renamed": put("squad", "other"),
    "manifest_hash zeroed": put("inputs", "manifest_hash", ZERO),
    "source_hash zeroed": put("inputs", "source_hash", ZERO),
    "sources[0].hash null": put("inputs", "sources", 0, "hash", None),
    "engine_hash zeroed": put("reproduction", "engine_hash", ZERO),
    "verdict WARN": put("verdict", "WARN"),
    "critical_failures=1": put("critical_failures", 1),
    "dimensions summary count edited": put("dimensions", "grounding", "pass", 9),
    "criterion id changed": put("source_rubric", "criteria", 0, "id", "other"),
    "criterion artifact_hash edited": put("source_rubric", "criteria", 0, "artifact_hash", ZERO),
    "criterion extra field added": lambda report: report["source_rubric"]["criteria"][0].update(
        x=1
    ),
    "case duplicated": twice("held_out", "cases"),
    "case removed, replaced with other id": put(*CASE, "id", "other"),
    "case deterministic=false": put(*CASE, "deterministic", False),
    "case seed changed": put(*CASE, "seed", 8),
    "dimension duplicated": twice(*CASE, "dimensions"),
    "declared dimension removed, guard added to stay non-empty": both(
        drop("grounding"), grow(INVENTED, *CASE, "dimensions")
    ),
    "critical flipped": put(*DIMENSION, "critical", False),
    "threshold lowered": put(*DIMENSION, "threshold", 0.1),
    "candidate raised": put(*DIMENSION, "candidate", 1),
    "evidence text edited": put(*DIMENSION, "evidence", "better"),
    "case status edited": put(*CASE, "status", "warn"),
    "scorer_independent=false": put(*CASE, "scorer_independent", False),
    "scorer_evidence_complete=false": put(*CASE, "scorer_evidence_complete", False),
    "ab_controlled=true": put(*CASE, "ab_controlled", True),
    "candidate genome_context_hash edited": put(*RUN, "genome_context_hash", ZERO),
    "all executions removed": put(*CASE, "executions", []),
    "candidate ok=false": put(*RUN, "ok", False),
    "candidate worker renamed": put(*RUN, "worker", "other"),
    "candidate output edited": put(*RUN, "output", {"t": "other"}),
    "candidate output and output_hash edited": both(
        put(*RUN, "output", {}),
        put(
            *RUN, "output_hash", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        ),
    ),
    "worker_hash edited": put(*RUN, "worker_hash", ZERO),
    "worker_sources emptied": put(*RUN, "worker_sources", []),
    "execution seed edited": put(*RUN, "seed", 8),
    "payload_hash edited": put(*RUN, "payload_hash", ZERO),
    "attempt, duration edited": both(put(*RUN, "attempt", 2), put(*RUN, "duration_ms", 1)),
    "precheck.errors filled, status pass": grow(
        {"code": "X", "path": "", "message": "x"}, "precheck", "errors"
    ),
    "precheck.status fail": put("precheck", "status", "fail"),
    "source_rubric.status edited": put("source_rubric", "status", "warn"),
    "held_out.status edited": put("held_out", "status", "warn"),
    "genome_comparison.reason edited": put("genome_comparison", "reason", "COMPARED"),
    "extra top-level field": put("extra", 1),
    "extra reproduction field": put("reproduction", "extra", 1),
    "invented passing dimension appended": grow(INVENTED, *CASE, "dimensions"),
    "A/B: none (honest PASS)": nothing,
    "A/B: genome_comparison.bindings edited": put("genome_comparison", "bindings", []),
    "A/B: genome_comparison.dimensions emptied": put("genome_comparison", "dimensions", []),
    "A/B: ab_controlled=false": put(*CASE, "ab_controlled", False),
    "non-deterministic case: reproducibility guard removed": drop("reproducibility"),
    "no scorer: independent-evaluation guard removed": drop("independent-evaluation"),
    "no scorer evidence: scorer-evidence guard removed": drop("scorer-evidence"),
}
CHANGED_ON_DISK = "executor prompt edited on disk after eval"


def world(mutation: str) -> tuple[Any, Any]:
    if mutation.startswith("A/B"):
        return passing_ab(), GOOD_AB
    if mutation.startswith("non-deterministic"):
        return project(manifest(cases=[case(deterministic=False)]), OWNER), GOOD
    if mutation.startswith("no scorer:"):
        return project(manifest(cases=[case(scorer=None)]), OWNER), GOOD
    if mutation.startswith("no scorer evidence"):
        mute = {"dimensions": {"grounding": {"candidate": 0.9}}}
        return passing(), table({"prod": {"candidate": 1}, "judge": mute})
    return passing(), GOOD


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_recorded_verification(vector: Any) -> None:
    given = vector["input"]
    squad, answers = world(given["mutation"])
    report: Any = document(squad, answers)
    records = [Record(report["reproduction"]["run_id"], evidence_hash(report))]
    if given["mutation"] == CHANGED_ON_DISK:
        edited = FoundFile("agents/owner.md", b"cites every source, edited")
        squad = replace(squad, files={**squad.files, "agents/owner.md": edited})
    else:
        MUTATIONS[given["mutation"]](report)
    if given["evidence_hash_recomputed"]:
        report["reproduction"]["evidence_hash"] = evidence_hash(report)
    number = vector["id"].removeprefix("verify-")
    expected = vector["output"]["valid"] and number not in REJECTED_HERE.split()
    assert verify(report, squad, now=NOW, records=records).valid is expected
