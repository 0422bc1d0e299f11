"""The cases of ScoreTask, Evaluate, Gate and VerifyReport: requests by hand, answers recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor_pool import Default
from google.protobuf.json_format import MessageToDict, ParseDict
from google.rpc import code_pb2
from tests.support import gate_world
from wire_format import ANY, DIGEST, TIME, VERSION, Case, Group, Raw, Status

from steelyard.scoring.policy import load_policies
from steelyard.server.app import handler_table
from steelyard.server.gate_codec import evidence_message
from steelyard.server.table import HandlerTable, UnaryHandler
from steelyard.settings import load_settings
from steelyard.v1 import gate_pb2

SERVICE = "steelyard.v1.SteelyardService"
TEXT = "^.+$"
MALFORMED = Status(code_pb2.INVALID_ARGUMENT, "MALFORMED_MESSAGE")


class NoCall:
    """The context of a call that comes over no wire; the handlers here ask nothing of it."""

    @property
    def metadata(self) -> Mapping[str, str]:
        return {}

    def time_remaining(self) -> float | None:
        return None

    def is_active(self) -> bool:
        return True


@cache
def table() -> HandlerTable:
    policies = Path(__file__).parent / "policies"
    settings = load_settings({"policies": policies})
    return handler_table(settings, load_policies(policies), store=None)


class Method:
    """Makes the cases of one method."""

    def __init__(self, name: str, by_shape: Mapping[str, str]) -> None:
        self.path = f"/{SERVICE}/{name}"
        self.by_shape = by_shape
        method = Default().FindServiceByName(SERVICE).methods_by_name[name]
        self.request = message_factory.GetMessageClass(method.input_type)
        self.response = message_factory.GetMessageClass(method.output_type)

    def answered(self, name: str, description: str, request: dict[str, Any]) -> Case:
        """A case with the answer that the service gives, less what differs from build to build."""
        sent = ParseDict(request, self.request())
        handler = table()[self.path]
        assert isinstance(handler, UnaryHandler)
        answer = self.response.FromString(handler.call(sent.SerializeToString(), NoCall()))
        document = MessageToDict(answer)
        for path, pattern in self.by_shape.items():
            scrub(document, path.split("."), pattern)
        return Case(name, description, [sent], [ParseDict(document, self.response())])

    def refused(self, name: str, description: str, request: dict[str, Any], status: Status) -> Case:
        """A case that ends with an error."""
        return Case(name, description, [ParseDict(request, self.request())], (), status)

    def group(self, name: str, description: str, *cases: Case) -> Group:
        """Its file."""
        garbage = Case("garbage", "Bytes that are no message.", [Raw(b"\xff\xfe")], (), MALFORMED)
        return Group(name, description, self.path, [*cases, garbage], self.by_shape)


def scrub(node: Any, path: list[str], pattern: str) -> None:
    """Puts the constant texts of ANY where the pattern matches."""
    if isinstance(node, list):
        for item in node:
            scrub(item, path[1:], pattern)
    elif len(path) > 1 and path[0] in node:
        scrub(node[path[0]], path[1:], pattern)
    elif path[0] in node:
        node[path[0]] = re.sub(pattern, _constant, node[path[0]])


def _constant(match: re.Match[str]) -> str:
    text = match[0]
    for pattern, constant in ANY.items():
        text = re.sub(pattern, constant, text)
    return text


REPLY = """{"categories": {
  "agentPerformance": {"score": 80, "rationale": "steady", "evidence": ["workflow-1"]},
  "taskOutcomeQuality": {"score": 70, "rationale": "works", "evidence": ["commit-abc1234"]},
  "processCompliance": {"score": 60, "rationale": "no docs", "evidence": ["made-up"]}
}}"""


def score_task() -> Group:
    """One task in full."""
    shapes = {
        "evaluation.provenance.engineVersion": VERSION,
        "evaluation.provenance.engineDigest": DIGEST,
    }
    method = Method("ScoreTask", shapes)
    task = {
        "taskId": "FN-1",
        "aiReply": REPLY,
        "evidence": {
            "workflow": [{"status": "STEP_STATUS_PASSED"}],
            "commits": [{"sha": "abc1234", "subject": "Mend the Größe of 🚀"}],
        },
    }
    enum = Status.refused("ENUM_INVALID", "evidence.workflow[0].status")

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


def evaluate() -> Group:
    """One iteration of a sprint."""
    method = Method("Evaluate", {"violations.*.message": TEXT})
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


def gate() -> Group:
    """Evidence to judge."""
    method = Method("Gate", {"report": REPORT_HASHES})
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


def verify_report() -> Group:
    """A report to derive again."""
    # A mismatch of the engine says which there is, one of the age says how old is too old.
    shapes = {"mismatches.*.expected": f"{DIGEST}|{TIME}", "mismatches.*.found": DIGEST}
    method = Method("VerifyReport", shapes)
    (report,) = gate().cases[0].responses
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


def groups() -> Iterator[Group]:
    """All files."""
    yield from (score_task(), evaluate(), gate(), verify_report())
