"""Executions: what a run was, derived from the contract and from what came back."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard._core import hash_object
from steelyard.errors import InvalidInputError
from steelyard.gating.envelope import case_runs, genome_enabled, payload
from steelyard.gating.model import (
    Completed,
    Execution,
    ExecutionResult,
    Failed,
    HeldOutCase,
    RunLabel,
    RunSpec,
    Squad,
)
from steelyard.gating.observe import Observations
from steelyard.strictjson import MAX_DEPTH, JsonValue, exceeds_depth

__all__ = ["judge_executions"]

_NOT_RUN = Failed("NOT_RUN", "no record of this run")


def judge_executions(
    squad: Squad,
    case: HeldOutCase,
    reported: Mapping[RunLabel, Execution],
    seen: Observations,
) -> tuple[ExecutionResult, ...]:
    """One result per run that the case declares, in order. A run nobody reports has failed."""
    outputs: dict[RunLabel, JsonValue] = {}
    results: list[ExecutionResult] = []
    for label, run in case_runs(case):
        given = payload(squad, case, label, seen.prompts, outputs)
        expected = None if given is None else hash_object(given)
        result = _result(squad, case, label, run, reported.get(label), seen, expected)
        if result.ok:
            outputs[label] = result.output
        results.append(result)
    return tuple(results)


def _result(
    squad: Squad,
    case: HeldOutCase,
    label: RunLabel,
    run: RunSpec,
    execution: Execution | None,
    seen: Observations,
    expected_payload_hash: str | None,
) -> ExecutionResult:
    worker = seen.workers.get(run.worker or "")
    enabled = genome_enabled(squad, label)
    prompts = seen.prompts.genome_on if enabled else seen.prompts.genome_off
    outcome = execution.outcome if execution is not None else _NOT_RUN
    output_hash = None
    if isinstance(outcome, Completed):
        output_hash = _output_hash(outcome.output)
        if worker is None:
            outcome = Failed("WORKER_UNAVAILABLE", "no such worker")
        elif output_hash is None:
            outcome = Failed("OUTPUT_NOT_CANONICAL", "canonical JSON cannot hold the output")
        elif execution is not None and expected_payload_hash not in (None, execution.payload_hash):
            outcome = Failed("PAYLOAD_MISMATCH", "the worker was given another payload")
    completed = outcome if isinstance(outcome, Completed) else None
    failed = outcome if isinstance(outcome, Failed) else None
    return ExecutionResult(
        label=label,
        worker=run.worker,
        ok=completed is not None,
        failure=failed.reason if failed else None,
        detail=failed.detail if failed else "",
        attempt=execution.attempt if execution else 0,
        duration_ms=execution.duration_ms if execution else 0,
        seed=case.seed,
        genome_enabled=enabled if worker else None,
        genome_effects_present=prompts.effects_present and enabled if worker else None,
        genome_context_hash=prompts.hash if worker and label is not RunLabel.SCORER else None,
        worker_hash=worker.hash if worker else None,
        worker_sources=worker.sources if worker else (),
        input_hash=hash_object(run.input) if worker else None,
        payload_hash=execution.payload_hash if execution else None,
        output_hash=output_hash if completed else None,
        repeat_output_hash=completed.repeat_output_hash if completed else None,
        output=completed.output if completed else None,
    )


def _output_hash(output: JsonValue) -> str | None:
    try:
        return None if exceeds_depth(output, MAX_DEPTH) else hash_object(output)
    except InvalidInputError:
        return None
