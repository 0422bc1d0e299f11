"""Steelyard scores, evaluates and gates the work of AI agents.

The library in one look::

    import numpy as np
    import steelyard

    steelyard.score_task(
        deterministic={"agentPerformance": 80, "taskOutcomeQuality": 90, "processCompliance": 70},
        ai={"agentPerformance": 75, "taskOutcomeQuality": [85, 90, 88], "processCompliance": 60},
    )
    steelyard.score(np.full((1000, 3), 80, np.uint8), np.full((1000, 3), 70, np.uint8))
"""

from steelyard._core import ENGINE_DIGEST, ENGINE_VERSION
from steelyard.evaluation import evaluate
from steelyard.gating import gate, report_json, verify_report
from steelyard.hashing import (
    canonical_json,
    canonicalize,
    hash_contexts,
    hash_json,
    hash_object,
)
from steelyard.scoring.batch import Provenance, ScoreBatch, score
from steelyard.scoring.overloads import score_task
from steelyard.scoring.policy import TASK_EVALUATION, Policy, load_policies, load_policy
from steelyard.scoring.task import CategoryScore, SampleSpread, TaskScore
from steelyard.scoring.task_types import TaskEvaluation, TaskEvaluationRequest

__version__ = ENGINE_VERSION

__all__ = [
    "ENGINE_DIGEST",
    "ENGINE_VERSION",
    "TASK_EVALUATION",
    "CategoryScore",
    "Policy",
    "Provenance",
    "SampleSpread",
    "ScoreBatch",
    "TaskEvaluation",
    "TaskEvaluationRequest",
    "TaskScore",
    "__version__",
    "canonical_json",
    "canonicalize",
    "evaluate",
    "gate",
    "hash_contexts",
    "hash_json",
    "hash_object",
    "load_policies",
    "load_policy",
    "report_json",
    "score",
    "score_task",
    "verify_report",
]
