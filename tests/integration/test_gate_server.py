"""`steelyard gate --server`: the workers run here, a server judges, the report is the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from steelyard.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples" / "gate"
# Beside these a report holds what differs from run to run: times, ids, durations.
JUDGED = ("verdict", "reasons", "precheck", "source_rubric", "genome_comparison")


def gated(project: Path, squad: str, *flags: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, ["gate", str(project), "--squad", squad, "--json", *flags])
    return result.exit_code, json.loads(result.stdout)["report"]


@pytest.mark.parametrize(
    ("squad", "code"),
    [("notes-pass", 0), ("notes-warn", 0), ("notes-regression", 1), ("notes-unverified", 2)],
)
def test_a_server_judges_like_this_process(
    tmp_path: Path, server_address: str, squad: str, code: int
) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES, project, ignore=shutil.ignore_patterns("evals"))
    here = gated(project, squad)
    there = gated(project, squad, "--server", server_address)
    assert here[0] == there[0] == code
    assert [here[1][name] for name in JUDGED] == [there[1][name] for name in JUDGED]
    report = max((project / ".aioson" / "squads" / squad / "evals").glob("eval-*.json"))
    verified = CliRunner().invoke(main, ["verify", str(report), "--project", str(project)])
    assert verified.exit_code == 0, verified.output


def test_a_judge_out_of_reach_writes_no_report(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES, project, ignore=shutil.ignore_patterns("evals"))
    flags = ["gate", str(project), "--squad", "notes-pass", "--server", "127.0.0.1:1"]
    result = CliRunner().invoke(main, flags)
    assert result.exit_code == 3
    assert "UNAVAILABLE" in result.stderr
    assert not (project / ".aioson" / "squads" / "notes-pass" / "evals").exists()
