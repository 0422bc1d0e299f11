"""The one family of errors that Steelyard raises for input it refuses or work it cannot do.

Every error has a `reason`, an UPPER_SNAKE word that machines match on, a message for people, and
the `violations` that name the offending fields. The server maps the class to a gRPC status code and
the rest to `google.rpc.ErrorInfo` and `google.rpc.BadRequest`; the CLI prints the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

__all__ = [
    "AlreadyExistsError",
    "InvalidInputError",
    "LimitError",
    "NotFoundError",
    "PreconditionError",
    "SteelyardError",
    "UnavailableError",
    "Violation",
]


@dataclass(frozen=True, slots=True)
class Violation:
    """One refused field.

    `path` names the element as the caller wrote it (`rows.tasks[3].categories[1].ai`, empty for the
    whole document), `reason` is an UPPER_SNAKE word and `message` says what is wrong and what would
    be right.
    """

    path: str
    reason: str
    message: str


class SteelyardError(Exception):
    """Base of all errors raised on purpose. Never raised itself."""

    def __init__(self, reason: str, message: str, violations: Sequence[Violation] = ()) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.violations = tuple(violations)

    @classmethod
    def at(cls, path: str, reason: str, message: str) -> Self:
        """An error about exactly one field: its message reads `path: message`."""
        return cls(reason, f"{path}: {message}", (Violation(path, reason, message),))


class InvalidInputError(SteelyardError, ValueError):
    """The input breaks its contract; sending it again cannot help. gRPC: INVALID_ARGUMENT."""


class NotFoundError(SteelyardError):
    """A named thing (policy, run, report) does not exist. gRPC: NOT_FOUND."""


class AlreadyExistsError(SteelyardError):
    """The thing exists with other content. gRPC: ALREADY_EXISTS."""


class PreconditionError(SteelyardError):
    """Valid input, wrong state (finished run, feature off). gRPC: FAILED_PRECONDITION."""


class LimitError(SteelyardError):
    """A cap on size, count or concurrency was reached. gRPC: RESOURCE_EXHAUSTED."""


class UnavailableError(SteelyardError):
    """A backing store or peer is away; the same call may work later. gRPC: UNAVAILABLE."""
