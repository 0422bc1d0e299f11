"""Task evaluations and EvalResults for tests and benches of the records."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from steelyard.evaluation import evaluate, parse_contract, parse_judgements, result_value
from steelyard.scoring.evidence import Commit, Evidence, StepStatus, WorkflowStep
from steelyard.scoring.followups import FollowUpPolicy, PolicyMode
from steelyard.scoring.task_evaluation import evaluate_task
from steelyard.scoring.task_types import AiScores, TaskEvaluation, TaskEvaluationRequest

__all__ = ["CATEGORIES", "Clock", "draft", "eval_result", "evaluation"]

CATEGORIES = ("agentPerformance", "taskOutcomeQuality", "processCompliance")
EVIDENCE = Evidence(
    commits=(Commit(sha="0123abc", subject="Fix the retry loop", excerpt="diff --git a/x b/x"),),
    workflow=(
        WorkflowStep(status=StepStatus.PASSED, label="unit", excerpt="12 passed"),
        WorkflowStep(status=StepStatus.FAILED, label="lint", excerpt="E501", duration_ms=900),
    ),
)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


def draft(title: str) -> dict[str, object]:
    """A well-formed follow-up draft."""
    return {
        "title": title,
        "description": f"{title}: the evaluation found that it misbehaves.",
        "reason": "It was seen to fail.",
        "evidenceRefs": ["workflow-2"],
    }


def evaluation(
    task_id: str,
    run_id: str = "",
    score: int = 70,
    *,
    drafts: Sequence[str] = (),
    mode: PolicyMode = PolicyMode.CREATE_ALL_NON_DUPLICATES,
) -> TaskEvaluation:
    """An evaluation whose every score is `score`, with suggestions of these titles."""
    return evaluate_task(
        TaskEvaluationRequest(
            task_id=task_id,
            run_id=run_id,
            deterministic=dict.fromkeys(CATEGORIES, score),
            ai=AiScores(
                scores=dict.fromkeys(CATEGORIES, score),
                rationales={name: f"{name} is as the evidence shows." for name in CATEGORIES},
                citations={"taskOutcomeQuality": ["workflow-1", "commit-0123abc"]},
            ),
            evidence=EVIDENCE,
            drafts=[draft(title) for title in drafts],
            follow_up_policy=FollowUpPolicy(mode, keeps_suggestions=True),
        )
    )


def eval_result(contract_id: str = "c", iteration: int = 1, *, passed: bool = True) -> Any:
    """The document of an EvalResult with one criterion."""
    result = evaluate(
        parse_contract(
            {
                "contractId": contract_id,
                "specId": "s",
                "successCriteria": [{"criterionId": "sc-1", "description": "It builds."}],
            },
            "contract",
        ),
        iteration=iteration,
        timestamp="2026-01-31T12:00:00Z",
        runs=[],
        judgements=parse_judgements(
            {
                "judgements": [
                    {
                        "criterionId": "sc-1",
                        "result": "pass" if passed else "fail",
                        "evidence": "make: exit 0",
                    }
                ]
            }
        ),
    ).result
    return result_value(result)
