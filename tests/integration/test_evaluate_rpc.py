"""Evaluate through a real server and client on the loopback interface."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from steelyard.client import Client
from steelyard.errors import InvalidInputError, NotFoundError, PreconditionError
from steelyard.records.settings import ExperimentalFeatures
from steelyard.server.app import build
from steelyard.server.evaluate import EVALUATE
from steelyard.settings import Settings
from steelyard.v1 import evaluate_pb2 as pb
from steelyard.v1 import records_pb2


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    server = build(Settings(address="127.0.0.1:0", grace_seconds=0))
    server.start()
    try:
        with Client(f"127.0.0.1:{server.port}", timeout=20) as connected:
            yield connected
    finally:
        server.stop()


def request(result: pb.JudgementResult.ValueType = pb.JUDGEMENT_RESULT_PASS) -> pb.EvaluateRequest:
    return pb.EvaluateRequest(
        contract=pb.SprintContract(
            contract_id="sprint-1",
            spec_id="spec-1",
            success_criteria=[pb.SuccessCriterion(criterion_id="sc-1", description="It builds.")],
        ),
        iteration=1,
        judgements=[
            pb.CriterionJudgement(criterion_id="sc-1", result=result, evidence="make: exit 0")
        ],
        outputs=[pb.EVAL_OUTPUT_FORMAT_MD],
    )


@pytest.mark.parametrize(
    ("ruling", "verdict"),
    [
        (pb.JUDGEMENT_RESULT_PASS, pb.EVAL_VERDICT_PASS),
        (pb.JUDGEMENT_RESULT_FAIL, pb.EVAL_VERDICT_FAIL),
    ],
)
def test_a_verdict_is_an_answer(
    client: Client,
    ruling: pb.JudgementResult.ValueType,
    verdict: pb.EvalVerdict.ValueType,
) -> None:
    answer = client.call(EVALUATE, request(ruling), pb.EvaluateResponse)
    assert answer.result.overall_result == verdict
    assert answer.result.timestamp.endswith("Z")
    assert answer.outputs[0].content.startswith(b"# eval-sprint-1-1: ")


def test_a_refusal_names_the_field(client: Client) -> None:
    message = request()
    message.contract.contract_id = "../sprint"
    with pytest.raises(InvalidInputError) as refused:
        client.call(EVALUATE, message, pb.EvaluateResponse)
    assert [violation.path for violation in refused.value.violations] == ["contract.contractId"]


def test_the_next_round_follows_a_stored_result(client: Client) -> None:
    first = request(pb.JUDGEMENT_RESULT_FAIL)
    first.outputs.append(pb.EVAL_OUTPUT_FORMAT_JSON)
    document = client.call(EVALUATE, first, pb.EvaluateResponse).outputs[1].content.decode()
    second = request()
    second.iteration = 2
    second.previous_eval_id = "eval-sprint-1-1"
    with pytest.raises(NotFoundError):
        client.call(EVALUATE, second, pb.EvaluateResponse)
    client.call(
        "/steelyard.v1.RecordsService/StoreEvalResult",
        records_pb2.StoreEvalResultRequest(document=document),
        records_pb2.StoreEvalResultResponse,
    )
    answer = client.call(EVALUATE, second, pb.EvaluateResponse)
    assert answer.result.progress.previous_eval_id == "eval-sprint-1-1"


def test_a_stored_result_needs_a_store() -> None:
    off = ExperimentalFeatures(evals_view=False)
    server = build(Settings(address="127.0.0.1:0", grace_seconds=0, experimental_features=off))
    server.start()
    message = request()
    message.previous_eval_id = "eval-sprint-1-1"
    try:
        with (
            Client(f"127.0.0.1:{server.port}", timeout=20) as asking,
            pytest.raises(PreconditionError),
        ):
            asking.call(EVALUATE, message, pb.EvaluateResponse)
    finally:
        server.stop()
