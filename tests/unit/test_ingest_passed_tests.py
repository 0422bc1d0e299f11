"""The names of the tests that passed, as findings would name them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.ingest import Format, ToolRun, read_report

FIXTURES = Path(__file__).parents[1] / "fixtures" / "outputs"


@pytest.mark.parametrize(
    "name",
    [
        "cargo-test-verbose",
        "go-failing",
        "playwright-basket",
        "playwright-ctrf",
        "pytest-failing-ctrf",
        "pytest-failing-junit",
        "pytest-failing-reportlog",
        "vitest-basket-json",
        "vitest-basket-junit",
    ],
)
def test_every_passed_test_of_a_real_run_is_named(name: str) -> None:
    about = json.loads((FIXTURES / f"{name}.run.json").read_text())
    run = ToolRun(Format(about["format"]), about["exit_code"], about["command"])
    report = read_report((FIXTURES / f"{name}.out").read_bytes(), run)
    assert len(report.passed_tests) == report.totals.passed > 0
    assert list(report.passed_tests) == sorted(set(report.passed_tests))
    failed = {finding.test_name for finding in report.findings}
    assert failed.isdisjoint(report.passed_tests)


def test_the_names_are_those_that_a_failure_has() -> None:
    def report(body: str) -> bytes:
        case = f'<testcase classname="suite" name=" a\ntest ">{body}</testcase>'
        return f'<testsuites><testsuite name="s">{case}</testsuite></testsuites>'.encode()

    run = ToolRun(Format.JUNIT)
    (passed,) = read_report(report(""), run).passed_tests
    (failure,) = read_report(report('<failure message="m"/>'), run).findings
    assert passed == failure.test_name


def test_ten_thousand_names_are_kept() -> None:
    cases = "".join(f'<testcase name="t{number}"/>' for number in range(10_050))
    report = read_report(
        f'<testsuites><testsuite name="s">{cases}</testsuite></testsuites>'.encode(),
        ToolRun(Format.JUNIT),
    )
    assert (len(report.passed_tests), report.totals.passed) == (10_000, 10_050)
