"""`steelyard.score_task`: one task, as numbers with names or as an evaluation in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from steelyard.errors import InvalidInputError
from steelyard.scoring.policy import TASK_EVALUATION, Policy
from steelyard.scoring.task import TaskScore
from steelyard.scoring.task import score_task as score_numbers
from steelyard.scoring.task_evaluation import evaluate_task
from steelyard.scoring.task_types import TaskEvaluation, TaskEvaluationRequest

__all__ = ["score_task"]


@overload
def score_task(
    deterministic: TaskEvaluationRequest, *, policy: Policy = TASK_EVALUATION
) -> TaskEvaluation: ...


@overload
def score_task(
    deterministic: Mapping[str, int],
    ai: Mapping[str, int | Sequence[int]],
    policy: Policy = TASK_EVALUATION,
) -> TaskScore: ...


def score_task(
    deterministic: TaskEvaluationRequest | Mapping[str, int],
    ai: Mapping[str, int | Sequence[int]] | None = None,
    policy: Policy = TASK_EVALUATION,
) -> TaskEvaluation | TaskScore:
    """Scores one task.

    With two mappings (category to score 0..100; on the AI side also to 1 to 1,024 samples) the
    result is the task's numbers: see `steelyard.scoring.task.score_task`. With a
    TaskEvaluationRequest (evidence, signals, a model's raw reply, follow-up drafts) it is the
    evaluation in full: see `steelyard.scoring.task_evaluation.evaluate_task`. Both raise
    InvalidInputError naming the place of what is wrong.
    """
    if isinstance(deterministic, TaskEvaluationRequest):
        return evaluate_task(deterministic, policy)
    if ai is None:
        raise InvalidInputError.at("ai", "SCORE_MISSING", "the AI scores are missing")
    return score_numbers(deterministic, ai, policy)
