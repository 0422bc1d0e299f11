"""`steelyard evaluate`: options, exit codes, formats, and what people see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from steelyard.cli import main
from steelyard.evaluation import OutputFormat

CONTRACT = {
    "contractId": "sprint-1",
    "specId": "spec-1",
    "successCriteria": [
        {"criterionId": "sc-1", "description": "It builds.", "verificationMethod": "build"}
    ],
}
TSC = "src/a.ts(3,5): error TS2304: Cannot find name '[bold]A[/bold]\x1b[31m'.\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "contract.json").write_text(json.dumps(CONTRACT))
    (tmp_path / "tsc.txt").write_text(TSC)
    (tmp_path / "empty.txt").write_text("")
    ruling = [{"criterionId": "sc-1", "passed": True, "evidence": "make: exit 0"}]
    (tmp_path / "judgements.json").write_text(json.dumps(ruling))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["evaluate", "contract.json", *arguments])


PASS = ("--judgements", "judgements.json")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (PASS, 0),
        ((*PASS, "--strategy", "tsc:required=empty.txt@tsc", "--exit-code", "tsc=0"), 0),
        ((*PASS, "--strategy", "build:required", "--exit-code", "build=0"), 0),
        ((*PASS, "--exit-code", "build=1"), 0),
        ((*PASS, "--strategy", "tsc=tsc.txt"), 0),
        ((), 1),
        ((*PASS, "--strategy", "tsc:required=tsc.txt", "--exit-code", "tsc=2"), 1),
        ((*PASS, "--strategy", "build:required", "--exit-code", "build=1"), 1),
        ((*PASS, "--strategy", "build:required"), 1),
        ((*PASS, "--out", "yaml"), 2),
        ((*PASS, "--strategy", "=x"), 2),
        ((*PASS, "--strategy", "tsc=missing.txt"), 2),
        ((*PASS, "--strategy", "tsc=tsc.txt@tcs"), 2),
        ((*PASS, "--exit-code", "tsc"), 2),
        ((*PASS, "--exit-code", "a=1", "--exit-code", "a=2"), 2),
        ((*PASS, "--exit-code", "a=" + "9" * 40), 2),
        (("--judgements", "missing.json"), 2),
        (("--judgements", "tsc.txt"), 2),
        (("--judgements", "."), 2),
        (("--previous", "judgements.json"), 2),
        ((*PASS, "--iteration", "0"), 2),
        ((*PASS, "--timestamp", "yesterday"), 2),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.exception is None or isinstance(done.exception, SystemExit)) == (
        code,
        True,
    )
    if code == 2:
        assert done.stdout == ""
        assert done.stderr


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", list(OutputFormat))
def test_every_format_goes_to_standard_output(form: OutputFormat) -> None:
    arguments = (*PASS, "--timestamp", "2026-01-31T12:00:00Z", "--out", form.value)
    first, second = run(*arguments), run(*arguments)
    assert first.exit_code == 0
    assert first.stdout_bytes == second.stdout_bytes
    assert b"sprint-1" in first.stdout_bytes or form == OutputFormat.RDJSONL


@pytest.mark.usefixtures("folder")
def test_a_table_for_people_without_colours_or_anything_of_others_in_a_pipe() -> None:
    done = run(*PASS, "--strategy", "tsc:required=tsc.txt", "--exit-code", "tsc=2")
    assert "eval-sprint-1-1: FAIL" in done.stdout
    assert "REQUIRED_STRATEGY_FAILED" in done.stdout
    assert "src/a.ts:3" in done.stdout
    assert "[bold]A[/bold]" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.usefixtures("folder")
def test_violations_are_told(folder: Path) -> None:
    weak = [{"criterionId": "sc-1", "passed": True, "evidence": "build green"}]
    (folder / "weak.json").write_text(json.dumps(weak))
    table = run("--judgements", "weak.json")
    assert "EVIDENCE_BARE_STATUS" in table.stdout
    document = run("--judgements", "weak.json", "--out", "json")
    assert document.exit_code == 0
    assert "judgements[0].evidence: EVIDENCE_BARE_STATUS" in document.stderr
    assert json.loads(document.stdout)["overallResult"] == "pass"
    rejected = run("--judgements", "weak.json", "--lint", "reject")
    assert rejected.exit_code == 2
    assert "LINT_REJECTED" in rejected.stderr


def test_the_next_round_follows_the_previous_one(folder: Path) -> None:
    strategy = ("--strategy", "tsc:required=tsc.txt", "--exit-code", "tsc=2", "--out", "json")
    for number in (1, 2, 3):
        more = ("--previous", f"{number - 1}.json") if number > 1 else ()
        done = run(*PASS, *strategy, *more)
        (folder / f"{number}.json").write_text(done.stdout)
    third = json.loads((folder / "3.json").read_text())
    assert third["iteration"] == 3
    assert third["progress"]["stalled"] is True
    assert [item["state"] for item in third["generatorFeedback"]] == ["persisting"]
    table = run(*PASS, "--previous", "3.json")
    assert "Since eval-sprint-1-3: 0 fixed, 1 not looked for" in table.stdout


@pytest.mark.usefixtures("folder")
def test_absolute_paths_are_relative_to_the_root(folder: Path) -> None:
    (folder / "abs.txt").write_text(f"{folder}/src/b.ts(9,1): error TS2304: Cannot find 'x'.\n")
    for more, place in (((), "src/b.ts"), (("--root", "/elsewhere"), None)):
        done = run(*PASS, "--strategy", "tsc=abs.txt@tsc", *more, "--out", "json")
        assert json.loads(done.stdout)["generatorFeedback"][0].get("file") == place


@pytest.mark.usefixtures("folder")
def test_a_file_name_with_an_at_sign_and_no_format(folder: Path) -> None:
    (folder / "report@2").write_text(TSC)
    done = run(*PASS, "--strategy", "tsc=report@2", "--exit-code", "tsc=2", "--out", "json")
    assert json.loads(done.stdout)["strategyResults"][0]["errorCount"] == 1
