"""Report files: complete, one per run, whole after any crash; and the examples that make them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from steelyard.cli import main
from steelyard.errors import InvalidInputError, UnavailableError
from steelyard.files import Folder
from steelyard.runner.reports import kept_records, write_report
from tests.support.processes import report
from tests.support.squad_project import COMMAND, SquadProject, run_processes

EXAMPLES = Path(__file__).parents[2] / "examples" / "gate"


@pytest.fixture
def project(tmp_path: Path) -> SquadProject:
    return SquadProject(tmp_path)


@pytest.mark.parametrize(
    ("squad", "verdict", "code", "reasons"),
    [
        ("notes-pass", "PASS", 0, []),
        ("notes-warn", "WARN", 0, ["BELOW_TARGET"]),
        ("notes-regression", "FAIL", 1, ["REGRESSED"]),
        ("notes-unverified", "UNVERIFIED", 2, ["NO_SCORER", "NOT_INDEPENDENT"]),
        pytest.param(
            "notes-node",
            "PASS",
            0,
            [],
            marks=pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
        ),
    ],
)
def test_examples(tmp_path: Path, squad: str, verdict: str, code: int, reasons: list[str]) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "project")
    result = CliRunner().invoke(main, ["gate", str(tmp_path / "project"), "--squad", squad])
    assert result.exit_code == code
    assert f"squad {squad}: {verdict}" in result.stdout
    folder = tmp_path / "project" / ".aioson" / "squads" / squad
    report = json.loads((folder / "evals" / "latest.json").read_text())
    assert report["verdict"] == verdict
    assert [reason["code"] for reason in report["reasons"]] == reasons
    (page,) = (folder / "docs").iterdir()
    assert page.name == f"EVAL-{report['generated_at'][:10]}.md"
    assert f"# Gate of {squad}: {verdict}" in page.read_text()


def test_a_failed_precheck_leaves_a_report_and_runs_nothing(project: SquadProject) -> None:
    project.worker("producer", "open('ran', 'w')")
    project.cases[0]["dimensions"]["grounding"]["threshold"] = 1.5
    project.write()
    report = project.gate()
    assert (report["verdict"], report["exit_code"]) == ("FAIL", 3)
    assert report["precheck"]["errors"][0]["path"].endswith("grounding.threshold")
    assert not (project.root / "ran").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["gate"],
        ["gate", "."],
        ["gate", ".", "--squad", "demo", "--jobs", "0"],
        ["gate", ".", "--squad", "demo", "--no-such-flag"],
        ["gate", ".", "--squad", "demo", "--attestation", "x.json"],
        ["gate", ".", "--squad", "../demo"],
        ["gate", ".", "--squad", "gone"],
        ["gate", "gone", "--squad", "demo"],
        ["gate", ".", "--squad", "demo", "--sign", "gone"],
        ["gate", ".", "--squad", "demo", "--trusted-keys", "gone"],
    ],
)
def test_wrong_usage_ends_with_3(
    project: SquadProject, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(project.root)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 3, result.output
    assert "Traceback" not in result.output
    assert not (project.squad / "evals").exists()


@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "a": 2}', "\ufeff{}", "[" * 100_000])
def test_a_manifest_that_cannot_be_read_ends_with_3(project: SquadProject, text: str) -> None:
    (project.squad / "squad.manifest.json").write_text(text)
    result = project.run()
    assert result.exit_code == 3
    assert not (project.squad / "evals").exists()


@pytest.mark.parametrize("value", [None, [], {}, "text", 5, {"evaluation": []}])
def test_a_manifest_of_any_shape_is_judged(project: SquadProject, value: object) -> None:
    project.manifest = value  # type: ignore[assignment]  # any JSON
    project.write()
    report = project.gate()
    assert (report["verdict"], report["exit_code"]) == ("FAIL", 3)


def test_reports_do_not_follow_a_link_out_of_the_squad(
    project: SquadProject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (project.squad / "evals").symlink_to(outside)
    result = project.run()
    assert result.exit_code == 3
    assert list(outside.iterdir()) == []


def test_a_project_reached_through_a_link_is_judged_the_same(
    project: SquadProject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    alias = tmp_path_factory.mktemp("alias") / "project"
    alias.symlink_to(project.root)
    direct = project.gate()
    project.root = alias
    linked = project.gate()
    assert linked["inputs"] == direct["inputs"]
    assert (
        linked["held_out"]["cases"][0]["dimensions"]
        == (direct["held_out"]["cases"][0]["dimensions"])
    )


def test_16_parallel_gates_of_one_squad_lose_nothing(project: SquadProject) -> None:
    processes = [project.start("--json", "--jobs", "1") for _ in range(16)]
    answers = []
    for process in processes:
        output, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
        answers.append(json.loads(output))
    files = {answer["files"]["report"] for answer in answers}
    runs = {answer["report"]["reproduction"]["run_id"] for answer in answers}
    assert (len(files), len(runs)) == (16, 16)
    for answer in answers:
        assert json.loads(Path(answer["files"]["report"]).read_text()) == answer["report"]
    newest = max(answer["report"]["generated_at"] for answer in answers)
    latest = json.loads((project.squad / "evals" / "latest.json").read_text())
    assert latest["generated_at"] == newest
    assert {record.run_id for record in kept_records(Folder.open(project.squad))} == runs
    pages = "".join(page.read_text() for page in (project.squad / "docs").iterdir())
    assert all(run in pages for run in runs)
    left = {path.name for path in (project.squad / "evals").iterdir()}
    assert left == {Path(file).name for file in files} | {"latest.json", ".lock"}


def test_reports_of_one_millisecond_have_names_of_their_own(tmp_path: Path) -> None:
    squad = Folder.open(tmp_path)
    names = [write_report(squad, report(number)).report.name for number in range(3)]
    stem = "eval-20260102T030405678Z"
    assert names == [f"{stem}.json", f"{stem}-2.json", f"{stem}-3.json"]


def test_an_older_report_does_not_become_the_latest(tmp_path: Path) -> None:
    squad = Folder.open(tmp_path)
    write_report(squad, report(1, "2026-01-02T03:04:06.000Z"))
    write_report(squad, report(2, "2026-01-02T03:04:05.000Z"))
    latest = json.loads((tmp_path / "evals" / "latest.json").read_text())
    assert latest["reproduction"]["run_id"] == "run 1"
    page = (tmp_path / "docs" / "EVAL-2026-01-02.md").read_text()
    assert "run 1" in page
    assert "run 2" in page


def test_a_broken_neighbour_stops_no_report(tmp_path: Path) -> None:
    squad = Folder.open(tmp_path)
    write_report(squad, report(1))
    (tmp_path / "evals" / "latest.json").write_text("{half")
    (tmp_path / "evals" / "eval-20260102T030405000Z.json").write_text("{half")
    write_report(squad, report(2))
    latest = json.loads((tmp_path / "evals" / "latest.json").read_text())
    assert latest["reproduction"]["run_id"] == "run 2"


def test_a_folder_that_refuses_is_an_error_not_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    write_report(Folder.open(tmp_path), report(1))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnavailableError) as caught:
        write_report(Folder.open(tmp_path), report(2))
    assert "No space left" in caught.value.message
    latest = json.loads((tmp_path / "evals" / "latest.json").read_text())
    assert latest["reproduction"]["run_id"] == "run 1"
    assert not list((tmp_path / "evals").glob(".*.tmp"))


def test_something_else_named_evals_is_refused(tmp_path: Path) -> None:
    (tmp_path / "evals").write_text("")
    with pytest.raises(InvalidInputError):
        write_report(Folder.open(tmp_path), report(1))


def test_kill_9_at_any_call_leaves_old_or_new_reports_whole(tmp_path: Path) -> None:
    seen = run_processes("report", tmp_path)
    assert all(state["whole"] for state in seen)
    latest = [state["latest"] for state in seen]
    assert latest == sorted(latest)
    assert latest.count("run 1") > 10
    assert latest.count("run 2") > 3
    # A report is kept before it becomes the latest, and leftovers go with the next writer.
    assert all(state["kept"] == 2 for state in seen if state["latest"] == "run 2")
    assert not [name for state in seen for name in state["left"] if name.endswith(".tmp")]


def test_kill_9_of_a_whole_gate_leaves_whole_reports(project: SquadProject) -> None:
    first = project.gate()
    for delay in (0.2, 0.5, 0.8, 1.0, 1.2):
        process = subprocess.Popen(
            [*COMMAND, "gate", str(project.root), "--squad", "demo"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        latest = json.loads((project.squad / "evals" / "latest.json").read_text())
        assert latest["verdict"] == "PASS"
        assert latest["generated_at"] >= first["generated_at"]
    assert project.gate()["verdict"] == "PASS"
