"""The grpcio transport: carries the handler table, health and reflection over HTTP/2.

A synchronous server with raw-bytes handlers: on one pinned core it answers the most calls for the
least CPU of all the forms that grpcio offers (benches/README.md has the figures).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from steelyard.errors import InvalidInputError, LimitError, SteelyardError, UnavailableError
from steelyard.rpc_errors import to_status
from steelyard.server.table import BidiHandler, Handler, HandlerTable, ServerStreamHandler
from steelyard.settings import Settings

__all__ = ["Transport"]

log = logging.getLogger(__name__)


class GrpcCall:
    """The CallContext of one gRPC call."""

    __slots__ = ("_context",)

    def __init__(self, context: grpc.ServicerContext) -> None:
        self._context = context

    @property
    def metadata(self) -> Mapping[str, str]:
        """The text metadata; binary entries are left out."""
        entries = self._context.invocation_metadata()
        return {key: value for key, value in entries if isinstance(value, str)}

    def time_remaining(self) -> float | None:
        """Seconds until the deadline."""
        return self._context.time_remaining()

    def is_active(self) -> bool:
        """False once the caller has gone."""
        return bool(self._context.is_active())


class Transport:
    """A server of one handler table on one port."""

    def __init__(
        self,
        table: HandlerTable,
        services: tuple[str, ...],
        settings: Settings,
        *,
        share_port: bool = False,
    ) -> None:
        """Binds the port; nothing is answered before `start`.

        `services` are the full names that health and reflection tell of. With `share_port` other
        processes may listen on the same port and the kernel spreads connections over them. Raises
        UnavailableError where the address cannot be bound.
        """
        self._grace = settings.grace_seconds
        # The pool serves streams for as long as they last; half of it stays free for single calls.
        streams = threading.BoundedSemaphore(max(1, settings.threads // 2))
        self._server = grpc.server(
            ThreadPoolExecutor(settings.threads, thread_name_prefix="call"),
            maximum_concurrent_rpcs=settings.max_concurrent_calls,
            options=[*_options(settings), ("grpc.so_reuseport", int(share_port))],
        )
        by_service: dict[str, dict[str, grpc.RpcMethodHandler[bytes, bytes]]] = {}
        for path, handler in table.items():
            _, service, method = path.split("/")
            by_service.setdefault(service, {})[method] = _adapt(path, handler, streams)
        self._server.add_generic_rpc_handlers(
            tuple(
                grpc.method_handlers_generic_handler(service, methods)
                for service, methods in by_service.items()
            )
        )
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            (*services, health.SERVICE_NAME, reflection.SERVICE_NAME), self._server
        )
        self._services = ("", *services)
        try:
            self.port: int = self._server.add_insecure_port(settings.address)
        except RuntimeError:
            raise UnavailableError(
                "ADDRESS_IN_USE", f"address: cannot listen on {settings.address}"
            ) from None

    def start(self) -> None:
        """Begins to answer."""
        self._server.start()
        for service in self._services:
            self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    def stop(self) -> None:
        """Drains: says NOT_SERVING, takes no new calls, lets running ones end, then returns."""
        self._health.enter_graceful_shutdown()
        self._server.stop(self._grace).wait()


def _options(settings: Settings) -> list[tuple[str, int]]:
    """Channel arguments that keep a server alive under careless and hostile clients."""
    return [
        ("grpc.max_receive_message_length", settings.max_message_bytes),
        # A response may be larger than its request; the batch limit bounds it.
        ("grpc.max_send_message_length", -1),
        # Without a stream limit one rapid-reset client starves the others.
        ("grpc.max_concurrent_streams", 100),
        ("grpc.server_handshake_timeout_ms", 2_000),
        ("grpc.max_connection_idle_ms", 5 * 60_000),
        ("grpc.max_connection_age_ms", 30 * 60_000),
        ("grpc.max_connection_age_grace_ms", 60_000),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
    ]


def _adapt(
    path: str, handler: Handler, streams: threading.BoundedSemaphore
) -> grpc.RpcMethodHandler[bytes, bytes]:
    if isinstance(handler, BidiHandler):
        return grpc.stream_stream_rpc_method_handler(_streaming(path, handler.call, streams))
    if isinstance(handler, ServerStreamHandler):
        return grpc.unary_stream_rpc_method_handler(_streaming(path, handler.call, streams))
    call = handler.call

    def unary(request: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            return call(request, GrpcCall(context))
        except Exception as error:  # whatever a handler raises becomes a status
            _abort(path, error, context)

    return grpc.unary_unary_rpc_method_handler(unary)


def _streaming(
    path: str, call: Callable[[Any, GrpcCall], Iterator[bytes]], streams: threading.BoundedSemaphore
) -> Callable[[Any, grpc.ServicerContext], Iterator[bytes]]:
    def stream(request: Any, context: grpc.ServicerContext) -> Iterator[bytes]:
        if not streams.acquire(blocking=False):
            _abort(path, LimitError("STREAMS_EXHAUSTED", "all stream places are taken"), context)
        try:
            yield from call(request, GrpcCall(context))
        except Exception as error:  # whatever a handler raises becomes a status
            _abort(path, error, context)
        finally:
            streams.release()

    return stream


def _abort(path: str, error: Exception, context: grpc.ServicerContext) -> NoReturn:
    """Ends the call with the error's status; an error nobody foresaw tells a peer nothing."""
    if isinstance(error, grpc.RpcError) or not context.is_active():
        # The request stream broke: the peer has gone and hears nothing.
        raise error
    if isinstance(error, SteelyardError):
        if not isinstance(error, InvalidInputError):
            log.info("%s: %s: %s", path, error.reason, error.message)
        context.abort_with_status(to_status(error))
    log.error("%s: a bug", path, exc_info=error)
    context.abort(grpc.StatusCode.INTERNAL, "internal error; the server's log has the details")
