"""`steelyard lint`: many documents in one run, repairs that never touch the original."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from steelyard.cli import main

CONTRACT = {
    "contractId": "sprint-1",
    "specId": "spec-1",
    "successCriteria": [
        {"criterionId": "sc-1", "description": "It builds.", "verificationMethod": "build"}
    ],
}
RESULT: dict[str, Any] = {
    "evalId": "eval-sprint-1-1",
    "contractId": "sprint-1",
    "specId": "spec-1",
    "timestamp": "2026-01-31T12:00:00Z",
    "iteration": 1,
    "overallResult": "pass",
    "score": {
        "criteriaTotal": 1,
        "criteriaPassed": 1,
        "criteriaFailed": 0,
        "criteriaSkipped": 0,
        "requiredPassed": 1,
        "requiredFailed": 0,
        "requiredTotal": 1,
    },
    "strategyResults": [],
    "criteriaResults": [{"criterionId": "sc-1", "result": "pass", "evidence": "make: exit 0"}],
    "regressions": [],
    "generatorFeedback": [],
    "summary": "All passed. Nothing is left.",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "sprint-1.json").write_text(json.dumps(CONTRACT))
    (tmp_path / "a.json").write_text(json.dumps(RESULT))
    (tmp_path / "broken.json").write_text('{"evalId": ')
    (tmp_path / "escape.json").write_text(json.dumps({**RESULT, "contractId": "../a"}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["lint", *arguments])


REPAIR = ("--contracts", "contracts", "--repair")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("a.json",), 1),
        (("a.json", *REPAIR), 0),
        (("a.json", "broken.json", *REPAIR), 1),
        (("escape.json", *REPAIR), 1),
        (("missing.json",), 2),
        ((), 2),
        (("a.json", "--output", "out"), 2),
        (("a.json", "--contracts", "nowhere"), 2),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int) -> None:
    done = run(*arguments)
    assert done.exit_code == code
    assert done.exception is None or isinstance(done.exception, SystemExit)


@pytest.mark.usefixtures("folder")
def test_a_file_without_json_is_a_violation_among_the_others() -> None:
    done = run("a.json", "broken.json", "--json")
    document = json.loads(done.stdout)
    first, second = document["results"]
    assert [v["path"] for v in first["violations"]] == [
        "criteriaResults[0].description",
        "criteriaResults[0].required",
    ]
    assert [v["reason"] for v in second["violations"]] == ["UNREADABLE_JSON"]
    assert document["summary"] == {
        "documents": 2,
        "schemaValid": 0,
        "withoutViolations": 0,
        "byKind": {
            "FIELD_MISSING": {"violations": 2, "documents": 1},
            "UNREADABLE_JSON": {"violations": 1, "documents": 1},
        },
    }


def test_a_repair_says_what_it_changed_and_leaves_the_file_alone(folder: Path) -> None:
    before = (folder / "a.json").read_bytes()
    document = json.loads(run("a.json", *REPAIR, "--json").stdout)
    assert document["results"][0]["repairs"] == [
        {"path": "criteriaResults[0].description", "message": "filled in from the contract"},
        {"path": "criteriaResults[0].required", "message": "filled in from the contract"},
    ]
    assert (document["summary"]["schemaValid"], document["summaryAfter"]["schemaValid"]) == (0, 1)
    table = run("a.json", *REPAIR).stdout
    assert "a.json: criteriaResults[0].required: repaired filled in from the contract" in table
    assert "0 of 1 documents satisfy the schema, 1 after the repair" in table
    assert (folder / "a.json").read_bytes() == before


def test_repaired_documents_are_written_apart_and_never_over_anything(folder: Path) -> None:
    assert run("a.json", *REPAIR, "--output", "out").exit_code == 0
    repaired = json.loads((folder / "out" / "a.json").read_text())
    assert repaired["criteriaResults"][0]["description"] == "It builds."
    assert run("out/a.json", "--contracts", "contracts").exit_code == 0
    again = run("a.json", *REPAIR, "--output", "out")
    assert again.exit_code == 2
    assert "nothing is overwritten" in again.stderr
    assert run("a.json", *REPAIR, "--output", ".").exit_code == 2


@pytest.mark.usefixtures("folder")
def test_a_contract_id_cannot_name_another_file() -> None:
    document = json.loads(run("escape.json", *REPAIR, "--json").stdout)
    assert document["results"][0]["repairs"] == []


@pytest.mark.usefixtures("folder")
def test_no_colours_in_a_pipe() -> None:
    assert "\x1b" not in run("a.json", "broken.json").stdout
