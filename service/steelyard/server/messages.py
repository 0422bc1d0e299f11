"""What every handler that reads generated messages needs."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from steelyard.errors import InvalidInputError

__all__ = ["parse"]

M = TypeVar("M", bound=Message)


def parse(kind: type[M], request: bytes) -> M:
    """The message of a request. Raises InvalidInputError (MALFORMED_MESSAGE)."""
    try:
        return kind.FromString(request)
    except DecodeError as error:
        raise InvalidInputError(
            "MALFORMED_MESSAGE", f"the request is not a {kind.DESCRIPTOR.name}"
        ) from error
