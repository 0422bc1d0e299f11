"""Messages of gate.proto to the gate's types and back; servers and clients share it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from steelyard import strictjson
from steelyard._core import canonical_json
from steelyard.errors import InvalidInputError
from steelyard.gating.model import (
    BrokenWorker,
    Completed,
    Evidence,
    Execution,
    Failed,
    FileHash,
    FileProblem,
    FoundFile,
    Project,
    ProjectFile,
    Provenance,
    Record,
    Report,
    RunLabel,
    Status,
    Verification,
    Worker,
)
from steelyard.gating.names import NAME_PATTERN, is_name, is_reason
from steelyard.gating.paths import normal_path
from steelyard.gating.report import report_json
from steelyard.server.words import WordTable
from steelyard.v1 import gate_pb2 as pb

__all__ = [
    "evidence_from_message",
    "evidence_message",
    "project_from_message",
    "project_message",
    "records_from_message",
    "report_message",
    "verification_message",
]

MAX_DETAIL_LENGTH: Final = 2000

_HASH = re.compile(r"[0-9a-f]{64}")

VERDICT = WordTable(
    {
        Status.PASS: pb.GATE_VERDICT_PASS,
        Status.WARN: pb.GATE_VERDICT_WARN,
        Status.UNVERIFIED: pb.GATE_VERDICT_UNVERIFIED,
        Status.FAIL: pb.GATE_VERDICT_FAIL,
    }
)
LABEL = WordTable(
    {
        RunLabel.BASELINE: pb.GATE_RUN_LABEL_BASELINE,
        RunLabel.CANDIDATE: pb.GATE_RUN_LABEL_CANDIDATE,
        RunLabel.SCORER: pb.GATE_RUN_LABEL_SCORER,
    }
)
PROBLEM = WordTable(
    {
        FileProblem.NOT_FOUND: pb.GATE_FILE_PROBLEM_NOT_FOUND,
        FileProblem.ESCAPES: pb.GATE_FILE_PROBLEM_ESCAPES,
        FileProblem.NOT_REGULAR: pb.GATE_FILE_PROBLEM_NOT_REGULAR,
        FileProblem.TOO_LARGE: pb.GATE_FILE_PROBLEM_TOO_LARGE,
        FileProblem.UNREADABLE: pb.GATE_FILE_PROBLEM_UNREADABLE,
    }
)


def evidence_from_message(message: pb.GateRequest, generated_at: str, run_id: str) -> Evidence:
    """The evidence; `generated_at` and `run_id` stand in for what the message leaves open."""
    if not message.HasField("project"):
        raise InvalidInputError.at("project", "REQUIRED", "must be given")
    given = message.provenance
    return Evidence(
        project=project_from_message(message.project),
        executions=tuple(
            _execution(one, f"executions[{index}]") for index, one in enumerate(message.executions)
        ),
        provenance=Provenance(
            given.generated_at or generated_at, given.run_id or run_id, given.command
        ),
    )


def evidence_message(evidence: Evidence) -> pb.GateRequest:
    """The request that `evidence_from_message` reads back as the same evidence."""
    provenance = evidence.provenance
    return pb.GateRequest(
        project=project_message(evidence.project),
        executions=map(_execution_message, evidence.executions),
        provenance=pb.GateProvenance(
            generated_at=provenance.generated_at,
            run_id=provenance.run_id,
            command=provenance.command,
        ),
    )


def project_from_message(message: pb.GateProject) -> Project:
    """The project. Raises InvalidInputError whose path names the element."""
    files: dict[str, ProjectFile] = {}
    for index, file in enumerate(message.files):
        path = f"project.files[{index}]"
        _once(_path(file.path, f"{path}.path"), files, f"{path}.path")
        files[file.path] = _file(file, path)
    workers: dict[str, Worker | BrokenWorker] = {}
    for index, worker in enumerate(message.workers):
        path = f"project.workers[{index}]"
        if not is_name(worker.name):
            raise InvalidInputError.at(f"{path}.name", "INVALID_NAME", f"must match {NAME_PATTERN}")
        _once(worker.name, workers, f"{path}.name")
        workers[worker.name] = _worker(worker, path)
    manifest = strictjson.parse(message.manifest.encode(), "project.manifest")
    return Project(message.squad, manifest, files, workers)


def project_message(project: Project) -> pb.GateProject:
    """The message that `project_from_message` reads back as the same project."""
    return pb.GateProject(
        squad=project.squad,
        manifest=canonical_json(project.manifest).decode(),
        files=[_file_message(path, file) for path, file in project.files.items()],
        workers=[_worker_message(name, worker) for name, worker in project.workers.items()],
    )


def records_from_message(message: pb.GateRecords) -> tuple[Record, ...]:
    """The reports that a squad's folder keeps."""
    return tuple(Record(one.run_id, one.evidence_hash) for one in message.records)


def report_message(report: Report) -> pb.GateResponse:
    """The answer to a GateRequest."""
    return pb.GateResponse(
        verdict=VERDICT.values[report.verdict],
        report=canonical_json(report_json(report)).decode(),
        reasons=[
            pb.GateReason(
                verdict=VERDICT.values[reason.status],
                code=reason.code,
                path=reason.path,
                message=reason.message,
            )
            for reason in report.reasons
        ],
        required_changes=report.required_changes,
    )


def verification_message(verification: Verification) -> pb.VerifyReportResponse:
    """The answer to a VerifyReportRequest."""
    return pb.VerifyReportResponse(
        valid=verification.valid,
        mismatches=[
            pb.GateMismatch(
                code=one.code,
                path=one.path,
                expected=canonical_json(one.expected).decode(),
                found=canonical_json(one.found).decode(),
            )
            for one in verification.mismatches
        ],
        unchecked=verification.unchecked,
    )


def _file(file: pb.GateFile, path: str) -> ProjectFile:
    match file.WhichOneof("state"):
        case "found":
            resolved = file.found.resolved_path
            return FoundFile(
                _path(resolved, f"{path}.found.resolved_path") if resolved else file.path,
                file.found.content,
            )
        case "problem":
            return PROBLEM.word(file.problem, f"{path}.problem")
        case _:
            raise InvalidInputError.at(path, "REQUIRED", "must have a state")


def _worker(worker: pb.GateWorker, path: str) -> Worker | BrokenWorker:
    match worker.WhichOneof("state"):
        case "found":
            files = []
            for index, file in enumerate(worker.found.files):
                where = f"{path}.found.files[{index}]"
                digest = _hash(file.sha256, f"{where}.sha256")
                files.append(FileHash(file.path, digest))
            return Worker(tuple(files))
        case "broken":
            reason = _reason(worker.broken.reason, f"{path}.broken.reason")
            return BrokenWorker(reason, worker.broken.message)
        case _:
            raise InvalidInputError.at(path, "REQUIRED", "must have a state")


def _execution(message: pb.GateExecution, path: str) -> Execution:
    outcome: Completed | Failed
    match message.WhichOneof("outcome"):
        case "completed":
            completed = message.completed
            repeat = completed.repeat_output_hash
            outcome = Completed(
                strictjson.parse(completed.output.encode(), f"{path}.completed.output"),
                _hash(repeat, f"{path}.completed.repeat_output_hash") if repeat else None,
            )
        case "failed":
            outcome = Failed(
                _reason(message.failed.reason, f"{path}.failed.reason"),
                message.failed.detail[:MAX_DETAIL_LENGTH],
            )
        case _:
            raise InvalidInputError.at(path, "REQUIRED", "must have an outcome")
    given = message.payload_hash
    return Execution(
        case=message.case_id,
        label=LABEL.word(message.label, f"{path}.label"),
        outcome=outcome,
        payload_hash=_hash(given, f"{path}.payload_hash") if given else None,
        duration_ms=message.duration_ms,
        attempt=message.attempt,
    )


def _file_message(path: str, file: ProjectFile) -> pb.GateFile:
    if isinstance(file, FoundFile):
        found = pb.GateFileContent(resolved_path=file.path, content=file.content)
        return pb.GateFile(path=path, found=found)
    return pb.GateFile(path=path, problem=PROBLEM.values[file])


def _worker_message(name: str, worker: Worker | BrokenWorker) -> pb.GateWorker:
    if isinstance(worker, Worker):
        files = [pb.GateFileHash(path=one.path, sha256=one.hash) for one in worker.files]
        return pb.GateWorker(name=name, found=pb.GateWorkerFiles(files=files))
    broken = pb.GateBrokenWorker(reason=worker.reason, message=worker.message)
    return pb.GateWorker(name=name, broken=broken)


def _execution_message(execution: Execution) -> pb.GateExecution:
    message = pb.GateExecution(
        case_id=execution.case,
        label=LABEL.values[execution.label],
        payload_hash=execution.payload_hash or "",
        duration_ms=execution.duration_ms,
        attempt=execution.attempt,
    )
    outcome = execution.outcome
    if isinstance(outcome, Completed):
        message.completed.output = canonical_json(outcome.output).decode()
        message.completed.repeat_output_hash = outcome.repeat_output_hash or ""
    else:
        message.failed.reason = outcome.reason
        message.failed.detail = outcome.detail
    return message


def _path(text: str, path: str) -> str:
    if normal_path(text) != text:
        message = "must be relative, inside the project and without . and .."
        raise InvalidInputError.at(path, "INVALID_PATH", message)
    return text


def _hash(text: str, path: str) -> str:
    if _HASH.fullmatch(text) is None:
        raise InvalidInputError.at(path, "INVALID_HASH", "must be 64 lower-case hex digits")
    return text


def _reason(text: str, path: str) -> str:
    if not is_reason(text):
        raise InvalidInputError.at(path, "INVALID_REASON", "must be an UPPER_SNAKE word")
    return text


def _once(key: str, seen: Mapping[str, object], path: str) -> None:
    if key in seen:
        raise InvalidInputError.at(path, "DUPLICATE", "is listed before")
