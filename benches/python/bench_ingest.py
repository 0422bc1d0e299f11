"""Time and peak memory of reading large reports, beside the plain parse of the same bytes.

    python benches/python/bench_ingest.py [--check]

Prints one table. Each row is measured in interleaved rounds within one process, so that both sides
see the same machine; the figure is the best round. Peak memory is what tracemalloc sees above the
input bytes, which both sides share. `--check` fails when a reader takes more than 3 times the time
or the memory of the plain parse.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree import ElementTree

from steelyard.ingest import Format, ToolRun, read_report

ROUNDS = 5
LIMIT = 3.0
MAX_BYTES = 64 * 1024 * 1024


def sarif(results: int = 10_000) -> bytes:
    """A log of `results` different results in 200 files, as a linter writes it."""
    rules = [{"id": f"R{n:03}", "shortDescription": {"text": f"rule {n}"}} for n in range(50)]
    items = [
        {
            "ruleId": f"R{n % 50:03}",
            "level": "error" if n % 3 else "warning",
            "message": {"text": f"Name 'value_{n}' is assigned to but never used"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": f"src/package/module_{n % 200}.py"},
                        "region": {"startLine": n % 900 + 1, "startColumn": 5, "endColumn": 17},
                    }
                }
            ],
        }
        for n in range(results)
    ]
    run = {"tool": {"driver": {"name": "lint", "rules": rules}}, "results": items}
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=1).encode()


def junit(cases: int = 50_000) -> bytes:
    """A report of `cases` test cases of which every hundredth failed."""
    lines = [f'<testsuites><testsuite name="s" tests="{cases}" failures="{cases // 100}">']
    for n in range(cases):
        head = f'<testcase classname="tests.test_{n % 50}" name="test_{n}" time="0.001"'
        if n % 100:
            lines.append(head + "/>")
            continue
        lines.append(
            f'{head}><failure message="assert {n} == 1">&gt; assert {n} == 1\n\n'
            f"tests/test_{n % 50}.py:{n + 1}: AssertionError</failure></testcase>"
        )
    return "\n".join([*lines, "</testsuite></testsuites>"]).encode()


def tsc(lines: int = 100_000) -> bytes:
    """`lines` different errors."""
    return "".join(
        f"src/app/(auth)/page_{n % 300}.tsx({n % 900 + 1},{n % 70 + 1}): error TS2322: "
        f"Type 'Value{n}' is not assignable to type 'string'.\n"
        for n in range(lines)
    ).encode()


_LINE = re.compile(r"^(.+?)\((\d+),(\d+)\): (error|warning) (TS\d+): (.*)$")


def plain_lines(data: bytes) -> object:
    """One regex over each line, keeping what it finds."""
    lines = data.decode().splitlines()
    return [found.groups() for line in lines if (found := _LINE.match(line))]


@dataclass(frozen=True)
class Case:
    name: str
    format: Format
    data: bytes
    plain: Callable[[bytes], object]


def _seconds(action: Callable[[], object]) -> float:
    gc.collect()
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _peak(action: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measure(case: Case) -> tuple[float, float, int, int]:
    """Best seconds and peak bytes: (plain, ours, plain, ours)."""
    run = ToolRun(format=case.format, exit_code=1, root="/repo", max_bytes=MAX_BYTES)

    def plain() -> object:
        return case.plain(case.data)

    def ours() -> object:
        return read_report(case.data, run)

    rounds = [(_seconds(plain), _seconds(ours)) for _ in range(ROUNDS)]
    return min(r[0] for r in rounds), min(r[1] for r in rounds), _peak(plain), _peak(ours)


def main() -> int:
    parser = argparse.ArgumentParser(description="Reading large reports beside their plain parse.")
    parser.add_argument("--check", action="store_true", help=f"fail beyond {LIMIT} times")
    check = parser.parse_args().check
    cases = [
        Case("SARIF, 10,000 results", Format.SARIF, sarif(), json.loads),
        Case("JUnit, 50,000 cases", Format.JUNIT, junit(), ElementTree.fromstring),
        Case("tsc, 100,000 lines", Format.TSC, tsc(), plain_lines),
    ]
    print(f"{'report':24}{'MB':>6}{'plain s':>9}{'read s':>9}{'times':>7}", end="")
    print(f"{'plain MB':>10}{'read MB':>9}{'times':>7}")
    worst = 0.0
    for case in cases:
        plain_s, ours_s, plain_b, ours_b = measure(case)
        ratios = ours_s / plain_s, ours_b / plain_b
        worst = max(worst, *ratios)
        print(f"{case.name:24}{len(case.data) / 1e6:6.1f}", end="")
        print(f"{plain_s:9.3f}{ours_s:9.3f}{ratios[0]:7.2f}", end="")
        print(f"{plain_b / 1e6:10.1f}{ours_b / 1e6:9.1f}{ratios[1]:7.2f}")
    return int(check and worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
