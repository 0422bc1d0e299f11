"""Contracts, judgements and previous results are read strictly, with the path of what is wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from steelyard.errors import InvalidInputError
from steelyard.evaluation import (
    Category,
    Contract,
    Criterion,
    Judgement,
    Judgements,
    Location,
    Note,
    Outcome,
    Priority,
    Regression,
    Ruling,
    Severity,
    StrategyRun,
    evaluate,
    parse_contract,
    parse_judgements,
    parse_previous,
)
from steelyard.evaluation.contract import natural_key
from steelyard.evaluation.schema import validator
from steelyard.ingest import Format

CONTRACT: dict[str, Any] = {
    "contractId": "sprint-1",
    "specId": "spec-1",
    "title": "Login",
    "successCriteria": [
        {
            "criterionId": "sc-1",
            "description": "It builds.",
            "verificationMethod": "build",
            "required": False,
        }
    ],
    "strategies": [
        {"strategy": "build", "command": "make", "format": "gcc"},
        {"type": "unit-test", "required": False, "allowZeroTests": True},
    ],
    "nonGoals": ["No API changes."],
    "outOfScope": ["Logout"],
    "stopConditions": ["All pass"],
    "generatorNotes": {"anything": "else"},
}


def test_reads_a_contract() -> None:
    contract = parse_contract(CONTRACT)
    assert contract.criteria == (Criterion("sc-1", "It builds.", "build", required=False),)
    build, tests = contract.strategies
    assert (build.name, build.required, build.command, build.format) == (
        "build",
        True,
        "make",
        Format.GCC,
    )
    assert (tests.name, tests.required, tests.allow_zero_tests) == ("unit-test", False, True)
    assert contract.non_goals == ("No API changes.",)
    assert validator("contract").is_valid(CONTRACT)


def test_reads_the_older_spelling_and_requires_what_does_not_say() -> None:
    older = {
        "id": "sprint-1",
        "specId": "spec-1",
        "feature": "Login",
        "successCriteria": [{"id": "c1", "description": "It builds.", "verify": "build"}],
    }
    contract = parse_contract(older)
    assert (contract.contract_id, contract.title) == ("sprint-1", "Login")
    assert contract.criteria == (Criterion("c1", "It builds.", "build", required=True),)
    assert validator("contract").is_valid(older)


def changed(path: str, value: object) -> dict[str, Any]:
    """The contract with one member changed, by a dotted path."""
    copied = copy.deepcopy(CONTRACT)
    *parents, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    target: Any = copied
    for name in parents:
        target = target[name]
    target[last] = value
    return copied


@pytest.mark.parametrize(
    ("member", "value", "path", "reason"),
    [
        ("contractId", "../up", "contractId", "MALFORMED"),
        ("contractId", "a/b", "contractId", "MALFORMED"),
        ("contractId", "a..b", "contractId", "MALFORMED"),
        ("contractId", "", "contractId", "BLANK"),
        ("contractId", "x\n", "contractId", "MALFORMED"),
        ("contractId", 7, "contractId", "WRONG_TYPE"),
        ("contractId", None, "contractId", "MISSING"),
        ("specId", ".hidden", "specId", "MALFORMED"),
        ("successCriteria", None, "successCriteria", "MISSING"),
        ("successCriteria", {}, "successCriteria", "WRONG_TYPE"),
        ("successCriteria.0", "text", "successCriteria[0]", "WRONG_TYPE"),
        ("successCriteria.0.required", "true", "successCriteria[0].required", "WRONG_TYPE"),
        ("successCriteria.0.required", 1, "successCriteria[0].required", "WRONG_TYPE"),
        ("successCriteria.0.description", " ", "successCriteria[0].description", "BLANK"),
        (
            "successCriteria.0.description",
            "\ud800",
            "successCriteria[0].description",
            "NOT_UNICODE",
        ),
        (
            "successCriteria.0.description",
            "x" * 65537,
            "successCriteria[0].description",
            "TOO_LONG",
        ),
        ("strategies.0.format", "gcc2", "strategies[0].format", "UNKNOWN_WORD"),
        ("strategies.1.type", "build", "strategies", "REPEATED"),
        ("strategies.1.type", "a=b", "strategies[1].type", "MALFORMED"),
        ("nonGoals", ["ok", 3], "nonGoals[1]", "WRONG_TYPE"),
        ("nonGoals", ["x"] * 1001, "nonGoals", "TOO_MANY"),
    ],
)
def test_refuses_a_contract_with_the_path(
    member: str, value: object, path: str, reason: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_contract(changed(member, value))
    (violation,) = refused.value.violations
    assert (violation.path, violation.reason) == (path, reason)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("contractId", "../up"),
        ("contractId", None),
        ("successCriteria", {}),
        ("successCriteria.0.required", "true"),
        ("successCriteria.0.description", " "),
        ("strategies.0.format", "gcc2"),
        ("nonGoals", ["ok", 3]),
    ],
)
def test_the_published_schema_refuses_them_too(member: str, value: object) -> None:
    assert not validator("contract").is_valid(changed(member, value))


def test_the_published_schema_names_every_format() -> None:
    schema: Any = validator("contract").schema
    words = schema["$defs"]["strategy"]["properties"]["format"]["enum"]
    assert words == [*Format, None]


def test_a_contract_built_by_hand_is_checked_too() -> None:
    with pytest.raises(InvalidInputError, match="contractId"):
        Contract("../x", "spec-1")
    with pytest.raises(InvalidInputError, match="successCriteria"):
        Contract("a", "b", criteria=(Criterion("c", "d"), Criterion("c", "e")))


def test_natural_order() -> None:
    names = ["sc-1-10", "sc-1-2", "sc-1-1", "sc-01-1", "b", "sc", ""]
    assert sorted(names, key=natural_key) == [
        "",
        "b",
        "sc",
        "sc-01-1",
        "sc-1-1",
        "sc-1-2",
        "sc-1-10",
    ]


def test_reads_judgements() -> None:
    judgements = parse_judgements(
        {
            "judgements": [
                {
                    "criterionId": "sc-1",
                    "passed": False,
                    "evidence": "seen",
                    "category": "missing-feature",
                    "file": "src/a.ts",
                    "line": 3,
                    "endLine": 5,
                },
                {"criterionId": "sc-2", "error": "timeout"},
                {"criterionId": "sc-3", "result": "pass", "error": "crashed"},
            ],
            "regressions": [{"description": "gone", "severity": "minor", "affectedFiles": ["a/b"]}],
            "nonGoals": [{"nonGoal": 2, "breached": True}],
            "feedback": [{"description": "d", "priority": "low"}],
        }
    )
    first, second, third = judgements.criteria
    assert (first.ruling, first.category) == (Ruling.FAIL, Category.MISSING_FEATURE)
    assert first.location == Location("src/a.ts", 3, 5)
    assert (second.ruling, second.evidence) == (Ruling.ERROR, "timeout")
    assert third.ruling == Ruling.ERROR
    assert judgements.regressions[0].severity == Severity.MINOR
    assert judgements.non_goals[0].non_goal == 2
    assert judgements.notes[0].priority == Priority.LOW


def test_a_bare_list_and_an_eval_result_are_judgements_too() -> None:
    ruling = {"criterionId": "sc-1", "result": "pass", "evidence": "seen"}
    whole = {"criteriaResults": [ruling], "generatorFeedback": [{"description": "d"}]}
    assert parse_judgements([ruling]).criteria == parse_judgements(whole).criteria
    assert parse_judgements(whole).notes[0].description == "d"


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ("text", "", "WRONG_TYPE"),
        ([{"criterionId": "a", "passed": "false"}], "judgements[0].passed", "WRONG_TYPE"),
        ([{"criterionId": "a", "passed": 0}], "judgements[0].passed", "WRONG_TYPE"),
        ([{"criterionId": "a"}], "judgements[0].result", "MISSING"),
        ([{"criterionId": "a", "result": "FAIL"}], "judgements[0].result", "UNKNOWN_WORD"),
        ([{"criterionId": "a", "result": "pass-AMENDED"}], "judgements[0].result", "UNKNOWN_WORD"),
        (
            [{"criterionId": "a", "result": "pass", "passed": True}],
            "judgements[0].passed",
            "CONFLICT",
        ),
        (
            {"criteriaResults": [{"criterionId": "a", "result": "x"}]},
            "criteriaResults[0].result",
            "UNKNOWN_WORD",
        ),
        (
            {"feedback": [{"description": "d", "file": "a", "line": "29"}]},
            "feedback[0].line",
            "WRONG_TYPE",
        ),
        (
            {"feedback": [{"description": "d", "file": "a", "line": 0}]},
            "feedback[0].line",
            "OUT_OF_RANGE",
        ),
        ({"feedback": [{"description": "d", "line": 3}]}, "feedback[0].line", "CONFLICT"),
        ({"feedback": [{"description": "d", "file": "/a"}]}, "feedback[0].file", "NOT_RELATIVE"),
        ({"feedback": [{"description": "d", "file": "C:/a"}]}, "feedback[0].file", "NOT_RELATIVE"),
        ({"feedback": [{"description": "d", "file": "a\\b"}]}, "feedback[0].file", "NOT_RELATIVE"),
        ({"nonGoals": [{"nonGoal": 0, "breached": "no"}]}, "nonGoals[0].breached", "WRONG_TYPE"),
        ({"nonGoals": [{"breached": True}]}, "nonGoals[0].nonGoal", "MISSING"),
        (
            {"regressions": [{"description": "d", "severity": "high"}]},
            "regressions[0].severity",
            "UNKNOWN_WORD",
        ),
    ],
)
def test_refuses_judgements_with_the_path(value: object, path: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_judgements(value)
    (violation,) = refused.value.violations
    assert (violation.path, violation.reason) == (path, reason)


def test_reads_a_previous_result_written_by_hand() -> None:
    previous = parse_previous(
        {
            "evalId": "eval-sprint-1-1",
            "contractId": "sprint-1",
            "iteration": 1,
            "criteriaResults": [{"criterionId": "a", "result": "pass"}],
            "generatorFeedback": [{"description": "The `login()` call hangs", "file": "a.ts"}],
        }
    )
    assert previous.criteria == {"a": Outcome.PASS}
    assert len(previous.items[0].fingerprint) == 32
    assert previous.progress.closed == ()


@pytest.mark.parametrize(
    "timestamp",
    [
        "",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-02-30T12:00:00Z",
        "31/01/2026",
        "2026-01-31T12:00:00+99:00",
    ],
)
def test_refuses_a_timestamp_that_is_none(timestamp: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate(Contract("a", "b"), iteration=1, timestamp=timestamp)
    assert refused.value.violations[0].path == "timestamp"


@pytest.mark.parametrize("iteration", [0, -1, 1_000_001])
def test_refuses_an_iteration_out_of_range(iteration: int) -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate(Contract("a", "b"), iteration=iteration, timestamp="2026-01-31T12:00:00Z")
    assert refused.value.violations[0].path == "iteration"


@pytest.mark.parametrize(
    ("runs", "path", "reason"),
    [
        ([StrategyRun("a=b")], "runs[0].strategy", "MALFORMED"),
        ([StrategyRun("a"), StrategyRun("a")], "runs[1].strategy", "REPEATED"),
        ([StrategyRun("a", max_items=0)], "runs[0].maxItems", "OUT_OF_RANGE"),
        ([StrategyRun("a", max_bytes=2**31)], "runs[0].maxBytes", "OUT_OF_RANGE"),
        ([StrategyRun(f"s{n}") for n in range(101)], "runs", "TOO_MANY"),
    ],
)
def test_refuses_runs_with_the_path(runs: list[StrategyRun], path: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate(Contract("a", "b"), iteration=1, timestamp="2026-01-31T12:00:00Z", runs=runs)
    (violation,) = refused.value.violations
    assert (violation.path, violation.reason) == (path, reason)


@pytest.mark.parametrize(
    ("judgements", "path", "reason"),
    [
        (
            Judgements((Judgement("a", Ruling.PASS, "\ud800"),)),
            "judgements[0].evidence",
            "NOT_UNICODE",
        ),
        (Judgements(notes=(Note("x" * 65_537),)), "feedback[0].description", "TOO_LONG"),
        (Judgements(notes=(Note(" "),)), "feedback[0].description", "BLANK"),
        (
            Judgements(regressions=(Regression("r", "e", Severity.MINOR, ("\udfff",)),)),
            "regressions[0].affectedFiles[0]",
            "NOT_UNICODE",
        ),
    ],
)
def test_values_built_by_hand_are_held_to_the_same(
    judgements: Judgements, path: str, reason: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate(
            Contract("a", "b", criteria=(Criterion("a", "d"),)),
            iteration=1,
            timestamp="2026-01-31T12:00:00Z",
            judgements=judgements,
        )
    (violation,) = refused.value.violations
    assert (violation.path, violation.reason) == (path, reason)
