"""Gate and VerifyReport: evidence in, a report out; a report in, its mismatches out."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime

from steelyard import strictjson
from steelyard.gating import gate, verify_report
from steelyard.gating.report import MAX_REPORT_DEPTH
from steelyard.server.gate_codec import (
    evidence_from_message,
    project_from_message,
    records_from_message,
    report_message,
    verification_message,
)
from steelyard.server.messages import parse
from steelyard.server.table import CallContext, Handler, UnaryHandler
from steelyard.timestamps import timestamp
from steelyard.v1 import gate_pb2 as pb

__all__ = ["GATE", "VERIFY_REPORT", "gate_handlers"]

GATE = "/steelyard.v1.SteelyardService/Gate"
VERIFY_REPORT = "/steelyard.v1.SteelyardService/VerifyReport"


def gate_handlers(clock: Callable[[], datetime]) -> dict[str, Handler]:
    """The handlers of Gate and VerifyReport. `clock` dates reports that come without a time, and
    says when a report is verified."""

    def judge(request: bytes, _context: CallContext) -> bytes:
        message = parse(pb.GateRequest, request)
        evidence = evidence_from_message(message, timestamp(clock()), str(uuid.uuid4()))
        return report_message(gate(evidence)).SerializeToString()

    def verify(request: bytes, _context: CallContext) -> bytes:
        message = parse(pb.VerifyReportRequest, request)
        verification = verify_report(
            strictjson.parse(message.report.encode(), "report", MAX_REPORT_DEPTH),
            project_from_message(message.project) if message.HasField("project") else None,
            now=timestamp(clock()),
            records=(
                records_from_message(message.records) if message.HasField("records") else None
            ),
        )
        return verification_message(verification).SerializeToString()

    return {GATE: UnaryHandler(judge), VERIFY_REPORT: UnaryHandler(verify)}
