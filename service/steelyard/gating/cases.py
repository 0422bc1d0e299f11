"""Held-out cases: their dimensions, and the guards that decide whether those may count."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.gating.ab import control_failure
from steelyard.gating.executions import judge_executions
from steelyard.gating.guards import (
    control_guards,
    execution_guards,
    output_guards,
    reproducibility_guards,
    scorer_guards,
)
from steelyard.gating.model import (
    CaseResult,
    DimensionSpec,
    Execution,
    ExecutionResult,
    HeldOutCase,
    RunLabel,
    Squad,
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
        *execution_guards(case, executions),
        *scorer_guards(specs, scored, independent, evident),
        *control_guards(uncontrolled),
        *output_guards(case, facts, specs),
        *reproducibility_guards(case, reproducible),
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
