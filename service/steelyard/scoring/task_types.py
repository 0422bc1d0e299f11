"""What goes into the evaluation of a task, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from steelyard.scoring.ai_reply import Citation, EvidenceRef
from steelyard.scoring.batch import Provenance
from steelyard.scoring.evidence import Evidence, EvidenceBundle
from steelyard.scoring.followups import (
    FollowUpPolicy,
    FollowUpSetting,
    OpenTask,
    Suggestion,
    policy_for_setting,
)
from steelyard.scoring.signals import TaskSignals
from steelyard.scoring.task import SampleSpread

__all__ = [
    "AiScores",
    "AiSource",
    "CategoryResult",
    "Claim",
    "DeterministicSource",
    "RawReply",
    "TaskEvaluation",
    "TaskEvaluationRequest",
]

SUGGEST = policy_for_setting(FollowUpSetting.SUGGEST)


@dataclass(frozen=True, slots=True)
class AiScores:
    """The AI side as numbers: for each category a score 0..100, or 1 to 1,024 samples.

    `rationales` and `citations` (evidence ids) are by category and optional.
    """

    scores: Mapping[str, int | Sequence[int]]
    rationales: Mapping[str, str] = field(default_factory=dict)
    citations: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RawReply:
    """The AI side as a model wrote it; see `steelyard.scoring.ai_reply`."""

    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Scores that the caller believes to be the result. They are compared, never used."""

    final_scores: Mapping[str, int] = field(default_factory=dict)
    overall_score: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvaluationRequest:
    """What is needed to evaluate one task.

    `deterministic` is a score 0..100 for each category of the policy, or signals; None derives the
    signals from `evidence`. `drafts` are follow-up drafts as JSON values, at most 100 with those of
    a raw reply; `open_tasks` are the tasks of the caller's board, at most 10,000.
    """

    task_id: str
    ai: AiScores | RawReply
    deterministic: Mapping[str, int] | TaskSignals | None = None
    run_id: str = ""
    evidence: Evidence | None = None
    claim: Claim = Claim()
    drafts: Sequence[object] = ()
    open_tasks: Sequence[OpenTask] = ()
    follow_up_policy: FollowUpPolicy = SUGGEST


class DeterministicSource(StrEnum):
    """Where the deterministic scores came from."""

    SCORES = "scores"
    SIGNALS = "signals"
    EVIDENCE = "evidence"


class AiSource(StrEnum):
    """Where the AI scores came from."""

    SCORES = "scores"
    SAMPLES = "samples"
    REPLY = "reply"


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryResult:
    """One category of an evaluation. Scores are 0..100, `weight` is in basis points.

    `ai_score` is the score that was blended: of samples, their mean rounded half up. `supported`
    says that at least one cited id is in the bundle.
    """

    category: str
    deterministic_score: int
    ai_score: int
    final_score: int
    weight: int
    band: str
    below_floor: bool
    rationale: str
    evidence: tuple[EvidenceRef, ...]
    ai_samples: tuple[int, ...] = ()
    spread: SampleSpread | None = None

    @property
    def supported(self) -> bool:
        return bool(self.evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvaluation:
    """A scored task: what `eval_task_results` holds of it, with its follow-up suggestions.

    `unknown_evidence` names each citation of the judge and the drafts that is not in the bundle.
    `signals` is None where the caller gave scores, `ai_reply_digest` empty where it gave numbers.
    """

    task_id: str
    run_id: str
    categories: tuple[CategoryResult, ...]
    overall_score: int
    overall_band: str
    overall_rationale: str
    bundle: EvidenceBundle | None
    signals: TaskSignals | None
    suggestions: tuple[Suggestion, ...]
    unknown_evidence: tuple[Citation, ...]
    provenance: Provenance
    deterministic_source: DeterministicSource
    ai_source: AiSource
    ai_reply_digest: str
