"""What real tools printed, read: every location, count, outcome and reason is asserted.

`tests/fixtures/regenerate.py` made the outputs; each has a sidecar with tool, version, command and
exit code. A place reads `path:line:column`, as far as the tool gives it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from steelyard.ingest import Finding, Format, Kind, Outcome, ToolReport, ToolRun, read_report
from steelyard.ingest.detect import detect

OUTPUTS = Path(__file__).parent.parent / "fixtures" / "outputs"
RED, GREEN, UNKNOWN = Outcome.RED, Outcome.GREEN, Outcome.UNKNOWN


@dataclass(frozen=True)
class Expected:
    """The report of one fixture. `tests` is passed, failed, skipped."""

    exit_code: int
    outcome: Outcome
    places: tuple[str, ...] = ()
    passed: bool = False
    tests: tuple[int, int, int] = (0, 0, 0)
    reasons: tuple[str, ...] = ()


PYTEST = (
    "tests/test_prices.py:12",
    "shop/prices.py:16",
    "tests/test_prices.py:32",
    "tests/test_prices.py:32",
    "tests/test_prices.py:7",
)
SYNTAX = ("syntax/broken.py:1:11 invalid-syntax", "syntax/broken.py:1:12 invalid-syntax")
RUFF = ("shop/prices.py:3:8 F401", *SYNTAX)
BASKET = ("unit/basket.test.ts:11:27", "unit/basket.ts:7:11")
RUST_TESTS = ("src/lib.rs:44:24", "src/lib.rs:37:9")
GO_TESTS = ("basket/basket_test.go:9", "basket/basket.go:6")
TSC = ("src/prices.ts:1:25 TS2307", "src/prices.ts:9:3 TS2322")
MYPY_TESTS = (
    "tests/test_clean.py:4 no-untyped-def",
    "tests/test_import.py:3 import-not-found",
    "tests/test_import.py:6 no-untyped-def",
    "tests/test_prices.py:6 no-untyped-def",
    "tests/test_prices.py:10 no-untyped-def",
    "tests/test_prices.py:15 no-untyped-def",
    "tests/test_prices.py:19 no-untyped-def",
    "tests/test_prices.py:22 no-untyped-call",
    "tests/test_prices.py:25 no-untyped-def",
    "tests/test_prices.py:30 no-untyped-def",
    "tests/test_prices.py:35 no-untyped-def",
    "tests/test_prices.py:40 no-untyped-def",
    "tests/test_prices.py:45 no-untyped-def",
)
NONE = ("NO_TESTS_RAN",)

EXPECTED: dict[str, Expected] = {
    "pytest-failing-text": Expected(
        1, RED, (PYTEST[4], *PYTEST[:4], "tests/test_prices.py"), tests=(1, 6, 1)
    ),
    "pytest-failing-junit": Expected(1, RED, (*PYTEST, "-"), tests=(1, 6, 1)),
    "pytest-failing-xunit1": Expected(1, RED, (*PYTEST, "tests/test_prices.py"), tests=(1, 6, 1)),
    "pytest-failing-reportlog": Expected(
        1, RED, (*PYTEST, "tests/test_prices.py"), tests=(1, 6, 1)
    ),
    "pytest-failing-ctrf": Expected(1, RED, (*PYTEST, "tests/test_prices.py"), tests=(1, 6, 1)),
    "pytest-collection-text": Expected(2, RED, ("tests/test_import.py:3",), tests=(0, 1, 0)),
    "pytest-collection-junit": Expected(2, RED, ("tests/test_import.py:3",), tests=(0, 1, 0)),
    "pytest-collection-reportlog": Expected(2, RED, ("tests/test_import.py:3",), tests=(0, 1, 0)),
    # this reporter leaves collection errors out: what is left is a run without tests
    "pytest-collection-ctrf": Expected(2, UNKNOWN, reasons=NONE),
    "pytest-none-text": Expected(5, UNKNOWN, reasons=NONE),
    "pytest-none-junit": Expected(5, UNKNOWN, reasons=NONE),
    "pytest-none-reportlog": Expected(5, UNKNOWN, reasons=NONE),
    "pytest-none-ctrf": Expected(5, UNKNOWN, reasons=NONE),
    "pytest-green-text": Expected(0, GREEN, passed=True, tests=(1, 0, 0)),
    "pytest-green-junit": Expected(0, GREEN, passed=True, tests=(1, 0, 0)),
    "pytest-green-reportlog": Expected(0, GREEN, passed=True, tests=(1, 0, 0)),
    "pytest-green-ctrf": Expected(0, GREEN, passed=True, tests=(1, 0, 0)),
    "ruff-json": Expected(1, RED, RUFF),
    "ruff-sarif": Expected(1, RED, RUFF),
    "ruff-rdjson": Expected(1, RED, RUFF),
    "ruff-green-json": Expected(0, GREEN, passed=True),
    "ruff-green-sarif": Expected(0, GREEN, passed=True),
    "ruff-green-rdjson": Expected(0, GREEN, passed=True),
    "mypy-text": Expected(
        1,
        RED,
        ("shop/prices.py:11 return-value", "shop/prices.py:20 no-untyped-def", *MYPY_TESTS),
    ),
    "mypy-json": Expected(
        1,
        RED,
        (
            "shop/prices.py:11:12 return-value",
            "shop/prices.py:20:1 no-untyped-def",
            *(place.replace(" ", ":5 " if ":22 " in place else ":1 ") for place in MYPY_TESTS),
        ),
    ),
    "mypy-pretty-syntax": Expected(
        2, RED, ("syntax/broken.py:1:12 syntax", "syntax/broken.py:1:13 syntax")
    ),
    "mypy-green": Expected(0, GREEN, passed=True),
    "mypy-usage": Expected(2, RED, ("-",)),
    "pyright": Expected(
        1,
        RED,
        (
            "shop/prices.py:11:12 reportReturnType",
            "syntax/broken.py:1:10",
            "syntax/broken.py:1:11",
            "syntax/broken.py:2:5",
            "syntax/broken.py:3:1",
        ),
    ),
    "pyright-green": Expected(0, GREEN, passed=True),
    "tsc-plain": Expected(2, RED, TSC),
    "tsc-pretty": Expected(2, RED, TSC),
    "tsc-syntax": Expected(2, RED, ("syntax/unparsable.ts:2:1 TS1005",)),
    "tsc-global": Expected(2, RED, ("- TS18003", "tsconfig.empty.json:2:40 TS5023")),
    "tsc-green": Expected(0, UNKNOWN, passed=True),
    "eslint-errors": Expected(
        1,
        RED,
        (
            "src/prices.ts:4:9 @typescript-eslint/no-unused-vars",
            "src/prices.ts:13:21 eqeqeq",
            "syntax/unparsable.ts:2",
        ),
    ),
    # warnings explain the exit code, so nothing disagrees; it is no pass all the same
    "eslint-max-warnings": Expected(1, GREEN, ("src/warned.ts:2:12 eqeqeq",)),
    "eslint-green": Expected(0, GREEN, passed=True),
    "eslint-crash": Expected(2, UNKNOWN, reasons=("REPORT_UNREADABLE",)),
    "vitest-basket-json": Expected(1, RED, BASKET, tests=(1, 2, 1)),
    "vitest-basket-junit": Expected(1, RED, BASKET, tests=(1, 2, 1)),
    "vitest-broken-json": Expected(1, RED, ("unit/broken.test.ts",), tests=(0, 1, 0)),
    "vitest-broken-junit": Expected(1, RED, ("unit/broken.test.ts:2:1",), tests=(0, 1, 0)),
    "vitest-clean-json": Expected(0, GREEN, passed=True, tests=(1, 0, 0)),
    "vitest-clean-junit": Expected(0, GREEN, passed=True, tests=(1, 0, 0)),
    "vitest-nowhere-json": Expected(1, UNKNOWN, reasons=NONE),
    "vitest-nowhere-junit": Expected(1, UNKNOWN, reasons=NONE),
    "playwright-basket": Expected(1, RED, ("e2e/basket.spec.ts:10:28",), tests=(1, 1, 1)),
    "playwright-ctrf": Expected(1, RED, ("e2e/basket.spec.ts:10:28",), tests=(1, 1, 1)),
    "playwright-slow": Expected(
        1, RED, ("e2e/slow.spec.ts:4:16", "e2e/slow.spec.ts:7", "-"), tests=(0, 2, 0)
    ),
    "playwright-global": Expected(1, RED, ("e2e/global.spec.ts:3:7",), reasons=NONE),
    "playwright-nowhere": Expected(1, RED, reasons=NONE),
    "playwright-clean": Expected(0, GREEN, passed=True, tests=(1, 0, 0)),
    "cargo-broken": Expected(101, RED, ("src/lib.rs:9:22 E0308", "src/lib.rs:10:5 E0425")),
    "cargo-warnings": Expected(0, GREEN, ("src/lib.rs:15:9 unused_variables",), passed=True),
    "cargo-clippy": Expected(
        101,
        RED,
        (
            "src/lib.rs:21:5 clippy::needless_return",
            "src/lib.rs:20:22 clippy::ptr_arg",
            "src/lib.rs:21:12 clippy::len_zero",
        ),
    ),
    "cargo-test-failing": Expected(101, RED, RUST_TESTS, tests=(1, 2, 1)),
    "cargo-test-verbose": Expected(101, RED, RUST_TESTS, tests=(1, 2, 1)),
    "cargo-test-green": Expected(0, GREEN, passed=True, tests=(1, 0, 1)),
    "go-failing": Expected(1, RED, GO_TESTS, tests=(2, 3, 1)),
    "go-fullpath": Expected(1, RED, GO_TESTS, tests=(1, 3, 1)),
    "go-broken": Expected(1, RED, ("broken/broken.go:6:9",), tests=(1, 0, 0)),
    "go-none": Expected(0, UNKNOWN, reasons=NONE),
    "go-green": Expected(0, GREEN, passed=True, tests=(1, 0, 0)),
    "gcc-errors": Expected(1, RED, ("main.c:6:31", "main.c:5:9 -Wunused-variable")),
    "gcc-warnings": Expected(0, GREEN, ("warns.c:4:9 -Wunused-variable",), passed=True),
    "gcc-link": Expected(1, RED, ("link.c", "-")),
}
# Tests that run at the same time end in any order.
UNORDERED = {"cargo-test-failing", "cargo-test-verbose"}
# What these print does not show the format.
UNDETECTED = {
    "eslint-crash": Format.TEXT,
    "gcc-link": Format.TEXT,
    "mypy-usage": Format.TEXT,
    "ruff-green-json": None,
    "tsc-green": None,
}


def sidecar(name: str) -> dict[str, object]:
    loaded = json.loads((OUTPUTS / f"{name}.run.json").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def read(name: str, exit_code: int | None, form: Format | None) -> ToolReport:
    command = str(sidecar(name)["command"])
    run = ToolRun(format=form, exit_code=exit_code, command=command, root="/repo")
    return read_report((OUTPUTS / f"{name}.out").read_bytes(), run)


def place(finding: Finding) -> str:
    position = finding.position
    numbers = () if position is None else (position.line, position.column)
    text = ":".join([finding.path or "-", *(str(n) for n in numbers if n is not None)])
    return f"{text} {finding.rule_id}" if finding.rule_id else text


def test_every_output_is_expected_and_every_expectation_stored() -> None:
    assert {path.name.removesuffix(".out") for path in OUTPUTS.glob("*.out")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_fixture(name: str) -> None:
    expected = EXPECTED[name]
    form = Format(str(sidecar(name)["format"]))
    assert sidecar(name)["exit_code"] == expected.exit_code
    report = read(name, expected.exit_code, form)
    places = tuple(map(place, report.findings))
    if name in UNORDERED:
        assert sorted(places) == sorted(expected.places)
    else:
        assert places == expected.places
    assert report.outcome is expected.outcome
    assert report.passed is expected.passed
    assert tuple(problem.reason for problem in report.problems) == expected.reasons
    totals = report.totals
    assert (totals.passed, totals.failed, totals.skipped) == expected.tests
    assert totals.tests == sum(expected.tests)
    assert report.dropped == 0


@pytest.mark.parametrize("name", EXPECTED)
def test_detection(name: str) -> None:
    data = (OUTPUTS / f"{name}.out").read_bytes()
    form = Format(str(sidecar(name)["format"]))
    assert detect(data) is UNDETECTED.get(name, form)
    if name in ("ruff-green-json", "tsc-green"):
        assert detect(data, str(sidecar(name)["command"])) is form


@pytest.mark.parametrize("name", [n for n, e in EXPECTED.items() if e.outcome is RED])
def test_a_red_report_with_exit_code_0_disagrees(name: str) -> None:
    report = read(name, 0, Format(str(sidecar(name)["format"])))
    assert not report.passed
    assert "EXIT_CODE_DISAGREES" in [problem.reason for problem in report.problems]


@pytest.mark.parametrize("name", [n for n, e in EXPECTED.items() if e.passed])
def test_a_clean_report_with_exit_code_1_disagrees_unless_warnings_explain_it(name: str) -> None:
    report = read(name, 1, Format(str(sidecar(name)["format"])))
    assert not report.passed
    reasons = [problem.reason for problem in report.problems]
    assert reasons == ([] if report.totals.warnings else ["EXIT_CODE_DISAGREES"])


@pytest.mark.parametrize("name", [n for n, e in EXPECTED.items() if e.reasons == NONE])
def test_zero_tests_pass_only_when_allowed(name: str) -> None:
    form = Format(str(sidecar(name)["format"]))
    data = (OUTPUTS / f"{name}.out").read_bytes()
    for code in (0, 5, None):
        report = read_report(data, ToolRun(format=form, exit_code=code, root="/repo"))
        assert not report.passed
    allowed = ToolRun(format=form, exit_code=0, root="/repo", allow_zero_tests=True)
    assert read_report(data, allowed).passed is (EXPECTED[name].outcome is UNKNOWN)


@pytest.mark.parametrize(
    ("name", "test", "expected", "received"),
    [
        ("pytest-failing-junit", "tests.test_prices.test_total_is_wrong", "7", "6"),
        ("pytest-failing-text", "tests/test_prices.py::test_total_is_wrong", "7", "6"),
        ("pytest-failing-reportlog", "tests/test_prices.py::test_label[1]", "'1'", "1"),
        ("vitest-basket-json", "basket adds them wrongly", "4", "3"),
        ("vitest-basket-junit", "unit/basket.test.ts > basket > adds them wrongly", "4", "3"),
        ("playwright-basket", "basket.spec.ts > basket > adds them wrongly", "4", "3"),
        ("cargo-test-verbose", "tests::adds_nothing", "1", "0"),
        ("go-failing", "example.com/shop/basket.TestFirst/one", "1", "2"),
    ],
)
def test_failed_tests_say_what_was_expected(
    name: str, test: str, expected: str, received: str
) -> None:
    report = read(name, 1, Format(str(sidecar(name)["format"])))
    finding = next(finding for finding in report.findings if finding.test_name == test)
    assert (finding.expected, finding.received) == (expected, received)
    assert finding.kind is Kind.TEST


@pytest.mark.parametrize(
    "name",
    [
        "pytest-collection-text",
        "pytest-collection-junit",
        "pytest-collection-reportlog",
        "vitest-broken-json",
        "vitest-broken-junit",
        "playwright-global",
    ],
)
def test_a_file_that_cannot_be_loaded_is_a_collection_failure(name: str) -> None:
    report = read(name, 1, Format(str(sidecar(name)["format"])))
    assert [finding.kind for finding in report.findings] == [Kind.COLLECTION]


def test_notes_of_mypy_join_their_error() -> None:
    report = read("mypy-text", 1, Format.MYPY)
    assert report.findings[2].message == (
        "Function is missing a return type annotation\n"
        'note: Use "-> None" if function does not return a value'
    )
    pretty = read("mypy-pretty-syntax", 2, Format.MYPY)
    assert pretty.findings[0].message == "Expected a parameter or the end of the parameter list"


def test_messages_hold_no_ansi() -> None:
    for name in ("playwright-basket", "tsc-pretty"):
        report = read(name, 1, Format(str(sidecar(name)["format"])))
        assert "\x1b" not in report.excerpt
        assert all("\x1b" not in finding.message for finding in report.findings)


def test_the_excerpt_of_a_structured_report_reads_like_a_compiler() -> None:
    report = read("ruff-sarif", 1, Format.SARIF)
    assert report.excerpt.splitlines()[0] == (
        "shop/prices.py:3:8: error: `os` imported but unused [F401]"
    )
