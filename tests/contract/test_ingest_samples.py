"""Minimal samples of what real reports do oddly: each is read, and none passes by chance."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.ingest import Finding, Kind, Outcome, Severity, ToolReport, ToolRun, read_report

SAMPLES = Path(__file__).parent.parent / "fixtures" / "samples"


def read(name: str, exit_code: int | None = None, root: str = "/repo") -> ToolReport:
    data = (SAMPLES / name).read_bytes()
    return read_report(data, ToolRun(exit_code=exit_code, root=root))


def place(finding: Finding) -> str:
    position = finding.position
    numbers = () if position is None else (position.line, position.column)
    return ":".join([finding.path or "-", *(str(n) for n in numbers if n is not None)])


def reasons(report: ToolReport) -> list[str]:
    return [problem.reason.value for problem in report.problems]


def test_sarif_oddities() -> None:
    report = read("sarif-oddities.sarif", exit_code=1)
    assert [(f.message, place(f), f.rule_id, f.severity.value) for f in report.findings] == [
        ("no rule, no location", "-", None, "warning"),
        ("'name' is odd", "src/indexed.c:7", "R1", "error"),
        ("zero-based", "src/zero.c", "R2", "error"),
        ("absolute", "src/absolute.c:2", "R2", "error"),
        ("file uri", "src/a b/é.c:3", "R2", "error"),
        ("base uri", "src/based.c:4", "R2", "error"),
        ("unknown base", "src/unknown.c:5", "R2", "error"),
        ("outside", "-", "R2", "error"),
        ("climbs out", "-", "R2", "error"),
        ("no region", "src/whole.c", "R2", "error"),
        ("suppression rejected", "-", "R2", "error"),
        ("**note**", "-", "R2/sub", "note"),
    ]
    outside = {f.message: f.raw_location for f in report.findings if f.raw_location}
    assert outside == {
        "outside": "file:///usr/include/stdio.h:6",
        "climbs out": "../../etc/passwd:1",
    }
    assert report.totals.suppressed == 2
    assert report.tool == "odd"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sarif-null-results.sarif", "EVALUATOR_ERROR"),
        ("sarif-no-results.sarif", "EVALUATOR_ERROR"),
        ("sarif-no-runs.sarif", "EVALUATOR_ERROR"),
        ("sarif-old-version.sarif", "REPORT_UNREADABLE"),
        ("junit-dtd.xml", "REPORT_UNREADABLE"),
        ("junit-dtd-alone.xml", "REPORT_UNREADABLE"),
        ("junit-external-entity.xml", "REPORT_UNREADABLE"),
        ("junit-empty.xml", "NO_TESTS_RAN"),
    ],
)
def test_evidence_that_is_missing_never_passes(name: str, reason: str) -> None:
    for exit_code in (0, None):
        report = read(name, exit_code)
        assert not report.passed
        assert report.outcome is Outcome.UNKNOWN
        assert reasons(report) == [reason]


def test_a_sarif_tool_that_says_it_failed_is_red() -> None:
    report = read("sarif-failed-invocation.sarif", exit_code=0)
    assert [(f.kind, f.message) for f in report.findings] == [(Kind.RUNTIME, "ran out of memory")]
    assert reasons(report) == ["EXIT_CODE_DISAGREES"]


def test_junit_with_cdata_nested_and_empty_suites_and_another_encoding() -> None:
    report = read("junit-cdata-nested.xml", exit_code=1)
    java, rust = report.findings
    assert (java.test_name, java.expected, java.received) == ("shop.Basket.adds", "4", "3")
    assert (java.path, java.raw_location) == (None, "shop.Basket.adds(Basket.java:12)")
    assert place(rust) == "src/lib.rs:9:5"
    assert rust.message.endswith("café closed")
    totals = report.totals
    assert (totals.tests, totals.passed, totals.failed, totals.skipped) == (3, 0, 2, 1)


def test_an_error_of_a_junit_suite_counts_though_its_tests_pass() -> None:
    report = read("junit-suite-error.xml", exit_code=0)
    assert [(f.kind, place(f)) for f in report.findings] == [(Kind.COLLECTION, "tests/db.js:4:9")]
    assert report.totals.failed == 0
    assert report.outcome is Outcome.RED


def test_failures_that_junit_counts_but_does_not_list_count() -> None:
    report = read("junit-counts-disagree.xml", exit_code=1)
    assert report.findings[1].message == "The report counts 2 failures but lists 1."


def test_the_line_of_an_xunit1_case_is_not_the_failing_line() -> None:
    assert [place(f) for f in read("junit-xunit1-line.xml").findings] == ["tests/test_a.py:12"]


def test_jest_suite_that_cannot_run() -> None:
    report = read("jest-exec-error.json", exit_code=1)
    assert [(f.kind, place(f)) for f in report.findings] == [
        (Kind.COLLECTION, "src/bad.test.js:1:14")
    ]
    assert report.format == "jest"


def test_a_run_that_calls_itself_failed_is_red_though_every_test_passed() -> None:
    report = read("vitest-unhandled.json", exit_code=0)
    assert report.outcome is Outcome.RED
    assert reasons(report) == ["EXIT_CODE_DISAGREES"]


def test_tsc_on_windows_with_a_route_group() -> None:
    report = read("tsc-windows.txt", exit_code=2, root="c:\\work\\repo")
    assert [place(f) for f in report.findings] == [
        "src/app/(auth)/page.tsx:3:7",
        "src/other.ts:4:1",
        "-",
    ]
    assert report.findings[2].raw_location == "D:/elsewhere/lib.d.ts:1:1"
    assert report.findings[0].message.endswith("'string | undefined'.")


def test_rdjsonl_severities() -> None:
    report = read("rdjsonl-mixed.jsonl", exit_code=1)
    assert [(f.tool, place(f), f.severity) for f in report.findings] == [
        ("staticcheck", "a.go:3:5", Severity.ERROR),
        ("rdjsonl", "b.go:4", Severity.WARNING),
        ("rdjsonl", "c.go", Severity.ERROR),
    ]


def test_clang_and_linker_text() -> None:
    report = read("gcc-clang.txt", exit_code=1)
    assert [(place(f), f.severity.value, f.rule_id) for f in report.findings] == [
        ("src/shape.h:4:10", "error", None),
        ("src/main.cc:9:3", "warning", "-Wunused-variable"),
        ("-", "error", "-Werror"),
        ("-", "error", None),
    ]
    assert report.findings[2].raw_location == "/usr/include/c++/12/vector:1:1"
    assert report.totals.notes == 1


def test_go_build_failure_before_1_24() -> None:
    report = read("go-old-build-failure.json", exit_code=1)
    assert [(f.kind, place(f)) for f in report.findings] == [(Kind.BUILD, "broken/broken.go:6:9")]


def test_go_file_without_a_directory_is_no_location_when_the_module_is_not_known() -> None:
    report = read("go-package-exit.json", exit_code=1)
    test, package = report.findings
    assert (place(test), test.message) == ("-", "a_test.go:7: wrong")
    assert (package.kind, package.message) == (Kind.RUNTIME, "exit status 3")


def test_pytest_short_traceback() -> None:
    report = read("pytest-short.txt", exit_code=1)
    assert [(f.test_name, place(f), f.message) for f in report.findings] == [
        ("tests/test_a.py::TestA::test_b", "src/a.py:3", "ValueError: no")
    ]
