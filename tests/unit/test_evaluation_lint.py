"""Lint of results that somebody else wrote, and what a repair may touch."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from steelyard.evaluation import (
    Contract,
    Criterion,
    lint_document,
    parse_contract,
    repair_document,
    schema_valid,
)

Json = dict[str, Any]

CONTRACT = Contract(
    "sprint-1",
    "spec-1",
    criteria=(
        Criterion("sc-1", "It builds.", "build"),
        Criterion("sc-2", "It is fast.", "manual", required=False),
    ),
)

GOOD: Json = {
    "evalId": "eval-sprint-1-1",
    "contractId": "sprint-1",
    "specId": "spec-1",
    "timestamp": "2026-01-31T12:00:00Z",
    "iteration": 1,
    "overallResult": "fail",
    "score": {
        "criteriaTotal": 2,
        "criteriaPassed": 1,
        "criteriaFailed": 1,
        "criteriaSkipped": 0,
        "requiredPassed": 0,
        "requiredFailed": 1,
        "requiredTotal": 1,
    },
    "strategyResults": [
        {"strategy": "build", "required": True, "result": "pass", "output": "", "details": "exit 0"}
    ],
    "criteriaResults": [
        {
            "criterionId": "sc-1",
            "description": "It builds.",
            "required": True,
            "result": "fail",
            "evidence": "exit code 1: error at src/a.ts:3",
            "feedback": "It should compile.",
        },
        {
            "criterionId": "sc-2",
            "description": "It is fast.",
            "required": False,
            "result": "pass",
            "evidence": "src/perf.ts holds the index",
        },
    ],
    "regressions": [],
    "generatorFeedback": [
        {
            "priority": "high",
            "category": "bug",
            "file": "src/a.ts",
            "line": 3,
            "description": "It does not compile.",
            "expected": "It compiles.",
            "criterionId": "sc-1",
        }
    ],
    "summary": "One of two criteria passed. The build fails at src/a.ts:3.",
}

DELETE = object()


def changed(path: str, value: object) -> Json:
    """The good document with one member changed, by a dotted path."""
    document = copy.deepcopy(GOOD)
    *parents, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    target: Any = document
    for name in parents:
        target = target[name]
    if value is DELETE:
        del target[last]
    else:
        target[last] = value
    return document


def found(document: object, contract: Contract | None = CONTRACT) -> list[tuple[str, str]]:
    return [(violation.path, violation.reason) for violation in lint_document(document, contract)]


def test_a_good_document_has_no_violations() -> None:
    assert found(GOOD) == []
    assert schema_valid(GOOD)


@pytest.mark.parametrize(
    ("member", "value", "violations"),
    [
        ("criteriaResults", DELETE, [("criteriaResults", "CRITERIA_RESULTS_MISSING")]),
        ("timestamp", DELETE, [("timestamp", "FIELD_MISSING")]),
        ("timestamp", "yesterday", [("timestamp", "MALFORMED")]),
        ("iteration", 0, [("evalId", "EVAL_ID_CONTRADICTS"), ("iteration", "MALFORMED")]),
        ("evalId", "eval-sprint-1-2", [("evalId", "EVAL_ID_CONTRADICTS")]),
        ("overallResult", "FAIL", [("overallResult", "ENUM_DRIFT")]),
        ("overallResult", "pass", [("overallResult", "VERDICT_CONTRADICTS")]),
        ("summary", "It failed.", [("summary", "SUMMARY_LENGTH")]),
        ("summary", "A. B. C. D.", [("summary", "SUMMARY_LENGTH")]),
        ("summary", DELETE, [("summary", "SUMMARY_LENGTH")]),
        (
            "criteriaResults.1.result",
            "pass-AMENDED",
            [("criteriaResults[1].result", "ENUM_DRIFT")],
        ),
        ("criteriaResults.1.evidence", "", [("criteriaResults[1].evidence", "EVIDENCE_MISSING")]),
        (
            "criteriaResults.1.evidence",
            DELETE,
            [("criteriaResults[1].evidence", "EVIDENCE_MISSING")],
        ),
        (
            "criteriaResults.1.evidence",
            "see transcript",
            [("criteriaResults[1].evidence", "EVIDENCE_POINTER_ONLY")],
        ),
        (
            "criteriaResults.1.evidence",
            "tests green",
            [("criteriaResults[1].evidence", "EVIDENCE_BARE_STATUS")],
        ),
        (
            "criteriaResults.1.evidence",
            "The page loads within a second",
            [("criteriaResults[1].evidence", "EVIDENCE_BELOW_STANDARD")],
        ),
        (
            "criteriaResults.0.feedback",
            " ",
            [("criteriaResults[0].feedback", "FEEDBACK_MISSING")],
        ),
        (
            "criteriaResults.1.required",
            True,
            [
                ("criteriaResults[1].required", "REQUIRED_CONTRADICTS"),
            ],
        ),
        (
            "criteriaResults.1.criterionId",
            "sc-9",
            [
                ("criteriaResults", "CRITERION_UNJUDGED"),
                ("criteriaResults[1].criterionId", "CRITERION_UNKNOWN"),
            ],
        ),
        (
            "score.criteriaPassed",
            2,
            [
                ("score.criteriaPassed", "COUNTS_CONTRADICT"),
                ("score.criteriaTotal", "COUNTS_CONTRADICT"),
            ],
        ),
        ("score.requiredTotal", 2, [("score.requiredTotal", "COUNTS_CONTRADICT")]),
        ("score.criteriaTotal", "2", [("score.criteriaTotal", "WRONG_TYPE")]),
        ("generatorFeedback.0.line", "29", [("generatorFeedback[0].line", "LINE_NOT_INTEGER")]),
        ("generatorFeedback.0.line", 0, [("generatorFeedback[0].line", "MALFORMED")]),
        (
            "generatorFeedback.0.file",
            "src/a.ts:3, src/b.ts:4",
            [("generatorFeedback[0].file", "FILE_NOT_A_PATH")],
        ),
        ("generatorFeedback.0.file", "/etc", [("generatorFeedback[0].file", "FILE_NOT_A_PATH")]),
        (
            "generatorFeedback.0.priority",
            "low",
            [("generatorFeedback[0].priority", "PRIORITY_MISFIT")],
        ),
        ("generatorFeedback.0.category", "docs", [("generatorFeedback[0].category", "ENUM_DRIFT")]),
        (
            "generatorFeedback.0.expected",
            "",
            [("generatorFeedback[0].expected", "EXPECTED_MISSING")],
        ),
        (
            "generatorFeedback.0.expected",
            DELETE,
            [("generatorFeedback[0].expected", "EXPECTED_MISSING")],
        ),
        (
            "generatorFeedback.0.description",
            "(1) no label (2) no button",
            [("generatorFeedback[0].description", "SEVERAL_ISSUES")],
        ),
        ("generatorFeedback.0", "a string", [("generatorFeedback[0]", "WRONG_TYPE")]),
        ("strategyResults", {}, [("strategyResults", "WRONG_TYPE")]),
        ("strategyResults.0.exitCode", None, []),
        ("note", "members without a meaning are left alone", []),
    ],
)
def test_violations(member: str, value: object, violations: list[tuple[str, str]]) -> None:
    assert found(changed(member, value)) == violations


def test_a_location_is_missing_where_the_method_implies_one() -> None:
    document = changed("generatorFeedback.0", {**GOOD["generatorFeedback"][0], "strategy": "lint"})
    document["generatorFeedback"][0].pop("criterionId")
    document["generatorFeedback"][0].pop("line")
    assert found(document) == [("generatorFeedback[0].line", "LOCATION_MISSING")]


def test_skipped_required_criteria_are_no_contradiction() -> None:
    document = changed("criteriaResults.0.result", "skipped")
    document["score"] |= {"criteriaFailed": 0, "criteriaSkipped": 1, "requiredFailed": 0}
    document["generatorFeedback"] = []
    assert found(document) == []


@pytest.mark.parametrize(
    "document",
    [None, True, 3, 1.5, "text", [], {}, [GOOD], {"criteriaResults": [[[]], None, {"result": {}}]}],
)
def test_any_json_gives_violations(document: object) -> None:
    assert found(document)
    assert not schema_valid(document)
    assert repair_document(document, CONTRACT)[0] is not None or document is None


def test_a_document_that_nests_deep_is_a_violation() -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    document = changed("regressions", deep)
    assert found(document) == [("", "TOO_DEEP")]
    assert not schema_valid(document)
    assert repair_document(document, CONTRACT) == (document, ())


def test_a_document_full_of_violations_is_bounded() -> None:
    document = changed("generatorFeedback", ["text"] * 30_000)
    document["criteriaResults"] = [{"criterionId": "sc-1", "evidence": ""}] * 30_000
    assert len(lint_document(document, CONTRACT)) == 10_000


# Repair -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member", "value", "expected", "repaired_path"),
    [
        ("criteriaResults.0.description", DELETE, "It builds.", "criteriaResults[0].description"),
        ("criteriaResults.1.required", DELETE, False, "criteriaResults[1].required"),
        ("specId", DELETE, "spec-1", "specId"),
        ("criteriaResults.0.result", "FAIL", "fail", "criteriaResults[0].result"),
        ("overallResult", " Fail ", "fail", "overallResult"),
        (
            "generatorFeedback.0.category",
            "Missing Feature",
            "missing-feature",
            "generatorFeedback[0].category",
        ),
        ("generatorFeedback.0.line", "29", 29, "generatorFeedback[0].line"),
        ("score.criteriaPassed", 7, 1, "score.criteriaPassed"),
        ("score.requiredTotal", DELETE, 1, "score.requiredTotal"),
    ],
)
def test_repairs(member: str, value: object, expected: object, repaired_path: str) -> None:
    repaired, repairs = repair_document(changed(member, value), CONTRACT)
    target: Any = repaired
    for name in member.split("."):
        target = target[int(name) if name.isdigit() else name]
    assert target == expected
    assert [repair.path for repair in repairs] == [repaired_path]
    assert found(repaired) == []
    assert repair_document(repaired, CONTRACT) == (repaired, ())


@pytest.mark.parametrize(
    ("file", "line", "expected"),
    [
        ("a.ts", "149-150", {"file": "a.ts", "line": 149, "endLine": 150}),
        ("a.ts", "L9", {"file": "a.ts", "line": 9}),
        (
            "a.ts",
            "2,346-350",
            {
                "file": "a.ts",
                "line": 2,
                "locations": [
                    {"file": "a.ts", "line": 2},
                    {"file": "a.ts", "line": 346, "endLine": 350},
                ],
            },
        ),
        ("a.ts:7", None, {"file": "a.ts", "line": 7}),
        (
            "src/a.ts:7, src/b.ts:9-10",
            None,
            {
                "file": "src/a.ts",
                "line": 7,
                "locations": [
                    {"file": "src/a.ts", "line": 7},
                    {"file": "src/b.ts", "line": 9, "endLine": 10},
                ],
            },
        ),
        (
            "a.ts:143-156,419",
            None,
            {
                "file": "a.ts",
                "line": 143,
                "endLine": 156,
                "locations": [
                    {"file": "a.ts", "line": 143, "endLine": 156},
                    {"file": "a.ts", "line": 419},
                ],
            },
        ),
    ],
)
def test_repairs_places(file: str, line: object, expected: Json) -> None:
    document = copy.deepcopy(GOOD)
    document["generatorFeedback"][0] |= {"file": file, "line": line}
    if line is None:
        del document["generatorFeedback"][0]["line"]
    repaired, repairs = repair_document(document)
    assert isinstance(repaired, dict)
    item = repaired["generatorFeedback"][0]
    assert {
        name: item[name] for name in ("file", "line", "endLine", "locations") if name in item
    } == expected
    assert len(repairs) == 1
    assert document["generatorFeedback"][0]["file"] == file


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("criteriaResults.1.result", "pass-AMENDED"),
        ("criteriaResults.1.evidence", ""),
        ("generatorFeedback.0.line", "around 12"),
        ("generatorFeedback.0.line", "20-10"),
        ("generatorFeedback.0.line", "0"),
        ("generatorFeedback.0.line", "9" * 30),
        ("generatorFeedback.0.file", "contract sc-1-4"),
        ("generatorFeedback.0.file", "../a.ts:3"),
        ("generatorFeedback.0.expected", DELETE),
        ("summary", "One."),
        ("overallResult", "pass"),
    ],
)
def test_a_repair_decides_nothing(member: str, value: object) -> None:
    document = changed(member, value)
    assert repair_document(document, CONTRACT) == (document, ())


def test_counts_are_not_recounted_when_the_list_is_not_the_contract_s() -> None:
    document = changed("score.criteriaPassed", 7)
    del document["criteriaResults"][1]
    assert repair_document(document, CONTRACT)[1] == ()
    assert repair_document(changed("score.criteriaPassed", 7), None)[1] == ()


def test_a_contract_s_id_of_a_criterion_is_recognised_under_its_older_name() -> None:
    document = copy.deepcopy(GOOD)
    item = document["generatorFeedback"][0]
    item["criterion"] = item.pop("criterionId")
    repaired, repairs = repair_document(document, CONTRACT)
    assert [repair.path for repair in repairs] == ["generatorFeedback[0].criterionId"]
    assert found(repaired) == []


def test_a_contract_as_json_will_do() -> None:
    contract = parse_contract(
        {"id": "sprint-1", "specId": "s", "successCriteria": [{"id": "sc-1", "description": "d"}]}
    )
    repaired, _ = repair_document(changed("criteriaResults.0.description", DELETE), contract)
    assert isinstance(repaired, dict)
    assert repaired["criteriaResults"][0]["description"] == "d"
