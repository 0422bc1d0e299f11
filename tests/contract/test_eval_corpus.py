"""The real results of another project: every one is linted, and the counts of each kind stand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from steelyard.cli import main
from steelyard.evaluation import parse_contract
from steelyard.evaluation.schema import validator

CORPUS = Path(
    os.environ.get("STEELYARD_CORPUS", Path(__file__).parents[2].parent / "shared" / "corpus")
)
RESULTS = sorted(map(str, CORPUS.glob("eval-results/*.json")))

pytestmark = pytest.mark.skipif(
    not RESULTS, reason="needs the corpus of real results: set STEELYARD_CORPUS to its folder"
)

# kind: (violations, documents), without the contracts
COUNTS = {
    "FIELD_MISSING": (1597, 167),
    "EVIDENCE_MISSING": (88, 18),
    "SUMMARY_LENGTH": (75, 75),
    "CRITERIA_RESULTS_MISSING": (49, 49),
    "EXPECTED_MISSING": (30, 21),
    "LINE_NOT_INTEGER": (19, 14),
    "EVIDENCE_POINTER_ONLY": (12, 2),
    "EVIDENCE_BARE_STATUS": (9, 9),
    "ENUM_DRIFT": (7, 7),
    "FILE_NOT_A_PATH": (4, 4),
    "WRONG_TYPE": (4, 2),
    "COUNTS_CONTRADICT": (2, 1),
}

# kind: (violations, documents) before the repair and after it, with the contracts
REPAIRED = {
    "FIELD_MISSING": ((1597, 167), (631, 139)),
    "EVIDENCE_BELOW_STANDARD": ((243, 90), (243, 90)),
    "EVIDENCE_MISSING": ((88, 18), (88, 18)),
    "SUMMARY_LENGTH": ((75, 75), (75, 75)),
    "CRITERIA_RESULTS_MISSING": ((49, 49), (49, 49)),
    "EXPECTED_MISSING": ((30, 21), (30, 21)),
    "LINE_NOT_INTEGER": ((19, 14), (0, 0)),
    "EVIDENCE_POINTER_ONLY": ((12, 2), (12, 2)),
    "EVIDENCE_BARE_STATUS": ((9, 9), (9, 9)),
    "ENUM_DRIFT": ((7, 7), (6, 6)),
    "FILE_NOT_A_PATH": ((4, 4), (0, 0)),
    "WRONG_TYPE": ((4, 2), (4, 2)),
    "COUNTS_CONTRADICT": ((3, 2), (3, 2)),
    "CRITERION_UNKNOWN": ((3, 1), (3, 1)),
    "CRITERION_UNJUDGED": ((1, 1), (1, 1)),
}


def lint(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["lint", *RESULTS, "--json", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.exit_code == 1
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def counts(summary: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {
        kind: (count["violations"], count["documents"]) for kind, count in summary["byKind"].items()
    }


def test_every_result_is_linted_in_one_run() -> None:
    summary = lint()["summary"]
    assert summary["documents"] == len(RESULTS) == 186
    assert counts(summary) == COUNTS
    assert (summary["schemaValid"], summary["withoutViolations"]) == (15, 10)


def test_a_repair_with_the_contracts_raises_the_valid_share_and_says_what_it_changed() -> None:
    document = lint("--contracts", str(CORPUS / "contracts"), "--repair")
    before, after = document["summary"], document["summaryAfter"]
    kinds = {kind: (pair, counts(after).get(kind, (0, 0))) for kind, pair in counts(before).items()}
    assert kinds == REPAIRED
    assert set(counts(after)) <= set(kinds)
    assert (before["schemaValid"], after["schemaValid"]) == (15, 44)
    assert (before["withoutViolations"], after["withoutViolations"]) == (1, 4)
    changes = [change for result in document["results"] for change in result["repairs"]]
    members = [change["path"].rpartition(".")[2] for change in changes]
    assert {name: members.count(name) for name in members} == {
        "description": 744,
        "required": 222,
        "line": 19,
        "file": 4,
        "criterionId": 3,
        "result": 1,
    }
    assert all(change["message"] for change in changes)


def test_every_contract_is_read_and_satisfies_the_published_schema() -> None:
    contracts = sorted(CORPUS.glob("contracts/*.json"))
    assert len(contracts) == 176
    for file in contracts:
        value = json.loads(file.read_text())
        contract = parse_contract(value)
        assert contract.contract_id == file.stem
        assert contract.criteria
        assert list(validator("contract").iter_errors(value)) == []
