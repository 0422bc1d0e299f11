"""The judge: evidence in, report out."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from steelyard._core import ENGINE_DIGEST, hash_object
from steelyard.errors import InvalidInputError
from steelyard.gating.ab import compare_genome
from steelyard.gating.cases import judge_case
from steelyard.gating.criteria import judge_criteria
from steelyard.gating.manifest import read_manifest
from steelyard.gating.model import (
    Evidence,
    Execution,
    Failed,
    Precheck,
    Provenance,
    Report,
    RunLabel,
    Squad,
)
from steelyard.gating.names import is_reason
from steelyard.gating.observe import Observations, observe
from steelyard.gating.precheck import joined
from steelyard.gating.reasons import reasons, required_changes
from steelyard.gating.verdict import combined, criterion_weight
from steelyard.strictjson import JsonValue

__all__ = ["decide", "is_run_id", "judge", "read_time"]

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def judge(evidence: Evidence) -> Report:
    """The report on a squad: criteria, held-out cases, the A/B comparison and the verdict.

    Total for any manifest: what is wrong with it becomes an error of the precheck, hence FAIL.

    Raises InvalidInputError for a manifest that canonical JSON cannot hold (the reason is the
    core's), DUPLICATE_EXECUTION (`executions[i]`: a second one for its case and label),
    UNKNOWN_CASE (`executions[i]`: the manifest has no such case), INVALID_REASON and INVALID_COUNT
    (`executions[i]`), INVALID_TIME and INVALID_ID (`provenance`).
    """
    project = evidence.project
    manifest_hash = hash_object(project.manifest)
    squad, findings = read_manifest(project.manifest)
    _check_executions(evidence.executions, squad)
    _check_provenance(evidence.provenance)
    return decide(
        slug=project.squad,
        manifest=project.manifest,
        manifest_hash=manifest_hash,
        squad=squad,
        findings=findings,
        seen=observe(project, squad),
        executions=evidence.executions,
        provenance=evidence.provenance,
    )


def decide(
    *,
    slug: str,
    manifest: JsonValue,
    manifest_hash: str,
    squad: Squad,
    findings: Precheck,
    seen: Observations,
    executions: Sequence[Execution],
    provenance: Provenance,
) -> Report:
    """Judge from what was observed; nothing here looks at a file. Verification calls it too."""
    precheck = joined(findings, seen.findings)
    criteria = judge_criteria(squad.criteria, seen.criteria)
    reported: dict[str, dict[RunLabel, Execution]] = {}
    for execution in executions:
        reported.setdefault(execution.case, {})[execution.label] = execution
    cases = tuple(
        judge_case(squad, case, facts, reported.get(case.id, {}), seen, ENGINE_DIGEST)
        for case, facts in zip(squad.cases, seen.cases, strict=True)
    )
    comparison = compare_genome(squad, cases)
    found = reasons(precheck, criteria, cases, comparison)
    source_rubric = combined(criterion_weight(result) for result in criteria)
    held_out = combined(result.status for result in cases)
    verdict = combined((precheck.status, source_rubric, held_out, comparison.status))
    return Report(
        squad=slug,
        provenance=provenance,
        engine_hash=ENGINE_DIGEST,
        manifest=manifest,
        manifest_hash=manifest_hash,
        sources=seen.sources,
        artifacts=seen.artifacts,
        prompts=seen.prompts,
        verdict=verdict,
        precheck=precheck,
        source_rubric=source_rubric,
        criteria=criteria,
        held_out=held_out,
        cases=cases,
        comparison=comparison,
        reasons=found,
        required_changes=required_changes(verdict, found, cases),
    )


def read_time(text: str) -> datetime | None:
    """A time as reports write it, `2026-01-02T03:04:05.678Z`; None for anything else."""
    if _TIME.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _check_executions(executions: Sequence[Execution], squad: Squad) -> None:
    cases = {case.id for case in squad.cases}
    seen: set[tuple[str, RunLabel]] = set()
    for index, execution in enumerate(executions):
        path = f"executions[{index}]"
        if execution.case not in cases:
            message = f"the manifest declares no case {execution.case!r}"
            raise InvalidInputError.at(f"{path}.case", "UNKNOWN_CASE", message)
        key = (execution.case, execution.label)
        if key in seen:
            message = f"{execution.case!r} has another {execution.label} run"
            raise InvalidInputError.at(path, "DUPLICATE_EXECUTION", message)
        seen.add(key)
        if isinstance(execution.outcome, Failed) and not is_reason(execution.outcome.reason):
            message = "must be an UPPER_SNAKE word"
            raise InvalidInputError.at(f"{path}.outcome.reason", "INVALID_REASON", message)
        for name, count in (("duration_ms", execution.duration_ms), ("attempt", execution.attempt)):
            if not 0 <= count < 2**53:
                message = "must be an integer from 0 to 2^53 - 1"
                raise InvalidInputError.at(f"{path}.{name}", "INVALID_COUNT", message)


def _check_provenance(provenance: Provenance) -> None:
    if read_time(provenance.generated_at) is None:
        message = "must look like 2026-01-02T03:04:05.678Z"
        raise InvalidInputError.at("provenance.generated_at", "INVALID_TIME", message)
    if not is_run_id(provenance.run_id):
        message = "must be a UUID in lower case"
        raise InvalidInputError.at("provenance.run_id", "INVALID_ID", message)


def is_run_id(text: str) -> bool:
    """True for a UUID as `str(uuid.UUID)` writes it."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
