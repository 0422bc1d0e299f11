"""The round against those before: states, what was fixed, regressions, stall and oscillation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from steelyard._core import hash_object
from steelyard.evaluation.contract import Contract
from steelyard.evaluation.feedback import NON_GOAL_RULE
from steelyard.evaluation.fields import require
from steelyard.evaluation.fingerprint import pack_tests
from steelyard.evaluation.model import (
    CriterionResult,
    FeedbackItem,
    Known,
    Outcome,
    Priority,
    Progress,
    Reason,
    Regression,
    Severity,
    State,
)
from steelyard.evaluation.strategies import StrategyOutcome
from steelyard.ingest import Severity as Gravity

__all__ = [
    "STALLED_AFTER",
    "Answers",
    "Previous",
    "check_previous",
    "criterion_regressions",
    "progress",
    "state_of",
    "test_regressions",
]

STALLED_AFTER = 3
"""Rounds with exactly the same failures after which a loop counts as stalled."""

_MAX_OPEN = 1_000
_MAX_HISTORY = 8


@dataclass(frozen=True, slots=True)
class Previous:
    """What one round needs to know of the round before."""

    eval_id: str
    contract_id: str
    iteration: int
    criteria: Mapping[str, Outcome] = field(default_factory=dict)
    items: tuple[Known, ...] = ()
    progress: Progress = field(default_factory=Progress)


@dataclass(frozen=True, slots=True)
class Answers:
    """Who gave a complete answer this round: the silence of anybody else fixes nothing.

    rules    the non-goals that were looked at, as rule ids
    judges   some judge wrote down notes or regressions
    """

    strategies: frozenset[str]
    criteria: frozenset[str]
    rules: frozenset[str]
    judges: bool

    def cover(self, issue: Known) -> bool:
        """Whether this round would have shown the issue if it were still there."""
        if issue.strategy is not None:
            return issue.strategy in self.strategies
        if issue.criterion_id is not None:
            return issue.criterion_id in self.criteria
        if issue.rule_id is not None and issue.rule_id.startswith(NON_GOAL_RULE):
            return issue.rule_id in self.rules
        return self.judges or bool(self.criteria)


def check_previous(previous: Previous, contract: Contract, iteration: int) -> None:
    """Raise InvalidInputError unless `previous` is an earlier round of the same contract."""
    require(
        previous.contract_id == contract.contract_id,
        "previous.contractId",
        "WRONG_CONTRACT",
        f"is {previous.contract_id!r}, the contract is {contract.contract_id!r}",
    )
    require(
        previous.iteration < iteration,
        "previous.iteration",
        "NOT_EARLIER",
        f"is {previous.iteration}, must be below this iteration ({iteration})",
    )


def criterion_regressions(
    criteria: Iterable[CriterionResult], files: Mapping[str, str], previous: Previous
) -> list[Regression]:
    """A criterion that passed the round before and fails now. Critical when it is required."""
    return [
        Regression(
            description=(
                f"Criterion {result.criterion_id} passed in iteration {previous.iteration} "
                f"and fails now: {result.description}"
            ),
            evidence=result.evidence,
            severity=Severity.CRITICAL if result.required else Severity.MINOR,
            affected_files=((files[result.criterion_id],) if result.criterion_id in files else ()),
        )
        for result in criteria
        if result.result == Outcome.FAIL
        and previous.criteria.get(result.criterion_id) == Outcome.PASS
    ]


def test_regressions(
    outcomes: Iterable[StrategyOutcome], passed_before: Callable[[str], bool], previous: Previous
) -> list[Regression]:
    """A test that passed the round before and fails now. Critical when its strategy is required."""
    found: dict[str, Regression] = {}
    for outcome in outcomes:
        for finding in outcome.report.findings if outcome.report else ():
            name = finding.test_name
            if name is None or finding.severity != Gravity.ERROR or not passed_before(name):
                continue
            if name in found and found[name].severity == Severity.CRITICAL:
                continue
            found[name] = Regression(
                description=f"Test {name} passed in iteration {previous.iteration} and fails now",
                evidence=finding.message,
                severity=Severity.CRITICAL if outcome.blocking else Severity.MINOR,
                affected_files=(finding.path,) if finding.path is not None else (),
            )
    return list(found.values())


def state_of(previous: Previous | None) -> Callable[[str], State]:
    """The state of an issue by its fingerprint: persisting when it was open in the round before,
    reopened when it was fixed once, else new."""
    if previous is None:
        return lambda _fingerprint: State.NEW
    open_before = _open(previous).keys()
    closed = frozenset(previous.progress.closed)

    def state(fingerprint: str) -> State:
        if fingerprint in open_before:
            return State.PERSISTING
        return State.REOPENED if fingerprint in closed else State.NEW

    return state


def progress(
    previous: Previous | None,
    items: Sequence[FeedbackItem],
    reasons: Sequence[Reason],
    answers: Answers,
    outcomes: Sequence[StrategyOutcome],
) -> Progress:
    """What changed since the round before, and the memory that the next round works from."""
    before = previous.progress if previous else Progress()
    current = {item.fingerprint for item in items}
    gone = [
        k for k in (_open(previous) if previous else {}).values() if k.fingerprint not in current
    ]
    fixed = sorted((known for known in gone if answers.cover(known)), key=_order)
    unchecked = sorted((known for known in gone if not answers.cover(known)), key=_order)
    failures = _failure_set(items, reasons)
    history = (failures, *before.failure_sets)[:_MAX_HISTORY]
    same = bool(failures) and history[1:2] == (failures,)
    rounds = before.same_failure_rounds + 1 if same else int(bool(failures))
    closed = [k.fingerprint for k in fixed]
    closed += [f for f in before.closed if f not in current and f not in closed]
    return Progress(
        previous_eval_id=previous.eval_id if previous else None,
        fixed=tuple(fixed),
        unchecked=tuple(unchecked[:_MAX_OPEN]),
        same_failure_rounds=rounds,
        stalled=rounds >= STALLED_AFTER,
        oscillating=len(history) > 2 and bool(failures) and history[0] == history[2] != history[1],
        closed=tuple(closed[:_MAX_OPEN]),
        failure_sets=history,
        passed_tests=_passed_tests(outcomes, before.passed_tests),
    )


def _open(previous: Previous) -> dict[str, Known]:
    """Every issue that was open after the round before, looked for in it or not."""
    known = (*previous.progress.unchecked, *previous.items)
    return {issue.fingerprint: issue for issue in known}


def _failure_set(items: Iterable[FeedbackItem], reasons: Sequence[Reason]) -> str:
    """One digest for what fails this round, whatever its lines and words are; "" on pass."""
    if not reasons:
        return ""
    urgent = (Priority.CRITICAL, Priority.HIGH)
    causes = {f"{r.code} {r.strategy or ''} {r.criterion_id or ''}" for r in reasons}
    causes |= {item.fingerprint for item in items if item.priority in urgent}
    return hash_object(sorted(causes))[:32]


def _passed_tests(outcomes: Sequence[StrategyOutcome], before: str) -> str:
    reports = [outcome.report for outcome in outcomes if outcome.report]
    passed = {name for report in reports for name in report.passed_tests}
    failed = {f.test_name for report in reports for f in report.findings if f.test_name}
    everything_ran = all(outcome.complete for outcome in outcomes)
    return pack_tests(passed - failed, carried="" if everything_ran else before, without=failed)


def _order(issue: Known) -> tuple[str, str, str]:
    return issue.file or "", issue.description, issue.fingerprint
