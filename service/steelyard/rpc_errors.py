"""Errors as gRPC statuses with google.rpc details, and back."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from steelyard.errors import (
    AlreadyExistsError,
    InvalidInputError,
    LimitError,
    NotFoundError,
    PreconditionError,
    SteelyardError,
    UnavailableError,
    Violation,
)

__all__ = ["DOMAIN", "from_rpc_error", "to_status"]

DOMAIN = "steelyard.dev"
# HTTP/2 peers cap the header block that carries a status; longer texts are cut, never dropped.
MAX_TEXT = 1_000
MAX_VIOLATIONS = 10

CODES: dict[type[SteelyardError], int] = {
    InvalidInputError: code_pb2.INVALID_ARGUMENT,
    NotFoundError: code_pb2.NOT_FOUND,
    AlreadyExistsError: code_pb2.ALREADY_EXISTS,
    PreconditionError: code_pb2.FAILED_PRECONDITION,
    LimitError: code_pb2.RESOURCE_EXHAUSTED,
    UnavailableError: code_pb2.UNAVAILABLE,
}
CLASSES = {code: error for error, code in CODES.items()}


def to_status(error: SteelyardError) -> Any:
    """The grpc.Status that tells a client of the error."""
    details = [error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)]
    status = status_pb2.Status(
        code=CODES[type(error)], message=_cut(error.message), details=[_packed(details[0])]
    )
    if error.violations:
        violations = [
            error_details_pb2.BadRequest.FieldViolation(
                field=_cut(violation.path),
                description=_cut(violation.message),
                reason=violation.reason,  # type: ignore[call-arg]  # newer than the stubs
            )
            for violation in error.violations[:MAX_VIOLATIONS]
        ]
        request = error_details_pb2.BadRequest(field_violations=violations)
        status.details.append(_packed(request))
    return rpc_status.to_status(status)


def from_rpc_error(error: grpc.RpcError) -> SteelyardError:
    """The error that a server told of, or what became of the call where it could not."""
    if not isinstance(error, grpc.Call | grpc.aio.AioRpcError):
        return UnavailableError("UNKNOWN", str(error))
    code: grpc.StatusCode = error.code()
    reason, violations = code.name, []
    status = rpc_status.from_call(error)  # type: ignore[arg-type]  # an AioRpcError has what it reads
    for detail in status.details if status is not None else ():
        info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(request):
            violations = [
                # `reason` is newer than the stubs.
                Violation(entry.field, entry.reason, entry.description)  # type: ignore[attr-defined]
                for entry in request.field_violations
            ]
    kind = CLASSES.get(code.value[0], UnavailableError)
    return kind(reason, error.details() or code.name, violations)


def _packed(message: Any) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)
    return packed


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
