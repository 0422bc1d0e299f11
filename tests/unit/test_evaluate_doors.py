"""What must fail fails with the right reason, and what must not does not, by every door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.evaluation.schema import validator
from tests.support.evaluation_doors import DOORS, RefusedError, Request, Run, fixture, run_of

Json = dict[str, Any]
Door = Callable[[Request, Path], Json]

CRITERION = {
    "criterionId": "sc-1-1",
    "description": "The login form refuses a blank password.",
    "verificationMethod": "unit-test",
    "required": True,
}
PASSED = {"criterionId": "sc-1-1", "result": "pass", "evidence": "12 tests passed."}
GREEN = run_of("unit-test", "vitest-clean-json")


def contract(*criteria: Json, **more: object) -> Json:
    return {
        "contractId": "sprint-1",
        "specId": "spec-1",
        "successCriteria": list(criteria),
        **more,
    }


def judged(*judgements: Json, **more: object) -> Json:
    return {"judgements": list(judgements), **more}


def with_run(run: Run) -> Request:
    """Everything passes but what the run says."""
    return Request(contract(CRITERION), (run,), judged(PASSED))


def cut(name: str) -> Run:
    report, form, code = fixture(name)
    return Run("unit-test", report[: len(report) // 2], form, code)


PASSING = Request(contract(CRITERION), (GREEN,), judged(PASSED))

FAILING: dict[str, tuple[Request, set[str]]] = {
    "judge timed out": (
        Request(
            contract(CRITERION),
            (GREEN,),
            judged({"criterionId": "sc-1-1", "error": "no answer within 60 s"}),
        ),
        {"EVALUATOR_ERROR"},
    ),
    "judge broke, yet claims a pass": (
        Request(
            contract(CRITERION),
            (GREEN,),
            judged({**PASSED, "error": "the process was killed"}),
        ),
        {"EVALUATOR_ERROR"},
    ),
    "judge says error": (
        Request(contract(CRITERION), (GREEN,), judged({**PASSED, "result": "error"})),
        {"EVALUATOR_ERROR"},
    ),
    "all judges failed": (
        Request(
            contract(CRITERION, {**CRITERION, "criterionId": "sc-1-2"}),
            (),
            judged(
                {"criterionId": "sc-1-1", "error": "rate limited"},
                {"criterionId": "sc-1-2", "error": "rate limited"},
            ),
        ),
        {"EVALUATOR_ERROR", "NOTHING_EVALUATED"},
    ),
    "vitest file cannot be imported": (
        with_run(run_of("unit-test", "vitest-broken-json")),
        {"REQUIRED_STRATEGY_FAILED"},
    ),
    "pytest collection error": (
        with_run(run_of("unit-test", "pytest-collection-junit")),
        {"REQUIRED_STRATEGY_FAILED"},
    ),
    "go build failure": (
        with_run(run_of("unit-test", "go-broken")),
        {"REQUIRED_STRATEGY_FAILED"},
    ),
    "zero tests, pytest": (
        with_run(run_of("unit-test", "pytest-none-reportlog")),
        {"REQUIRED_STRATEGY_FAILED", "NO_TESTS_RAN"},
    ),
    "zero tests, go, exit code 0": (
        with_run(run_of("unit-test", "go-none")),
        {"REQUIRED_STRATEGY_FAILED", "NO_TESTS_RAN"},
    ),
    "exit code 1 with a clean report": (
        with_run(Run("unit-test", *fixture("vitest-clean-json")[:2], 1)),
        {"REQUIRED_STRATEGY_FAILED", "EXIT_CODE_DISAGREES"},
    ),
    "exit code 0 with a failing report": (
        with_run(Run("unit-test", *fixture("pytest-failing-junit")[:2], 0)),
        {"REQUIRED_STRATEGY_FAILED", "EXIT_CODE_DISAGREES"},
    ),
    "ESLint --max-warnings": (
        with_run(run_of("lint", "eslint-max-warnings")),
        {"REQUIRED_STRATEGY_FAILED"},
    ),
    "Playwright global error": (
        with_run(run_of("e2e", "playwright-global")),
        {"REQUIRED_STRATEGY_FAILED", "NO_TESTS_RAN"},
    ),
    "Playwright interrupted": (
        with_run(run_of("e2e", "playwright-slow")),
        {"REQUIRED_STRATEGY_FAILED"},
    ),
    "report cut in half": (
        with_run(cut("vitest-clean-json")),
        {"REQUIRED_STRATEGY_FAILED", "REPORT_UNREADABLE"},
    ),
    "empty contract, no strategies": (Request(contract()), {"NOTHING_EVALUATED"}),
    "only optional things": (
        Request(
            contract({**CRITERION, "required": False}),
            (Run("unit-test", *fixture("vitest-clean-json"), required=False),),
            judged(PASSED),
        ),
        {"NOTHING_EVALUATED"},
    ),
    "required criterion skipped": (
        Request(contract(CRITERION), (GREEN,), judged({**PASSED, "result": "skipped"})),
        {"REQUIRED_SKIPPED"},
    ),
    "required criterion never judged": (
        Request(contract(CRITERION), (GREEN,)),
        {"CRITERION_UNJUDGED"},
    ),
    "required criterion failed": (
        Request(
            contract(CRITERION),
            (GREEN,),
            judged({**PASSED, "passed": False, "result": None, "feedback": "It accepts it."}),
        ),
        {"REQUIRED_CRITERION_FAILED"},
    ),
    "required strategy without a run": (
        Request(contract(CRITERION, strategies=[{"strategy": "build"}]), (GREEN,), judged(PASSED)),
        {"REQUIRED_SKIPPED"},
    ),
    "contract's required strategy called optional by its run": (
        Request(
            contract(CRITERION, strategies=[{"strategy": "unit-test"}]),
            (run_of("unit-test", "pytest-failing-junit", required=False),),
            judged(PASSED),
        ),
        {"REQUIRED_STRATEGY_FAILED"},
    ),
    "build with exit code 1 and nothing else": (
        with_run(Run("build", exit_code=1)),
        {"REQUIRED_STRATEGY_FAILED"},
    ),
    "output that no format explains": (
        with_run(Run("build", b'{"status": "ok"}', exit_code=0)),
        {"REQUIRED_STRATEGY_FAILED", "REPORT_UNREADABLE"},
    ),
    "critical regression": (
        Request(
            contract(CRITERION),
            (GREEN,),
            judged(
                PASSED,
                regressions=[
                    {
                        "description": "The logout button is gone",
                        "evidence": "src/nav.ts:12 no longer renders it",
                        "severity": "critical",
                        "affectedFiles": ["src/nav.ts"],
                    }
                ],
            ),
        ),
        {"CRITICAL_REGRESSION"},
    ),
    "breached non-goal": (
        Request(
            contract(CRITERION, nonGoals=["Do not touch the API.", "Do not add dependencies."]),
            (GREEN,),
            judged(
                PASSED,
                nonGoals=[
                    {"nonGoal": 0, "breached": False},
                    {
                        "nonGoal": "Do not add dependencies.",
                        "breached": True,
                        "evidence": "package.json:14 adds left-pad",
                    },
                ],
            ),
        ),
        {"NON_GOAL_BREACHED"},
    ),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize(("request_", "codes"), FAILING.values(), ids=FAILING)
def test_fails_with_the_right_reasons(
    request_: Request, codes: set[str], door: Door, tmp_path: Path
) -> None:
    result = door(request_, tmp_path)
    assert result["overallResult"] == "fail"
    assert {reason["code"] for reason in result["reasons"]} == codes
    assert list(validator("eval-result").iter_errors(result)) == []


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_passes_when_nothing_speaks_against_it(door: Door, tmp_path: Path) -> None:
    result = door(PASSING, tmp_path)
    assert result["overallResult"] == "pass"
    assert result["reasons"] == []
    assert result["score"]["requiredPassed"] == result["score"]["requiredTotal"] == 1


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize(
    "name",
    [
        "tsc-plain",
        "vitest-broken-json",
        "pytest-failing-junit",
        "eslint-errors",
        "go-broken",
        "pytest-none-junit",
    ],
)
def test_an_optional_strategy_that_fails_leaves_a_pass(
    name: str, door: Door, tmp_path: Path
) -> None:
    request = Request(
        contract(CRITERION), (GREEN, run_of("extra", name, required=False)), judged(PASSED)
    )
    result = door(request, tmp_path)
    assert result["overallResult"] == "pass"
    (extra,) = (s for s in result["strategyResults"] if s["strategy"] == "extra")
    assert extra["result"] == "fail"
    items = [i for i in result["generatorFeedback"] if i.get("strategy") == "extra"]
    assert items
    assert {item["priority"] for item in items} <= {"medium", "low"}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_an_optional_criterion_that_fails_leaves_a_pass(door: Door, tmp_path: Path) -> None:
    optional = {**CRITERION, "criterionId": "sc-1-2", "required": False}
    failed = {
        "criterionId": "sc-1-2",
        "result": "fail",
        "evidence": "test 'blank' expected 1, received 2",
        "feedback": "It does not.",
    }
    result = door(
        Request(contract(CRITERION, optional), (GREEN,), judged(PASSED, failed)), tmp_path
    )
    assert result["overallResult"] == "pass"
    assert [i["priority"] for i in result["generatorFeedback"]] == ["medium"]


REFUSED: dict[str, tuple[Request, str, str]] = {
    "contract id that leaves its folder": (
        Request({**contract(CRITERION), "contractId": "../secrets"}, (GREEN,), judged(PASSED)),
        "contractId",
        "MALFORMED",
    ),
    "contract id with two dots": (
        Request({**contract(CRITERION), "contractId": "sprint..1"}, (GREEN,), judged(PASSED)),
        "contractId",
        "MALFORMED",
    ),
    "criterion judged twice": (
        Request(contract(CRITERION), (GREEN,), judged(PASSED, PASSED)),
        "judgements[1].criterionId",
        "REPEATED",
    ),
    "judgement of an unknown criterion": (
        Request(contract(CRITERION), (GREEN,), judged({**PASSED, "criterionId": "sc-9"})),
        "judgements[0].criterionId",
        "UNKNOWN_CRITERION",
    ),
    "non-goal that is not in the contract": (
        Request(
            contract(CRITERION),
            (GREEN,),
            judged(PASSED, nonGoals=[{"nonGoal": 0, "breached": True}]),
        ),
        "nonGoals[0].nonGoal",
        "UNKNOWN_NON_GOAL",
    ),
    "one criterion promised twice": (
        Request(contract(CRITERION, CRITERION), (GREEN,), judged(PASSED)),
        "successCriteria",
        "REPEATED",
    ),
    "a file outside the repository": (
        Request(
            contract(CRITERION), (GREEN,), judged({**PASSED, "file": "../../etc/passwd", "line": 1})
        ),
        "judgements[0].file",
        "NOT_RELATIVE",
    ),
    "previous result of another contract": (
        Request(
            contract(CRITERION),
            (GREEN,),
            judged(PASSED),
            {"evalId": "eval-other-1", "contractId": "other", "iteration": 1},
            2,
        ),
        "previous.contractId",
        "WRONG_CONTRACT",
    ),
    "previous result of the same iteration": (
        Request(
            contract(CRITERION),
            (GREEN,),
            judged(PASSED),
            {"evalId": "eval-sprint-1-2", "contractId": "sprint-1", "iteration": 2},
            2,
        ),
        "previous.iteration",
        "NOT_EARLIER",
    ),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize(("request_", "path", "reason"), REFUSED.values(), ids=REFUSED)
def test_refuses_with_the_path(
    request_: Request, path: str, reason: str, door: Door, tmp_path: Path
) -> None:
    with pytest.raises(RefusedError) as refused:
        door(request_, tmp_path)
    assert refused.value.reason == reason
    assert refused.value.path.removeprefix("contract.") == path


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("word", ["false", "true", "pass"])
def test_refuses_a_ruling_in_quotes(word: str, door: Door, tmp_path: Path) -> None:
    quoted = {"criterionId": "sc-1-1", "passed": word, "evidence": "12 tests passed."}
    with pytest.raises(RefusedError) as refused:
        door(Request(contract(CRITERION), (GREEN,), judged(quoted)), tmp_path)
    expected = {
        DOORS["rpc"]: ("judgements[0].result", "ENUM_INVALID"),
    }.get(door, ("judgements[0].passed", "WRONG_TYPE"))
    assert (refused.value.path, refused.value.reason) == expected


def test_the_doors_give_one_result(tmp_path: Path) -> None:
    results = [door(FAILING["breached non-goal"][0], tmp_path) for door in DOORS.values()]
    assert results[0] == results[1] == results[2]
