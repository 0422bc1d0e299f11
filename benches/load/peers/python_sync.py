"""The peer most people would write: grpcio's thread pool, generated messages, pure Python."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
from answers import by_reference, in_stream

from steelyard.v1 import score_pb2


def main() -> None:
    """Serves on the address that is given until it is stopped."""
    server = grpc.server(ThreadPoolExecutor(16), options=[("grpc.max_send_message_length", -1)])
    handlers = {
        "Score": grpc.unary_unary_rpc_method_handler(
            lambda request, _: by_reference(request),
            request_deserializer=score_pb2.ScoreRequest.FromString,
            response_serializer=score_pb2.ScoreResponse.SerializeToString,
        ),
        "ScoreStream": grpc.stream_stream_rpc_method_handler(
            lambda requests, _: (in_stream(by_reference, request) for request in requests)
        ),
    }
    service = "steelyard.v1.SteelyardService"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_insecure_port(sys.argv[1])
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
