"""The verdict: pass only if nothing speaks against it, and every cause of a fail by name.

Reasons are only ever added and one reason is a fail, so nothing can raise a verdict: the rules are
monotone. A required thing without an answer speaks against a pass exactly like a failed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.evaluation.contract import Criterion, natural_key
from steelyard.evaluation.judgement import Judgement, Ruling
from steelyard.evaluation.model import (
    Code,
    CriterionResult,
    Outcome,
    Reason,
    Regression,
    Score,
    Severity,
    Verdict,
)
from steelyard.evaluation.strategies import StrategyOutcome

__all__ = ["criterion_result", "reasons", "score", "verdict"]


def criterion_result(criterion: Criterion, judgement: Judgement | None) -> CriterionResult:
    """What a criterion came to. A criterion that no judge answered is skipped."""
    outcome, feedback = Outcome.SKIPPED, None
    if judgement is None:
        evidence = "No judgement was given."
    elif judgement.ruling == Ruling.ERROR:
        evidence = f"The judge gave no answer: {judgement.evidence or 'no cause was given'}"
    else:
        outcome, evidence = Outcome(judgement.ruling), judgement.evidence
        if outcome == Outcome.FAIL:
            feedback = judgement.feedback or judgement.evidence or "The criterion failed."
    return CriterionResult(
        criterion_id=criterion.criterion_id,
        description=criterion.description,
        required=criterion.required,
        result=outcome,
        evidence=evidence,
        feedback=feedback,
    )


def score(results: Sequence[CriterionResult]) -> Score:
    """The counts over the criteria."""

    def count(outcome: Outcome | None, *, required: bool) -> int:
        return sum(
            (outcome is None or result.result == outcome) and (result.required or not required)
            for result in results
        )

    return Score(
        criteria_total=len(results),
        criteria_passed=count(Outcome.PASS, required=False),
        criteria_failed=count(Outcome.FAIL, required=False),
        criteria_skipped=count(Outcome.SKIPPED, required=False),
        required_passed=count(Outcome.PASS, required=True),
        required_failed=count(Outcome.FAIL, required=True),
        required_total=count(None, required=True),
    )


def reasons(
    outcomes: Sequence[StrategyOutcome],
    criteria: Sequence[tuple[CriterionResult, Judgement | None]],
    regressions: Iterable[Regression],
    breached: Iterable[str],
) -> tuple[Reason, ...]:
    """Every cause that keeps the evaluation from passing; none exactly when it passes."""
    found: list[Reason] = []
    for outcome in outcomes:
        if outcome.result.required:
            found.extend(_strategy_reasons(outcome))
    for result, judgement in criteria:
        if result.required and result.result != Outcome.PASS:
            found.append(_criterion_reason(result, judgement))
    found.extend(
        Reason(Code.CRITICAL_REGRESSION, regression.description)
        for regression in regressions
        if regression.severity == Severity.CRITICAL
    )
    found.extend(Reason(Code.NON_GOAL_BREACHED, non_goal) for non_goal in breached)
    answered = [o.result.result != Outcome.SKIPPED for o in outcomes if o.result.required]
    answered += [r.result != Outcome.SKIPPED for r, _ in criteria if r.required]
    if not any(answered):
        message = (
            "No required strategy or criterion was evaluated."
            if answered
            else "Neither the contract nor the run has a required strategy or criterion."
        )
        found.append(Reason(Code.NOTHING_EVALUATED, message))
    return tuple(sorted(found, key=_order))


def verdict(reasons: Sequence[Reason]) -> Verdict:
    """Fail for any reason at all."""
    return Verdict.FAIL if reasons else Verdict.PASS


def _strategy_reasons(outcome: StrategyOutcome) -> list[Reason]:
    result = outcome.result
    if result.result == Outcome.PASS:
        return []
    if result.result == Outcome.SKIPPED:
        message = f"Required strategy {result.strategy} was skipped: {result.details}"
        return [Reason(Code.REQUIRED_SKIPPED, message, strategy=result.strategy)]
    message = f"Required strategy {result.strategy} failed."
    return [
        Reason(Code.REQUIRED_STRATEGY_FAILED, message, strategy=result.strategy),
        *(Reason(code, detail, strategy=result.strategy) for code, detail in outcome.problems),
    ]


def _criterion_reason(result: CriterionResult, judgement: Judgement | None) -> Reason:
    name = result.criterion_id
    if judgement is None:
        code, message = Code.CRITERION_UNJUDGED, f"Required criterion {name} was not judged."
    elif judgement.ruling == Ruling.ERROR:
        code, message = Code.EVALUATOR_ERROR, f"{name}: {result.evidence}"
    elif result.result == Outcome.SKIPPED:
        code, message = Code.REQUIRED_SKIPPED, f"Required criterion {name} was skipped."
    else:
        code, message = Code.REQUIRED_CRITERION_FAILED, f"Required criterion {name} failed."
    return Reason(code, message, criterion_id=name)


_CODES = list(Code)


def _order(reason: Reason) -> tuple[object, ...]:
    return (
        _CODES.index(reason.code),
        natural_key(reason.strategy or ""),
        natural_key(reason.criterion_id or ""),
        reason.message,
    )
