"""Hostile reports cost no more than three times their size, end soon, and never pass by chance.

Each case is read in a process of its own, under a CPU limit, and its peak memory is measured there.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hostile_reports import CASES

PROBE = Path(__file__).parents[1] / "support" / "hostile_reports.py"
SERVICE = Path(__file__).parents[2] / "service"
CPU_SECONDS = 120
WORKING_SET = 4 * 1024 * 1024
"""Bytes that reading takes however small the report: windows, buffers, arenas."""

MILLION = 1_000_000
# What must come out: reasons, and errors and warnings counted. Exit code 0 is claimed throughout.
UNREADABLE = (["REPORT_UNREADABLE"], 0, 0)
DISAGREES = "EXIT_CODE_DISAGREES"
SILENT: tuple[list[str], int, int] = ([], 0, 0)
EXPECTED: dict[str, tuple[list[str], int, int]] = {
    "sarif-200mb": (["REPORT_UNREADABLE", DISAGREES], 46_863, 0),
    "sarif-million": ([], 0, MILLION),
    "junit-many": ([DISAGREES], 200_000, 0),
    "eslint-dense": ([DISAGREES], 300_000, 0),
    "tsc-million": ([DISAGREES], MILLION, 0),
    "tsc-distinct": ([DISAGREES], 200_000, 0),
    "sarif-distinct": ([DISAGREES], 120_000, 0),
    "gcc-many": ([DISAGREES], 300_000, 0),
    "mypy-many": ([DISAGREES], 300_000, 0),
    "line-10mb-tsc": SILENT,
    "line-10mb-parens": SILENT,
    "line-10mb-colons": SILENT,
    "line-10mb-mypy": SILENT,
    "line-10mb-gcc": SILENT,
    "line-10mb-detect": SILENT,
    "ansi": SILENT,
    "ansi-unfinished": SILENT,
    "osc-unfinished": SILENT,
    "pytest-sections": ([DISAGREES], 200_000, 0),
    "pytest-summary": ([DISAGREES], 100_000, 0),
    "cargo-sections": ([DISAGREES], 100_000, 0),
    "traces": ([DISAGREES], 240, 0),
    "invalid-utf8-json": ([], 0, 100_000),
    "utf16": ([DISAGREES], 100_000, 0),
}


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def _probe(verb: str, name: str, file: Path) -> str:
    done = subprocess.run(
        [sys.executable, PROBE, verb, name, file],
        env={"PYTHONPATH": str(SERVICE)},
        preexec_fn=_limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", CASES)
def test_hostile_report(name: str, tmp_path: Path) -> None:
    file = tmp_path / "report"
    _probe("build", name, file)
    cost = json.loads(_probe("read", name, file))
    file.unlink()
    reasons, errors, warnings = EXPECTED.get(name, UNREADABLE)
    assert cost["reasons"] == reasons
    assert (cost["errors"], cost["warnings"]) == (errors, warnings)
    assert cost["counted"] + cost["dropped"] == errors + warnings
    assert cost["findings"] <= 200
    assert cost["passed"] is (not reasons)
    assert cost["bytes"] + cost["growth"] <= 3 * cost["bytes"] + WORKING_SET
