"""Task documents: the schema, what is read, and what `steelyard score --task` prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import steelyard
from steelyard.cli.task import score_task_file
from steelyard.errors import (
    InvalidInputError,
    LimitError,
    NotFoundError,
    PreconditionError,
    SteelyardError,
)
from steelyard.scoring.policy import TASK_EVALUATION, Policy
from steelyard.scoring.task_document import kept_document
from steelyard.scoring.task_input import evaluate_document, input_schema

SCHEMA_FILE = Path(steelyard.__file__).parent / "schemas" / "task-evaluation-input.schema.json"
CATEGORIES = ("agentPerformance", "taskOutcomeQuality", "processCompliance")
DRAFT = {
    "title": "Fix the failing test",
    "description": "One test of the login module fails since the change.",
    "reason": "The workflow step failed.",
    "evidenceRefs": ["workflow-1"],
}


def policy_of(name: str, version: int) -> Policy:
    if name != "task-evaluation":
        raise NotFoundError.at("policy", "POLICY_NOT_FOUND", name)
    return TASK_EVALUATION


def document(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "taskId": "FN-1",
        "deterministic": dict(zip(CATEGORIES, (69, 96, 14), strict=True)),
        "ai": {
            name: {"score": score, "rationale": "r"}
            for name, score in zip(CATEGORIES, (90, 98, 13), strict=True)
        },
    }
    return {name: value for name, value in (given | changes).items() if value is not ...}


def evaluate(value: Any) -> dict[str, Any]:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    evaluated = evaluate_document(data, policy_of)
    answer: dict[str, Any] = kept_document(evaluated.kept, persisted=evaluated.persisted)
    return answer


def refused(value: Any) -> tuple[str, str, str]:
    with pytest.raises(SteelyardError) as caught:
        evaluate(value)
    violations = caught.value.violations
    return violations[0].path if violations else "", caught.value.reason, caught.value.message


def test_the_published_schema_is_the_one_of_the_models() -> None:
    published = json.loads(SCHEMA_FILE.read_text("utf-8"))
    assert published == input_schema()
    jsonschema.Draft202012Validator.check_schema(published)


FULL = {
    "taskId": "FN-1",
    "runId": "ER-1",
    "policy": {"name": "task-evaluation", "version": 1},
    "evidence": {
        "taskMetadata": [{"label": "FN-1", "excerpt": "lone \ud800 and \x00"}],
        "commits": [{"sha": "abc1234", "authorName": "Dev"}],
        "workflow": [{"status": "failed", "durationMs": 7}],
        "reviews": [{"status": "approved"}],
        "documents": [{"label": "README.md"}],
        "taskActivity": [{"severity": "warning"}],
        "agentLogs": [{"timestamp": "2026-05-01T02:00:00Z"}],
        "runAudit": [{"id": "run-audit-7"}],
        "dropped": {"reviews": 2},
    },
    "ai": {
        "agentPerformance": {"score": 80, "rationale": "r", "evidence": ["commit-abc1234"]},
        "taskOutcomeQuality": {"samples": [70, 80, 90]},
        "processCompliance": {"score": 60},
    },
    "claim": {"finalScores": {"agentPerformance": 44}},
    "followUpDrafts": [DRAFT, None, {"title": 7}],
    "openTasks": [{"taskId": "T-1", "title": "Other", "column": "doing"}],
    "policyMode": "create_all_non_duplicates",
}


def test_a_full_document() -> None:
    jsonschema.validate(FULL, input_schema(), cls=jsonschema.Draft202012Validator)
    answer = evaluate(FULL)
    assert (answer["persisted"], answer["replayed"]) == (False, False)
    evaluation = answer["evaluation"]
    assert evaluation["deterministicSignals"]["workflowFailed"] == 1
    assert evaluation["deterministicSignals"]["timingEntries"] == 1
    metadata = evaluation["evidenceBundle"]["taskMetadata"][0]
    assert metadata["excerpt"] == "lone \ufffd and \ufffd"
    assert metadata["repaired"] is True
    assert evaluation["evidenceBundle"]["dropped"]["reviews"] == 2
    assert evaluation["evidenceBundle"]["runAudit"][0]["id"] == "run-audit-7"
    assert [item["state"] for item in evaluation["followUps"]] == [
        "suggested",
        "suppressed",
        "suppressed",
    ]
    assert evaluation["runId"] == "ER-1"


def test_signals_and_a_raw_reply() -> None:
    category = {"score": 80, "rationale": "r", "evidence": ["workflow-1"]}
    reply = "```json\n" + json.dumps({"categories": dict.fromkeys(CATEGORIES, category)}) + "\n```"
    answer = evaluate(
        document(
            deterministic=...,
            signals={"workflowTotal": 1, "workflowPassed": 1, "reviewStatus": "approved"},
            ai=...,
            aiReply=reply,
        )
    )
    assert answer["evaluation"]["provenance"]["deterministicSource"] == "signals"
    assert answer["evaluation"]["provenance"]["aiSource"] == "reply"


@pytest.mark.parametrize(
    ("changes", "path", "reason"),
    [
        ({"taskId": ...}, "taskId", "FIELD_INVALID"),
        ({"taskId": 7}, "taskId", "FIELD_INVALID"),
        ({"taskId": "\ud800"}, "taskId", "ID_INVALID"),
        ({"extra": 1}, "extra", "FIELD_INVALID"),
        ({"task_id": "x"}, "task_id", "FIELD_INVALID"),
        ({"ai": ...}, "ai", "INPUT_MISSING"),
        ({"deterministic": ...}, "deterministic", "INPUT_MISSING"),
        ({"signals": {}}, "signals", "INPUT_AMBIGUOUS"),
        ({"aiReply": "x"}, "aiReply", "INPUT_AMBIGUOUS"),
        ({"ai": ..., "aiReply": "x"}, "aiReply", "REPLY_WITHOUT_OBJECT"),
        (
            {"policyMode": "persist_only", "projectSetting": "off"},
            "projectSetting",
            "INPUT_AMBIGUOUS",
        ),
        ({"projectSetting": "auto-create"}, "projectSetting", "FIELD_INVALID"),
        (
            {"deterministic": {"agentPerformance": 80.0}},
            "deterministic.agentPerformance",
            "FIELD_INVALID",
        ),
        (
            {"deterministic": {"agentPerformance": True}},
            "deterministic.agentPerformance",
            "FIELD_INVALID",
        ),
        (
            {"deterministic": {"agentPerformance": "80"}},
            "deterministic.agentPerformance",
            "FIELD_INVALID",
        ),
        ({"deterministic": {}}, "deterministic", "CATEGORY_MISSING"),
        ({"ai": {"agentPerformance": {}}}, "ai.agentPerformance", "SCORE_MISSING"),
        (
            {"ai": {"agentPerformance": {"score": 1, "samples": [1]}}},
            "ai.agentPerformance",
            "SCORE_AMBIGUOUS",
        ),
        (
            {"evidence": {"taskActivity": [{"severity": "fatal"}]}},
            "evidence.taskActivity[0].severity",
            "FIELD_INVALID",
        ),
        (
            {"evidence": {"agentLogs": [{}, {"durationMs": -1}]}},
            "evidence.agentLogs[1].durationMs",
            "COUNT_OUT_OF_RANGE",
        ),
        ({"claim": {"overallScore": 1}}, "claim.overallScore", "OVERALL_MISMATCH"),
        (
            {"claim": {"finalScores": {"agentPerformance": 1}}},
            "claim.finalScores.agentPerformance",
            "FINAL_MISMATCH",
        ),
        ({"openTasks": [{"taskId": ""}]}, "openTasks[0].taskId", "REQUIRED"),
        ({"followUpDrafts": [DRAFT] * 101}, "followUpDrafts", "TOO_MANY_ENTRIES"),
        ({"policy": {"name": "x"}}, "policy", "POLICY_NOT_FOUND"),
        ({"persist": "yes"}, "persist", "FIELD_INVALID"),
        ({"persist": True}, "persist", "STORE_NOT_CONFIGURED"),
    ],
)
def test_refusals_name_the_member_as_it_is_written(
    changes: dict[str, Any], path: str, reason: str
) -> None:
    found, why, message = refused(document(**changes))
    assert (found, why) == (path, reason)
    assert message.startswith(f"{path}: ")


def test_persisting_without_a_store_is_a_precondition() -> None:
    with pytest.raises(PreconditionError):
        evaluate(document(persist=True))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "NOT_JSON"),
        (b"{", "NOT_JSON"),
        (b"\xff", "NOT_JSON"),
        (b"[" * 100_000, "NOT_JSON"),
        (b'{"taskId": NaN}', "NOT_JSON"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "NOT_JSON"),
        (b'{"taskId": "a", "taskId": "b"}', "DUPLICATE_KEY"),
        (b"[]", "FIELD_INVALID"),
    ],
)
def test_what_is_no_document(data: bytes, reason: str) -> None:
    assert refused(data)[1] == reason


def test_a_document_that_is_too_large() -> None:
    with pytest.raises(LimitError):
        evaluate(b" " * (32 * 1024 * 1024 + 1))


def test_the_command_prints_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "task.json"
    hostile = DRAFT | {"title": "Fix \x1b[31mred[/] [bold]test"}
    evidence = {"workflow": [{"status": "failed"}]}
    file.write_text(json.dumps(document(evidence=evidence, followUpDrafts=[hostile])))
    score_task_file(str(file), policy_of, as_json=False)
    printed = capsys.readouterr().out
    rows = [line.replace("│", " ").split() for line in printed.splitlines()]
    assert ["FN-1", "70", "acceptable"] in rows
    assert ["agentPerformance", "69", "90", "75", "strong", "30", "%", "none"] in rows
    assert "\x1b" not in printed
    assert "[bold]" in printed


def test_the_command_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "task.json"
    file.write_text(json.dumps(document()))
    score_task_file(str(file), policy_of, as_json=True)
    printed = capsys.readouterr().out
    assert json.loads(printed) == evaluate(document())


def test_the_command_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no-such-file"):
        score_task_file(str(tmp_path / "no-such-file"), policy_of, as_json=True)
    with pytest.raises(InvalidInputError):
        score_task_file("/dev/null", policy_of, as_json=True)
