"""Held-out cases: their dimensions, and the guards that decide whether those may count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from steelyard.gating.ab import control_failure
from steelyard.gating.dimensions import guard
from steelyard.gating.executions import judge_executions
from steelyard.gating.model import (
    CaseResult,
    DimensionResult,
    DimensionSpec,
    Execution,
    ExecutionResult,
    HeldOutCase,
    RunLabel,
    Squad,
    Status,
)
from steelyard.gating.observe import CaseFacts, Observations
from steelyard.gating.sampling import judge_dimensions
from steelyard.gating.scores import (
    NOTHING_SCORED,
    Scored,
    scorer_evidence_complete,
    scorer_outputs,
)
from steelyard.gating.verdict import combined

__all__ = ["case_dimensions", "judge_case"]


def judge_case(
    squad: Squad,
    case: HeldOutCase,
    facts: CaseFacts,
    reported: Mapping[RunLabel, Execution],
    seen: Observations,
    engine_hash: str,
) -> CaseResult:
    """Judge one case. `reported` holds what was reported of its runs. Total."""
    executions = judge_executions(squad, case, reported, seen)
    runs = {execution.label: execution for execution in executions}
    scorer = runs.get(RunLabel.SCORER)
    scored = scorer_outputs(scorer.output) if scorer and scorer.ok else NOTHING_SCORED
    specs = case_dimensions(case, scored)
    independent = _independent(runs, seen)
    evident = (
        independent
        and not scored.refused
        and scorer_evidence_complete(scored.evidence, (spec.name for spec in specs))
    )
    refusal = None
    if scorer is None:
        refusal = "NO_SCORER"
    elif scorer.ok and not independent:
        refusal = "SCORER_NOT_INDEPENDENT"
    uncontrolled = control_failure(squad, runs, seen.prompts)
    reproducible = case.deterministic and all(
        run.repeat_output_hash == run.output_hash for run in executions if run.ok
    )
    dimensions = (
        *judge_dimensions(
            specs,
            scored,
            baseline_ran=case.baseline is not None,
            refusal=refusal,
            seed=case.seed or 0,
            engine_hash=engine_hash,
        ),
        *_execution_guards(case, executions),
        *_scorer_guards(specs, scored, independent, evident),
        *_control_guards(uncontrolled),
        *_output_guards(case, facts, specs),
        *_reproducibility_guards(case, reproducible),
    )
    return CaseResult(
        case=case,
        status=combined(dimension.status for dimension in dimensions),
        artifact=facts.artifact.path,
        artifact_hash=facts.artifact.hash,
        artifact_problem=facts.artifact.problem,
        missing=facts.missing,
        forbidden=facts.forbidden,
        scorer_independent=independent,
        scorer_evidence_complete=evident,
        ab_controlled=uncontrolled == "",
        reproducible=reproducible,
        dimensions=dimensions,
        executions=executions,
    )


def case_dimensions(case: HeldOutCase, scored: Scored) -> tuple[DimensionSpec, ...]:
    """What the case declares, then what only the scorer brought; each by name.

    Undeclared dimensions are judged like declared ones that are not critical.
    """
    declared = {spec.name for spec in case.dimensions}
    extra = sorted(scored.names - declared)
    return (*case.dimensions, *(DimensionSpec(name, declared=False) for name in extra))


def _independent(runs: Mapping[RunLabel, ExecutionResult], seen: Observations) -> bool:
    """Whether the scorer is somebody else than the producers, by name and by content."""
    scorer = runs.get(RunLabel.SCORER)
    judge = seen.workers.get(scorer.worker or "") if scorer and scorer.ok else None
    if scorer is None or judge is None:
        return False
    producers = [run for label, run in runs.items() if label is not RunLabel.SCORER]
    programs = {
        facts.program_hash for run in producers if (facts := seen.workers.get(run.worker or ""))
    }
    names = {run.worker for run in producers}
    return scorer.worker not in names and judge.program_hash not in programs


def _execution_guards(
    case: HeldOutCase, executions: Iterable[ExecutionResult]
) -> Iterator[DimensionResult]:
    scores_expected = bool(case.baseline or case.scorer or case.dimensions)
    for run in executions:
        if not run.ok:
            reason = run.failure or "NOT_RUN"
            yield guard(f"{run.label}-execution", Status.FAIL, reason, run.detail or reason)
        if run.label is RunLabel.BASELINE and case.candidate is None:
            yield _candidate_missing()
    if case.baseline is None and case.candidate is None and scores_expected:
        yield _candidate_missing()


def _candidate_missing() -> DimensionResult:
    message = "the case declares no candidate run to score"
    return guard("candidate-execution", Status.FAIL, "NOT_DECLARED", message)


def _scorer_guards(
    specs: tuple[DimensionSpec, ...], scored: Scored, independent: bool, evident: bool
) -> Iterator[DimensionResult]:
    if not specs and not scored.refused:
        return
    if not independent:
        message = "no scorer that differs from the producers by name and content gave the scores"
        yield guard("independent-evaluation", Status.UNVERIFIED, "NOT_INDEPENDENT", message)
    elif scored.refused:
        message = f"the scorer uses names that no dimension may have: {', '.join(scored.refused)}"
        yield guard("scorer-evidence", Status.UNVERIFIED, "INVALID_NAME", message[:200])
    elif not evident:
        message = "the scorer gave no visible evidence for at least one dimension"
        yield guard("scorer-evidence", Status.UNVERIFIED, "EVIDENCE_MISSING", message)


def _control_guards(uncontrolled: str | None) -> Iterator[DimensionResult]:
    if uncontrolled:
        message = "baseline and candidate differ in more, or less, than the genome"
        yield guard("genome-ab-control", Status.FAIL, uncontrolled, message)


def _output_guards(
    case: HeldOutCase, facts: CaseFacts, specs: tuple[DimensionSpec, ...]
) -> Iterator[DimensionResult]:
    name = "task-output"
    asserted = case.expected_contains or case.expected_not_contains
    if facts.artifact.path is None:
        if asserted or not specs:
            message = "the case has no artifact and no dimension to check"
            yield guard(name, Status.UNVERIFIED, "NOTHING_TO_CHECK", message)
    elif not facts.artifact.readable:
        message = f"{facts.artifact.path} cannot be checked"
        yield guard(name, Status.FAIL, f"ARTIFACT_{facts.artifact.problem}", message)
    elif not asserted:
        message = f"nothing is asserted of {facts.artifact.path}"
        yield guard(name, Status.UNVERIFIED, "NOTHING_TO_CHECK", message)
    elif facts.missing:
        yield guard(name, Status.FAIL, "MISSING_TERMS", "asserted terms are missing", 0.0)
    elif facts.forbidden:
        yield guard(name, Status.FAIL, "FORBIDDEN_TERMS", "forbidden terms are present", 0.0)
    elif facts.artifact.problem is not None:
        yield guard(name, Status.FAIL, "ARTIFACT_EMPTY", "the artifact shows nothing", 0.0)
    else:
        yield guard(name, Status.PASS, "MET", "every assertion holds", 1.0)


def _reproducibility_guards(case: HeldOutCase, reproducible: bool) -> Iterator[DimensionResult]:
    name = "reproducibility"
    if not case.deterministic:
        message = "the case does not declare deterministic: true"
        yield guard(name, Status.UNVERIFIED, "NOT_DETERMINISTIC", message)
    elif not reproducible:
        message = "a second run of the same worker on the same payload did not give the same output"
        yield guard(name, Status.UNVERIFIED, "NOT_REPRODUCED", message)
