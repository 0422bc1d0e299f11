"""From the bytes a tool printed to a report: the one way into this package."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.detect import detect
from steelyard.ingest.formats import (
    cargo,
    ctrf,
    eslint,
    gcc,
    go_test,
    junit,
    mypy,
    playwright,
    pyright,
    pytest_reportlog,
    pytest_text,
    rdjson,
    ruff,
    sarif,
    tsc,
    vitest,
)
from steelyard.ingest.model import (
    Finding,
    Format,
    Outcome,
    Reason,
    ToolReport,
    ToolRun,
)
from steelyard.ingest.text import clean, excerpt, unwrap

__all__ = ["ADAPTERS", "Adapter", "Parser", "read_report"]

_PYTEST_NO_TESTS = 5


class Parser(Protocol):
    """Reads one format: adds what `data` says to `out`, raises `Unreadable` when it cannot."""

    def __call__(self, data: bytes, out: Collector, /) -> None: ...


def _nothing(data: bytes, out: Collector) -> None:
    """Free text holds nothing to read."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """How one format is read.

    tests    its reports list tests, so that none is suspicious
    silence  printing nothing is how the tool says that it found nothing
    prose    its output is text for people, shown as it is in the excerpt
    """

    parse: Parser
    tool: str
    tests: bool = False
    silence: bool = False
    prose: bool = False


ADAPTERS: MappingProxyType[Format, Adapter] = MappingProxyType(
    {
        Format.SARIF: Adapter(sarif.parse, "sarif"),
        Format.JUNIT: Adapter(junit.parse, "junit", tests=True),
        Format.CTRF: Adapter(ctrf.parse, "ctrf", tests=True),
        Format.PYTEST_REPORTLOG: Adapter(pytest_reportlog.parse, "pytest", tests=True),
        Format.PYTEST: Adapter(pytest_text.parse, "pytest", tests=True, prose=True),
        Format.VITEST: Adapter(vitest.parse, "vitest", tests=True),
        Format.JEST: Adapter(vitest.parse, "jest", tests=True),
        Format.PLAYWRIGHT: Adapter(playwright.parse, "playwright", tests=True),
        Format.TSC: Adapter(tsc.parse, "tsc", silence=True, prose=True),
        Format.ESLINT: Adapter(eslint.parse, "eslint"),
        Format.RUFF: Adapter(ruff.parse, "ruff"),
        Format.MYPY: Adapter(mypy.parse, "mypy", silence=True, prose=True),
        Format.MYPY_JSON: Adapter(mypy.parse_lines, "mypy", silence=True),
        Format.PYRIGHT: Adapter(pyright.parse, "pyright"),
        Format.CARGO: Adapter(cargo.parse, "cargo"),
        Format.GO_TEST: Adapter(go_test.parse, "go", tests=True),
        Format.RDJSON: Adapter(rdjson.parse, "rdjson"),
        Format.RDJSONL: Adapter(rdjson.parse_lines, "rdjsonl", silence=True),
        Format.GCC: Adapter(gcc.parse, "gcc", silence=True, prose=True),
        Format.TEXT: Adapter(_nothing, "text", silence=True, prose=True),
    }
)


def read_report(data: bytes, run: ToolRun) -> ToolReport:
    """Read what one run of a tool printed.

    Never raises on content, however broken: what could not be read is a problem of the report, and
    a report with a problem has not passed. Output beyond `run.max_bytes` is not looked at.
    """
    head = unwrap(data[: run.max_bytes])
    name = run.format or detect(head, run.command)
    if name is None:
        out = Collector(run, "unknown")
        out.problem(
            Reason.REPORT_UNREADABLE,
            "nothing was printed and no format declared"
            if not head.strip()
            else "the format cannot be told from the content, and none was declared",
        )
        return _report(data, None, None, out)
    adapter = ADAPTERS[name]
    out = Collector(run, adapter.tool)
    out.runs_tests = adapter.tests
    cut = len(data) > run.max_bytes and name is not Format.TEXT
    if cut:
        out.problem(
            Reason.REPORT_UNREADABLE,
            f"{len(data)} bytes are more than the {run.max_bytes} that are read",
        )
    try:
        adapter.parse(head, out)
    except Unreadable as error:
        out.problem(Reason.REPORT_UNREADABLE, str(error))
    return _report(data, name, adapter, out)


def _report(
    data: bytes, name: Format | None, adapter: Adapter | None, out: Collector
) -> ToolReport:
    _check_tests(out)
    outcome = _outcome(adapter, out)
    _check_exit_code(outcome, adapter, out)
    findings, dropped = out.findings()
    if adapter is None or adapter.prose or not findings:
        text, left_out = excerpt(data)
    else:
        text, left_out = excerpt("\n".join(map(_line, findings)).encode())
    problems = out.problems()
    return ToolReport(
        format=name,
        tool=out.tool,
        outcome=outcome,
        passed=not problems and _passed(outcome, out),
        findings=findings,
        totals=out.totals(),
        problems=problems,
        dropped=dropped,
        excerpt=text,
        excerpt_dropped_bytes=left_out,
        passed_tests=out.passed_tests(),
    )


def _outcome(adapter: Adapter | None, out: Collector) -> Outcome:
    """What the report says by itself."""
    if out.red or out.errors or out.failed:
        return Outcome.RED
    if adapter is None or out.problems():
        return Outcome.UNKNOWN
    silent = adapter.silence and not out.green and not out.warnings
    return Outcome.UNKNOWN if silent else Outcome.GREEN


def _check_tests(out: Collector) -> None:
    """A test run in which no test ran is no evidence, unless the caller says otherwise."""
    if not out.runs_tests or out.run.allow_zero_tests or out.passed or out.failed:
        return
    if any(problem.reason is Reason.REPORT_UNREADABLE for problem in out.problems()):
        return
    out.problem(
        Reason.NO_TESTS_RAN,
        f"all {out.skipped} tests were skipped" if out.skipped else "the report lists no test",
    )


def _check_exit_code(outcome: Outcome, adapter: Adapter | None, out: Collector) -> None:
    """The process and its report must tell the same story."""
    code = out.run.exit_code
    if code is None:
        return
    if code == 0 and outcome is Outcome.RED:
        failures = max(out.errors, out.failed)
        out.problem(
            Reason.EXIT_CODE_DISAGREES,
            f"exit code 0, but the report is red with {failures} failures",
        )
    # Warnings explain a failing exit code: ESLint's --max-warnings, mypy's and Ruff's settings.
    clean = outcome is Outcome.GREEN or (
        adapter is not None and adapter.silence and adapter.parse is not _nothing
    )
    explained = outcome is Outcome.RED or out.warnings or out.problems() or _no_tests_code(out)
    if code != 0 and clean and not explained:
        out.problem(
            Reason.EXIT_CODE_DISAGREES, f"exit code {code}, but the report names no failure"
        )


def _no_tests_code(out: Collector) -> bool:
    """pytest's own exit code for a run without tests, which the caller allows."""
    return (
        out.run.exit_code == _PYTEST_NO_TESTS
        and out.runs_tests
        and out.run.allow_zero_tests
        and not out.tests
    )


def _passed(outcome: Outcome, out: Collector) -> bool:
    if out.run.exit_code is None:
        return outcome is Outcome.GREEN
    return outcome is not Outcome.RED and (out.run.exit_code == 0 or _no_tests_code(out))


def _line(finding: Finding) -> str:
    """A finding as a compiler would print it."""
    place = finding.path or finding.raw_location or ""
    if finding.path and finding.position:
        numbers = (finding.position.line, finding.position.column)
        place = ":".join([place, *(str(n) for n in numbers if n is not None)])
    head = ": ".join(part for part in (place, finding.test_name, finding.severity.value) if part)
    rule = f" [{finding.rule_id}]" if finding.rule_id else ""
    times = f" (x{finding.count})" if finding.count > 1 else ""
    return f"{head}: {clean(finding.message, 300)}{rule}{times}"
