"""Guards: what must hold before the scores of a case may count.

A guard is a critical dimension with a reserved name that is appended when it does not hold;
`task-output` also when it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from steelyard.gating.model import (
    DimensionResult,
    DimensionSpec,
    ExecutionResult,
    HeldOutCase,
    RunLabel,
    Status,
)
from steelyard.gating.observe import CaseFacts
from steelyard.gating.scores import Scored

__all__ = [
    "control_guards",
    "execution_guards",
    "output_guards",
    "reproducibility_guards",
    "scorer_guards",
]


def execution_guards(
    case: HeldOutCase, executions: Iterable[ExecutionResult]
) -> Iterator[DimensionResult]:
    """Every declared run succeeded, and scores have a candidate run to be about."""
    runs = {run.label: run for run in executions}
    scores_expected = bool(case.baseline or case.scorer or case.dimensions)
    for label in RunLabel:
        run = runs.get(label)
        name = f"{label}-execution"
        if run is not None and not run.ok:
            reason = run.failure or "NOT_RUN"
            yield _guard(name, Status.FAIL, reason, run.detail or reason)
        elif run is None and label is RunLabel.CANDIDATE and scores_expected:
            message = "the case declares no candidate run to score"
            yield _guard(name, Status.FAIL, "NOT_DECLARED", message)


def scorer_guards(
    specs: tuple[DimensionSpec, ...], scored: Scored, independent: bool, evident: bool
) -> Iterator[DimensionResult]:
    """The scores come from an independent scorer that shows what they rest on."""
    if not specs and not scored.refused:
        return
    if not independent:
        message = "no scorer that differs from the producers by name and content gave the scores"
        yield _guard("independent-evaluation", Status.UNVERIFIED, "NOT_INDEPENDENT", message)
    elif scored.refused:
        message = f"the scorer uses names that no dimension may have: {', '.join(scored.refused)}"
        yield _guard("scorer-evidence", Status.UNVERIFIED, "INVALID_NAME", message[:200])
    elif not evident:
        message = "the scorer gave no visible evidence for at least one dimension"
        yield _guard("scorer-evidence", Status.UNVERIFIED, "EVIDENCE_MISSING", message)


def control_guards(uncontrolled: str | None) -> Iterator[DimensionResult]:
    """Baseline and candidate differ in the genome alone; `uncontrolled` says why they do not."""
    if uncontrolled:
        message = "baseline and candidate differ in more, or less, than the genome"
        yield _guard("genome-ab-control", Status.FAIL, uncontrolled, message)


def output_guards(
    case: HeldOutCase, facts: CaseFacts, specs: tuple[DimensionSpec, ...]
) -> Iterator[DimensionResult]:
    """The artifact is as asserted, and there is something to check at all."""
    name = "task-output"
    asserted = case.expected_contains or case.expected_not_contains
    if facts.artifact.path is None:
        if asserted or not specs:
            message = "the case has no artifact and no dimension to check"
            yield _guard(name, Status.UNVERIFIED, "NOTHING_TO_CHECK", message)
    elif not facts.artifact.readable:
        message = f"{facts.artifact.path} cannot be checked"
        yield _guard(name, Status.FAIL, f"ARTIFACT_{facts.artifact.problem}", message)
    elif not asserted:
        message = f"nothing is asserted of {facts.artifact.path}"
        yield _guard(name, Status.UNVERIFIED, "NOTHING_TO_CHECK", message)
    elif facts.missing:
        yield _guard(name, Status.FAIL, "MISSING_TERMS", "asserted terms are missing", 0.0)
    elif facts.forbidden:
        yield _guard(name, Status.FAIL, "FORBIDDEN_TERMS", "forbidden terms are present", 0.0)
    elif facts.artifact.problem is not None:
        yield _guard(name, Status.FAIL, "ARTIFACT_EMPTY", "the artifact shows nothing", 0.0)
    else:
        yield _guard(name, Status.PASS, "MET", "every assertion holds", 1.0)


def reproducibility_guards(case: HeldOutCase, reproducible: bool) -> Iterator[DimensionResult]:
    """The case claims to be deterministic, and a second run bore it out."""
    name = "reproducibility"
    if not case.deterministic:
        message = "the case does not declare deterministic: true"
        yield _guard(name, Status.UNVERIFIED, "NOT_DETERMINISTIC", message)
    elif not reproducible:
        message = "a second run of the same worker on the same payload did not give the same output"
        yield _guard(name, Status.UNVERIFIED, "NOT_REPRODUCED", message)


def _guard(
    name: str, status: Status, reason: str, message: str, candidate: float | None = None
) -> DimensionResult:
    """`message` says what did not hold, or did."""
    return DimensionResult(
        name, status, critical=True, reason=reason, candidate=candidate, evidence=message
    )
