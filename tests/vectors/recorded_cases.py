"""The cases of ScoreTask, Evaluate, Gate and VerifyReport: requests by hand, answers recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import records_store
from google.protobuf.json_format import MessageToDict
from methods import KEY_REUSED, NO_RUN, RUN_FINISHED, Method
from tests.support import gate_world
from wire_format import DIGEST, RUN_ID, TIME, VERSION, Group, Status

from steelyard.server.gate_codec import evidence_message
from steelyard.server.table import HandlerTable
from steelyard.v1 import gate_pb2

TEXT = "^.+$"


REPLY = """{"categories": {
  "agentPerformance": {"score": 80, "rationale": "steady", "evidence": ["workflow-1"]},
  "taskOutcomeQuality": {"score": 70, "rationale": "works", "evidence": ["commit-abc1234"]},
  "processCompliance": {"score": 60, "rationale": "no docs", "evidence": ["made-up"]}
}}"""


def score_task(table: HandlerTable) -> Group:
    """One task in full."""
    shapes = {
        "evaluation.provenance.engineVersion": VERSION,
        "evaluation.provenance.engineDigest": DIGEST,
        "evaluation.runId": RUN_ID,
    }
    method = Method(table, "SteelyardService/ScoreTask", shapes)
    task = {
        "taskId": "FN-1",
        "aiReply": REPLY,
        "evidence": {
            "workflow": [{"status": "STEP_STATUS_PASSED"}],
            "commits": [{"sha": "abc1234", "subject": "Mend the Größe of 🚀"}],
        },
    }
    enum = Status.refused("ENUM_INVALID", "evidence.workflow[0].status")
    stored = records_store.FIRST
    other = records_store.task("FN-8", stored["runId"], records_store.EVEN)
    tampered = {"category": "agentPerformance", "finalScore": 99}
    unreasoned = {
        "categories": [
            {key: entry[key] for key in ("category", "score")}
            for entry in other["ai"]["categories"]
        ]
    }

    def with_status(status: int) -> dict[str, Any]:
        return {**task, "evidence": {"workflow": [{"status": status}]}}

    return method.group(
        "score_task",
        "One task evaluation in full.",
        method.answered("from_evidence", "Signals from evidence, scores from a reply.", task),
        method.refused(
            "claim_differs",
            "A claimed overall is recomputed, never trusted.",
            {**task, "claim": {"overallScore": 99}},
            Status.refused("OVERALL_MISMATCH", "claim.overall_score"),
        ),
        method.answered(
            "persisted",
            "Stored in a run of its own, which the server names.",
            {**records_store.task("FN-7", "", records_store.EVEN), "idempotencyKey": ""},
        ),
        method.answered(
            "persisted_again",
            "A key that has stored this: what it stored, the run has ended since.",
            stored,
        ),
        method.refused(
            "key_reused",
            "A key that has stored something else.",
            {**other, "idempotencyKey": stored["idempotencyKey"]},
            KEY_REUSED,
        ),
        method.refused(
            "run_finished",
            "A run that has ended takes no more results.",
            other,
            RUN_FINISHED,
        ),
        method.refused(
            "run_unknown",
            "A run that nobody created.",
            records_store.task("FN-8", "run-unknown", records_store.EVEN),
            NO_RUN,
        ),
        method.refused(
            "final_differs",
            "A tampered final score; nothing is stored.",
            {**stored, "claim": {"finalScores": [tampered]}},
            Status.refused("FINAL_MISMATCH", "claim.final_scores.agentPerformance"),
        ),
        method.refused(
            "persist_without_rationale",
            "Opinions without a rationale are not stored.",
            {**other, "runId": "", "ai": unreasoned},
            Status.refused("RATIONALE_BLANK", "ai.agentPerformance.rationale"),
        ),
        method.refused(
            "reply_without_object",
            "A reply in which no JSON object stands.",
            {**task, "aiReply": "Looks good to me."},
            Status.refused("REPLY_WITHOUT_OBJECT", "ai_reply"),
        ),
        method.refused("enum_zero", "The unspecified number of an enum.", with_status(0), enum),
        method.refused(
            "enum_unknown", "A number that the enum does not have.", with_status(99), enum
        ),
        method.refused(
            "empty", "A message without fields.", {}, Status.refused("INPUT_MISSING", "ai")
        ),
    )


def evaluate(table: HandlerTable) -> Group:
    """One iteration of a sprint."""
    method = Method(table, "SteelyardService/Evaluate", {"violations.*.message": TEXT})
    contract = {
        "contractId": "sprint-1",
        "specId": "spec-1",
        "title": "Names that resolve",
        "successCriteria": [
            {"criterionId": "sc-1", "description": "It lints.", "verificationMethod": "lint"}
        ],
        "strategies": [{"strategy": "typecheck", "format": "REPORT_FORMAT_TSC"}],
        "nonGoals": ["Rewrite it."],
    }
    judgement = {
        "criterionId": "sc-1",
        "result": "JUDGEMENT_RESULT_FAIL",
        "evidence": "eslint no-undef at src/a.ts:3",
        "location": {"file": "src/a.ts", "line": 3},
    }
    report = "c3JjL2EudHMoMyw1KTogZXJyb3IgVFMyMzA0OiBDYW5ub3QgZmluZCBuYW1lICdBJy4K"
    failing = {
        "contract": contract,
        "iteration": 1,
        "timestamp": "2026-01-31T12:00:00Z",
        "runs": [{"strategy": "typecheck", "report": report, "exitCode": 2}],
        "judgements": [judgement],
        "outputs": ["EVAL_OUTPUT_FORMAT_CANONICAL"],
    }
    passing = {
        **failing,
        "runs": [{"strategy": "typecheck", "report": "", "exitCode": 0}],
        "judgements": [{**judgement, "result": "JUDGEMENT_RESULT_PASS"}],
    }
    enum = Status.refused("ENUM_INVALID", "judgements[0].result")

    def with_result(result: int) -> dict[str, Any]:
        return {**failing, "judgements": [{**judgement, "result": result}]}

    return method.group(
        "evaluate",
        "One iteration of a sprint; a FAIL is an answer.",
        method.answered("fail", "A tool and a judge found something.", failing),
        method.answered("pass", "Nothing was found.", passing),
        method.refused("enum_zero", "The unspecified number of an enum.", with_result(0), enum),
        method.refused(
            "enum_unknown", "A number that the enum does not have.", with_result(99), enum
        ),
        method.refused(
            "iteration_zero",
            "Iterations count from 1.",
            {**failing, "iteration": 0},
            Status.refused("OUT_OF_RANGE", "iteration"),
        ),
        method.refused(
            "empty",
            "A message without fields.",
            {},
            Status.refused("BLANK", "contract.contractId"),
        ),
    )


# The evidence hash of a report covers the hash of the engine that judged.
REPORT_HASHES = '"(engine|evidence)_hash":"[0-9a-f]{64}"'


def squad() -> dict[str, Any]:
    """A squad that passes, as a GateRequest."""
    evidence = gate_world.evidence(gate_world.passing(), gate_world.GOOD)
    return MessageToDict(evidence_message(evidence))


def gate(table: HandlerTable) -> Group:
    """Evidence to judge."""
    method = Method(table, "SteelyardService/Gate", {"report": REPORT_HASHES})
    failing = squad()
    failing["executions"] = failing["executions"][:1]
    enum = Status.refused("ENUM_INVALID", "executions[0].label")

    def with_label(label: int) -> dict[str, Any]:
        request = squad()
        request["executions"][0]["label"] = label
        return request

    twice = squad()
    twice["project"]["manifest"] = '{"goal": 1, "goal": 2}'
    return method.group(
        "gate",
        "Evidence in, a report out; a FAIL is an answer.",
        method.answered("pass", "Every requirement is met.", squad()),
        method.answered("scorer_absent", "A declared run that did not happen.", failing),
        method.refused("enum_zero", "The unspecified number of an enum.", with_label(0), enum),
        method.refused(
            "enum_unknown", "A number that the enum does not have.", with_label(99), enum
        ),
        method.refused(
            "manifest_key_twice",
            "JSON with the same key twice.",
            twice,
            Status.refused("DUPLICATE_KEY", "project.manifest"),
        ),
        method.refused(
            "empty", "A message without fields.", {}, Status.refused("REQUIRED", "project")
        ),
    )


def verify_report(table: HandlerTable) -> Group:
    """A report to derive again."""
    # A mismatch of the engine says which there is, one of the age says how old is too old.
    shapes = {"mismatches.*.expected": f"{DIGEST}|{TIME}", "mismatches.*.found": DIGEST}
    method = Method(table, "SteelyardService/VerifyReport", shapes)
    (report,) = gate(table).cases[0].responses
    assert isinstance(report, gate_pb2.GateResponse)
    return method.group(
        "verify_report",
        "A report in, its mismatches out.",
        method.answered(
            "other_engine",
            "A sound report of another engine than the server's.",
            {"report": report.report, "project": squad()["project"]},
        ),
        method.answered(
            "other_verdict",
            "A report that was changed by hand.",
            {"report": report.report.replace('"verdict":"PASS"', '"verdict":"WARN"')},
        ),
        method.refused(
            "no_json",
            "A text that is no JSON.",
            {"report": "PASS"},
            Status.refused("INVALID_JSON", "report"),
        ),
    )


def groups(table: HandlerTable) -> Iterator[Group]:
    """All files; the answers come from the table, over the store of records_store."""
    for group in (score_task, evaluate, gate, verify_report):
        yield group(table)
