"""Score and ScoreStream: raw bytes to the Rust core and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from steelyard.server.table import BidiHandler, CallContext, Handler, UnaryHandler

__all__ = ["score_handlers"]


class ScoreEngine(Protocol):
    """What the handlers need of the core."""

    def score(self, request: bytes) -> bytes:
        """The response bytes to the request bytes; raises SteelyardError."""


def score_handlers(engine: ScoreEngine) -> dict[str, Handler]:
    """The handlers of Score and ScoreStream. Their messages have the same fields."""
    score = engine.score

    def unary(request: bytes, call: CallContext) -> bytes:
        return score(request)

    def stream(requests: Iterator[bytes], call: CallContext) -> Iterator[bytes]:
        return map(score, requests)

    return {
        "/steelyard.v1.SteelyardService/Score": UnaryHandler(unary),
        "/steelyard.v1.SteelyardService/ScoreStream": BidiHandler(stream),
    }
