"""What every handler that reads generated messages needs."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from steelyard.errors import InvalidInputError, Violation

__all__ = ["parse"]

M = TypeVar("M", bound=Message)


def parse(kind: type[M], request: bytes) -> M:
    """The message of a request. Raises InvalidInputError (MALFORMED_MESSAGE)."""
    try:
        return kind.FromString(request)
    except DecodeError as error:
        message = f"the request is not a {kind.DESCRIPTOR.name}"
        whole = Violation("", "MALFORMED_MESSAGE", message)
        raise InvalidInputError(whole.reason, message, [whole]) from error
