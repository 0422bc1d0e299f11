"""Outputs: order, schema, escaping, limits, and that other readers get back what was written."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from steelyard._core import canonicalize
from steelyard.evaluation import (
    Category,
    Contract,
    Criterion,
    EvalResult,
    FeedbackItem,
    Judgement,
    Judgements,
    Location,
    Note,
    OutputFormat,
    Priority,
    Regression,
    Ruling,
    Severity,
    Strategy,
    StrategyRun,
    evaluate,
    lint_document,
    parse_previous,
    render,
    result_value,
)
from steelyard.evaluation.schema import validator
from steelyard.evaluation.summary import sentences
from steelyard.ingest import Format, ToolRun, read_report

Json = dict[str, Any]

NASTY = "<b>|`a` [x](y) ::error::\n# title % , ' \" \x1b[31m \x00 $x$ &lt; @team"
TSC = b"src/a b.ts(3,5): error TS2304: Cannot find name 'A'.\nsrc/c.ts(9,1): error TS1: Bad.\n"


def evaluated(*, iteration: int = 1, previous: EvalResult | None = None) -> EvalResult:
    contract = Contract(
        "sprint-1",
        "spec-1",
        criteria=(
            Criterion("sc-1", "It refuses blanks.", "manual"),
            Criterion("sc-2", NASTY, required=False),
        ),
        strategies=(Strategy("typecheck", format=Format.TSC), Strategy("e2e", required=False)),
        non_goals=("Leave it.",),
    )
    judgements = Judgements(
        (
            Judgement("sc-1", Ruling.FAIL, "src/a.ts:7 accepts it", "It accepts blanks."),
            Judgement("sc-2", Ruling.FAIL, NASTY, NASTY),
        ),
        regressions=(Regression(NASTY, NASTY, Severity.CRITICAL, ("x,y:z.ts", "b.ts")),),
        notes=(Note(NASTY, NASTY, Priority.LOW, location=Location("d,e:f.ts", 2, 4)),),
    )
    return evaluate(
        contract,
        iteration=iteration,
        timestamp="2026-01-31T12:00:00Z",
        runs=(StrategyRun("typecheck", report=TSC if iteration == 1 else TSC[:55], exit_code=2),),
        judgements=judgements,
        previous=parse_previous(result_value(previous)) if previous else None,
    ).result


FIRST = evaluated()
SECOND = evaluated(iteration=2, previous=FIRST)
PASSED = evaluate(
    Contract("sprint-1", "spec-1", criteria=(Criterion("sc-1", "d"),)),
    iteration=1,
    timestamp="2026-01-31T12:00:00Z",
    judgements=Judgements((Judgement("sc-1", Ruling.PASS, "12 tests passed"),)),
).result
ALL = pytest.mark.parametrize("result", [FIRST, SECOND, PASSED], ids=["first", "second", "passed"])


@ALL
def test_the_document_validates_and_has_no_violations_of_structure(result: EvalResult) -> None:
    value = result_value(result)
    assert list(validator("eval-result").iter_errors(value)) == []
    kinds = {violation.reason for violation in lint_document(value)}
    assert kinds <= {"FILE_NOT_A_PATH"}  # a comma in a name reads like a list


def test_members_come_in_the_published_order() -> None:
    value = json.loads(render(SECOND, OutputFormat.JSON))
    assert list(value) == [
        "evalId",
        "contractId",
        "specId",
        "timestamp",
        "iteration",
        "overallResult",
        "reasons",
        "score",
        "strategyResults",
        "criteriaResults",
        "regressions",
        "generatorFeedback",
        "summary",
        "progress",
    ]
    schema: Any = validator("eval-result").schema
    for name, definition in (
        ("strategyResults", "strategyResult"),
        ("criteriaResults", "criterionResult"),
        ("regressions", "regression"),
        ("generatorFeedback", "feedbackItem"),
        ("reasons", "reason"),
    ):
        declared = list(schema["$defs"][definition]["properties"])
        for entry in value[name]:
            assert list(entry) == [member for member in declared if member in entry]
    for name, definition in (("score", ""), ("progress", "progress")):
        where = schema["$defs"][definition] if definition else schema["properties"][name]
        assert set(value[name]) <= set(where["properties"])


@ALL
def test_canonical_json_is_canonical(result: EvalResult) -> None:
    written = render(result, OutputFormat.CANONICAL)
    assert canonicalize(written) == written
    assert json.loads(written) == json.loads(render(result, OutputFormat.JSON))


@ALL
@pytest.mark.parametrize("form", list(OutputFormat))
def test_every_output_is_the_same_again(form: OutputFormat, result: EvalResult) -> None:
    assert render(result, form) == render(dataclasses.replace(result), form)


@ALL
def test_the_summary_has_two_or_three_sentences(result: EvalResult) -> None:
    assert 2 <= sentences(result.summary) <= 3


def test_the_summary_says_result_score_worst_issue_and_next_step() -> None:
    summary = FIRST.summary
    assert "sprint-1 iteration 1 failed: 0 of 1 required criteria" in summary
    assert "0 of 1 required strategies passed." in summary
    assert "(2) Cannot find name 'A' at src/a b.ts:3" in summary
    assert "Next, fix 4 blocking items in b.ts, src/a b.ts, src/c.ts." in summary
    assert PASSED.summary == (
        "sprint-1 iteration 1 passed: 1 of 1 required criteria and 0 of 0 required strategies "
        "passed. Nothing is left to fix."
    )


def test_markdown_keeps_text_as_text() -> None:
    page = render(SECOND, OutputFormat.MARKDOWN).decode()
    html = MarkdownIt("commonmark").enable("table").render(page)
    assert "<b>" not in html
    assert "<a " not in html
    assert "<em>" not in html
    assert re.findall(r"<h1>(.*?)</h1>", html) == ["eval-sprint-1-2: FAIL"]
    assert "title %" in html
    rows = [row.count("<td>") for row in html.split("<tr>")[1:]]
    assert set(rows) == {0, 5}
    assert "## Since eval-sprint-1-1" in page


def test_sarif_has_fingerprints_and_baseline_states() -> None:
    first: Json = json.loads(render(FIRST, OutputFormat.SARIF))
    second: Json = json.loads(render(SECOND, OutputFormat.SARIF))
    assert first["version"] == "2.1.0"
    results = first["runs"][0]["results"]
    assert not any("baselineState" in result for result in results)
    rules = [rule["id"] for rule in first["runs"][0]["tool"]["driver"]["rules"]]
    for result in results:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        fingerprint = result["fingerprints"]["steelyard/v1"]
        assert result["partialFingerprints"]["primaryLocationLineHash"] == f"{fingerprint}:1"
    states = [result["baselineState"] for result in second["runs"][0]["results"]]
    assert sorted(set(states)) == ["absent", "unchanged"]
    (absent,) = (r for r in second["runs"][0]["results"] if r["baselineState"] == "absent")
    assert absent["message"]["text"] == "Bad."
    uris = {
        place["physicalLocation"]["artifactLocation"]["uri"]
        for result in results
        for place in result["locations"]
    }
    assert "src/a%20b.ts" in uris
    assert "d%2Ce%3Af.ts" in uris


def test_our_sarif_reader_reads_it_back() -> None:
    report = read_report(render(FIRST, OutputFormat.SARIF), ToolRun(format=Format.SARIF))
    assert report.problems == ()
    assert len(report.findings) == len(FIRST.generator_feedback)
    places = {(f.path, f.position.line if f.position else None) for f in report.findings}
    assert ("src/a b.ts", 3) in places


@ALL
def test_junit_fails_exactly_when_the_evaluation_does(result: EvalResult) -> None:
    written = render(result, OutputFormat.JUNIT)
    root = ET.fromstring(written)  # noqa: S314 - what this test has just written
    cases = root.findall("testsuite/testcase")
    assert len(cases) >= len(result.strategy_results) + len(result.criteria_results)
    failures = root.findall("testsuite/testcase/failure")
    for suite in root:
        for key, tag in (("failures", "failure"), ("skipped", "skipped")):
            assert suite.get(key) == str(len(suite.findall(f"testcase/{tag}")))
    assert root.get("tests") == str(len(cases))
    assert root.get("failures") == str(len(failures))
    assert bool(failures) == (result.overall_result == "fail")
    report = read_report(written, ToolRun(format=Format.JUNIT))
    assert report.passed == (result.overall_result == "pass")


COMMAND = re.compile(r"::(error|warning|notice) ([^\n]*?)::([^\n]*)")


def test_github_annotations_are_escaped() -> None:
    lines = render(FIRST, OutputFormat.GITHUB).decode().splitlines()
    assert len(lines) == len(FIRST.generator_feedback) + 1
    assert all(COMMAND.fullmatch(line) for line in lines)
    note = next(line for line in lines if "d%2Ce%3Af.ts" in line)
    assert note.startswith("::notice file=d%2Ce%3Af.ts,line=2,endLine=4,title=low quality::")
    assert "%0A# title %25 ," in note


def many(priority: Priority, count: int) -> EvalResult:
    item = FeedbackItem(priority, Category.BUG, "d", "e")
    return dataclasses.replace(FIRST, generator_feedback=(item,) * count)


@pytest.mark.parametrize("priority", list(Priority))
def test_github_annotations_stay_within_the_limits_of_a_step(priority: Priority) -> None:
    lines = render(many(priority, 30), OutputFormat.GITHUB).decode().splitlines()
    levels = [COMMAND.fullmatch(line)[1] for line in lines]  # type: ignore[index]  # a miss fails
    assert all(levels.count(level) <= 10 for level in ("error", "warning", "notice"))
    hidden = 30 + 1 - len(lines)
    assert f" {hidden} more items are in the result but not shown here." in lines[0]


def test_github_annotations_always_show_a_fail_as_an_error() -> None:
    lines = render(many(Priority.LOW, 1), OutputFormat.GITHUB).decode().splitlines()
    assert lines[0].startswith("::error title=eval-sprint-1-1::sprint-1 iteration 1 failed")
    passed = render(PASSED, OutputFormat.GITHUB).decode().splitlines()
    assert passed[0].startswith("::notice ")


def test_rdjsonl_is_read_back() -> None:
    written = render(FIRST, OutputFormat.RDJSONL)
    diagnostics = [json.loads(line) for line in written.splitlines()]
    assert len(diagnostics) == len(FIRST.generator_feedback)
    assert {d["severity"] for d in diagnostics} == {"ERROR", "WARNING", "INFO"}
    typed = next(d for d in diagnostics if d.get("code", {}).get("value") == "TS2304")
    assert typed["location"] == {
        "path": "src/a b.ts",
        "range": {"start": {"line": 3, "column": 5}},
    }
    report = read_report(written, ToolRun(format=Format.RDJSONL))
    assert report.problems == ()
    assert len(report.findings) == len(diagnostics)
