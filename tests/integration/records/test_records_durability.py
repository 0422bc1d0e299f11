"""kill -9: every acknowledged result is there afterwards, none twice, none torn.

STEELYARD_DURABILITY_SECONDS sets how long each store is tormented: 6 by default, 60 in
`make durability`.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter

import pytest

from steelyard.client import Client
from steelyard.errors import UnavailableError
from steelyard.records.model import (
    FinishRequest,
    FollowUpFilter,
    ResultFilter,
    RunStatus,
)
from steelyard.records.store import Store
from steelyard.v1 import records_pb2, task_pb2
from tests.support.evaluations import CATEGORIES, draft
from tests.support.pages import every
from tests.support.records_server import ServerProcess

SECONDS = float(os.environ.get("STEELYARD_DURABILITY_SECONDS", "6"))
KILL_EVERY_S = 2.0
WRITERS = 8
RUN = "tormented"
SCORE_TASK = "/steelyard.v1.SteelyardService/ScoreTask"
CREATE_RUN = "/steelyard.v1.RecordsService/CreateRun"


@pytest.mark.timeout(300 + 10 * SECONDS)
def test_acknowledged_results_survive_kill_9(url: str) -> None:
    address = f"127.0.0.1:{_free_port()}"
    server = ServerProcess(url, address)
    try:
        with Client(address) as client:
            create = records_pb2.CreateRunRequest(
                run_id=RUN,
                trigger=records_pb2.RUN_TRIGGER_API,
                start=True,
                lease_seconds=3600,
                idempotency_key=RUN,
            )
            client.call(CREATE_RUN, create, records_pb2.CreateRunResponse)
        stop = threading.Event()
        writers = [_Writer(address, index, stop) for index in range(WRITERS)]
        for writer in writers:
            writer.start()
        kills = 0
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(KILL_EVERY_S)
            server.kill()
            kills += 1
            server.start()
        stop.set()
        for writer in writers:
            writer.join(60)
            assert not writer.is_alive()
    finally:
        server.kill()
    acknowledged = [task for writer in writers for task in writer.acknowledged]
    assert kills >= SECONDS / (KILL_EVERY_S + 6)
    assert len(acknowledged) > 10 * kills
    _check(url, acknowledged)


class _Writer(threading.Thread):
    """Evaluates one task after the other, each until it is acknowledged."""

    def __init__(self, address: str, index: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._index = index
        self._stop_asked = stop
        self.acknowledged: list[str] = []

    def run(self) -> None:
        with Client(self._address, timeout=5) as client:
            count = 0
            while not self._stop_asked.is_set():
                count += 1
                request = _request(f"task-{self._index}-{count}")
                while True:
                    try:
                        answer = client.call(SCORE_TASK, request, task_pb2.ScoreTaskResponse)
                    except UnavailableError:
                        # The client's own retries are over: the server was away for long.
                        time.sleep(0.02)
                        continue
                    assert answer.persisted
                    self.acknowledged.append(request.task_id)
                    break


def _request(task_id: str) -> task_pb2.ScoreTaskRequest:
    idea = draft(f"Fix what {task_id} found")
    return task_pb2.ScoreTaskRequest(
        task_id=task_id,
        run_id=RUN,
        deterministic=task_pb2.DeterministicScores(
            categories=[task_pb2.DeterministicScore(category=name, score=30) for name in CATEGORIES]
        ),
        ai=task_pb2.AiScores(
            categories=[
                task_pb2.AiScore(
                    category=name, score=40, rationale="as seen", evidence_ids=["doc-1"]
                )
                for name in CATEGORIES
            ]
        ),
        evidence=task_pb2.TaskEvidence(
            documents=[task_pb2.NoteEvidence(label="notes", excerpt="x" * 400)]
        ),
        follow_up_drafts=[
            task_pb2.SuggestionDraft(
                title=str(idea["title"]),
                description=str(idea["description"]),
                reason="seen",
                evidence_refs=["doc-1"],
            )
        ],
        policy_mode=task_pb2.SUGGESTION_MODE_CREATE_ALL_NON_DUPLICATES,
        idempotency_key=f"key-{task_id}",
        persist=True,
    )


def _check(url: str, acknowledged: list[str]) -> None:
    with Store(url) as store:
        stored = every(lambda page: store.list_results(ResultFilter(run_id=RUN), page))
        tasks = Counter(each.task_id for each in stored)
        assert set(acknowledged) <= set(tasks)
        assert set(tasks.values()) == {1}
        for each in stored:
            found = store.get_result(RUN, each.task_id)
            assert found.evaluation is not None
            assert [entry.final_score for entry in found.evaluation.categories] == [33, 33, 33]
            assert found.evaluation.bundle is not None
            assert len(found.follow_ups) == 1
            assert found.follow_ups[0].suggestion.fate.created_task_id
        follow_ups = every(lambda page: store.list_follow_ups(FollowUpFilter(run_id=RUN), page))
        made = Counter(each.suggestion.fate.created_task_id for each in follow_ups)
        assert len(made) == len(follow_ups) == len(stored)
        status, events = store.events_after(RUN, 0, limit=len(stored) + 10)
        assert status is RunStatus.RUNNING
        assert [event.sequence for event in events] == list(range(1, len(stored) + 3))
        run = store.finish_run(FinishRequest(RUN, RunStatus.COMPLETED))
        assert run.scored == len(stored)
        assert run.aggregates is not None
        assert run.aggregates.scored == len(stored)


def _free_port() -> int:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return int(reserved.getsockname()[1])
