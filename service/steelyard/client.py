"""Clients of the service: `Client` blocks, `AsyncClient` is for asyncio.

Both set a deadline on every call, retry calls that find the server away (what is stored goes with
an idempotency key, so that it is stored once) and raise the errors of `steelyard.errors` with the
server's reasons and field paths.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator
from importlib.resources import files
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
import numpy as np
from google.protobuf.message import Message
from grpc_reflection.v1alpha import reflection_pb2
from numpy.typing import ArrayLike

from steelyard.rpc_errors import from_rpc_error
from steelyard.scoring.batch import Provenance, ScoreBatch, Scores, as_scores, check_shapes
from steelyard.scoring.policy import TASK_EVALUATION
from steelyard.v1 import score_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DEFAULT_ADDRESS", "AsyncClient", "Client", "channel_options"]

DEFAULT_ADDRESS = "127.0.0.1:50051"
SERVICE = "/steelyard.v1.SteelyardService/"
CHUNK_TASKS = 50_000
"""Larger batches go over a stream in pieces of this many tasks."""

KEY = "idempotency_key"

Sent = TypeVar("Sent", bound=Message)
Response = TypeVar("Response", bound=Message)


def channel_options(reflection_timeout: float | None = None) -> list[tuple[str, Any]]:
    """The options of a channel to the service: its retry policy, limits and keepalive.

    `reflection_timeout` is the deadline of a call of server reflection in seconds: the stubs that
    make such calls set none.
    """
    config = files("steelyard").joinpath("service_config.json").read_text(encoding="utf-8")
    if reflection_timeout is not None:
        document = json.loads(config)
        service = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"].full_name
        entry = {"name": [{"service": service}], "timeout": f"{reflection_timeout:.9f}s"}
        document["methodConfig"].append(entry)
        config = json.dumps(document)
    return [
        ("grpc.service_config", config),
        ("grpc.enable_retries", 1),
        # Answers of the service are bounded by its batch limit, not by a guess made here.
        ("grpc.max_receive_message_length", -1),
        ("grpc.keepalive_time_ms", 30_000),
        # A connection of its own: a server's workers share connections, not calls.
        ("grpc.use_local_subchannel_pool", 1),
    ]


class Client:
    """A blocking client; usable from many threads and as a context manager."""

    def __init__(self, address: str = DEFAULT_ADDRESS, *, timeout: float = 10.0) -> None:
        """`timeout` is the deadline of a call in seconds, retries included."""
        self._channel = grpc.insecure_channel(address, options=channel_options())
        self._timeout = timeout

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection and all running calls."""
        self._channel.close()

    def call(
        self, method: str, request: Message, response: type[Response], timeout: float | None = None
    ) -> Response:
        """Any unary RPC: `call("/steelyard.v1.SteelyardService/Score", request, ScoreResponse)`."""
        rpc = self._channel.unary_unary(
            method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString,
        )
        try:
            return rpc(keyed(request), timeout=timeout or self._timeout)  # type: ignore[no-any-return]  # grpcio has no generic stubs
        except grpc.RpcError as error:
            raise from_rpc_error(error) from None

    def score_message(self, request: score_pb2.ScoreRequest) -> score_pb2.ScoreResponse:
        """The Score RPC as it is: rows with names and errors of their own, or columns."""
        return self.call(SERVICE + "Score", request, score_pb2.ScoreResponse)

    def score_stream(
        self, requests: Iterable[score_pb2.ScoreStreamRequest], timeout: float | None = None
    ) -> Iterator[score_pb2.ScoreStreamResponse]:
        """The ScoreStream RPC: answers in order. Without `timeout` a stream has no deadline."""
        rpc = self._channel.stream_stream(
            SERVICE + "ScoreStream",
            request_serializer=score_pb2.ScoreStreamRequest.SerializeToString,
            response_deserializer=score_pb2.ScoreStreamResponse.FromString,
        )
        try:
            yield from rpc(iter(requests), timeout=timeout)
        except grpc.RpcError as error:
            raise from_rpc_error(error) from None

    def score(
        self,
        deterministic: ArrayLike,
        ai: ArrayLike,
        policy: str = "",
        categories: Sequence[str] = TASK_EVALUATION.categories,
    ) -> ScoreBatch:
        """`steelyard.score` on the server: arrays of shape (n, C) in, a ScoreBatch out.

        `policy` is `name` or `name@version` of a policy that the server has, `categories` its
        categories in order. Raises what `steelyard.score` raises, NotFoundError for an unknown
        policy, UnavailableError where the server stays away or the deadline passes.
        """
        pieces = list(_pieces(deterministic, ai, policy, categories))
        if len(pieces) > 1:
            stream = (
                score_pb2.ScoreStreamRequest(policy=piece.policy, columns=piece.columns)
                for piece in pieces
            )
            return _joined([_batch(answer) for answer in self.score_stream(stream)])
        return _batch(self.score_message(pieces[0]))


class AsyncClient:
    """The client for asyncio; usable as an asynchronous context manager."""

    def __init__(self, address: str = DEFAULT_ADDRESS, *, timeout: float = 10.0) -> None:
        """`timeout` is the deadline of a call in seconds, retries included."""
        self._channel = grpc.aio.insecure_channel(address, options=channel_options())
        self._timeout = timeout

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connection and all running calls."""
        await self._channel.close(None)

    async def call(
        self, method: str, request: Message, response: type[Response], timeout: float | None = None
    ) -> Response:
        """Any unary RPC; see `Client.call`."""
        rpc = self._channel.unary_unary(
            method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString,
        )
        try:
            return await rpc(keyed(request), timeout=timeout or self._timeout)  # type: ignore[no-any-return]  # grpcio has no generic stubs
        except grpc.RpcError as error:
            raise from_rpc_error(error) from None

    async def score_message(self, request: score_pb2.ScoreRequest) -> score_pb2.ScoreResponse:
        """The Score RPC as it is; see `Client.score_message`."""
        return await self.call(SERVICE + "Score", request, score_pb2.ScoreResponse)

    async def score_stream(
        self,
        requests: AsyncIterator[score_pb2.ScoreStreamRequest],
        timeout: float | None = None,
    ) -> AsyncIterator[score_pb2.ScoreStreamResponse]:
        """The ScoreStream RPC; see `Client.score_stream`."""
        rpc = self._channel.stream_stream(
            SERVICE + "ScoreStream",
            request_serializer=score_pb2.ScoreStreamRequest.SerializeToString,
            response_deserializer=score_pb2.ScoreStreamResponse.FromString,
        )
        try:
            async for answer in rpc(requests, timeout=timeout):
                yield answer
        except grpc.RpcError as error:
            raise from_rpc_error(error) from None

    async def score(
        self,
        deterministic: ArrayLike,
        ai: ArrayLike,
        policy: str = "",
        categories: Sequence[str] = TASK_EVALUATION.categories,
    ) -> ScoreBatch:
        """`steelyard.score` on the server; see `Client.score`."""
        pieces = _pieces(deterministic, ai, policy, categories)
        return _joined([_batch(await self.score_message(piece)) for piece in pieces])


def keyed(request: Sent) -> Sent:
    """The request with an idempotency key of its own, if it can have one and has none.

    A call that finds the server away is sent again, and the first attempt may have been stored.
    """
    if KEY not in request.DESCRIPTOR.fields_by_name:
        return request
    sent = type(request)()
    sent.CopyFrom(request)
    if not getattr(sent, KEY):
        setattr(sent, KEY, uuid.uuid4().hex)
    return sent


def policy_ref(policy: str) -> score_pb2.PolicyRef:
    """The reference that `name` or `name@version` stands for."""
    name, _, version = policy.partition("@")
    return score_pb2.PolicyRef(name=name, version=int(version) if version.isdigit() else 0)


def _pieces(
    deterministic: ArrayLike, ai: ArrayLike, policy: str, categories: Sequence[str]
) -> Iterator[score_pb2.ScoreRequest]:
    det = as_scores("deterministic", deterministic, categories)
    other = as_scores("ai", ai, categories)
    check_shapes(det, other)
    for start in range(0, len(det), CHUNK_TASKS):
        rows = slice(start, start + CHUNK_TASKS)
        columns = score_pb2.TaskColumns(
            deterministic=det[rows].tobytes(order="F"), ai=other[rows].tobytes(order="F")
        )
        yield score_pb2.ScoreRequest(policy=policy_ref(policy), columns=columns)


def _batch(response: score_pb2.ScoreResponse | score_pb2.ScoreStreamResponse) -> ScoreBatch:
    columns = response.columns
    shape = (len(columns.category_names), len(columns.overall_scores))
    below = columns.below_floors

    def table(data: bytes) -> Scores:
        return np.frombuffer(data, np.uint8).reshape(shape).T

    origin = response.provenance
    return ScoreBatch(
        final=table(columns.final_scores),
        band=table(columns.bands),
        overall=np.frombuffer(columns.overall_scores, np.uint8),
        overall_band=np.frombuffer(columns.overall_bands, np.uint8),
        below_floor=table(below) if below else None,
        categories=tuple(columns.category_names),
        bands=tuple(columns.band_names),
        provenance=Provenance(
            policy_name=origin.policy_name,
            policy_version=origin.policy_version,
            policy_digest=origin.policy_digest,
            engine_version=origin.engine_version,
            engine_digest=origin.engine_digest,
        ),
    )


def _joined(batches: list[ScoreBatch]) -> ScoreBatch:
    first = batches[0]
    if len(batches) == 1:
        return first
    floors = [batch.below_floor for batch in batches if batch.below_floor is not None]
    return ScoreBatch(
        final=_stacked([batch.final for batch in batches]),
        band=_stacked([batch.band for batch in batches]),
        overall=_stacked([batch.overall for batch in batches]),
        overall_band=_stacked([batch.overall_band for batch in batches]),
        below_floor=_stacked(floors) if floors else None,
        categories=first.categories,
        bands=first.bands,
        provenance=first.provenance,
    )


def _stacked(arrays: list[Scores]) -> Scores:
    # Stacked along the last axis of the transposed arrays, so that columns stay contiguous.
    stacked = np.concatenate([array.T for array in arrays], axis=-1).T
    stacked.flags.writeable = False
    return stacked
