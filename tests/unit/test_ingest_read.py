"""When a run counts as passed, and what keeps it from that."""

from __future__ import annotations

import pytest

from steelyard.ingest import Format, Outcome, Reason, ToolReport, ToolRun, read_report
from steelyard.ingest.read import ADAPTERS

GREEN = b'<testsuite tests="1"><testcase name="a"/></testsuite>'
RED = b'<testsuite><testcase name="a"><failure message="no"/></testcase></testsuite>'
WARNED = b'[{"filePath":"a.js","messages":[{"severity":1,"message":"m","line":1}]}]'


def read(data: bytes, **run: object) -> ToolReport:
    return read_report(data, ToolRun(**run))  # type: ignore[arg-type]  # fields by name


def reasons(report: ToolReport) -> list[Reason]:
    return [problem.reason for problem in report.problems]


def test_every_format_has_an_adapter() -> None:
    assert set(ADAPTERS) == set(Format)


@pytest.mark.parametrize(
    ("data", "exit_code", "passed", "expected"),
    [
        (GREEN, 0, True, []),
        (GREEN, None, True, []),
        (GREEN, 1, False, [Reason.EXIT_CODE_DISAGREES]),
        (GREEN, -9, False, [Reason.EXIT_CODE_DISAGREES]),
        (RED, 1, False, []),
        (RED, None, False, []),
        (RED, 0, False, [Reason.EXIT_CODE_DISAGREES]),
        (WARNED, 0, True, []),
        (WARNED, None, True, []),
        (WARNED, 1, False, []),
    ],
)
def test_report_and_exit_code(
    data: bytes, exit_code: int | None, passed: bool, expected: list[Reason]
) -> None:
    report = read(data, exit_code=exit_code)
    assert (report.passed, reasons(report)) == (passed, expected)


@pytest.mark.parametrize(
    ("form", "exit_code", "passed", "expected"),
    [
        (Format.TSC, 0, True, []),
        (Format.TSC, None, False, []),
        (Format.TSC, 2, False, [Reason.EXIT_CODE_DISAGREES]),
        (Format.TEXT, 0, True, []),
        (Format.TEXT, None, False, []),
        (Format.TEXT, 1, False, []),
        (Format.SARIF, 0, False, [Reason.REPORT_UNREADABLE]),
        (Format.JUNIT, 0, False, [Reason.REPORT_UNREADABLE]),
        (Format.GO_TEST, 0, False, [Reason.NO_TESTS_RAN]),
        (Format.CARGO, 0, False, [Reason.REPORT_UNREADABLE]),
        (None, 0, False, [Reason.REPORT_UNREADABLE]),
    ],
)
def test_silence(
    form: Format | None, exit_code: int | None, passed: bool, expected: list[Reason]
) -> None:
    report = read(b" \n", format=form, exit_code=exit_code)
    assert (report.passed, reasons(report)) == (passed, expected)


@pytest.mark.parametrize("data", [b"\x00\x01", b"<html></html>", b"{}", b"[1]", b"\xff\xfe\xff"])
def test_a_format_that_cannot_be_told_never_passes(data: bytes) -> None:
    report = read(data, exit_code=0)
    assert (report.passed, reasons(report)) == (False, [Reason.REPORT_UNREADABLE])


def test_a_report_of_another_format_than_declared_is_unreadable() -> None:
    assert reasons(read(GREEN, format=Format.SARIF, exit_code=0)) == [Reason.REPORT_UNREADABLE]
    assert reasons(read(WARNED, format=Format.JUNIT, exit_code=0)) == [Reason.REPORT_UNREADABLE]
    assert reasons(read(WARNED, format=Format.VITEST, exit_code=0)) == [Reason.REPORT_UNREADABLE]


def test_a_report_beyond_the_byte_cap_is_read_as_far_as_that_and_never_passes() -> None:
    data = b"a.ts(1,2): error TS1: no\n" + b"# nothing\n" * 1_000
    report = read(data, format=Format.TSC, exit_code=2, max_bytes=100)
    assert len(report.findings) == 1
    assert reasons(report) == [Reason.REPORT_UNREADABLE]
    assert report.problems[0].detail == "10025 bytes are more than the 100 that are read"
    green = GREEN + b" " * 200
    assert not read(green, exit_code=0, max_bytes=100).passed
    # of free text nothing is read, so nothing is missed
    assert read(b"building...\n" * 100, format=Format.TEXT, exit_code=0, max_bytes=100).passed


def test_skipped_tests_are_no_evidence() -> None:
    data = b'<testsuite><testcase name="a"><skipped/></testcase></testsuite>'
    report = read(data, exit_code=0)
    assert reasons(report) == [Reason.NO_TESTS_RAN]
    assert report.problems[0].detail == "all 1 tests were skipped"
    assert read(data, exit_code=0, allow_zero_tests=True).passed


def test_exit_code_5_of_pytest_agrees_with_a_run_without_tests_that_is_allowed() -> None:
    data = b"no tests ran in 0.01s\n"
    assert read(data, exit_code=5, allow_zero_tests=True).passed
    assert not read(data, exit_code=1, allow_zero_tests=True).passed
    assert reasons(read(data, exit_code=5)) == [Reason.NO_TESTS_RAN]


def test_byte_order_marks_and_utf_16() -> None:
    text = "a.ts(1,2): error TS2322: no\r\n"
    for encoding in ("utf-8-sig", "utf-16"):
        report = read(text.encode(encoding), exit_code=2)
        assert [(f.path, f.message) for f in report.findings] == [("a.ts", "no")]


def test_cargo_test_binaries_that_never_ran() -> None:
    built = b'{"reason":"compiler-artifact","profile":{"test":true},"executable":"/t/a"}\n'
    done = b'{"reason":"build-finished","success":true}\n'
    ran = b"running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored\n"
    assert read(built + done + ran, exit_code=0).passed
    assert reasons(read(built + done, exit_code=0)) == [Reason.NO_TESTS_RAN]
    assert reasons(read(built * 2 + done + ran, exit_code=0)) == [Reason.REPORT_UNREADABLE]
    assert read(built + done, exit_code=0, command="cargo test --no-run").passed


def test_a_test_binary_of_cargo_that_did_not_end() -> None:
    done = b'{"reason":"build-finished","success":true}\n'
    ran = b"running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored\n"
    assert reasons(read(done + ran + b"running 1 test\n", exit_code=0)) == [
        Reason.REPORT_UNREADABLE
    ]


def test_pretty_output_of_tsc_without_its_closing_line() -> None:
    line = b"a.ts:1:2 - error TS2322: no\n"
    assert reasons(read(line, exit_code=2)) == [Reason.REPORT_UNREADABLE]
    assert reasons(read(line + b"\nFound 1 error in a.ts:1\n", exit_code=2)) == []
    missing = read(line + b"\nFound 2 errors in a.ts:1\n", exit_code=2)
    assert missing.findings[1].message == "The report counts 2 failures but lists 1."


def test_the_excerpt_keeps_head_and_tail() -> None:
    data = b"first line\n" + b"x" * 50_000 + b"\n\x1b[31mlast line\x1b[0m\n"
    report = read(data, format=Format.TEXT, exit_code=0)
    assert report.excerpt.startswith("first line\n")
    assert report.excerpt.endswith("\nlast line")
    assert report.excerpt_dropped_bytes == len(data) - 4_096
    assert f"[... {report.excerpt_dropped_bytes} bytes left out ...]" in report.excerpt


def test_unknown_statuses_are_failures() -> None:
    ctrf = b'{"reportFormat":"CTRF","results":{"summary":{},"tests":[{"name":"a","status":"new"}]}}'
    vitest = (
        b'{"numTotalTests":1,"success":true,"testResults":'
        b'[{"name":"a","status":"passed","assertionResults":[{"status":"new","title":"t"}]}]}'
    )
    playwright = (
        b'{"suites":[{"title":"s","specs":[{"title":"t","tests":[{"status":"new"}]}]}],'
        b'"errors":[],"stats":{}}'
    )
    for data in (ctrf, vitest, playwright):
        report = read(data, exit_code=0)
        assert report.outcome is Outcome.RED, data
        assert reasons(report) == [Reason.EXIT_CODE_DISAGREES]
