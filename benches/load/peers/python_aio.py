"""The same peer on grpc.aio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc
from answers import by_reference, in_stream

from steelyard.v1 import score_pb2


async def score(request: score_pb2.ScoreRequest, _: Any) -> score_pb2.ScoreResponse:
    """One call."""
    return by_reference(request)


async def score_stream(requests: AsyncIterator[bytes], _: Any) -> AsyncIterator[bytes]:
    """One stream."""
    async for request in requests:
        yield in_stream(by_reference, request)


async def main() -> None:
    """Serves on the address that is given until it is stopped."""
    server = grpc.aio.server(options=[("grpc.max_send_message_length", -1)])
    handlers = {
        "Score": grpc.unary_unary_rpc_method_handler(
            score,
            request_deserializer=score_pb2.ScoreRequest.FromString,
            response_serializer=score_pb2.ScoreResponse.SerializeToString,
        ),
        "ScoreStream": grpc.stream_stream_rpc_method_handler(score_stream),
    }
    service = "steelyard.v1.SteelyardService"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_insecure_port(sys.argv[1])
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main())
