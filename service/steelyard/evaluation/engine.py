"""The evaluation itself: contract, runs and judgements in, one result out. Pure and total."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from steelyard.errors import InvalidInputError, Violation
from steelyard.evaluation import feedback
from steelyard.evaluation.contract import Contract, natural_key
from steelyard.evaluation.fields import check_texts, require
from steelyard.evaluation.fingerprint import packed_test
from steelyard.evaluation.inputlint import lint_judgements
from steelyard.evaluation.judgement import Judgement, Judgements
from steelyard.evaluation.model import (
    CriterionResult,
    EvalResult,
    Outcome,
    Regression,
    Severity,
)
from steelyard.evaluation.progress import (
    Answers,
    Previous,
    check_previous,
    criterion_regressions,
    progress,
    state_of,
    test_regressions,
)
from steelyard.evaluation.strategies import StrategyOutcome, StrategyRun, run_strategies
from steelyard.evaluation.summary import summarise
from steelyard.evaluation.verdict import criterion_result, reasons, score, verdict

__all__ = ["Evaluation", "LintMode", "evaluate"]

MAX_ITERATION = 1_000_000

_TIMESTAMP = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})", re.ASCII
)


class LintMode(StrEnum):
    """What happens to judgements below the standard of evidence and feedback."""

    REPORT = "report"
    """They are used, and named among the violations."""
    REJECT = "reject"
    """They are refused with InvalidInputError."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result, and what is wrong with the judgements it was made from."""

    result: EvalResult
    violations: tuple[Violation, ...] = ()


def evaluate(
    contract: Contract,
    *,
    iteration: int,
    timestamp: str,
    runs: Sequence[StrategyRun] = (),
    judgements: Judgements | None = None,
    previous: Previous | None = None,
    lint: LintMode = LintMode.REPORT,
) -> Evaluation:
    """Evaluate one iteration of a sprint against its contract.

    iteration   1 for the first attempt, at most 1,000,000
    timestamp   RFC 3339 with seconds and offset (`2026-01-31T12:00:00Z`); copied, never read
    runs        one per strategy that was run; see `StrategyRun`
    judgements  see `Judgements`
    previous    the result of an earlier iteration, for states, regressions and progress

    The same arguments give an equal result, whatever the order of runs, judgements and notes.

    Raises InvalidInputError, naming the field, for an iteration or timestamp that is none, for
    names given twice, for a judgement, note or non-goal check of something that is not in the
    contract, for a `previous` of another contract or not of an earlier iteration, and, with
    LintMode.REJECT, for judgements that lint finds fault with.
    """
    judgements = judgements or Judgements()
    _check_request(iteration, timestamp)
    _check_words(contract, judgements)
    check_texts(tuple(runs), "runs")
    _check_references(contract, judgements)
    if previous is not None:
        check_previous(previous, contract, iteration)
    violations = lint_judgements(judgements, contract)
    if violations and lint == LintMode.REJECT:
        message = (
            f"{len(violations)} violations of the feedback rules, first {violations[0].path}: "
        )
        raise InvalidInputError("LINT_REJECTED", message + violations[0].message, violations)

    outcomes = run_strategies(contract, runs)
    by_criterion = {judgement.criterion_id: judgement for judgement in judgements.criteria}
    criteria = [
        (criterion_result(criterion, judgement), judgement)
        for criterion in sorted(contract.criteria, key=lambda c: natural_key(c.criterion_id))
        for judgement in (by_criterion.get(criterion.criterion_id),)
    ]
    results = [result for result, _ in criteria]
    breached = _breached(contract, judgements)
    regressions = _regressions(judgements, outcomes, results, previous)
    why = reasons(outcomes, criteria, regressions, [contract.non_goals[i] for i in breached])
    items = feedback.finished(
        _drafts(contract, judgements, outcomes, results, breached, previous), state_of(previous)
    )
    checked = {check.index_in(contract.non_goals) for check in judgements.non_goals}
    standing = progress(
        previous,
        items,
        why,
        Answers(
            strategies=frozenset(outcome.name for outcome in outcomes if outcome.complete),
            criteria=frozenset(r.criterion_id for r in results if r.result != Outcome.SKIPPED),
            rules=frozenset(feedback.non_goal_rule(i) for i in checked if i is not None),
            judges=bool(judgements.notes or judgements.regressions),
        ),
        outcomes,
    )
    decided = verdict(why)
    counts = score(results)
    strategy_results = tuple(outcome.result for outcome in outcomes)
    return Evaluation(
        EvalResult(
            eval_id=f"eval-{contract.contract_id}-{iteration}",
            contract_id=contract.contract_id,
            spec_id=contract.spec_id,
            timestamp=timestamp,
            iteration=iteration,
            overall_result=decided,
            reasons=why,
            score=counts,
            strategy_results=strategy_results,
            criteria_results=tuple(results),
            regressions=regressions,
            generator_feedback=items,
            summary=summarise(
                contract.contract_id,
                iteration,
                decided,
                counts,
                strategy_results,
                why,
                items,
                standing,
            ),
            progress=standing,
        ),
        violations,
    )


def _check_request(iteration: int, timestamp: str) -> None:
    message = f"must be 1 to {MAX_ITERATION}"
    require(1 <= iteration <= MAX_ITERATION, "iteration", "OUT_OF_RANGE", message)
    try:
        valid = bool(_TIMESTAMP.fullmatch(timestamp)) and bool(datetime.fromisoformat(timestamp))
    except ValueError:
        valid = False
    message = "must be RFC 3339 with seconds and offset, like 2026-01-31T12:00:00Z"
    require(valid, "timestamp", "MALFORMED", message)


def _check_words(contract: Contract, judgements: Judgements) -> None:
    check_texts(contract, "contract")
    for name, entries in (
        ("judgements", judgements.criteria),
        ("regressions", judgements.regressions),
        ("nonGoals", judgements.non_goals),
        ("feedback", judgements.notes),
    ):
        check_texts(entries, name)
    for name, descriptions in (
        ("contract.successCriteria", [criterion.description for criterion in contract.criteria]),
        ("regressions", [regression.description for regression in judgements.regressions]),
        ("feedback", [note.description for note in judgements.notes]),
    ):
        for index, text in enumerate(descriptions):
            path = f"{name}[{index}].description"
            require(bool(text.strip()), path, "BLANK", "must not be blank")


def _check_references(contract: Contract, judgements: Judgements) -> None:
    known = {criterion.criterion_id for criterion in contract.criteria}
    named: list[tuple[str, str | None]] = [
        *(
            (f"judgements[{i}]", judged.criterion_id)
            for i, judged in enumerate(judgements.criteria)
        ),
        *((f"feedback[{i}]", note.criterion_id) for i, note in enumerate(judgements.notes)),
    ]
    for path, name in named:
        message = f"{name!r} is no criterion of contract {contract.contract_id}"
        there = name is None or name in known
        require(there, f"{path}.criterionId", "UNKNOWN_CRITERION", message)
    for index, check in enumerate(judgements.non_goals):
        there = check.index_in(contract.non_goals) is not None
        message = f"{check.non_goal!r} is neither text nor index of a non-goal of the contract"
        require(there, f"nonGoals[{index}].nonGoal", "UNKNOWN_NON_GOAL", message)


def _breached(contract: Contract, judgements: Judgements) -> dict[int, str]:
    """The evidence for every breached non-goal, by its index."""
    found: dict[int, str] = {}
    for check in judgements.non_goals:
        index = check.index_in(contract.non_goals)
        if check.breached and index is not None:
            found[index] = max(found.get(index, ""), check.evidence)
    return found


_SEVERITIES = list(Severity)


def _regressions(
    judgements: Judgements,
    outcomes: Sequence[StrategyOutcome],
    results: Sequence[CriterionResult],
    previous: Previous | None,
) -> tuple[Regression, ...]:
    found = list(judgements.regressions)
    if previous is not None:
        files = {j.criterion_id: j.location.file for j in judgements.criteria if j.location}
        found += criterion_regressions(results, files, previous)
        found += test_regressions(outcomes, packed_test(previous.progress.passed_tests), previous)
    return tuple(
        sorted(
            found,
            key=lambda r: (
                _SEVERITIES.index(r.severity),
                natural_key(r.description),
                r.evidence,
                r.affected_files,
            ),
        )
    )


def _drafts(
    contract: Contract,
    judgements: Judgements,
    outcomes: Sequence[StrategyOutcome],
    results: Iterable[CriterionResult],
    breached: dict[int, str],
    previous: Previous | None,
) -> list[feedback.Draft]:
    passed_before = packed_test(previous.progress.passed_tests if previous else "")
    before = previous.criteria if previous else {}
    failed = {r.criterion_id for r in results if r.result == Outcome.FAIL}
    described = {note.criterion_id for note in judgements.notes}
    by_id = {criterion.criterion_id: criterion for criterion in contract.criteria}

    def from_judgement(judgement: Judgement) -> feedback.Draft:
        name = judgement.criterion_id
        regressed = before.get(name) == Outcome.PASS
        return feedback.criterion_draft(by_id[name], judgement, regressed=regressed)

    return [
        *feedback.finding_drafts(outcomes, passed_before),
        *(
            from_judgement(judgement)
            for judgement in judgements.criteria
            if judgement.criterion_id in failed and judgement.criterion_id not in described
        ),
        *(feedback.note_draft(note, contract, failed) for note in judgements.notes),
        *(feedback.regression_draft(regression) for regression in judgements.regressions),
        *(
            feedback.non_goal_draft(index, contract.non_goals[index], evidence)
            for index, evidence in breached.items()
        ),
    ]
