"""The handler table: what the service answers, independent of the transport that carries it.

A handler is a function from request bytes to response bytes. The transport looks handlers up by
full method name and knows nothing about messages; handlers know nothing about grpc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

__all__ = [
    "BidiHandler",
    "CallContext",
    "Handler",
    "HandlerTable",
    "ServerStreamHandler",
    "UnaryHandler",
]


class CallContext(Protocol):
    """What a handler may know about the call it serves."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """The text metadata of the call, keys in lower case; the last value of a repeated key."""

    def time_remaining(self) -> float | None:
        """Seconds until the caller's deadline, None without one."""

    def is_active(self) -> bool:
        """False once the caller has gone; a long handler stops then."""


@dataclass(frozen=True, slots=True)
class UnaryHandler:
    """One request, one response."""

    call: Callable[[bytes, CallContext], bytes]


@dataclass(frozen=True, slots=True)
class ServerStreamHandler:
    """One request, many responses."""

    call: Callable[[bytes, CallContext], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class BidiHandler:
    """Many requests, many responses."""

    call: Callable[[Iterator[bytes], CallContext], Iterator[bytes]]


Handler = UnaryHandler | ServerStreamHandler | BidiHandler

# Keys are full method names: "/steelyard.v1.SteelyardService/Score".
HandlerTable = Mapping[str, Handler]
