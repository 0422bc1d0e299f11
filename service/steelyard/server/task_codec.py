"""Task evaluations between messages and the types of the domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.errors import InvalidInputError
from steelyard.scoring.ai_reply import EvidenceRef
from steelyard.scoring.evidence import (
    FIELD_NAMES,
    Commit,
    Entry,
    Evidence,
    EvidenceBundle,
    LogEntry,
    Review,
    WorkflowStep,
)
from steelyard.scoring.followups import (
    FollowUpPolicy,
    OpenTask,
    Suggestion,
    policy_for_setting,
    recommend,
)
from steelyard.scoring.signals import TaskSignals
from steelyard.scoring.task_types import (
    AiScores,
    CategoryResult,
    Claim,
    RawReply,
    TaskEvaluation,
    TaskEvaluationRequest,
)
from steelyard.server.task_words import (
    GROUP,
    MODE,
    PRIORITY,
    SETTING,
    SEVERITY,
    STATE,
    STEP_STATUS,
    SUPPRESSED_REASON,
)
from steelyard.v1 import score_pb2, task_pb2

__all__ = ["evaluation_message", "request_from_message", "suggestion_message"]


def request_from_message(message: task_pb2.ScoreTaskRequest) -> TaskEvaluationRequest:
    """The request of a message; what only the domain knows is checked there.

    Errors: InvalidInputError with INPUT_MISSING, SCORE_MISSING, SCORE_AMBIGUOUS, CATEGORY_DUPLICATE
    or ENUM_INVALID.
    """
    deterministic: Mapping[str, int] | TaskSignals | None = None
    match message.WhichOneof("deterministic_source"):
        case "deterministic":
            deterministic = _deterministic(message.deterministic)
        case "signals":
            deterministic = _signals(message.signals)
        case _:
            pass
    match message.WhichOneof("ai_source"):
        case "ai":
            ai: AiScores | RawReply = _ai(message.ai)
        case "ai_reply":
            ai = RawReply(message.ai_reply)
        case _:
            raise InvalidInputError.at("ai", "INPUT_MISSING", "give AI scores or a raw reply")
    return TaskEvaluationRequest(
        task_id=message.task_id,
        run_id=message.run_id,
        deterministic=deterministic,
        ai=ai,
        evidence=_evidence(message.evidence) if message.HasField("evidence") else None,
        claim=_claim(message.claim),
        drafts=[
            {
                "title": draft.title,
                "description": draft.description,
                "reason": draft.reason,
                "evidenceRefs": list(draft.evidence_refs),
            }
            for draft in message.follow_up_drafts
        ],
        open_tasks=[
            OpenTask(task_id=task.task_id, title=task.title, column=task.column)
            for task in message.open_tasks
        ],
        follow_up_policy=_follow_up_policy(message),
    )


def evaluation_message(evaluation: TaskEvaluation) -> task_pb2.TaskEvaluation:
    """The message of an evaluation."""
    provenance = evaluation.provenance
    return task_pb2.TaskEvaluation(
        task_id=evaluation.task_id,
        run_id=evaluation.run_id,
        categories=map(_category_message, evaluation.categories),
        overall_score=evaluation.overall_score,
        overall_band=evaluation.overall_band,
        overall_rationale=evaluation.overall_rationale,
        signals=_signals_message(evaluation.signals) if evaluation.signals else None,
        evidence=_bundle_message(evaluation.bundle) if evaluation.bundle else None,
        unknown_evidence=[
            task_pb2.UnknownEvidence(field=citation.path, evidence_id=citation.evidence_id)
            for citation in evaluation.unknown_evidence
        ],
        suggestions=map(suggestion_message, evaluation.suggestions),
        provenance=score_pb2.Provenance(
            policy_name=provenance.policy_name,
            policy_version=provenance.policy_version,
            policy_digest=provenance.policy_digest,
            engine_version=provenance.engine_version,
            engine_digest=provenance.engine_digest,
        ),
        deterministic_source=evaluation.deterministic_source,
        ai_source=evaluation.ai_source,
        ai_reply_digest=evaluation.ai_reply_digest,
    )


def _deterministic(message: task_pb2.DeterministicScores) -> dict[str, int]:
    scores: dict[str, int] = {}
    for index, entry in enumerate(message.categories):
        path = f"deterministic.categories[{index}]"
        _refuse_repeated(entry.category, scores, path)
        if not entry.HasField("score"):
            raise InvalidInputError.at(f"{path}.score", "SCORE_MISSING", "is required")
        scores[entry.category] = entry.score
    return scores


def _ai(message: task_pb2.AiScores) -> AiScores:
    scores: dict[str, int | list[int]] = {}
    for index, entry in enumerate(message.categories):
        path = f"ai.categories[{index}]"
        _refuse_repeated(entry.category, scores, path)
        if entry.HasField("score") and entry.samples:
            raise InvalidInputError.at(path, "SCORE_AMBIGUOUS", "has both a score and samples")
        if not entry.HasField("score") and not entry.samples:
            raise InvalidInputError.at(f"{path}.score", "SCORE_MISSING", "is required")
        scores[entry.category] = list(entry.samples) or entry.score
    return AiScores(
        scores=scores,
        rationales={entry.category: entry.rationale for entry in message.categories},
        citations={entry.category: list(entry.evidence_ids) for entry in message.categories},
    )


def _refuse_repeated(category: str, seen: Mapping[str, object], path: str) -> None:
    if category in seen:
        raise InvalidInputError.at(
            f"{path}.category", "CATEGORY_DUPLICATE", f"category {category!r} is given twice"
        )


def _claim(message: task_pb2.ScoreClaim) -> Claim:
    finals: dict[str, int] = {}
    for index, entry in enumerate(message.final_scores):
        _refuse_repeated(entry.category, finals, f"claim.final_scores[{index}]")
        finals[entry.category] = entry.final_score
    return Claim(finals, message.overall_score if message.HasField("overall_score") else None)


def _follow_up_policy(message: task_pb2.ScoreTaskRequest) -> FollowUpPolicy:
    match message.WhichOneof("follow_up_policy"):
        case "policy_mode":
            mode = MODE.word(message.policy_mode, "policy_mode")
            return FollowUpPolicy(mode, keeps_suggestions=True)
        case "project_setting":
            return policy_for_setting(SETTING.word(message.project_setting, "project_setting"))
        case _:
            return policy_for_setting(None)


_SIGNAL_FIELDS = tuple(field.name for field in task_pb2.TaskSignals.DESCRIPTOR.fields)


def _signals(message: task_pb2.TaskSignals) -> TaskSignals:
    return TaskSignals(**{name: getattr(message, name) for name in _SIGNAL_FIELDS})


def _signals_message(signals: TaskSignals) -> task_pb2.TaskSignals:
    return task_pb2.TaskSignals(**{name: getattr(signals, name) for name in _SIGNAL_FIELDS})


_COMMON_FIELDS = ("id", "label", "timestamp", "excerpt", "truncated", "repaired")


def _common(entry: object) -> dict[str, Any]:
    """The members that entries of every kind have, of a message or of the domain's type."""
    return {name: getattr(entry, name) for name in _COMMON_FIELDS}


def _evidence(message: task_pb2.TaskEvidence) -> Evidence:
    return Evidence(
        task_metadata=tuple(Entry(**_common(entry)) for entry in message.task_metadata),
        commits=tuple(
            Commit(
                **_common(entry),
                sha=entry.sha,
                subject=entry.subject,
                author_name=entry.author_name,
            )
            for entry in message.commits
        ),
        workflow=tuple(
            WorkflowStep(
                **_common(entry),
                status=STEP_STATUS.word(entry.status, f"evidence.workflow[{index}].status"),
                duration_ms=_duration(entry),
            )
            for index, entry in enumerate(message.workflow)
        ),
        reviews=tuple(Review(**_common(entry), status=entry.status) for entry in message.reviews),
        documents=tuple(Entry(**_common(entry)) for entry in message.documents),
        task_activity=_logs(message.task_activity, "evidence.task_activity"),
        agent_logs=_logs(message.agent_logs, "evidence.agent_logs"),
        run_audit=_logs(message.run_audit, "evidence.run_audit"),
        dropped={group: getattr(message.dropped, name) for group, name in FIELD_NAMES.items()},
    )


def _logs(entries: Iterable[task_pb2.LogEvidence], path: str) -> tuple[LogEntry, ...]:
    return tuple(
        LogEntry(
            **_common(entry),
            severity=SEVERITY.word(entry.severity, f"{path}[{index}].severity"),
            duration_ms=_duration(entry),
        )
        for index, entry in enumerate(entries)
    )


def _duration(entry: task_pb2.StepEvidence | task_pb2.LogEvidence) -> int | None:
    return entry.duration_ms if entry.HasField("duration_ms") else None


def _bundle_message(bundle: EvidenceBundle) -> task_pb2.TaskEvidence:
    evidence = bundle.evidence
    return task_pb2.TaskEvidence(
        task_metadata=[task_pb2.NoteEvidence(**_common(entry)) for entry in evidence.task_metadata],
        commits=[
            task_pb2.CommitEvidence(
                **_common(entry),
                sha=entry.sha,
                subject=entry.subject,
                author_name=entry.author_name,
            )
            for entry in evidence.commits
        ],
        workflow=[
            task_pb2.StepEvidence(
                **_common(entry),
                status=STEP_STATUS.values[entry.status],
                duration_ms=entry.duration_ms,
            )
            for entry in evidence.workflow
        ],
        reviews=[
            task_pb2.ReviewEvidence(**_common(entry), status=entry.status)
            for entry in evidence.reviews
        ],
        documents=[task_pb2.NoteEvidence(**_common(entry)) for entry in evidence.documents],
        task_activity=map(_log_message, evidence.task_activity),
        agent_logs=map(_log_message, evidence.agent_logs),
        run_audit=map(_log_message, evidence.run_audit),
        dropped=task_pb2.EvidenceCounts(
            **{name: evidence.dropped.get(group, 0) for group, name in FIELD_NAMES.items()}
        ),
    )


def _log_message(entry: LogEntry) -> task_pb2.LogEvidence:
    return task_pb2.LogEvidence(
        **_common(entry), severity=SEVERITY.values[entry.severity], duration_ms=entry.duration_ms
    )


def _category_message(entry: CategoryResult) -> task_pb2.CategoryEvaluation:
    spread = entry.spread
    return task_pb2.CategoryEvaluation(
        category=entry.category,
        deterministic_score=entry.deterministic_score,
        ai_score=entry.ai_score,
        final_score=entry.final_score,
        weight_bp=entry.weight,
        band=entry.band,
        below_floor=entry.below_floor,
        rationale=entry.rationale,
        evidence=map(_ref_message, entry.evidence),
        supported=entry.supported,
        ai_samples=entry.ai_samples,
        spread=None
        if spread is None
        else score_pb2.SampleSpread(
            min_score=spread.min_score,
            max_score=spread.max_score,
            sample_count=spread.sample_count,
            band_stability=spread.band_stability,
        ),
    )


def _ref_message(ref: EvidenceRef) -> task_pb2.EvidenceRef:
    return task_pb2.EvidenceRef(evidence_id=ref.evidence_id, source=GROUP.values[ref.source])


def suggestion_message(suggestion: Suggestion) -> task_pb2.Suggestion:
    fate = suggestion.fate
    advice = recommend(suggestion)
    return task_pb2.Suggestion(
        suggestion_id=suggestion.suggestion_id,
        dedupe_key=suggestion.dedupe_key,
        title=suggestion.title,
        description=suggestion.description,
        rationale=suggestion.rationale,
        priority=PRIORITY.values[suggestion.priority],
        severity=suggestion.severity,
        evidence_refs=map(_ref_message, suggestion.evidence_refs),
        recommendation=task_pb2.SuggestionRecommendation(
            should_create=advice.should_create,
            policy_qualified=advice.policy_qualified,
            reason=advice.reason,
        ),
        policy_mode=MODE.values[suggestion.policy_mode],
        state=STATE.values[fate.state],
        suppressed_reason=task_pb2.SUPPRESSED_REASON_UNSPECIFIED
        if fate.suppressed_reason is None
        else SUPPRESSED_REASON.values[fate.suppressed_reason],
        matched_task_id=fate.matched_task_id,
        matched_suggestion_id=fate.matched_suggestion_id,
        created_task_id=fate.created_task_id,
    )
