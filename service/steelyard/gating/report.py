"""The report as the JSON document that is published, stored, signed and verified."""

from __future__ import annotations

from typing import Final

from steelyard._core import hash_object
from steelyard.errors import InvalidInputError
from steelyard.gating.dimensions import shown_delta
from steelyard.gating.manifest import CONTRACT_VERSION
from steelyard.gating.model import (
    CaseResult,
    Comparison,
    CriterionResult,
    DimensionResult,
    ExecutionResult,
    Finding,
    JsonObject,
    Report,
    Status,
)
from steelyard.gating.verdict import critical_failures, dimension_summary
from steelyard.strictjson import JsonValue

__all__ = ["MAX_REPORT_DEPTH", "SCHEMA_VERSION", "evidence_hash", "report_json", "verdict_word"]

SCHEMA_VERSION: Final = "1.0.0"

# What a report adds around a worker's output or a manifest, each at most 64 levels deep.
MAX_REPORT_DEPTH: Final = 72


def report_json(report: Report) -> JsonObject:
    """The document, complete with its evidence hash. See `schemas/gate-report.schema.json`."""
    document: JsonObject = {
        "schemaVersion": SCHEMA_VERSION,
        "squad": report.squad,
        "generated_at": report.provenance.generated_at,
        "verdict": verdict_word(report.verdict),
        "inputs": {
            "manifest_hash": report.manifest_hash,
            "manifest": report.manifest,
            "source_hash": hash_object(_inventory(report.sources)),
            "sources": _inventory(report.sources),
            "artifacts": _inventory(report.artifacts),
            "contexts": {
                "genome_off": report.prompts.genome_off.hash,
                "genome_on": report.prompts.genome_on.hash,
                "effects_present": report.prompts.genome_on.effects_present,
                "intact": report.prompts.genome_on.intact,
            },
        },
        "precheck": {
            "status": report.precheck.status.value,
            "strict": True,
            "errors": [_finding(finding) for finding in report.precheck.errors],
            "warnings": [_finding(finding) for finding in report.precheck.warnings],
        },
        "source_rubric": {
            "status": report.source_rubric.value,
            "criteria": [_criterion(result) for result in report.criteria],
        },
        "held_out": {
            "status": report.held_out.value,
            "cases": [_case(result) for result in report.cases],
        },
        "genome_comparison": _comparison(report.comparison),
        "dimensions": _summary(report),
        "critical_failures": critical_failures(
            report.precheck, report.criteria, report.cases, report.comparison
        ),
        "reasons": [
            {
                "status": reason.status.value,
                "code": reason.code,
                "path": reason.path,
                "message": reason.message,
            }
            for reason in report.reasons
        ],
        "required_changes": list(report.required_changes),
        "reproduction": {
            "command": report.provenance.command,
            "deterministic": bool(report.cases) and all(one.reproducible for one in report.cases),
            "contract": CONTRACT_VERSION,
            "run_id": report.provenance.run_id,
            "engine_hash": report.engine_hash,
        },
    }
    digest = evidence_hash(document)
    reproduction = document["reproduction"]
    assert isinstance(reproduction, dict)  # noqa: S101 - written above
    reproduction["evidence_hash"] = digest
    return document


def evidence_hash(document: JsonValue) -> str:
    """Object hash of the whole report without `reproduction.evidence_hash` and `signature`.

    Raises InvalidInputError: NOT_AN_OBJECT, or the reason why canonical JSON cannot hold it.
    """
    if not isinstance(document, dict):
        raise InvalidInputError.at("report", "NOT_AN_OBJECT", "must be a JSON object")
    bare = {key: value for key, value in document.items() if key != "signature"}
    reproduction = bare.get("reproduction")
    if isinstance(reproduction, dict):
        bare["reproduction"] = {
            key: value for key, value in reproduction.items() if key != "evidence_hash"
        }
    return hash_object(bare)


def verdict_word(status: Status) -> str:
    """A status as a verdict: PASS, WARN, UNVERIFIED, FAIL."""
    return status.value.upper().replace("-", "_")


def _inventory(entries: tuple[tuple[str, str | None], ...]) -> list[JsonValue]:
    return [{"path": path, "hash": digest} for path, digest in entries]


def _finding(finding: Finding) -> JsonValue:
    return {"code": finding.code, "path": finding.path, "message": finding.message}


def _criterion(result: CriterionResult) -> JsonObject:
    criterion = result.criterion
    return {
        "id": criterion.id,
        "executor": criterion.executor,
        "kind": criterion.kind.value,
        "statement": criterion.statement,
        "source": criterion.source,
        "critical": criterion.critical,
        "status": result.status.value,
        "reason_code": result.reason,
        "source_hash": result.source_hash,
        "source_problem": result.source_problem,
        "artifact": result.artifact,
        "artifact_hash": result.artifact_hash,
        "artifact_problem": result.artifact_problem,
        "expected": list(criterion.expected),
        "missing": list(result.missing),
    }


def dimension_json(result: DimensionResult) -> JsonObject:
    return {
        "name": result.name,
        "status": result.status.value,
        "critical": result.critical,
        "reason_code": result.reason,
        "baseline": result.baseline,
        "candidate": result.candidate,
        "delta": shown_delta(result.delta_exact),
        "delta_exact": result.delta_exact,
        "threshold": result.threshold,
        "evidence": result.evidence,
        "statistics": result.statistics,
    }


def _execution(result: ExecutionResult) -> JsonObject:
    return {
        "label": result.label.value,
        "worker": result.worker,
        "ok": result.ok,
        "failure": result.failure,
        "detail": result.detail,
        "attempt": result.attempt,
        "duration_ms": result.duration_ms,
        "seed": result.seed,
        "genome_enabled": result.genome_enabled,
        "genome_effects_present": result.genome_effects_present,
        "genome_context_hash": result.genome_context_hash,
        "worker_hash": result.worker_hash,
        "worker_sources": _inventory(tuple((one.path, one.hash) for one in result.worker_sources)),
        "input_hash": result.input_hash,
        "payload_hash": result.payload_hash,
        "output_hash": result.output_hash,
        "repeat_output_hash": result.repeat_output_hash,
        "output": result.output,
    }


def _case(result: CaseResult) -> JsonObject:
    case = result.case
    return {
        "id": case.id,
        "task": case.task,
        "executor": case.executor,
        "artifact": result.artifact or "",
        "artifact_hash": result.artifact_hash,
        "artifact_problem": result.artifact_problem,
        "missing": list(result.missing),
        "forbidden": list(result.forbidden),
        "deterministic": case.deterministic,
        "seed": case.seed,
        "scorer_independent": result.scorer_independent,
        "scorer_evidence_complete": result.scorer_evidence_complete,
        "ab_controlled": result.ab_controlled,
        "status": result.status.value,
        "dimensions": [dimension_json(one) for one in result.dimensions],
        "executions": [_execution(one) for one in result.executions],
    }


def _comparison(comparison: Comparison) -> JsonObject:
    return {
        "status": comparison.status.value,
        "reason": comparison.reason,
        "bindings": [
            {"slug": one.slug, "status": one.status, "compilationId": one.compilation_id}
            for one in comparison.bindings
        ],
        "dimensions": [
            {"case": case, **dimension_json(one)} for case, one in comparison.dimensions
        ],
    }


def _summary(report: Report) -> JsonObject:
    summary = dimension_summary(
        ((one.criterion.kind, one.status, one.criterion.critical) for one in report.criteria),
        (
            (one.name, one.status, one.critical)
            for result in report.cases
            for one in result.dimensions
        ),
        ((one.name, one.status, one.critical) for _, one in report.comparison.dimensions),
    )
    return {name: {**counts} for name, counts in summary.items()}
