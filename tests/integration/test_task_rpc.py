"""ScoreTask through a real server and client on the loopback interface."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from steelyard.client import Client
from steelyard.errors import InvalidInputError, NotFoundError, PreconditionError
from steelyard.records.settings import ExperimentalFeatures
from steelyard.server.app import build
from steelyard.settings import Settings
from steelyard.v1 import records_pb2, task_pb2

METHOD = "/steelyard.v1.SteelyardService/ScoreTask"
REPLY = """Here is my judgement.

```json
{"categories": {
  "agentPerformance": {"score": 80, "rationale": "steady", "evidence": ["workflow-1"]},
  "taskOutcomeQuality": {"score": 70, "rationale": "works", "evidence": ["commit-abc1234"]},
  "processCompliance": {"score": 60, "rationale": "no docs", "evidence": ["made-up"]}
}}
```"""


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    server = build(Settings(address="127.0.0.1:0", grace_seconds=0))
    server.start()
    try:
        with Client(f"127.0.0.1:{server.port}", timeout=20) as connected:
            yield connected
    finally:
        server.stop()


def request(**changes: object) -> task_pb2.ScoreTaskRequest:
    message = task_pb2.ScoreTaskRequest(
        task_id="FN-1",
        ai_reply=REPLY,
        evidence=task_pb2.TaskEvidence(
            workflow=[task_pb2.StepEvidence(status=task_pb2.STEP_STATUS_PASSED)],
            commits=[task_pb2.CommitEvidence(sha="abc1234")],
        ),
    )
    message.MergeFrom(task_pb2.ScoreTaskRequest(**changes))  # type: ignore[arg-type]  # by name
    return message


def test_a_task_is_evaluated(client: Client) -> None:
    answer = client.call(METHOD, request(), task_pb2.ScoreTaskResponse)
    evaluation = answer.evaluation
    assert [entry.final_score for entry in evaluation.categories] == [72, 79, 71]
    assert evaluation.overall_score == 75
    assert evaluation.overall_band == "strong"
    assert [entry.supported for entry in evaluation.categories] == [True, True, False]
    assert [entry.evidence_id for entry in evaluation.unknown_evidence] == ["made-up"]


def test_refusals_keep_reason_and_path_on_the_wire(client: Client) -> None:
    claim = task_pb2.ScoreClaim(overall_score=99)
    with pytest.raises(InvalidInputError) as caught:
        client.call(METHOD, request(claim=claim), task_pb2.ScoreTaskResponse)
    assert caught.value.reason == "OVERALL_MISMATCH"
    assert caught.value.violations[0].path == "claim.overall_score"
    assert "is 99, but computes to 75" in caught.value.violations[0].message


def test_persisting_on_a_server_without_a_store() -> None:
    off = ExperimentalFeatures(evals_view=False)
    server = build(Settings(address="127.0.0.1:0", grace_seconds=0, experimental_features=off))
    server.start()
    try:
        with (
            Client(f"127.0.0.1:{server.port}", timeout=20) as client,
            pytest.raises(PreconditionError) as caught,
        ):
            client.call(METHOD, request(persist=True), task_pb2.ScoreTaskResponse)
        assert caught.value.reason == "STORE_NOT_CONFIGURED"
    finally:
        server.stop()


def test_persisting_stores_once_and_into_open_runs_only(client: Client) -> None:
    stored = request(persist=True, idempotency_key="task-rpc", task_id="FN-2")
    first = client.call(METHOD, stored, task_pb2.ScoreTaskResponse)
    assert first.persisted
    assert not first.replayed
    again = client.call(METHOD, stored, task_pb2.ScoreTaskResponse)
    assert again.replayed
    assert again.evaluation == first.evaluation
    run_id = first.evaluation.run_id
    assert run_id
    with pytest.raises(PreconditionError) as caught:
        client.call(METHOD, request(persist=True, run_id=run_id), task_pb2.ScoreTaskResponse)
    assert caught.value.reason == "RUN_FINISHED"
    assert caught.value.violations[0].path == "run_id"
    with pytest.raises(NotFoundError):
        client.call(METHOD, request(persist=True, run_id="none"), task_pb2.ScoreTaskResponse)
    get = records_pb2.GetResultRequest(run_id=run_id, task_id="FN-2")
    method = "/steelyard.v1.RecordsService/GetResult"
    found = client.call(method, get, records_pb2.GetResultResponse)
    assert found.evaluation == first.evaluation
    with pytest.raises(InvalidInputError) as refused:
        client.call(
            "/steelyard.v1.RecordsService/ListResults",
            records_pb2.ListResultsRequest(page_size=1001),
            records_pb2.ListResultsResponse,
        )
    assert refused.value.violations[0].path == "page_size"
