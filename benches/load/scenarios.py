"""What is measured: the calls, how many at once, over how many connections."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from steelyard.scoring.policy import TASK_EVALUATION
from steelyard.v1 import score_pb2, task_pb2

__all__ = ["GROUPS", "Scenario"]

SERVICE = "steelyard.v1.SteelyardService"
WIRE = Path(__file__).parents[2] / "tests" / "vectors" / "wire"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One row of the table for each server that answers it."""

    name: str
    method: str
    request: bytes
    tasks: int
    """Tasks in a message."""
    servers: tuple[str, ...]
    concurrency: int
    connections: int
    messages: int = 1
    """Messages of a call; more than one is a stream."""


def rows(tasks: int) -> score_pb2.TaskRows:
    """Tasks whose scores run through the whole range."""
    made = score_pb2.TaskRows()
    for index in range(tasks):
        task = made.tasks.add(task_id=f"task-{index}")
        for place, name in enumerate(TASK_EVALUATION.categories):
            det, ai = (index * 7 + place * 13) % 101, (index * 11 + place * 17) % 101
            task.categories.add(category=name, deterministic_score=det, ai_score=ai)
    return made


def columns(tasks: int) -> score_pb2.TaskColumns:
    """As many scores of the same kind, by columns."""
    size = tasks * len(TASK_EVALUATION.categories)
    return score_pb2.TaskColumns(
        deterministic=bytes(index * 7 % 101 for index in range(size)),
        ai=bytes(index * 11 % 101 for index in range(size)),
    )


def vector(name: str) -> bytes:
    """The first request of a file of wire vectors."""
    case = json.loads((WIRE / f"{name}.json").read_text())["cases"][0]
    return base64.b64decode(case["requests"][0]["binary"])


ALL = ("steelyard", "messages", "python-sync", "python-aio", "grpc-go", "tonic")


def groups() -> Iterator[tuple[Scenario, ...]]:
    """The scenarios; those of a group are compared, so their repeats take turns."""

    def score(
        name: str, request: score_pb2.ScoreRequest, tasks: int, callers: int, *more: str
    ) -> Scenario:
        data = request.SerializeToString()
        servers = (*more, *ALL)
        return Scenario(name, f"{SERVICE}.Score", data, tasks, servers, callers, min(callers, 8))

    def own(name: str, method: str, request: bytes) -> Scenario:
        return Scenario(name, f"{SERVICE}.{method}", request, 1, ("steelyard",), 16, 8)

    one = score_pb2.ScoreRequest(rows=rows(1))
    stream = score_pb2.ScoreStreamRequest(rows=rows(1)).SerializeToString()
    kept = task_pb2.ScoreTaskRequest.FromString(vector("score_task"))
    # Without a run and a key every call stores a result in a run of its own.
    kept.persist, kept.run_id, kept.idempotency_key = True, "", ""
    yield (
        score("1 task", one, 1, 16, "empty", "no-records"),
        # Long, since the start of eight streams at once costs more; not longer, since tonic takes
        # 4,000 small messages for a flood and ends the stream.
        Scenario("stream, 1 task", f"{SERVICE}.ScoreStream", stream, 1, ALL, 8, 8, 2_000),
        own("ScoreTask", "ScoreTask", vector("score_task")),
        own("ScoreTask, kept", "ScoreTask", kept.SerializeToString()),
    )
    yield (score("100 rows", score_pb2.ScoreRequest(rows=rows(100)), 100, 16),)
    yield (score("10,000 rows", score_pb2.ScoreRequest(rows=rows(10_000)), 10_000, 4),)
    yield (score("10,000 columns", score_pb2.ScoreRequest(columns=columns(10_000)), 10_000, 4),)
    yield (own("Evaluate", "Evaluate", vector("evaluate")), own("Gate", "Gate", vector("gate")))


GROUPS = tuple(groups())
