"""Genome off against genome on: was only the genome changed, and what did it change?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.gating.model import (
    CaseResult,
    Comparison,
    DimensionResult,
    ExecutionResult,
    Prompts,
    RunLabel,
    Squad,
    Status,
)
from steelyard.gating.names import GUARDS
from steelyard.gating.verdict import combined

__all__ = ["compare_genome", "control_failure"]


def control_failure(
    squad: Squad, runs: Mapping[RunLabel, ExecutionResult], prompts: Prompts
) -> str | None:
    """Why an A/B case is not controlled: an UPPER_SNAKE reason, empty when it is.

    None when there is nothing to control: no compiled genome, or no baseline run.
    """
    baseline, candidate = runs.get(RunLabel.BASELINE), runs.get(RunLabel.CANDIDATE)
    if baseline is None or not any(binding.compiled for binding in squad.bindings):
        return None
    if candidate is None or not (baseline.ok and candidate.ok):
        return "RUN_FAILED"
    if baseline.worker_hash != candidate.worker_hash:
        return "WORKERS_DIFFER"
    if baseline.input_hash != candidate.input_hash:
        return "INPUTS_DIFFER"
    if baseline.genome_enabled or not candidate.genome_enabled:
        return "GENOME_NOT_SWITCHED"
    if not prompts.genome_on.intact:
        return "PROMPTS_NOT_INTACT"
    if not candidate.genome_effects_present:
        return "NO_GENOME_EFFECTS"
    if baseline.genome_context_hash == candidate.genome_context_hash:
        return "CONTEXTS_EQUAL"
    return ""


def compare_genome(squad: Squad, cases: Sequence[CaseResult]) -> Comparison:
    """What the controlled cases say about the genome.

    Only dimensions with both sides are compared. One that a controlled case declares and that lacks
    a side leaves the comparison unverified.
    """
    bindings = squad.bindings
    if not bindings:
        return Comparison(Status.NOT_APPLICABLE, "NO_BINDINGS", (), ())
    compared: list[tuple[str, DimensionResult]] = []
    one_sided = False
    for result in cases:
        if not result.ab_controlled:
            continue
        declared = {spec.name for spec in result.case.dimensions}
        for dimension in result.dimensions:
            if dimension.name in GUARDS:
                continue
            if dimension.delta_exact is not None:
                compared.append((result.case.id, dimension))
            elif dimension.name in declared:
                one_sided = True
    status = combined(dimension.status for _, dimension in compared)
    reason = "COMPARED"
    if not all(binding.compiled for binding in bindings):
        status, reason = Status.FAIL, "BINDING_NOT_COMPILED"
    elif not compared:
        status, reason = Status.UNVERIFIED, "NOTHING_COMPARED"
    elif one_sided and status is not Status.FAIL:
        status, reason = Status.UNVERIFIED, "SIDE_MISSING"
    return Comparison(status, reason, bindings, tuple(compared))
