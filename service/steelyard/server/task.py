"""ScoreTask: one task evaluation in full, stored on request."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.scoring.policy import TASK_EVALUATION, Policy
from steelyard.scoring.ports import Kept, TaskEvaluationStore, keep
from steelyard.scoring.task_evaluation import evaluate_task
from steelyard.server.messages import parse
from steelyard.server.table import CallContext, Handler, UnaryHandler
from steelyard.server.task_codec import evaluation_message, request_from_message
from steelyard.v1 import task_pb2

__all__ = ["PolicyLookup", "task_handlers"]

SCORE_TASK = "/steelyard.v1.SteelyardService/ScoreTask"

# The policy of a name and version; empty and 0 mean the default. Raises NotFoundError.
PolicyLookup = Callable[[str, int], Policy]


def task_handlers(policy_of: PolicyLookup, store: TaskEvaluationStore | None) -> dict[str, Handler]:
    """The ScoreTask handler; without a store it evaluates and refuses to persist."""

    def score_task(request: bytes, _context: CallContext) -> bytes:
        message = parse(task_pb2.ScoreTaskRequest, request)
        policy = (
            policy_of(message.policy.name, message.policy.version)
            if message.HasField("policy")
            else TASK_EVALUATION
        )
        evaluation = evaluate_task(request_from_message(message), policy)
        kept = Kept(evaluation, replayed=False)
        if message.persist:
            kept = keep(evaluation, message.idempotency_key, store)
        return task_pb2.ScoreTaskResponse(
            evaluation=evaluation_message(kept.evaluation),
            persisted=message.persist,
            replayed=kept.replayed,
        ).SerializeToString()

    return {SCORE_TASK: UnaryHandler(score_task)}
