"""What may be stored is sent with an idempotency key, because a call may be sent twice."""

from __future__ import annotations

from steelyard.client import keyed
from steelyard.v1 import score_pb2, task_pb2


def test_a_request_without_a_key_gets_one_of_its_own() -> None:
    request = task_pb2.ScoreTaskRequest(task_id="t", persist=True)
    first, second = keyed(request), keyed(request)
    assert first.idempotency_key != second.idempotency_key
    assert len(first.idempotency_key) == 32
    assert request.idempotency_key == ""
    first.ClearField("idempotency_key")
    assert first == request


def test_a_key_of_the_callers_stays() -> None:
    request = task_pb2.ScoreTaskRequest(idempotency_key="mine")
    assert keyed(request) == request


def test_a_request_that_stores_nothing_is_sent_as_it_is() -> None:
    request = score_pb2.ScoreRequest()
    assert keyed(request) is request
