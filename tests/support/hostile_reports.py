"""Builds hostile reports, and reads one and prints what that cost. Run by the hostile-input tests.

    python hostile_reports.py build CASE FILE
    python hostile_reports.py read CASE FILE

`read` prints a JSON object: bytes of the report, seconds, how far the peak resident size grew
beyond the report itself in bytes, and what came out. It is a process of its own so that what
building took is not in the peak.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from steelyard.ingest import Format, ToolRun, read_report

MIB = 1024 * 1024
Case = tuple[Callable[[], bytes], Format | None, int]
DEFAULT = ToolRun().max_bytes


def sarif(results: bytes, count: int) -> bytes:
    head = b'{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":['
    return head + results * (count - 1) + results.rstrip(b", \n") + b"]}]}"


RESULT = (
    b'{"ruleId":"R1","level":"error","message":{"text":"a variable is never used"},"locations":'
    b'[{"physicalLocation":{"artifactLocation":{"uri":"src/a.py"},"region":{"startLine":3}}}]},\n'
)
CASE = b'<testcase name="a"><failure message="m">t.py:3: E</failure></testcase>'
BOMB = (
    b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><testsuites><testsuite name="&c;"/></testsuites>'
)
CASES: dict[str, Case] = {
    "sarif-200mb": (lambda: sarif(RESULT, 1_200_000), None, DEFAULT),
    "sarif-million": (lambda: sarif(b"{},", 1_000_000), None, DEFAULT),
    "junit-many": (
        lambda: b"<testsuite>" + CASE * 200_000 + b"</testsuite>",
        None,
        512 * MIB,
    ),
    "eslint-dense": (
        lambda: b'[{"filePath":"a.js","messages":[' + b"{}," * 299_999 + b"{}]}]",
        None,
        DEFAULT,
    ),
    "tsc-million": (lambda: b"a.ts(1,2): error TS1234: no\n" * 1_000_000, None, 512 * MIB),
    "tsc-distinct": (
        lambda: b"".join(b"f%d.ts(1,2): error TS%d: no %d\n" % (n, n, n) for n in range(200_000)),
        None,
        DEFAULT,
    ),
    "sarif-distinct": (
        lambda: sarif(
            b"".join(
                b'{"ruleId":"R%d","level":"error","message":{"text":"m%d"}},' % (n, n)
                for n in range(120_000)
            ),
            1,
        ),
        None,
        DEFAULT,
    ),
    "gcc-many": (lambda: b"a.c:1:2: error: no\n" * 300_000, None, 512 * MIB),
    "mypy-many": (lambda: b"a.py:1: error: no  [x]\n" * 300_000, None, 512 * MIB),
    "go-open": (
        lambda: b"".join(
            b'{"Action":"run","Package":"p","Test":"T%d"}\n' % n for n in range(100_000)
        ),
        None,
        512 * MIB,
    ),
    "entity-bomb": (lambda: BOMB, Format.JUNIT, DEFAULT),
    "xml-deep": (
        lambda: (
            b"<testsuites>"
            + b"<testsuite>" * 100_000
            + b"</testsuite>" * 100_000
            + b"</testsuites>"
        ),
        None,
        DEFAULT,
    ),
    "xml-names": (
        lambda: (
            b"<testsuites>" + b"".join(b"<a%07d/>" % n for n in range(700_000)) + b"</testsuites>"
        ),
        None,
        DEFAULT,
    ),
    "xml-attributes": (
        lambda: b"<testsuites " + b"".join(b'a%06d="" ' % n for n in range(600_000)) + b"/>",
        None,
        DEFAULT,
    ),
    "xml-long-attribute": (
        lambda: b'<testsuites name="' + b"a" * (7 * MIB) + b'"/>',
        None,
        DEFAULT,
    ),
    "json-deep-list": (lambda: b"[" * 100_000, Format.ESLINT, DEFAULT),
    "json-deep-sarif": (
        lambda: b'{"runs":' + b"[" * 100_000 + b"]" * 100_000 + b',"version":"2.1.0"}',
        None,
        DEFAULT,
    ),
    "json-deep-value": (
        lambda: sarif(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 1),
        Format.SARIF,
        DEFAULT,
    ),
    "json-deep-skipped": (
        lambda: b'{"x":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b',"runs":[]}',
        Format.SARIF,
        DEFAULT,
    ),
    "json-long-string": (
        lambda: sarif(b'{"message":{"text":"' + b"a" * (7 * MIB) + b'"}}', 1),
        Format.SARIF,
        DEFAULT,
    ),
    "json-wide-string": (
        lambda: sarif('{"message":{"text":"\U0001f600'.encode() + b"a" * (7 * MIB) + b'"}}', 1),
        Format.SARIF,
        DEFAULT,
    ),
    "json-dense-value": (
        lambda: sarif(b'{"a":[' + b"[]," * (2 * MIB) + b"0]}", 1),
        Format.SARIF,
        DEFAULT,
    ),
    "json-dense-small": (
        lambda: sarif(b'{"a":[' + b"[]," * 320_000 + b"0]}", 1),
        Format.SARIF,
        DEFAULT,
    ),
    "json-many-keys": (
        lambda: b"{" + b"".join(b'"%07d":0,' % n for n in range(600_000)) + b'"runs":[]}',
        Format.SARIF,
        DEFAULT,
    ),
    "json-huge-number": (
        lambda: sarif(b'{"n":' + b"1" * (2 * MIB) + b"}", 1),
        Format.SARIF,
        DEFAULT,
    ),
    "line-10mb-tsc": (lambda: b"a" * (10 * MIB), Format.TSC, 64 * MIB),
    "line-10mb-parens": (lambda: b"(1,2" * (10 * MIB // 4), Format.TSC, 64 * MIB),
    "line-10mb-colons": (lambda: b"a:1:1" * (2 * MIB), Format.TSC, 64 * MIB),
    "line-10mb-mypy": (lambda: b"a:1:" * (10 * MIB // 4), Format.MYPY, 64 * MIB),
    "line-10mb-gcc": (lambda: b"a(b: " * (2 * MIB), Format.GCC, 64 * MIB),
    "line-10mb-pytest": (lambda: b"_" * (10 * MIB), Format.PYTEST, 64 * MIB),
    "line-10mb-detect": (lambda: b"a: " * (10 * MIB // 3), None, 64 * MIB),
    "line-10mb-cargo": (lambda: b"---- a " * (10 * MIB // 7), Format.CARGO, 64 * MIB),
    "ansi": (lambda: b"\x1b[31ma\x1b[0mb" * (7 * MIB // 11), Format.TSC, DEFAULT),
    "ansi-unfinished": (lambda: b"\x1b[" * (7 * MIB // 2), Format.TSC, DEFAULT),
    "osc-unfinished": (lambda: b"\x1b]a" * (7 * MIB // 3), Format.TSC, DEFAULT),
    "pytest-sections": (
        lambda: b"___ a ___\n" * 200_000 + b"1 failed in 0.1s\n",
        Format.PYTEST,
        DEFAULT,
    ),
    "pytest-summary": (
        lambda: b"".join(b"FAILED a::t%d\n" % n for n in range(100_000)) + b"1 failed in 0.1s\n",
        Format.PYTEST,
        DEFAULT,
    ),
    "cargo-sections": (
        lambda: (
            b"running 1 test\n"
            + b"---- a stdout ----\nx\n" * 100_000
            + b"test result: FAILED. 0 passed; 1 failed; 0 ignored\n"
        ),
        Format.CARGO,
        DEFAULT,
    ),
    "traces": (
        lambda: (
            b"<testsuite>"
            + b"".join(
                b"<testcase name='t%d'><failure message='m%d'>%s</failure></testcase>"
                % (n, n, b"at (in got expected " * 1_600)
                for n in range(240)
            )
            + b"</testsuite>"
        ),
        None,
        DEFAULT,
    ),
    "nul": (lambda: b"\x00" * (7 * MIB), None, DEFAULT),
    "invalid-utf8": (lambda: b"\xff\xc3\x28" * (2 * MIB), None, DEFAULT),
    "invalid-utf8-json": (
        lambda: sarif(b'{"message":{"text":"\xff\xc3("},"ruleId":"\xed\xa0\x80"},', 100_000),
        None,
        DEFAULT,
    ),
    "utf16": (
        lambda: ("a.ts(1,2): error TS1234: no\r\n" * 100_000).encode("utf-16"),
        None,
        DEFAULT,
    ),
}


def main() -> None:
    verb, name, file = sys.argv[1:]
    build, form, max_bytes = CASES[name]
    if verb == "build":
        Path(file).write_bytes(build())
        return
    data = Path(file).read_bytes()
    run = ToolRun(format=form, exit_code=0, root="/repo", max_bytes=max_bytes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    started = time.perf_counter()
    report = read_report(data, run)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    cost = {
        "bytes": len(data),
        "seconds": seconds,
        "growth": after - before,
        "passed": report.passed,
        "outcome": report.outcome,
        "findings": len(report.findings),
        "counted": sum(finding.count for finding in report.findings),
        "errors": report.totals.errors,
        "warnings": report.totals.warnings,
        "dropped": report.dropped,
        "reasons": [problem.reason for problem in report.problems],
        "details": " ".join(problem.detail for problem in report.problems),
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
