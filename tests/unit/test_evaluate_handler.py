"""The handler of the Evaluate RPC: messages, words, previous results, errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum

import pytest
from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.json_format import MessageToDict

from steelyard.errors import InvalidInputError, NotFoundError, PreconditionError
from steelyard.server import evaluate_words
from steelyard.server.evaluate import EVALUATE, StoredResults, evaluate_handlers
from steelyard.server.words import WordTable
from steelyard.v1 import evaluate_pb2 as pb
from tests.support.evaluation_doors import Request, Run, call, request_message

CONTRACT = {
    "contractId": "sprint-1",
    "specId": "spec-1",
    "successCriteria": [{"criterionId": "sc-1", "description": "d", "verificationMethod": "lint"}],
    "strategies": [{"strategy": "typecheck", "format": "tsc"}],
    "nonGoals": ["n"],
}
TSC = b"src/a.ts(3,5): error TS2304: Cannot find name 'A'.\n"
JUDGEMENTS = {
    "judgements": [
        {"criterionId": "sc-1", "result": "fail", "evidence": "no", "file": "a.ts", "line": 3}
    ],
    "regressions": [{"description": "r", "severity": "major", "affectedFiles": ["b.ts"]}],
    "nonGoals": [{"nonGoal": 0, "breached": True}],
    "feedback": [{"description": "d", "priority": "low", "category": "quality", "ruleId": "x"}],
}
REQUEST = Request(CONTRACT, (Run("typecheck", TSC, None, 2),), JUDGEMENTS)


def ask(
    message: pb.EvaluateRequest, stored: StoredResults | None = None, moment: datetime | None = None
) -> pb.EvaluateResponse:
    clock = moment or datetime(2026, 1, 31, 12, tzinfo=UTC)
    handler = evaluate_handlers(stored, lambda: clock)[EVALUATE]
    answer = handler.call(message.SerializeToString(), None)  # type: ignore[arg-type]  # unary, needs no context
    assert isinstance(answer, bytes)
    return pb.EvaluateResponse.FromString(answer)


TABLES = {
    name: table for name, table in vars(evaluate_words).items() if isinstance(table, WordTable)
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_word_tables_cover_both_sides(table: WordTable[StrEnum, int]) -> None:
    enum: EnumDescriptor = next(
        e
        for e in pb.DESCRIPTOR.enum_types_by_name.values()
        if set(table.values.values()) < set(e.values_by_number)
        and _names(e) == [_upper(word) for word in table.values]
    )
    assert set(table.values.values()) == set(enum.values_by_number) - {0}
    words = type(next(iter(table.values)))
    assert set(table.values) == set(words)
    for word, value in table.values.items():
        assert table.word(value, "p") is word
    for value in (0, 99):
        with pytest.raises(InvalidInputError, match="p: must be one of"):
            table.word(value, "p")


def _names(enum: EnumDescriptor) -> list[str]:
    prefix = "".join(f"_{c}" if c.isupper() else c for c in enum.name).lstrip("_").upper()
    return [v.name.removeprefix(f"{prefix}_") for v in enum.values if v.number]


def _upper(word: str) -> str:
    return word.upper().replace("-", "_")


def test_there_is_a_table_for_every_enum() -> None:
    assert len(TABLES) == len(pb.DESCRIPTOR.enum_types_by_name)


def test_the_message_says_what_the_document_says() -> None:
    message = request_message(REQUEST)
    message.outputs.append(pb.EVAL_OUTPUT_FORMAT_JSON)
    response = ask(message)
    document = json.loads(response.outputs[0].content)
    plain = MessageToDict(response.result, always_print_fields_with_no_presence=True)
    for name in ("evalId", "contractId", "specId", "timestamp", "iteration", "score", "summary"):
        assert plain[name] == document[name]
    assert [r["code"] for r in plain["reasons"]] == [
        f"EVAL_REASON_CODE_{reason['code']}" for reason in document["reasons"]
    ]
    for item, written in zip(
        plain["generatorFeedback"], document["generatorFeedback"], strict=True
    ):
        assert item["priority"] == f"FEEDBACK_PRIORITY_{written['priority'].upper()}"
        assert item.get("location", {}).get("file") == written.get("file")
        assert item.get("location", {}).get("line") == written.get("line")
        for name in ("description", "expected", "fingerprint"):
            assert item[name] == written[name]
    for name in ("strategyResults", "criteriaResults", "regressions"):
        assert len(plain[name]) == len(document[name])


def test_violations_come_back_with_json_paths() -> None:
    paths = [violation.path for violation in ask(request_message(REQUEST)).violations]
    assert "judgements[0].evidence" in paths


def test_rejecting_lint_is_an_error() -> None:
    message = request_message(REQUEST)
    message.lint = pb.JUDGEMENT_LINT_REJECT
    with pytest.raises(InvalidInputError, match="violations of the feedback rules"):
        ask(message)


def test_the_answer_is_a_previous_result_of_the_next_round() -> None:
    first = ask(request_message(REQUEST)).result
    message = request_message(REQUEST)
    message.iteration = 2
    message.previous.CopyFrom(first)
    second = ask(message).result
    states = {item.state for item in second.generator_feedback}
    assert states == {pb.FEEDBACK_STATE_PERSISTING}
    assert second.progress.previous_eval_id == "eval-sprint-1-1"
    assert second.progress.same_failure_rounds == 2


def test_a_message_and_a_stored_document_are_the_same_previous_result() -> None:
    message = request_message(REQUEST)
    message.outputs.append(pb.EVAL_OUTPUT_FORMAT_CANONICAL)
    first = ask(message)
    message.iteration = 2
    message.previous.CopyFrom(first.result)
    inline = ask(message)
    message.previous_eval_id = "eval-sprint-1-1"
    stored = ask(message, {"eval-sprint-1-1": first.outputs[0].content.decode()}.__getitem__)
    assert stored == inline


def test_a_stored_result_needs_a_store_that_has_it() -> None:
    message = request_message(REQUEST)
    message.previous_eval_id = "eval-sprint-1-1"
    with pytest.raises(PreconditionError):
        ask(message)

    def missing(_eval_id: str) -> str:
        raise NotFoundError("EVAL_RESULT_NOT_FOUND", "no such result")

    with pytest.raises(NotFoundError):
        ask(message, missing)


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 1, 31, 12, 0, 0, 999, tzinfo=UTC),
        datetime(2026, 1, 31, 14, 0, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_a_request_without_a_timestamp_is_dated_by_the_clock(moment: datetime) -> None:
    message = request_message(REQUEST)
    message.timestamp = ""
    assert ask(message, moment=moment).result.timestamp == "2026-01-31T12:00:00.000Z"


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        (lambda m: m.ClearField("contract"), "contract.contractId", "BLANK"),
        (lambda m: m.ClearField("iteration"), "iteration", "OUT_OF_RANGE"),
        (lambda m: setattr(m, "timestamp", "now"), "timestamp", "MALFORMED"),
        (lambda m: setattr(m, "lint", 0), "lint", "ENUM_INVALID"),
        (lambda m: m.outputs.append(0), "outputs[0]", "ENUM_INVALID"),
        (lambda m: m.outputs.append(99), "outputs[0]", "ENUM_INVALID"),
        (lambda m: setattr(m.runs[0], "format", 0), "runs[0].format", "ENUM_INVALID"),
        (lambda m: setattr(m.runs[0], "strategy", ""), "runs[0].strategy", "MALFORMED"),
        (lambda m: setattr(m.runs[0], "max_items", -1), "runs[0].maxItems", "OUT_OF_RANGE"),
        (
            lambda m: setattr(m.contract.strategies[0], "format", 99),
            "contract.strategies[0].format",
            "ENUM_INVALID",
        ),
        (lambda m: m.judgements[0].ClearField("result"), "judgements[0].result", "ENUM_INVALID"),
        (
            lambda m: m.regressions[0].ClearField("severity"),
            "regressions[0].severity",
            "ENUM_INVALID",
        ),
        (lambda m: m.non_goals[0].ClearField("index"), "nonGoals[0].nonGoal", "MISSING"),
        (lambda m: setattr(m.feedback[0], "priority", 0), "feedback[0].priority", "ENUM_INVALID"),
        (lambda m: setattr(m.feedback[0], "category", 9), "feedback[0].category", "ENUM_INVALID"),
        (
            lambda m: setattr(m.feedback[0].location, "line", 3),
            "feedback[0].file",
            "BLANK",
        ),
    ],
)
def test_refuses_with_the_json_path(change: object, path: str, reason: str) -> None:
    message = request_message(REQUEST)
    assert callable(change)
    change(message)
    with pytest.raises(InvalidInputError) as refused:
        ask(message)
    (violation,) = refused.value.violations
    assert (violation.path, violation.reason) == (path, reason)


@pytest.mark.parametrize("request_", [b"\xff\xff\xff", b"\x0a\x05abc"])
def test_refuses_bytes_that_are_no_message(request_: bytes) -> None:
    with pytest.raises(InvalidInputError) as refused:
        call(request_)
    assert refused.value.reason == "MALFORMED_MESSAGE"
