"""ScoreTask over bytes: messages in both directions, and what a store is asked to keep."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from google.protobuf.descriptor import EnumDescriptor

from steelyard.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    PreconditionError,
)
from steelyard.scoring.evidence import Evidence, LogEntry, normalise
from steelyard.scoring.followups import Fate, SuggestionState, SuppressedReason, recommend
from steelyard.scoring.policy import TASK_EVALUATION, Policy
from steelyard.scoring.ports import SavedEvaluation
from steelyard.scoring.task_document import evaluation_document
from steelyard.scoring.task_evaluation import evaluate_task
from steelyard.scoring.task_types import TaskEvaluation
from steelyard.server import task_words
from steelyard.server.table import UnaryHandler
from steelyard.server.task import task_handlers
from steelyard.server.task_codec import evaluation_message, request_from_message
from steelyard.v1 import score_pb2, task_pb2

CATEGORIES = ("agentPerformance", "taskOutcomeQuality", "processCompliance")
FACTS = (69, 96, 14)
OPINION = (90, 98, 13)
METHOD = "/steelyard.v1.SteelyardService/ScoreTask"


class Call:
    """A call without metadata and deadline."""

    metadata: Mapping[str, str] = {}

    def time_remaining(self) -> float | None:
        return None

    def is_active(self) -> bool:
        return True


@dataclass
class MemoryStore:
    """A store in memory with the rules of the port."""

    saved: dict[str, tuple[TaskEvaluation, SavedEvaluation]] = field(default_factory=dict)
    active: set[str] = field(default_factory=set)
    tasks: list[str] = field(default_factory=list)
    taken_meanwhile: set[str] = field(default_factory=set)

    def active_suggestions(self, suggestion_ids: Collection[str]) -> Collection[str]:
        return self.active.intersection(suggestion_ids)

    def save_evaluation(self, evaluation: TaskEvaluation, idempotency_key: str) -> SavedEvaluation:
        if idempotency_key in self.saved:
            first, saved = self.saved[idempotency_key]
            if first.categories != evaluation.categories:
                raise AlreadyExistsError.at("idempotency_key", "IDEMPOTENCY_KEY_REUSED", "reused")
            return SavedEvaluation(saved.run_id, saved.fates, replayed=True)
        fates = []
        for suggestion in evaluation.suggestions:
            fate = suggestion.fate
            if recommend(suggestion).should_create:
                if suggestion.suggestion_id in self.taken_meanwhile:
                    fate = Fate(
                        SuggestionState.SUPPRESSED,
                        SuppressedReason.DUPLICATE_PRIOR_SUGGESTION,
                        matched_suggestion_id=suggestion.suggestion_id,
                    )
                else:
                    self.tasks.append(suggestion.title)
                    fate = Fate(SuggestionState.CREATED, created_task_id=f"T-{len(self.tasks)}")
            if fate.state is not SuggestionState.SUPPRESSED:
                self.active.add(suggestion.suggestion_id)
            fates.append(fate)
        saved = SavedEvaluation(evaluation.run_id or "run-1", tuple(fates), replayed=False)
        if idempotency_key:
            self.saved[idempotency_key] = (evaluation, saved)
        return saved


def message(**changes: Any) -> task_pb2.ScoreTaskRequest:
    given: dict[str, Any] = {
        "task_id": "FN-1",
        "deterministic": task_pb2.DeterministicScores(
            categories=[
                task_pb2.DeterministicScore(category=name, score=score)
                for name, score in zip(CATEGORIES, FACTS, strict=True)
            ]
        ),
        "ai": task_pb2.AiScores(
            categories=[
                task_pb2.AiScore(category=name, score=score, rationale=f"about {name}")
                for name, score in zip(CATEGORIES, OPINION, strict=True)
            ]
        ),
        "evidence": task_pb2.TaskEvidence(
            workflow=[task_pb2.StepEvidence(status=task_pb2.STEP_STATUS_PASSED, duration_ms=0)],
            commits=[task_pb2.CommitEvidence(sha="abc1234", subject="Fix", author_name="Dev")],
        ),
        "follow_up_drafts": [
            task_pb2.SuggestionDraft(
                title="Fix the failing test",
                description="One test of the login module fails since the change.",
                reason="The step failed.",
                evidence_refs=["workflow-1"],
            ),
            task_pb2.SuggestionDraft(title="todo"),
        ],
        "policy_mode": task_pb2.SUGGESTION_MODE_CREATE_ALL_NON_DUPLICATES,
    }
    given = {name: value for name, value in (given | changes).items() if value is not ...}
    return task_pb2.ScoreTaskRequest(**given)


def policy_of(name: str, version: int) -> Policy:
    if (name or "task-evaluation", version or 1) == ("task-evaluation", 1):
        return TASK_EVALUATION
    raise NotFoundError.at("policy", "POLICY_NOT_FOUND", f"{name}@{version}")


def call(
    request: task_pb2.ScoreTaskRequest | bytes, store: MemoryStore | None = None
) -> task_pb2.ScoreTaskResponse:
    handler = task_handlers(policy_of, store)[METHOD]
    assert isinstance(handler, UnaryHandler)
    data = request if isinstance(request, bytes) else request.SerializeToString()
    return task_pb2.ScoreTaskResponse.FromString(handler.call(data, Call()))


def test_a_request_is_answered() -> None:
    answer = call(message())
    evaluation = answer.evaluation
    assert not answer.persisted
    assert evaluation.overall_score == 70
    assert evaluation.overall_band == "acceptable"
    assert [entry.final_score for entry in evaluation.categories] == [75, 97, 14]
    assert [entry.weight_bp for entry in evaluation.categories] == [3_000, 4_500, 2_500]
    assert evaluation.provenance.policy_digest == TASK_EVALUATION.digest
    assert not evaluation.HasField("signals")
    assert evaluation.evidence.workflow[0].id == "workflow-1"
    assert evaluation.evidence.workflow[0].HasField("duration_ms")
    assert evaluation.evidence.commits[0].author_name == "Dev"
    first, second = evaluation.suggestions
    assert first.state == task_pb2.SUGGESTION_STATE_SUGGESTED
    assert first.recommendation.should_create
    assert first.evidence_refs[0].source == task_pb2.EVIDENCE_GROUP_WORKFLOW
    assert second.state == task_pb2.SUGGESTION_STATE_SUPPRESSED
    assert second.suppressed_reason == task_pb2.SUPPRESSED_REASON_EMPTY_OR_GENERIC


def test_signals_and_samples_and_reply() -> None:
    answer = call(
        message(
            deterministic=...,
            signals=task_pb2.TaskSignals(workflow_total=1, workflow_passed=1, commits=7),
            ai=task_pb2.AiScores(
                categories=[
                    task_pb2.AiScore(category=name, samples=[80, 85, 91]) for name in CATEGORIES
                ]
            ),
        )
    )
    assert answer.evaluation.signals.commits == 7
    assert answer.evaluation.ai_source == "samples"
    first = answer.evaluation.categories[0]
    assert (first.ai_score, list(first.ai_samples)) == (85, [80, 85, 91])
    assert first.spread.sample_count == 3
    with pytest.raises(InvalidInputError) as caught:
        call(message(ai=..., ai_reply="no object"))
    assert caught.value.violations[0].path == "ai_reply"


def test_facts_are_counted_from_evidence_when_nothing_else_is_given() -> None:
    answer = call(message(deterministic=...))
    assert answer.evaluation.deterministic_source == "evidence"
    assert answer.evaluation.signals.workflow_passed == 1
    assert answer.evaluation.signals.timing_entries == 1


def categories_of(*entries: tuple[str, int | None]) -> task_pb2.DeterministicScores:
    return task_pb2.DeterministicScores(
        categories=[
            task_pb2.DeterministicScore(category=name, score=score) for name, score in entries
        ]
    )


@pytest.mark.parametrize(
    ("changes", "path", "reason"),
    [
        ({"task_id": ""}, "task_id", "REQUIRED"),
        ({"task_id": "a\x00b"}, "task_id", "ID_INVALID"),
        ({"ai": ...}, "ai", "INPUT_MISSING"),
        ({"deterministic": ..., "evidence": ...}, "deterministic", "INPUT_MISSING"),
        (
            {"deterministic": categories_of(("agentPerformance", None))},
            "deterministic.categories[0].score",
            "SCORE_MISSING",
        ),
        (
            {"deterministic": categories_of(("agentPerformance", 1), ("agentPerformance", 1))},
            "deterministic.categories[1].category",
            "CATEGORY_DUPLICATE",
        ),
        (
            {"deterministic": categories_of(*((name, -1) for name in CATEGORIES))},
            "deterministic.agentPerformance",
            "SCORE_OUT_OF_RANGE",
        ),
        (
            {"ai": task_pb2.AiScores(categories=[task_pb2.AiScore(category="x")])},
            "ai.categories[0].score",
            "SCORE_MISSING",
        ),
        (
            {
                "ai": task_pb2.AiScores(
                    categories=[task_pb2.AiScore(category="x", score=1, samples=[1])]
                )
            },
            "ai.categories[0]",
            "SCORE_AMBIGUOUS",
        ),
        (
            {"evidence": task_pb2.TaskEvidence(workflow=[task_pb2.StepEvidence()])},
            "evidence.workflow[0].status",
            "ENUM_INVALID",
        ),
        (
            {"evidence": task_pb2.TaskEvidence(agent_logs=[task_pb2.LogEvidence(severity=99)])},  # type: ignore[arg-type]  # open enums carry any number
            "evidence.agent_logs[0].severity",
            "ENUM_INVALID",
        ),
        (
            {"evidence": task_pb2.TaskEvidence(dropped=task_pb2.EvidenceCounts(reviews=2**32 - 1))},
            "evidence.dropped.reviews",
            "COUNT_OUT_OF_RANGE",
        ),
        (
            {
                "evidence": task_pb2.TaskEvidence(
                    workflow=[
                        task_pb2.StepEvidence(
                            status=task_pb2.STEP_STATUS_PASSED, duration_ms=2**64 - 1
                        )
                    ]
                )
            },
            "evidence.workflow[0].duration_ms",
            "COUNT_OUT_OF_RANGE",
        ),
        (
            {"policy_mode": task_pb2.SUGGESTION_MODE_UNSPECIFIED},
            "policy_mode",
            "ENUM_INVALID",
        ),
        (
            {"policy_mode": ..., "project_setting": task_pb2.SUGGESTION_SETTING_UNSPECIFIED},
            "project_setting",
            "ENUM_INVALID",
        ),
        (
            {"claim": task_pb2.ScoreClaim(overall_score=71)},
            "claim.overall_score",
            "OVERALL_MISMATCH",
        ),
        (
            {
                "claim": task_pb2.ScoreClaim(
                    final_scores=[
                        task_pb2.FinalScoreClaim(category="agentPerformance", final_score=76)
                    ]
                )
            },
            "claim.final_scores.agentPerformance",
            "FINAL_MISMATCH",
        ),
    ],
)
def test_refusals_name_the_field(changes: dict[str, Any], path: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        call(message(**changes))
    assert (caught.value.violations[0].path, caught.value.reason) == (path, reason)


def test_other_refusals() -> None:
    with pytest.raises(InvalidInputError) as malformed:
        call(b"\xff\xff\xff")
    assert malformed.value.reason == "MALFORMED_MESSAGE"
    with pytest.raises(NotFoundError):
        call(message(policy=score_pb2.PolicyRef(name="other")))
    assert call(message(policy=score_pb2.PolicyRef())).evaluation.overall_score == 70


@pytest.mark.parametrize(
    ("setting", "mode", "count"),
    [
        (task_pb2.SUGGESTION_SETTING_OFF, None, 0),
        (task_pb2.SUGGESTION_SETTING_SUGGEST, task_pb2.SUGGESTION_MODE_PERSIST_ONLY, 2),
        (task_pb2.SUGGESTION_SETTING_CREATE, task_pb2.SUGGESTION_MODE_AUTO_CREATE_QUALIFIED, 2),
    ],
)
def test_project_settings(setting: Any, mode: Any, count: int) -> None:
    suggestions = call(message(policy_mode=..., project_setting=setting)).evaluation.suggestions
    assert len(suggestions) == count
    assert all(suggestion.policy_mode == mode for suggestion in suggestions)


def test_persisting_without_a_store_is_refused() -> None:
    with pytest.raises(PreconditionError) as caught:
        call(message(persist=True))
    assert caught.value.violations[0].path == "persist"


def test_persisting_needs_rationales_and_a_sound_key() -> None:
    opinion = task_pb2.AiScores(
        categories=[task_pb2.AiScore(category=name, score=50) for name in CATEGORIES]
    )
    store = MemoryStore()
    with pytest.raises(InvalidInputError) as caught:
        call(message(persist=True, ai=opinion), store)
    assert caught.value.violations[0].path == "ai.agentPerformance.rationale"
    with pytest.raises(InvalidInputError) as caught:
        call(message(persist=True, idempotency_key="a\nb"), store)
    assert caught.value.violations[0].path == "idempotency_key"
    assert store == MemoryStore()


def test_a_persisted_evaluation_and_its_replay() -> None:
    store = MemoryStore()
    first = call(message(persist=True, idempotency_key="k"), store)
    assert (first.persisted, first.replayed) == (True, False)
    assert first.evaluation.run_id == "run-1"
    assert first.evaluation.suggestions[0].state == task_pb2.SUGGESTION_STATE_CREATED
    assert first.evaluation.suggestions[0].created_task_id == "T-1"
    again = call(message(persist=True, idempotency_key="k"), store)
    assert again.replayed
    assert again.evaluation == first.evaluation
    assert store.tasks == ["Fix the failing test"]


def test_a_second_evaluation_finds_the_suggestion_active() -> None:
    store = MemoryStore()
    call(message(persist=True, run_id="ER-1"), store)
    second = call(message(persist=True, run_id="ER-2"), store).evaluation
    assert second.run_id == "ER-2"
    suggestion = second.suggestions[0]
    assert suggestion.suppressed_reason == (task_pb2.SUPPRESSED_REASON_DUPLICATE_PRIOR_SUGGESTION)
    assert suggestion.matched_suggestion_id == suggestion.suggestion_id
    assert store.tasks == ["Fix the failing test"]


def test_the_store_has_the_last_word_on_duplicates() -> None:
    first = call(message())
    store = MemoryStore(taken_meanwhile={first.evaluation.suggestions[0].suggestion_id})
    saved = call(message(persist=True), store).evaluation.suggestions[0]
    assert saved.state == task_pb2.SUGGESTION_STATE_SUPPRESSED
    assert not saved.recommendation.should_create
    assert store.tasks == []


@pytest.mark.parametrize(
    ("table", "enum"),
    [
        (task_words.STEP_STATUS, task_pb2.StepStatus.DESCRIPTOR),
        (task_words.SEVERITY, task_pb2.LogSeverity.DESCRIPTOR),
        (task_words.MODE, task_pb2.SuggestionMode.DESCRIPTOR),
        (task_words.SETTING, task_pb2.SuggestionSetting.DESCRIPTOR),
        (task_words.PRIORITY, task_pb2.SuggestionPriority.DESCRIPTOR),
        (task_words.STATE, task_pb2.SuggestionState.DESCRIPTOR),
        (task_words.SUPPRESSED_REASON, task_pb2.SuppressedReason.DESCRIPTOR),
        (task_words.GROUP, task_pb2.EvidenceGroup.DESCRIPTOR),
    ],
)
def test_every_word_has_one_value_and_every_value_one_word(
    table: task_words.WordTable[Any, Any], enum: EnumDescriptor
) -> None:
    words = type(next(iter(table.values)))
    assert set(table.values) == set(words)
    assert sorted(table.values.values()) == sorted(
        value.number for value in enum.values if value.number != 0
    )
    for word, number in table.values.items():
        assert table.word(number, "x") is word
        assert enum.values_by_number[number].name.endswith("_" + word.name)


def test_a_bundle_comes_back_through_messages_unchanged() -> None:
    request = message(
        evidence=task_pb2.TaskEvidence(
            agent_logs=[
                task_pb2.LogEvidence(
                    severity=task_pb2.LOG_SEVERITY_ERROR,
                    timestamp="2026-05-01T02:00:00Z",
                    excerpt="x" * 600,
                )
            ]
            * 30
        ),
        follow_up_drafts=...,
    )
    bundle = call(request).evaluation.evidence
    assert bundle.dropped.agent_logs == 5
    again = call(message(evidence=bundle, follow_up_drafts=...)).evaluation.evidence
    assert again == bundle
    entry = LogEntry(excerpt="x")
    assert normalise(Evidence(agent_logs=(entry,))).sources == {"agent-log-1": "agentLogs"}


def test_message_and_document_say_the_same() -> None:
    evaluation = evaluate_task(request_from_message(message()))
    document: Any = evaluation_document(evaluation)
    answer = evaluation_message(evaluation)
    assert [entry["finalScore"] for entry in document["categoryScores"]] == [
        entry.final_score for entry in answer.categories
    ]
    assert [entry["suggestionId"] for entry in document["followUps"]] == [
        entry.suggestion_id for entry in answer.suggestions
    ]
    assert [entry["recommendation"]["reason"] for entry in document["followUps"]] == [
        entry.recommendation.reason for entry in answer.suggestions
    ]
