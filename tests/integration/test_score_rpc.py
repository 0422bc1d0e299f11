"""Score and ScoreStream on a real server: answers, errors with their details, limits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import grpc
import numpy as np
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from grpc_status import rpc_status

import steelyard
from steelyard.client import AsyncClient, Client
from steelyard.errors import (
    InvalidInputError,
    LimitError,
    NotFoundError,
    SteelyardError,
    UnavailableError,
)
from steelyard.server.app import build
from steelyard.server.table import CallContext, UnaryHandler
from steelyard.server.transport import Transport
from steelyard.settings import load_settings
from steelyard.v1 import score_pb2

SCORE = "/steelyard.v1.SteelyardService/Score"
STREAM = "/steelyard.v1.SteelyardService/ScoreStream"


@pytest.fixture(scope="module")
def raw(server_address: str) -> Iterator[grpc.UnaryUnaryMultiCallable[bytes, bytes]]:
    """Bytes to the Score RPC as they are."""
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(server_address, options=options) as channel:
        yield channel.unary_unary(SCORE)


def columns(det: bytes, ai: bytes, **policy: object) -> score_pb2.ScoreRequest:
    request = score_pb2.ScoreRequest(
        columns=score_pb2.TaskColumns(deterministic=det, ai=ai),
    )
    if policy:
        request.policy.MergeFrom(score_pb2.PolicyRef(**policy))  # type: ignore[arg-type]  # a test's shorthand
    return request


@pytest.mark.parametrize(
    ("request_bytes", "code", "reason", "path"),
    [
        (
            columns(b"\x65\x01\x01", b"\x01\x01\x01").SerializeToString(),
            "INVALID_ARGUMENT",
            "SCORE_OUT_OF_RANGE",
            "columns.deterministic[0].agentPerformance",
        ),
        (
            columns(b"\x01\x01\x01", b"\x01\xff\x01").SerializeToString(),
            "INVALID_ARGUMENT",
            "SCORE_OUT_OF_RANGE",
            "columns.ai[0].taskOutcomeQuality",
        ),
        (
            columns(b"\x01\x01", b"\x01\x01").SerializeToString(),
            "INVALID_ARGUMENT",
            "LENGTH_MISMATCH",
            "columns.deterministic",
        ),
        (
            columns(b"\x01\x01\x01", b"\x01").SerializeToString(),
            "INVALID_ARGUMENT",
            "LENGTH_MISMATCH",
            "columns.ai",
        ),
        (
            columns(b"", b"").SerializeToString(),
            "INVALID_ARGUMENT",
            "BATCH_EMPTY",
            "columns.deterministic",
        ),
        (
            score_pb2.ScoreRequest(rows=score_pb2.TaskRows()).SerializeToString(),
            "INVALID_ARGUMENT",
            "BATCH_EMPTY",
            "rows.tasks",
        ),
        (b"", "INVALID_ARGUMENT", "INPUT_MISSING", "input"),
        (
            columns(b"\x01", b"\x01", name="nobody").SerializeToString(),
            "NOT_FOUND",
            "POLICY_NOT_FOUND",
            "policy",
        ),
        (
            columns(b"\x01", b"\x01", name="exact", version=9).SerializeToString(),
            "NOT_FOUND",
            "POLICY_NOT_FOUND",
            "policy",
        ),
        (
            columns(bytes(300_003), bytes(300_003)).SerializeToString(),
            "RESOURCE_EXHAUSTED",
            "BATCH_TOO_LARGE",
            "columns.deterministic",
        ),
        (
            columns(b"\x01\x01\x01", b"\x01\x01\x01").SerializeToString()[:-1],
            "INVALID_ARGUMENT",
            "MALFORMED_MESSAGE",
            "",
        ),
        (b"\xff\xfe garbage \x00", "INVALID_ARGUMENT", "MALFORMED_MESSAGE", ""),
    ],
)
def test_wrong_requests_name_the_place_and_leave_the_server_alive(
    raw: grpc.UnaryUnaryMultiCallable[bytes, bytes],
    client: Client,
    request_bytes: bytes,
    code: str,
    reason: str,
    path: str,
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        raw(request_bytes, timeout=10)
    call = caught.value
    assert isinstance(call, grpc.Call)
    assert call.code().name == code
    status = rpc_status.from_call(call)
    assert status is not None
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain) == (reason, "steelyard.dev")
    assert status.details[1].Unpack(bad)
    assert [violation.field for violation in bad.field_violations] == [path]
    assert bad.field_violations[0].description
    assert client.score([[1, 2, 3]], [[1, 2, 3]]).overall.tolist() == [2]


def test_a_message_over_the_limit_is_refused(
    raw: grpc.UnaryUnaryMultiCallable[bytes, bytes], client: Client
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        raw(bytes(5 * 1024 * 1024), timeout=10)
    assert isinstance(caught.value, grpc.Call)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than max" in (caught.value.details() or "")
    assert client.score([[1, 2, 3]], [[1, 2, 3]]).overall.tolist() == [2]


def row(task_id: str, **scores: tuple[int | None, int | list[int] | None]) -> score_pb2.TaskRow:
    task = score_pb2.TaskRow(task_id=task_id)
    for category, (det, ai) in scores.items():
        entry = task.categories.add(category=category)
        if det is not None:
            entry.deterministic_score = det
        if isinstance(ai, list):
            entry.ai_samples.extend(ai)
        elif ai is not None:
            entry.ai_score = ai
    return task


def test_a_bad_row_fails_alone(client: Client) -> None:
    good = {
        "agentPerformance": (80, 70),
        "taskOutcomeQuality": (90, [80, 81]),
        "processCompliance": (0, 0),
    }
    reversed_good = dict(reversed(good.items()))
    twice = row("twice", **good)
    twice.categories.append(twice.categories[0])
    both = row("both", **good)
    both.categories[0].ai_samples.append(3)
    tasks = [
        row("good", **good),
        row("high", **good | {"agentPerformance": (101, 7)}),
        row("low", **good | {"agentPerformance": (-1, 7)}),
        row("ai", **good | {"processCompliance": (1, 101)}),
        row("sample", **good | {"taskOutcomeQuality": (1, [1, 2, 300])}),
        row("unknown", **good, speed=(1, 1)),
        twice,
        row("missing", agentPerformance=(1, 1)),
        row("no det", **good | {"agentPerformance": (None, 1)}),
        row("no ai", **good | {"agentPerformance": (1, None)}),
        both,
        row("reversed", **reversed_good),
    ]
    answer = client.score_message(score_pb2.ScoreRequest(rows=score_pb2.TaskRows(tasks=tasks)))
    results = answer.rows.results
    assert [result.task_id for result in results] == [task.task_id for task in tasks]
    assert [(result.error.reason, result.error.field) for result in results] == [
        ("", ""),
        ("SCORE_OUT_OF_RANGE", "rows.tasks[1].categories[0].deterministic_score"),
        ("SCORE_OUT_OF_RANGE", "rows.tasks[2].categories[0].deterministic_score"),
        ("SCORE_OUT_OF_RANGE", "rows.tasks[3].categories[2].ai_score"),
        ("SCORE_OUT_OF_RANGE", "rows.tasks[4].categories[1].ai_samples[2]"),
        ("CATEGORY_UNKNOWN", "rows.tasks[5].categories[3].category"),
        ("CATEGORY_DUPLICATE", "rows.tasks[6].categories[3].category"),
        ("CATEGORY_MISSING", "rows.tasks[7].categories"),
        ("SCORE_MISSING", "rows.tasks[8].categories[0].deterministic_score"),
        ("SCORE_MISSING", "rows.tasks[9].categories[0].ai_score"),
        ("SCORE_AMBIGUOUS", "rows.tasks[10].categories[0].ai_samples"),
        ("", ""),
    ]
    assert results[0].score == results[11].score
    expected = steelyard.score_task(
        {name: det for name, (det, _) in good.items()}, {name: ai for name, (_, ai) in good.items()}
    )
    assert results[0].score.overall_score == expected.overall_score
    spread = results[0].score.categories[1].spread
    assert (spread.min_score, spread.max_score, spread.sample_count) == (87, 87, 2)
    assert results[0].score.categories[2].final_score == 0


def test_named_policies_and_their_provenance(client: Client) -> None:
    for name, version in [("exact", 2), ("exact@2", 2), ("exact@1", 1)]:
        categories = ("correctness", "style") if version == 2 else ("correctness",)
        scores = np.full((4, len(categories)), 50, np.uint8)
        batch = client.score(scores, scores, name, categories)
        assert batch.provenance.policy_version == version
        assert batch.categories == categories
        assert batch.provenance.engine_digest == steelyard.ENGINE_DIGEST
    with pytest.raises(NotFoundError):
        client.score(scores, scores, "exact@3", categories)


def test_task_ids_come_back(client: Client) -> None:
    request = columns(bytes(6), bytes(6))
    request.columns.task_ids.extend(["a", "ü"])
    assert list(client.score_message(request).columns.task_ids) == ["a", "ü"]
    request.columns.task_ids.append("c")
    with pytest.raises(InvalidInputError, match="3 ids for 2 tasks"):
        client.score_message(request)


def test_a_stream_answers_in_order_and_ends_with_its_first_bad_message(client: Client) -> None:
    def requests(bad_at: int) -> Iterator[score_pb2.ScoreStreamRequest]:
        for index in range(300):
            scores = bytes([101 if index == bad_at else index % 101]) * 3
            yield score_pb2.ScoreStreamRequest(
                columns=score_pb2.TaskColumns(deterministic=scores, ai=scores)
            )

    answers = client.score_stream(requests(-1))
    assert [answer.columns.overall_scores[0] for answer in answers] == [i % 101 for i in range(300)]
    answers = client.score_stream(requests(7))
    assert [next(answers).columns.overall_scores[0] for _ in range(7)] == list(range(7))
    with pytest.raises(InvalidInputError, match=r"columns\.deterministic"):
        next(answers)


def test_large_batches_go_over_a_stream(client: Client) -> None:
    rng = np.random.default_rng(3)
    det, ai = rng.integers(0, 101, (2, 120_001, 3), np.uint8)
    here, there = steelyard.score(det, ai), client.score(det, ai)
    for name in ("final", "band", "overall", "overall_band"):
        assert (getattr(here, name) == getattr(there, name)).all()
    assert here.provenance == there.provenance


def test_the_asyncio_client(server_address: str) -> None:
    async def run() -> None:
        async with AsyncClient(server_address) as client:
            rng = np.random.default_rng(4)
            det, ai = rng.integers(0, 101, (2, 60_000, 3), np.uint8)
            batch = await client.score(det, ai)
            assert (batch.overall == steelyard.score(det, ai).overall).all()
            with pytest.raises(InvalidInputError):
                await client.score_message(score_pb2.ScoreRequest())

            async def requests():  # type: ignore[no-untyped-def]  # a generator of messages
                for value in range(5):
                    scores = bytes([value]) * 3
                    yield score_pb2.ScoreStreamRequest(
                        columns=score_pb2.TaskColumns(deterministic=scores, ai=scores)
                    )

            got = [a.columns.overall_scores[0] async for a in client.score_stream(requests())]
            assert got == [0, 1, 2, 3, 4]

    asyncio.run(run())


def test_nobody_there_is_unavailable() -> None:
    with Client("127.0.0.1:1", timeout=2) as client, pytest.raises(UnavailableError):
        client.score([[1, 2, 3]], [[1, 2, 3]])


def test_a_deadline_is_kept_and_a_bug_is_one_internal_answer() -> None:
    def slow(request: bytes, call: CallContext) -> bytes:
        remaining = call.time_remaining()
        assert remaining is not None
        time.sleep(remaining + 0.2)
        return b""

    def broken(request: bytes, call: CallContext) -> bytes:
        raise KeyError("a secret detail")

    table = {"/t.T/Slow": UnaryHandler(slow), "/t.T/Broken": UnaryHandler(broken)}
    transport = Transport(table, (), load_settings({"address": "127.0.0.1:0", "grace_seconds": 0}))
    transport.start()
    try:
        with Client(f"127.0.0.1:{transport.port}", timeout=0.3) as client:
            empty = score_pb2.ScoreRequest()
            with pytest.raises(SteelyardError) as caught:
                client.call("/t.T/Slow", empty, score_pb2.ScoreResponse)
            assert caught.value.reason == "DEADLINE_EXCEEDED"
            with pytest.raises(SteelyardError, match="internal error") as caught:
                client.call("/t.T/Broken", empty, score_pb2.ScoreResponse, timeout=5)
            assert caught.value.reason == "INTERNAL"
            assert "secret" not in caught.value.message
    finally:
        transport.stop()


def test_streams_leave_room_for_single_calls(server_address: str, client: Client) -> None:
    """A stream holds a handler thread: half of the threads at most, the next stream is refused."""
    with grpc.insecure_channel(server_address) as channel:
        open_stream = channel.stream_stream(STREAM)
        message = columns(bytes(3), bytes(3)).SerializeToString()
        gates = []

        def endless(first: bytes) -> Iterator[bytes]:
            gate = threading.Event()
            gates.append(gate)
            yield first
            gate.wait(30)

        streams = [open_stream(endless(message), timeout=30) for _ in range(8)]
        for stream in streams:
            assert next(stream)
        with pytest.raises(grpc.RpcError) as caught:
            next(open_stream(endless(message), timeout=30))
        assert isinstance(caught.value, grpc.Call)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert client.score([[1, 2, 3]], [[1, 2, 3]]).overall.tolist() == [2]
        for gate in gates:
            gate.set()
        for stream in streams:
            assert list(stream) == []


def test_health_and_reflection(server_address: str) -> None:
    with grpc.insecure_channel(server_address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", "steelyard.v1.SteelyardService"):
            answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=5)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        database = ProtoReflectionDescriptorDatabase(channel)
        assert "steelyard.v1.SteelyardService" in database.get_services()
        found = database.FindFileContainingSymbol("steelyard.v1.ScoreRequest")
        assert found.name == "steelyard/v1/score.proto"


def test_limits_of_a_smaller_server() -> None:
    transport = build(
        load_settings({"address": "127.0.0.1:0", "max_batch_tasks": 2, "grace_seconds": 0})
    )
    transport.start()
    try:
        with Client(f"127.0.0.1:{transport.port}") as client:
            client.score([[1, 2, 3]] * 2, [[1, 2, 3]] * 2)
            with pytest.raises(LimitError, match="3 tasks are more than the limit of 2"):
                client.score([[1, 2, 3]] * 3, [[1, 2, 3]] * 3)
    finally:
        transport.stop()
