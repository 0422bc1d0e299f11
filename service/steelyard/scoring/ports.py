"""What task evaluations need of a store, and how one is kept in it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from steelyard.errors import PreconditionError
from steelyard.scoring.followups import Fate
from steelyard.scoring.task_evaluation import require_rationales, settle, with_active
from steelyard.scoring.task_types import TaskEvaluation
from steelyard.scoring.text import check_id

__all__ = ["Kept", "SavedEvaluation", "TaskEvaluationStore", "keep"]


@dataclass(frozen=True, slots=True)
class SavedEvaluation:
    """What a store made of an evaluation.

    `run_id` is the run it belongs to: the one it named, or one of its own. `fates` are those of its
    suggestions, in order. `replayed` tells that an earlier call had stored it.
    """

    run_id: str
    fates: tuple[Fate, ...]
    replayed: bool


class TaskEvaluationStore(Protocol):
    """Keeps task evaluations, their suggestions and the tasks made of them."""

    def active_suggestions(self, suggestion_ids: Collection[str]) -> Collection[str]:
        """Those of the ids that are suggested or created; suppressed ones are not among them."""

    def save_evaluation(self, evaluation: TaskEvaluation, idempotency_key: str) -> SavedEvaluation:
        """Store an evaluation, its suggestions and a task for each that `recommend` says to create.

        All in one transaction. A suggestion that became active meanwhile is stored as a suppressed
        duplicate and makes no task: of two servers that save the same one at once, one creates it.
        A key that stored the same evaluation answers with what it stored; an empty key is no key.

        Errors: NotFoundError for an unknown run; PreconditionError for a finished one;
        AlreadyExistsError when the run has another result for the task or the key stored something
        else; UnavailableError; LimitError for a full disk. After an error nothing is stored.
        """


@dataclass(frozen=True, slots=True)
class Kept:
    """An evaluation as it is stored, and whether an earlier call had stored it."""

    evaluation: TaskEvaluation
    replayed: bool


def keep(
    evaluation: TaskEvaluation, idempotency_key: str, store: TaskEvaluationStore | None
) -> Kept:
    """Store an evaluation under an idempotency key; an empty key is none.

    Errors: those of the store; PreconditionError STORE_NOT_CONFIGURED without one;
    InvalidInputError RATIONALE_BLANK, TOO_LONG or ID_INVALID.
    """
    if store is None:
        raise PreconditionError.at("persist", "STORE_NOT_CONFIGURED", "there is no store")
    check_id("idempotency_key", idempotency_key, required=False)
    require_rationales(evaluation)
    ids = [suggestion.suggestion_id for suggestion in evaluation.suggestions]
    if ids:
        evaluation = with_active(evaluation, store.active_suggestions(ids))
    saved = store.save_evaluation(evaluation, idempotency_key)
    return Kept(settle(evaluation, saved.run_id, saved.fates), saved.replayed)
