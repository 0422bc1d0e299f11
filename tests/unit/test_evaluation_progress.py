"""Rounds: states, what was fixed, regressions by comparison, stall and oscillation."""

from __future__ import annotations

import dataclasses

import pytest

from steelyard.evaluation import (
    Category,
    Contract,
    Criterion,
    EvalResult,
    Judgement,
    Judgements,
    Location,
    NonGoalCheck,
    Note,
    Outcome,
    Previous,
    Priority,
    Ruling,
    Severity,
    State,
    Strategy,
    StrategyRun,
    evaluate,
    parse_previous,
    result_value,
)
from steelyard.ingest import Format

CONTRACT = Contract(
    "sprint-1",
    "spec-1",
    criteria=(Criterion("must", "It refuses blanks."), Criterion("may", "Fast.", required=False)),
    strategies=(
        Strategy("typecheck", format=Format.TSC),
        Strategy("unit-test", format=Format.JUNIT),
    ),
    non_goals=("Leave the API alone.",),
)


def tsc(*errors: tuple[int, str]) -> StrategyRun:
    lines = (f"src/a.ts({line},1): error TS2304: Cannot find name '{n}'.\n" for line, n in errors)
    return StrategyRun("typecheck", report="".join(lines).encode(), exit_code=2 if errors else 0)


def junit(*, failed: tuple[str, ...] = (), passed: tuple[str, ...] = ("t0",)) -> StrategyRun:
    cases = "".join(
        f'<testcase classname="suite" name="{name}">{body}</testcase>'
        for names, body in ((passed, ""), (failed, '<failure message="boom"/>'))
        for name in names
    )
    report = f'<testsuites><testsuite name="s">{cases}</testsuite></testsuites>'.encode()
    return StrategyRun("unit-test", report=report, exit_code=1 if failed else 0)


def ruling(word: Ruling = Ruling.PASS, criterion: str = "must") -> Judgement:
    return Judgement(criterion, word, "seen in a.ts:1", "It does not.")


def round_(
    *runs: StrategyRun,
    judgements: Judgements | None = None,
    after: EvalResult | None = None,
    contract: Contract = CONTRACT,
) -> EvalResult:
    previous = parse_previous(result_value(after)) if after else None
    return evaluate(
        contract,
        iteration=after.iteration + 1 if after else 1,
        timestamp="2026-01-31T12:00:00Z",
        runs=runs,
        judgements=judgements or Judgements((ruling(),)),
        previous=previous,
    ).result


def states(result: EvalResult) -> dict[str, State]:
    return {item.description.split("'")[1]: item.state for item in result.generator_feedback}


def test_new_persisting_fixed_and_reopened() -> None:
    first = round_(tsc((3, "A"), (9, "B")), junit())
    assert states(first) == {"A": State.NEW, "B": State.NEW}

    second = round_(tsc((33, "A"), (40, "C")), junit(), after=first)
    assert states(second) == {"A": State.PERSISTING, "C": State.NEW}
    assert [issue.description for issue in second.progress.fixed] == ["Cannot find name 'B'."]
    assert second.progress.previous_eval_id == "eval-sprint-1-1"

    third = round_(tsc((3, "B")), junit(), after=second)
    assert states(third) == {"B": State.REOPENED}
    assert len(third.progress.fixed) == 2
    assert third.progress.closed == tuple(issue.fingerprint for issue in third.progress.fixed)


@pytest.mark.parametrize(
    "silent",
    [
        None,
        StrategyRun("typecheck", error="timeout"),
        StrategyRun("typecheck", error="", exit_code=0),
        StrategyRun("typecheck", skipped="not today"),
        StrategyRun("typecheck", report=b"\x00", format=Format.SARIF, exit_code=0),
        StrategyRun("typecheck", report=b"x" * 99, max_bytes=10, exit_code=0),
    ],
)
def test_what_was_not_looked_for_is_not_fixed(silent: StrategyRun | None) -> None:
    first = round_(tsc((3, "A")), junit())
    second = round_(*filter(None, (silent,)), junit(), after=first)
    assert second.progress.fixed == ()
    assert [issue.description for issue in second.progress.unchecked] == ["Cannot find name 'A'."]

    third = round_(tsc((8, "A")), junit(), after=second)
    assert states(third) == {"A": State.PERSISTING}


def test_issues_that_did_not_fit_are_not_fixed() -> None:
    first = round_(tsc((3, "A"), (9, "B")), junit())
    capped = dataclasses.replace(tsc((3, "A"), (9, "B")), max_items=1)
    second = round_(capped, junit(), after=first)
    assert second.progress.fixed == ()
    assert len(second.progress.unchecked) == 1


def test_a_criterion_or_non_goal_that_nobody_looked_at_is_not_fixed() -> None:
    breached = NonGoalCheck(0, breached=True, evidence="api.ts:3 changed")
    first = round_(
        tsc(), junit(), judgements=Judgements((ruling(Ruling.FAIL),), non_goals=(breached,))
    )
    assert len(first.generator_feedback) == 2
    second = round_(tsc(), junit(), judgements=Judgements(), after=first)
    assert len(second.progress.unchecked) == 2
    kept = NonGoalCheck(0, breached=False)
    third = round_(
        tsc(), junit(), judgements=Judgements((ruling(),), non_goals=(kept,)), after=second
    )
    assert len(third.progress.fixed) == 2


def test_a_judge_s_note_is_recognised_when_it_is_reworded_and_fixed_when_it_is_gone() -> None:
    def notes(*texts: str) -> Judgements:
        return Judgements((ruling(),), notes=tuple(Note(text, "e") for text in texts))

    first = round_(tsc(), junit(), judgements=notes("`login()` hangs", "the `menu` is slow"))
    second = round_(tsc(), junit(), judgements=notes("A call of `login()` hangs"), after=first)
    assert [item.state for item in second.generator_feedback] == [State.PERSISTING]
    assert [issue.description for issue in second.progress.fixed] == ["the `menu` is slow"]


def test_a_judge_s_note_is_not_fixed_by_judges_that_say_nothing() -> None:
    first = round_(
        tsc(), junit(), judgements=Judgements((ruling(),), notes=(Note("`login()` hangs", "e"),))
    )
    silent = round_(tsc(), junit(), judgements=Judgements(), after=first)
    assert len(silent.progress.unchecked) == 1
    spoken = round_(tsc(), junit(), after=silent)
    assert len(spoken.progress.fixed) == 1


def test_equal_notes_are_told_apart_by_their_line_and_not_by_their_order() -> None:
    notes = tuple(Note("no label", "e", location=Location("a.ts", n), rule_id="x") for n in (1, 2))
    one, other = (
        round_(tsc(), junit(), judgements=Judgements((ruling(),), notes=given))
        for given in (notes, notes[::-1])
    )
    assert one == other
    assert len({item.fingerprint for item in one.generator_feedback}) == 2


def test_a_criterion_that_passed_and_fails_now_is_a_regression() -> None:
    first = round_(tsc(), junit(), judgements=Judgements((ruling(), ruling(criterion="may"))))
    both = Judgements((ruling(Ruling.FAIL), ruling(Ruling.FAIL, "may")))
    second = round_(tsc(), junit(), judgements=both, after=first)
    assert [r.severity for r in second.regressions] == [Severity.CRITICAL, Severity.MINOR]
    assert "Criterion must passed in iteration 1 and fails now" in second.regressions[0].description
    assert second.regressions[0].affected_files == ()
    items = {item.criterion_id: item for item in second.generator_feedback}
    assert (items["must"].priority, items["must"].category) == (
        Priority.CRITICAL,
        Category.REGRESSION,
    )
    assert items["may"].priority == Priority.MEDIUM
    third = round_(tsc(), junit(), judgements=both, after=second)
    assert third.regressions == ()


def test_a_criterion_that_was_skipped_before_is_no_regression() -> None:
    first = round_(tsc(), junit(), judgements=Judgements((ruling(Ruling.SKIPPED),)))
    second = round_(tsc(), junit(), judgements=Judgements((ruling(Ruling.FAIL),)), after=first)
    assert second.regressions == ()


def test_a_test_that_passed_and_fails_now_is_a_regression() -> None:
    first = round_(tsc(), junit(passed=("t1", "t2")))
    second = round_(tsc(), junit(failed=("t1", "new"), passed=("t2",)), after=first)
    (regression,) = second.regressions
    assert regression.severity == Severity.CRITICAL
    assert "suite.t1 passed in iteration 1" in regression.description
    worse = {i.description: (i.priority, i.category) for i in second.generator_feedback}
    assert worse == {
        "suite.t1: boom": (Priority.CRITICAL, Category.REGRESSION),
        "suite.new: boom": (Priority.HIGH, Category.BUG),
    }
    third = round_(tsc(), junit(failed=("t1", "new"), passed=("t2",)), after=second)
    assert third.regressions == ()


def test_a_name_that_both_passed_and_failed_has_not_passed() -> None:
    first = round_(tsc(), junit(passed=("t1",), failed=("t1",)))
    second = round_(tsc(), junit(passed=(), failed=("t1",)), after=first)
    assert second.regressions == ()


def test_passed_tests_are_remembered_through_a_round_without_a_run() -> None:
    first = round_(tsc(), junit(passed=("t1",)))
    second = round_(tsc(), StrategyRun("unit-test", error="timeout"), after=first)
    third = round_(tsc(), junit(failed=("t1",), passed=()), after=second)
    assert [r.severity for r in third.regressions] == [Severity.CRITICAL]


def test_an_optional_strategy_s_regression_does_not_fail_the_sprint() -> None:
    contract = dataclasses.replace(
        CONTRACT, strategies=(Strategy("unit-test", format=Format.JUNIT, required=False),)
    )
    first = round_(junit(passed=("t1",)), contract=contract)
    second = round_(junit(failed=("t1",), passed=()), after=first, contract=contract)
    assert second.overall_result == "pass"
    assert [r.severity for r in second.regressions] == [Severity.MINOR]
    assert {item.priority for item in second.generator_feedback} <= {Priority.MEDIUM, Priority.LOW}


def test_stall_is_the_same_failures_whatever_their_lines() -> None:
    result = round_(tsc((1, "A")), junit())
    seen = [(result.progress.same_failure_rounds, result.progress.stalled)]
    for line in (10, 20, 30):
        result = round_(tsc((line, "A")), junit(), after=result)
        seen.append((result.progress.same_failure_rounds, result.progress.stalled))
    assert seen == [(1, False), (2, False), (3, True), (4, True)]
    assert "have stood for 4 rounds" in result.summary
    result = round_(tsc((1, "B")), junit(), after=result)
    assert (result.progress.same_failure_rounds, result.progress.stalled) == (1, False)
    result = round_(tsc(), junit(), after=result)
    assert (result.overall_result, result.progress.same_failure_rounds) == ("pass", 0)


def test_oscillation_is_a_b_a() -> None:
    a, b = tsc((1, "A")), tsc((1, "B"))
    first = round_(a, junit())
    second = round_(b, junit(), after=first)
    assert not second.progress.oscillating
    third = round_(a, junit(), after=second)
    assert third.progress.oscillating
    assert "oscillates" in third.summary
    fourth = round_(a, junit(), after=third)
    assert not fourth.progress.oscillating
    assert not round_(tsc(), junit(), after=fourth).progress.oscillating


def test_a_pass_between_equal_failures_oscillates_too() -> None:
    a = tsc((1, "A"))
    second = round_(tsc(), junit(), after=round_(a, junit()))
    assert second.overall_result == "pass"
    assert round_(a, junit(), after=second).progress.oscillating


def test_memory_is_bounded() -> None:
    result = round_(tsc(*((n, f"A{n}x") for n in range(1, 150))), junit())
    for turn in range(12):
        names = ((n, f"B{turn}y{n}x") for n in range(1, 150))
        result = round_(tsc(*names), junit(), after=result)
    assert len(result.progress.closed) == 1000
    assert len(result.progress.failure_sets) == 8


def test_a_previous_result_without_fingerprints_will_do() -> None:
    previous = Previous("eval-sprint-1-1", "sprint-1", 1, {"must": Outcome.PASS})
    result = evaluate(
        CONTRACT,
        iteration=2,
        timestamp="2026-01-31T12:00:00Z",
        runs=(tsc((1, "A")), junit()),
        judgements=Judgements((ruling(),)),
        previous=previous,
    ).result
    assert states(result) == {"A": State.NEW}
