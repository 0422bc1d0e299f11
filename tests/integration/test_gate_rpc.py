"""Gate and VerifyReport on a real server: the library's answers, refusals that name the field."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.client import Client
from steelyard.errors import InvalidInputError
from steelyard.gating.judge import judge
from steelyard.gating.model import FileProblem, FoundFile
from steelyard.gating.report import evidence_hash, report_json
from steelyard.server.gate import GATE, VERIFY_REPORT, gate_handlers
from steelyard.server.gate_codec import (
    evidence_from_message,
    evidence_message,
    project_message,
)
from steelyard.server.table import UnaryHandler
from steelyard.v1 import gate_pb2 as pb
from tests.support.gate_world import (
    GOOD,
    GOOD_AB,
    OWNER,
    case,
    evidence,
    manifest,
    passing,
    passing_ab,
    project,
    table,
)


def answer(client: Client, request: pb.GateRequest) -> pb.GateResponse:
    return client.call(GATE, request, pb.GateResponse)


def verified(client: Client, request: pb.VerifyReportRequest) -> pb.VerifyReportResponse:
    return client.call(VERIFY_REPORT, request, pb.VerifyReportResponse)


def full_request() -> pb.GateRequest:
    """Every kind of file and worker, and runs that failed."""
    broken = project(
        manifest(cases=[case(scorer="ghost")], sourceDocs=["link.md", "gone.md"]),
        {**OWNER, "link.md": FoundFile("real.md", b"\xff"), "gone.md": FileProblem.NOT_REGULAR},
    )
    return evidence_message(evidence(broken, table({"prod": {"baseline": 1}})))


@pytest.mark.parametrize("squad", ["plain", "ab", "broken"])
def test_the_server_judges_like_the_library(client: Client, squad: str) -> None:
    request = {
        "plain": lambda: evidence_message(evidence(passing(), GOOD)),
        "ab": lambda: evidence_message(evidence(passing_ab(), GOOD_AB)),
        "broken": full_request,
    }[squad]()
    response = answer(client, request)
    expected = judge(evidence_from_message(request, "", ""))
    assert json.loads(response.report) == json.loads(json.dumps(report_json(expected)))
    assert response.verdict == (pb.GATE_VERDICT_FAIL if squad == "broken" else pb.GATE_VERDICT_PASS)
    assert [reason.code for reason in response.reasons] == [one.code for one in expected.reasons]
    assert tuple(response.required_changes) == expected.required_changes


def test_messages_carry_evidence_unchanged() -> None:
    for message in (full_request(), evidence_message(evidence(passing_ab(), GOOD_AB))):
        assert evidence_message(evidence_from_message(message, "", "")) == message


def test_the_server_dates_and_names_what_the_caller_does_not(client: Client) -> None:
    request = evidence_message(evidence(passing(), GOOD))
    request.ClearField("provenance")
    report = json.loads(answer(client, request).report)
    age = datetime.now(UTC) - datetime.fromisoformat(report["generated_at"])
    assert 0 <= age.total_seconds() < 60
    assert (
        report["reproduction"]["run_id"]
        != json.loads(answer(client, request).report)["reproduction"]["run_id"]
    )


def test_verification_on_the_server(client: Client) -> None:
    request = evidence_message(evidence(passing(), GOOD))
    request.ClearField("provenance")
    report = json.loads(answer(client, request).report)
    record = pb.GateRecord(
        run_id=report["reproduction"]["run_id"], evidence_hash=evidence_hash(report)
    )
    whole = pb.VerifyReportRequest(
        report=json.dumps(report),
        project=project_message(passing()),
        records=pb.GateRecords(records=[record]),
    )
    assert verified(client, whole) == pb.VerifyReportResponse(valid=True)
    alone = verified(client, pb.VerifyReportRequest(report=json.dumps(report)))
    assert alone.valid
    assert alone.unchecked == ["PROJECT_FILES", "RECORDS"]
    report["verdict"] = "FAIL"
    forged = verified(client, pb.VerifyReportRequest(report=json.dumps(report)))
    assert not forged.valid
    mismatch = next(one for one in forged.mismatches if one.code == "VERDICT")
    assert (mismatch.path, mismatch.expected, mismatch.found) == ("verdict", '"PASS"', '"FAIL"')
    none_kept = pb.VerifyReportRequest(report=whole.report, records=pb.GateRecords())
    assert [one.code for one in verified(client, none_kept).mismatches] == ["NOT_RECORDED"]


def changed(**fields: Any) -> pb.GateRequest:
    request = evidence_message(evidence(passing(), GOOD))
    for path, value in fields.items():
        holder: Any = request
        *steps, last = path.split("__")
        for step in steps:
            holder = holder[int(step)] if step.isdigit() else getattr(holder, step)
        if value is None:
            holder.ClearField(last)
        else:
            setattr(holder, last, value)
    return request


@pytest.mark.parametrize(
    ("request_message", "reason", "path"),
    [
        (changed(project=None), "REQUIRED", "project"),
        (changed(project__manifest="{"), "INVALID_JSON", "project.manifest"),
        (changed(project__manifest='{"a":1,"a":2}'), "DUPLICATE_KEY", "project.manifest"),
        (changed(project__files__0__path="../x"), "INVALID_PATH", "project.files[0].path"),
        (changed(project__files__0__path="./x"), "INVALID_PATH", "project.files[0].path"),
        (
            changed(project__files__0__found__resolved_path="/etc/passwd"),
            "INVALID_PATH",
            "project.files[0].found.resolved_path",
        ),
        (changed(project__files__0__path="out.md"), "DUPLICATE", "project.files[1].path"),
        (changed(project__files__0__found=None), "REQUIRED", "project.files[0]"),
        (changed(project__files__0__problem=0), "ENUM_INVALID", "project.files[0].problem"),
        (changed(project__workers__0__name="a/b"), "INVALID_NAME", "project.workers[0].name"),
        (changed(project__workers__0__name="judge"), "DUPLICATE", "project.workers[1].name"),
        (changed(project__workers__0__found=None), "REQUIRED", "project.workers[0]"),
        (
            changed(project__workers__0__found__files__0__sha256="A" * 64),
            "INVALID_HASH",
            "project.workers[0].found.files[0].sha256",
        ),
        (changed(executions__0__label=0), "ENUM_INVALID", "executions[0].label"),
        (changed(executions__0__label=9), "ENUM_INVALID", "executions[0].label"),
        (changed(executions__0__completed=None), "REQUIRED", "executions[0]"),
        (
            changed(executions__0__completed__output="NaN"),
            "INVALID_JSON",
            "executions[0].completed.output",
        ),
        (
            changed(executions__0__completed__output="[" * 65 + "]" * 65),
            "TOO_DEEP",
            "executions[0].completed.output",
        ),
        (changed(executions__0__payload_hash="x"), "INVALID_HASH", "executions[0].payload_hash"),
        (changed(executions__0__case_id="other"), "UNKNOWN_CASE", "executions[0].case"),
        (changed(provenance__generated_at="now"), "INVALID_TIME", "provenance.generated_at"),
        (changed(provenance__run_id="1"), "INVALID_ID", "provenance.run_id"),
    ],
)
def test_refusals_name_the_field(
    client: Client, request_message: pb.GateRequest, reason: str, path: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        answer(client, request_message)
    assert caught.value.reason == reason
    assert [violation.path for violation in caught.value.violations] == [path]


def test_a_failing_squad_is_an_answer(client: Client) -> None:
    squad = project("no manifest", {})
    response = answer(client, pb.GateRequest(project=project_message(squad)))
    assert response.verdict == pb.GATE_VERDICT_FAIL
    assert response.required_changes


def test_report_that_is_no_json_is_refused(client: Client) -> None:
    with pytest.raises(InvalidInputError):
        verified(client, pb.VerifyReportRequest(report="{"))
    found = verified(client, pb.VerifyReportRequest(report="[]"))
    assert [one.code for one in found.mismatches] == ["NOT_A_REPORT"]


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_answered_or_refused(request_bytes: bytes) -> None:
    for handler in gate_handlers(lambda: datetime(2026, 1, 2, tzinfo=UTC)).values():
        assert isinstance(handler, UnaryHandler)
        try:
            response = handler.call(request_bytes, None)  # type: ignore[arg-type]  # neither looks at the call
        except InvalidInputError:
            continue
        assert isinstance(response, bytes)
