"""The recorded gate contract: well-typed cases hold, deviations are listed with their rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard._core import hash_object, sha256_hex
from steelyard.gating.cases import case_dimensions
from steelyard.gating.dimensions import judge_dimension
from steelyard.gating.evaluation_block import read_cases, read_dimension
from steelyard.gating.managed import remove_managed_blocks
from steelyard.gating.manifest import genome_bindings, read_manifest
from steelyard.gating.model import FileProblem, FoundFile, Status
from steelyard.gating.observe import source_inventory
from steelyard.gating.reading import Reader
from steelyard.gating.references import manifest_reference
from steelyard.gating.report import (
    dimension_json,
    evidence_hash,
    report_json,
    verdict_word,
)
from steelyard.gating.scores import Scored, scorer_evidence_complete, scorer_outputs
from steelyard.gating.verdict import combined, dimension_summary
from tests.support.gate_world import SQUAD, gate, project, table

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "gate.json").read_text())["cases"]

# Every recorded case that does not hold here, by the rule that asks for it.
DEVIATIONS = {
    "Scores are JSON numbers from 0 to 1; nothing is clamped or coerced": (
        "numeric_dimension: 039 041 042 043 058 059 061 062 063 064 067 068 069 070 071 072"
    ),
    "A bad threshold is an error of the precheck": (
        "numeric_dimension: 046 047 048 049 051 052 053 054 081"
    ),
    "A regression is a drop of more than 1e-9": "numeric_dimension: 016 082",
    "A flag that is no boolean is an error and counts as critical": (
        "numeric_dimension: 079, case_dimensions: 006"
    ),
    "Maps have own keys only: a text or an array holds no dimensions": (
        "scorer_outputs: 011 012, case_dimensions: 011"
    ),
    "Evidence is visible text": "scorer_evidence_complete: 006",
    "Scores come only from a scorer that is not the producer": "held_out_case: 004 006",
    "An unknown status is an error": (
        "verdict: 019 020 021 022 023 024 025 026 028, dimension_summary: 006"
    ),
    "The judge computes the precheck; it cannot be missing": "squad_report: 003",
    "The evidence hash covers the whole report": "evidence_hash: 002 003 006",
    "Every managed block is removed": "remove_managed_block: 009",
    "References follow own properties by a strict grammar": (
        "manifest_reference: 002 003 012 013 014"
    ),
    "A source that is the artifact supports nothing": "source_criterion: 017",
    "Terms are text that shows something": "source_criterion: 018 025, normalize_expected: 009",
    "Matching is NFKC with full case folding": "source_criterion: 020 021 022",
    "An object is hashed in canonical form": "source_criterion: 023",
}

UNDEFINED = {"$js": "undefined"}
JS = {"NaN": float("nan"), "Infinity": float("inf"), "-0": -0.0}


def decode(value: Any) -> Any:
    """A recorded value as Python has it; what JavaScript calls undefined is left out."""
    if isinstance(value, dict):
        if set(value) == {"$js"}:
            return JS.get(value["$js"])
        return {key: decode(item) for key, item in value.items() if item != UNDEFINED}
    return [decode(item) for item in value] if isinstance(value, list) else value


def holds(expected: Any, found: Any) -> bool:
    """Every recorded field is there with its value; fields of our own may stand beside it."""
    if expected == "<default>":
        return isinstance(found, str) and found != ""
    if expected == UNDEFINED:
        return found is None
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            holds(value, found.get(key)) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(map(holds, expected, found))
        )
    return bool(type(found) is not bool or type(expected) is bool) and expected == found


def numeric_dimension(given: Any) -> Any:
    definition = decode(given["definition"])
    declared = definition if isinstance(definition, dict) else {}
    declared = {key: declared[key] for key in ("threshold", "critical") if key in declared}
    spec, _ = read_dimension(given["name"], declared)
    scored = scorer_outputs({"dimensions": {given["name"]: definition}})
    result = judge_dimension(spec, scored, baseline_ran=False)
    return dimension_json(result)


def verdict(given: Any) -> Any:
    items = [decode(item) or {} for item in given["items"]]
    status = combined(Status(item.get("status")) for item in items)
    return {"verdict": verdict_word(status), "section_status": status.value}


def scored_outputs(given: Any) -> Any:
    scored = scorer_outputs(decode(given["output"]))
    return {
        "baseline": dict(scored.baseline),
        "candidate": dict(scored.candidate),
        "evidence": dict(scored.evidence),
    }


def evidence_complete(given: Any) -> Any:
    evidence = (given["scored"] or {}).get("evidence", {})
    return {"complete": scorer_evidence_complete(evidence, given["names"])}


def summary(given: Any) -> Any:
    def items(found: Any, key: str) -> list[tuple[str, Status, bool]]:
        return [(one[key], Status(one["status"]), one.get("critical", False)) for one in found]

    return dimension_summary(
        items(given["criteria"], "kind"),
        items([one for case in given["cases"] for one in case.get("dimensions", [])], "name"),
        items(given["genome_comparison"].get("dimensions", []), "name"),
    )


def managed_block(given: Any) -> Any:
    text = remove_managed_blocks(given["text"]).text
    return {"text": text, "sha256": sha256_hex(text.encode())}


def reference(given: Any) -> Any:
    return {"value": manifest_reference(given["manifest"], given["reference"] or "")}


def declared_dimensions(given: Any) -> Any:
    def scores(output: Any) -> Any:
        values = output if isinstance(output, dict) else {}
        found = values.get("scores") if values.get("dimensions") is None else values["dimensions"]
        return found if isinstance(found, dict) else {}

    case = next(read_cases(Reader(), [{**given["case"], "id": "h", "task": "t"}]))
    baseline, candidate = scores(given["baselineOutput"]), scores(given["candidateOutput"])
    specs = case_dimensions(case, Scored(baseline, candidate, {}))
    # The order of recording is that of a JavaScript object; ours is by name.
    return {
        spec.name: {
            "baseline": baseline.get(spec.name),
            "candidate": candidate.get(spec.name),
            "critical": spec.critical,
            "threshold": spec.threshold,
            "required": spec.declared,
        }
        for spec in specs
    }


def source_criterion(given: Any) -> Any:
    files: dict[str, Any] = {**given["files"], "out-link.md": FileProblem.ESCAPES}
    files["in-link.md"] = FoundFile("a.md", given["files"]["a.md"].encode())
    filler = {"kind": "scope"}
    criteria = [*([filler] * given["index"]), given["criterion"]]
    squad = {**given["manifest"], "evaluation": {"criteria": criteria}}
    report = report_json(gate(project(squad, files), table({})))
    result = report["source_rubric"]["criteria"][given["index"]]  # type: ignore[index,call-overload]
    return {**result, "reason_code": result["reason_code"].lower()}  # type: ignore[index,call-overload,union-attr,dict-item]


def held_out_case(given: Any) -> Any:
    agents = ("orquestrador", "reviewer")
    squad = {
        "slug": SQUAD,
        "executors": [
            {"slug": slug, "file": path}
            for slug, path in zip(agents, given["executor_paths"], strict=True)
        ],
        "genomeBindings": given["bindings"],
        "evaluation": {"criteria": [], "heldOutCases": [given["case"]]},
    }
    prompts = (given["owner_prompt"], given["reviewer_prompt"])
    files = {**given["files"], **dict(zip(given["executor_paths"], prompts, strict=True))}
    report = report_json(gate(project(squad, files), table(given["worker_outputs"])))
    return {
        **report["held_out"]["cases"][0],  # type: ignore[index,call-overload,dict-item]
        "genome_comparison": report["genome_comparison"],
    }


def squad_report(given: Any) -> Any:
    evaluation = dict(given["evaluation"])
    if not given.get("precheck", {"valid": True})["valid"]:
        evaluation["contractVersion"] = "0"  # the recorder's error stands for any error
    squad = {
        "slug": SQUAD,
        "goal": "Goal text",
        "executors": [{"slug": "orquestrador", "file": "agents/orquestrador.md"}],
        "genomeBindings": given["bindings"],
        "evaluation": evaluation,
    }
    files = {"agents/orquestrador.md": given["owner_prompt"]}
    report: Any = report_json(gate(project(squad, files), table(given["worker_outputs"])))
    return {
        "verdict": report["verdict"],
        "precheck": report["precheck"]["status"],
        "source_rubric": report["source_rubric"]["status"],
        "held_out": report["held_out"]["status"],
        "genome_comparison": report["genome_comparison"]["status"],
        "critical_failures": report["critical_failures"],
        "deterministic": report["reproduction"]["deterministic"],
        "dimensions": report["dimensions"],
        "criteria": [
            [one["id"], one["kind"], one["status"], one["critical"]]
            for one in report["source_rubric"]["criteria"]
        ],
        "cases": [
            [
                one["id"],
                one["status"],
                [f"{part['name']}:{part['status']}" for part in one["dimensions"]],
            ]
            for one in report["held_out"]["cases"]
        ],
    }


def flattened_bindings(given: Any) -> Any:
    bindings, _ = genome_bindings(decode(given["value"]))
    return {
        "flattened": [
            {
                "slug": one.slug,
                "status": one.status,
                "compilationId": one.compilation_id,
                "sourceHash": one.source_hash,
                "priority": one.priority,
            }
            for one in bindings
        ]
    }


def expected_terms(given: Any) -> Any:
    return {"terms": list(Reader().terms(given["value"], "expectedTerms"))}


def inventory(given: Any) -> Any:
    files: dict[str, Any] = {
        path: FoundFile(path, text.encode()) for path, text in given["files"].items()
    }
    files["in-link.md"] = files["a.md"]
    squad, _ = read_manifest(given["manifest"])
    entries = [{"path": path, "hash": digest} for path, digest in source_inventory(squad, files)]
    return {"entries": entries, "hash": hash_object(entries)}


def evidence(given: Any) -> Any:
    return {"evidence_hash": evidence_hash(given["report"])}


CHECKS: dict[str, Callable[[Any], Any]] = {
    "numeric_dimension": numeric_dimension,
    "verdict": verdict,
    "scorer_outputs": scored_outputs,
    "scorer_evidence_complete": evidence_complete,
    "dimension_summary": summary,
    "remove_managed_block": managed_block,
    "manifest_reference": reference,
    "case_dimensions": declared_dimensions,
    "source_criterion": source_criterion,
    "held_out_case": held_out_case,
    "squad_report": squad_report,
    "genome_bindings": flattened_bindings,
    "normalize_expected": expected_terms,
    "source_inventory": inventory,
    "evidence_hash": evidence,
}

# Recorded with the answers of the recorder's own tools, and no part of a report.
NOT_OURS = {"case_level_deterministic_flag", "exit_code", "canonical_length"}


def expected_output(vector: Any) -> Any:
    output = vector["output"]
    if vector["kind"] == "case_dimensions":
        return {
            one["name"]: {
                key: 0.8 if (key, value) == ("threshold", UNDEFINED) else value
                for key, value in one.items()
                if key not in ("name", "evidence")
            }
            for one in output
        }
    return {key: value for key, value in output.items() if key not in NOT_OURS}


def deviating() -> set[str]:
    return {
        f"{kind}-{number}"
        for groups in DEVIATIONS.values()
        for kind, _, numbers in (group.strip().partition(": ") for group in groups.split(","))
        for number in numbers.split()
    }


@pytest.mark.parametrize("kind", CHECKS)
def test_recorded_cases_hold_or_are_listed(kind: str) -> None:
    vectors = [vector for vector in VECTORS if vector["kind"] == kind]
    assert vectors
    differing = set()
    for vector in vectors:
        try:
            found = CHECKS[kind](vector["input"])
        except ValueError:  # a status that does not exist
            differing.add(vector["id"])
        else:
            if not holds(expected_output(vector), found):
                differing.add(vector["id"])
    assert differing == {one for one in deviating() if one.rpartition("-")[0] == kind}
