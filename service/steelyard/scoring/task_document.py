"""A task evaluation as a JSON document: `schemas/task-evaluation-result.schema.json`."""

from __future__ import annotations

from steelyard.scoring.ai_reply import EvidenceRef
from steelyard.scoring.evidence import bundle_document
from steelyard.scoring.followups import Suggestion, recommend
from steelyard.scoring.ports import Kept
from steelyard.scoring.signals import SIGNALS_PROFILE, TaskSignals
from steelyard.scoring.task_types import CategoryResult, TaskEvaluation

__all__ = ["evaluation_document", "kept_document"]


def kept_document(kept: Kept, *, persisted: bool) -> dict[str, object]:
    """The answer to one request: the evaluation, and whether it is stored."""
    return {
        "evaluation": evaluation_document(kept.evaluation),
        "persisted": persisted,
        "replayed": kept.replayed,
    }


def evaluation_document(evaluation: TaskEvaluation) -> dict[str, object]:
    """The evaluation; members that do not apply are null or left out, as the schema says."""
    provenance = evaluation.provenance
    return {
        "taskId": evaluation.task_id,
        "runId": evaluation.run_id,
        "status": "scored",
        "categoryScores": [_category(entry) for entry in evaluation.categories],
        "overallScore": evaluation.overall_score,
        "overallBand": evaluation.overall_band,
        "overallRationale": evaluation.overall_rationale,
        "deterministicSignals": evaluation.signals and _signals(evaluation.signals),
        "evidenceBundle": evaluation.bundle and bundle_document(evaluation.bundle),
        "unknownEvidence": [
            {"field": citation.path, "evidenceId": citation.evidence_id}
            for citation in evaluation.unknown_evidence
        ],
        "followUps": [_suggestion(suggestion) for suggestion in evaluation.suggestions],
        "provenance": {
            "policy": {
                "name": provenance.policy_name,
                "version": provenance.policy_version,
                "digest": provenance.policy_digest,
            },
            "engine": {
                "version": provenance.engine_version,
                "digest": provenance.engine_digest,
            },
            "deterministicSource": evaluation.deterministic_source.value,
            "aiSource": evaluation.ai_source.value,
            "aiReplyDigest": evaluation.ai_reply_digest,
        },
    }


def _category(entry: CategoryResult) -> dict[str, object]:
    document: dict[str, object] = {
        "category": entry.category,
        "deterministicScore": entry.deterministic_score,
        "aiScore": entry.ai_score,
        "finalScore": entry.final_score,
        "weight": entry.weight / 10_000,
        "band": entry.band,
        "belowFloor": entry.below_floor,
        "rationale": entry.rationale,
        "evidence": [_ref(ref) for ref in entry.evidence],
        "supported": entry.supported,
    }
    if entry.spread is not None:
        document["aiSamples"] = list(entry.ai_samples)
        document["spread"] = {
            "minScore": entry.spread.min_score,
            "maxScore": entry.spread.max_score,
            "sampleCount": entry.spread.sample_count,
            "bandStability": entry.spread.band_stability,
        }
    return document


def _signals(signals: TaskSignals) -> dict[str, object]:
    return {
        "profile": SIGNALS_PROFILE,
        "workflowTotal": signals.workflow_total,
        "workflowPassed": signals.workflow_passed,
        "workflowFailed": signals.workflow_failed,
        "workflowPending": signals.workflow_pending,
        "commits": signals.commits,
        "errors": signals.errors,
        "warnings": signals.warnings,
        "reviewStatus": signals.review_status,
        "timingEntries": signals.timing_entries,
    }


def _suggestion(suggestion: Suggestion) -> dict[str, object]:
    fate = suggestion.fate
    advice = recommend(suggestion)
    document: dict[str, object] = {
        "suggestionId": suggestion.suggestion_id,
        "dedupeKey": suggestion.dedupe_key,
        "title": suggestion.title,
        "description": suggestion.description,
        "rationale": suggestion.rationale,
        "priority": suggestion.priority.value,
        "severity": suggestion.severity,
        "evidenceRefs": [_ref(ref) for ref in suggestion.evidence_refs],
        "recommendation": {
            "shouldCreate": advice.should_create,
            "policyQualified": advice.policy_qualified,
            "reason": advice.reason,
        },
        "policyMode": suggestion.policy_mode.value,
        "state": fate.state.value,
        "metadata": {"parentTaskId": suggestion.parent_task_id, "runId": suggestion.run_id},
    }
    if fate.suppressed_reason is not None:
        document["suppressedReason"] = fate.suppressed_reason.value
    matches = {
        "matchedTaskId": fate.matched_task_id,
        "matchedSuggestionId": fate.matched_suggestion_id,
        "createdTaskId": fate.created_task_id,
    }
    return document | {name: value for name, value in matches.items() if value}


def _ref(ref: EvidenceRef) -> dict[str, object]:
    return {"evidenceId": ref.evidence_id, "source": ref.source.value}
