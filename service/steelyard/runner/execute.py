"""The runs of a gate: cases in parallel, the runs of one case in order, nothing retried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Final

from steelyard import strictjson
from steelyard._core import canonical_json, hash_json, hash_object
from steelyard.errors import SteelyardError
from steelyard.gating.envelope import case_runs, payload, prompts
from steelyard.gating.model import (
    Completed,
    Execution,
    Failed,
    HeldOutCase,
    ProjectFile,
    Prompts,
    RunLabel,
    RunSpec,
    Squad,
)
from steelyard.runner.process import Cancellation, run_process
from steelyard.runner.squad import SquadFolder
from steelyard.runner.workers import LoadedWorker
from steelyard.strictjson import JsonValue

__all__ = ["CaseDone", "Progress", "run_cases"]


@dataclass(frozen=True, slots=True)
class CaseDone:
    """One case has run: how many have, of how many, and what failed in it (label: reason)."""

    case: str
    done: int
    total: int
    failures: tuple[str, ...]


Progress = Callable[[CaseDone], None]


@dataclass(frozen=True, slots=True)
class _Bench:
    """What every run of one gate shares."""

    folder: SquadFolder
    squad: Squad
    prompts: Prompts
    workers: Mapping[str, LoadedWorker]
    cancellation: Cancellation


def run_cases(
    folder: SquadFolder,
    squad: Squad,
    files: Mapping[str, ProjectFile],
    workers: Mapping[str, LoadedWorker],
    jobs: int,
    progress: Progress,
) -> tuple[Execution, ...]:
    """Run every case, `jobs` of them at a time, and return the runs in the order of the manifest.

    A case whose `deterministic` is true runs each worker twice on the same payload. A scorer does
    not run when a producer failed. An interruption ends all workers before it goes on.
    """
    cancellation = Cancellation()
    bench = _Bench(folder, squad, prompts(squad, files), workers, cancellation)
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="gate")
    try:
        futures = {pool.submit(_run_case, bench, case): case for case in squad.cases}
        for done, future in enumerate(as_completed(futures), 1):
            failures = tuple(
                f"{run.label}: {run.outcome.reason}"
                for run in future.result()
                if isinstance(run.outcome, Failed)
            )
            progress(CaseDone(futures[future].id, done, len(futures), failures))
        return tuple(run for future in futures for run in future.result())
    except BaseException:
        cancellation.cancel()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        cancellation.close()


def _run_case(bench: _Bench, case: HeldOutCase) -> list[Execution]:
    executions: list[Execution] = []
    outputs: dict[RunLabel, JsonValue] = {}
    for label, spec in case_runs(case):
        if label is RunLabel.SCORER and len(outputs) < len(executions):
            break
        execution = _run(bench, case, label, spec, outputs)
        executions.append(execution)
        if isinstance(execution.outcome, Completed):
            outputs[label] = execution.outcome.output
    return executions


def _run(
    bench: _Bench,
    case: HeldOutCase,
    label: RunLabel,
    spec: RunSpec,
    outputs: Mapping[RunLabel, JsonValue],
) -> Execution:
    worker = bench.workers.get(spec.worker) if spec.worker else None
    if worker is None or spec.worker is None:
        return Execution(case.id, label, Failed("WORKER_NOT_FOUND", "there is no such worker"))
    given = canonical_json(payload(bench.squad, case, label, bench.prompts, outputs))
    first = _attempt(bench, spec.worker, worker, given)
    outcome = first.outcome
    if isinstance(outcome, Completed) and case.deterministic:
        second = _attempt(bench, spec.worker, worker, given).outcome
        if isinstance(second, Completed):
            outcome = Completed(outcome.output, hash_object(second.output))
    return Execution(case.id, label, outcome, hash_json(given), first.duration_ms)


@dataclass(frozen=True, slots=True)
class _Attempt:
    outcome: Completed | Failed
    duration_ms: int = 0


def _attempt(bench: _Bench, name: str, worker: LoadedWorker, given: bytes) -> _Attempt:
    """One run of one worker, which must be as it was before the first run, before and after."""
    if not _unchanged(bench, name, worker):
        return _Attempt(_CHANGED)
    try:
        result = run_process(
            worker.command,
            given,
            folder=bench.folder.project.root,
            timeout_seconds=worker.timeout_seconds,
            cancellation=bench.cancellation,
        )
    except OSError as error:
        # The machine's trouble (no space, no descriptors), and still no reason to pass.
        return _Attempt(Failed("WORKER_NOT_STARTED", error.strerror or "refused by the system"))
    duration_ms = round(result.duration_seconds * 1000)
    if not _unchanged(bench, name, worker):
        return _Attempt(_CHANGED, duration_ms)
    if result.failure is not None:
        last_line = result.stderr_tail.strip().rpartition("\n")[2]
        detail = ": ".join(filter(None, [result.failure.message, _printable(last_line)]))
        return _Attempt(Failed(result.failure.reason, detail), duration_ms)
    try:
        output = strictjson.parse(result.stdout, "output")
    except SteelyardError as error:
        return _Attempt(Failed("WORKER_OUTPUT_INVALID", error.message), duration_ms)
    return _Attempt(Completed(output), duration_ms)


_CHANGED: Final = Failed("WORKER_CHANGED", "a file of the worker was touched after the gate began")
_DETAIL_LIMIT: Final = 300


def _unchanged(bench: _Bench, name: str, worker: LoadedWorker) -> bool:
    try:
        return bench.folder.worker(name) == worker
    except SteelyardError:
        return False


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text)[:_DETAIL_LIMIT]
