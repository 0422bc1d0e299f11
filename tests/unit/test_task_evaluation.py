"""Whole task evaluations: every combination of sources, and what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import steelyard
from steelyard.errors import InvalidInputError, LimitError
from steelyard.scoring.evidence import (
    Commit,
    Entry,
    Evidence,
    Group,
    LogEntry,
    Review,
    Severity,
    StepStatus,
    WorkflowStep,
)
from steelyard.scoring.followups import (
    Fate,
    FollowUpPolicy,
    OpenTask,
    PolicyMode,
    SuggestionState,
    policy_for_setting,
)
from steelyard.scoring.policy import Policy
from steelyard.scoring.signals import TaskSignals
from steelyard.scoring.task_document import evaluation_document
from steelyard.scoring.task_evaluation import evaluate_task, require_rationales, settle, with_active
from steelyard.scoring.task_types import (
    AiScores,
    AiSource,
    Claim,
    DeterministicSource,
    RawReply,
    TaskEvaluation,
    TaskEvaluationRequest,
)

CATEGORIES = ("agentPerformance", "taskOutcomeQuality", "processCompliance")
SCHEMAS = Path(steelyard.__file__).parent / "schemas"
RESULT_SCHEMA = json.loads((SCHEMAS / "task-evaluation-result.schema.json").read_text("utf-8"))

FACTS = dict(zip(CATEGORIES, (69, 96, 14), strict=True))
OPINION = dict(zip(CATEGORIES, (90, 98, 13), strict=True))
# A recorded task of the Score contract: finals 75, 97, 14; overall 70, acceptable.
EVIDENCE = Evidence(
    task_metadata=(Entry(label="FN-1", excerpt="Make the login work"),),
    commits=(Commit(sha="abc1234def", subject="Fix login", timestamp="2026-05-01T02:00:00Z"),),
    workflow=(
        WorkflowStep(label="build", status=StepStatus.PASSED, duration_ms=0),
        WorkflowStep(label="tests", status=StepStatus.FAILED, excerpt="1 failed"),
    ),
    reviews=(Review(status="approved"),),
    documents=(Entry(label="README.md"),),
    task_activity=(LogEntry(severity=Severity.ERROR, excerpt="boom\x00"),),
    agent_logs=(LogEntry(excerpt="x" * 600),) * 30,
    run_audit=(LogEntry(severity=Severity.DEBUG),),
)
DRAFT = {
    "title": "Fix the failing test",
    "description": "One test of the login module fails since the change.",
    "reason": "The workflow step failed.",
    "evidenceRefs": ["workflow-2"],
}


def reply(evidence: list[Any] | None = None, drafts: list[Any] | None = None) -> str:
    categories = {
        name: {
            "score": score,
            "rationale": f"about {name}",
            "evidence": evidence or ["workflow-1"],
        }
        for name, score in OPINION.items()
    }
    return json.dumps(
        {"categories": categories, "overallRationale": "all", "followUpDrafts": drafts or []}
    )


def request(**changes: Any) -> TaskEvaluationRequest:
    given: dict[str, Any] = {
        "task_id": "FN-1",
        "deterministic": FACTS,
        "ai": AiScores(OPINION),
    }
    return TaskEvaluationRequest(**(given | changes))


def document_of(evaluation: TaskEvaluation) -> dict[str, Any]:
    """The document, once it is found to be JSON that keeps the published schema."""
    document: dict[str, Any] = json.loads(json.dumps(evaluation_document(evaluation)))
    jsonschema.validate(document, RESULT_SCHEMA, cls=jsonschema.Draft202012Validator)
    return document


def test_scores_on_both_sides() -> None:
    evaluation = evaluate_task(request())
    assert [entry.final_score for entry in evaluation.categories] == [75, 97, 14]
    assert [entry.band for entry in evaluation.categories] == ["strong", "excellent", "failing"]
    assert [entry.weight for entry in evaluation.categories] == [3_000, 4_500, 2_500]
    assert (evaluation.overall_score, evaluation.overall_band) == (70, "acceptable")
    assert evaluation.deterministic_source is DeterministicSource.SCORES
    assert evaluation.ai_source is AiSource.SCORES
    assert evaluation.signals is None
    assert evaluation.bundle is None
    document = document_of(evaluation)
    assert [entry["weight"] for entry in document["categoryScores"]] == [0.3, 0.45, 0.25]
    assert document["provenance"]["policy"] == {
        "name": "task-evaluation",
        "version": 1,
        "digest": steelyard.TASK_EVALUATION.digest,
    }
    assert document["provenance"]["engine"] == {
        "version": steelyard.ENGINE_VERSION,
        "digest": steelyard.ENGINE_DIGEST,
    }


def test_signals_for_the_facts() -> None:
    signals = TaskSignals(workflow_total=1, workflow_passed=1, commits=7)
    evaluation = evaluate_task(request(deterministic=signals))
    assert [entry.deterministic_score for entry in evaluation.categories] == [85, 100, 75]
    assert evaluation.signals == signals
    assert evaluation.deterministic_source is DeterministicSource.SIGNALS
    assert document_of(evaluation)["deterministicSignals"]["commits"] == 7


def test_evidence_for_the_facts() -> None:
    evaluation = evaluate_task(request(deterministic=None, evidence=EVIDENCE))
    assert evaluation.signals == TaskSignals(
        workflow_total=2,
        workflow_passed=1,
        workflow_failed=1,
        commits=1,
        errors=1,
        review_status="approved",
        timing_entries=1,
    )
    assert [entry.deterministic_score for entry in evaluation.categories] == [58, 49, 55]
    assert evaluation.deterministic_source is DeterministicSource.EVIDENCE
    document = document_of(evaluation)
    assert document["evidenceBundle"]["dropped"]["agentLogs"] == 5
    assert document["evidenceBundle"]["taskActivity"][0]["repaired"] is True
    assert document["evidenceBundle"]["workflow"][0]["durationMs"] == 0


def test_samples_for_the_opinion() -> None:
    samples = dict(zip(CATEGORIES, ([80, 85, 91], 98, [13]), strict=True))
    evaluation = evaluate_task(request(ai=AiScores(samples)))
    first, second, third = evaluation.categories
    assert (first.ai_score, first.ai_samples, first.final_score) == (85, (80, 85, 91), 74)
    assert first.spread is not None
    assert (first.spread.min_score, first.spread.max_score, first.spread.sample_count) == (
        72,
        76,
        3,
    )
    assert first.spread.band_stability == 2 / 3
    assert (second.ai_score, second.ai_samples, second.spread) == (98, (), None)
    assert third.ai_score == 13
    assert evaluation.ai_source is AiSource.SAMPLES
    assert document_of(evaluation)["categoryScores"][0]["aiSamples"] == [80, 85, 91]


@pytest.mark.parametrize(("samples", "mean"), [([1, 2], 2), ([0, 1], 1), ([0, 0, 1], 0), ([7], 7)])
def test_the_mean_of_samples_is_what_was_blended(samples: list[int], mean: int) -> None:
    sampled = evaluate_task(request(ai=AiScores(OPINION | {"agentPerformance": samples})))
    single = evaluate_task(request(ai=AiScores(OPINION | {"agentPerformance": mean})))
    assert sampled.categories[0].ai_score == mean
    assert sampled.categories[0].final_score == single.categories[0].final_score


def test_a_raw_reply_for_the_opinion() -> None:
    text = reply(["workflow-1", {"id": "commit-abc1234def"}, "workflow-1"], [DRAFT])
    evaluation = evaluate_task(request(ai=RawReply(text), evidence=EVIDENCE))
    assert evaluation.overall_score == 70
    assert evaluation.overall_rationale == "all"
    assert evaluation.categories[1].rationale == "about taskOutcomeQuality"
    assert [(ref.evidence_id, ref.source) for ref in evaluation.categories[0].evidence] == [
        ("workflow-1", Group.WORKFLOW),
        ("commit-abc1234def", Group.COMMITS),
    ]
    assert evaluation.unknown_evidence == ()
    assert evaluation.ai_reply_digest == hashlib.sha256(text.encode()).hexdigest()
    assert [suggestion.title for suggestion in evaluation.suggestions] == [DRAFT["title"]]
    assert document_of(evaluation)["followUps"][0]["state"] == "suggested"


def test_unknown_citations_of_a_reply_are_dropped_and_named() -> None:
    text = reply(["workflow-1", "workflow-99", "agent-log-1"], [DRAFT | {"evidenceRefs": ["x"]}])
    evaluation = evaluate_task(request(ai=RawReply(text), evidence=EVIDENCE))
    # agent-log-1 was recorded but is not among the newest 25 that the bundle holds.
    assert [(item.path, item.evidence_id) for item in evaluation.unknown_evidence] == [
        *(
            (f"ai_reply.categories.{category}.evidence[{index}]", evidence_id)
            for category in CATEGORIES
            for index, evidence_id in ((1, "workflow-99"), (2, "agent-log-1"))
        ),
        ("ai_reply.followUpDrafts[0].evidenceRefs[0]", "x"),
    ]
    assert all(entry.supported for entry in evaluation.categories)
    document_of(evaluation)


def test_an_opinion_that_cites_only_unknown_ids_is_marked_as_unsupported() -> None:
    evaluation = evaluate_task(request(ai=RawReply(reply(["made-up"])), evidence=EVIDENCE))
    assert [entry.supported for entry in evaluation.categories] == [False, False, False]
    assert evaluation.overall_score == 70
    assert len(evaluation.unknown_evidence) == 3
    assert document_of(evaluation)["categoryScores"][0]["supported"] is False


def test_without_evidence_nothing_is_supported() -> None:
    evaluation = evaluate_task(request(ai=RawReply(reply(drafts=[DRAFT]))))
    assert not any(entry.supported for entry in evaluation.categories)
    assert evaluation.suggestions[0].fate.suppressed_reason == "insufficient_signal"


def test_citations_of_a_caller_must_be_known() -> None:
    opinion = AiScores(OPINION, {}, {"processCompliance": ["workflow-1", "workflow-3"]})
    with pytest.raises(InvalidInputError) as caught:
        evaluate_task(request(ai=opinion, evidence=EVIDENCE))
    assert caught.value.reason == "EVIDENCE_UNKNOWN"
    assert caught.value.violations[0].path == "ai.processCompliance.evidence[1]"
    with pytest.raises(InvalidInputError) as caught:
        evaluate_task(request(ai=opinion))
    assert caught.value.violations[0].path == "ai.processCompliance.evidence[0]"


@pytest.mark.parametrize(
    ("claim", "path", "message"),
    [
        (Claim({"agentPerformance": 90}), "claim.final_scores.agentPerformance", "is 90, .* 75"),
        (Claim({}, 71), "claim.overall_score", "is 71, but computes to 70"),
        (Claim({}, 250), "claim.overall_score", "is 250, but computes to 70"),
        (Claim({"x": 1}), "claim.final_scores.x", "no category 'x'"),
        (Claim({"agentPerformance": 75.0}), "claim.final_scores.agentPerformance", "is 75.0"),  # type: ignore[dict-item]  # what a caller without types may do
    ],
)
def test_tampered_claims_are_refused_with_both_numbers(
    claim: Claim, path: str, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        evaluate_task(request(claim=claim))
    assert caught.value.violations[0].path == path


def test_right_claims_are_accepted() -> None:
    finals = dict(zip(CATEGORIES, (75, 97, 14), strict=True))
    assert evaluate_task(request(claim=Claim(finals, 70))).overall_score == 70


@pytest.mark.parametrize(
    ("changes", "path", "reason"),
    [
        ({"task_id": ""}, "task_id", "REQUIRED"),
        ({"task_id": "x" * 201}, "task_id", "TOO_LONG"),
        ({"task_id": "a\nb"}, "task_id", "ID_INVALID"),
        ({"task_id": " a"}, "task_id", "ID_INVALID"),
        ({"run_id": "\ud800"}, "run_id", "ID_INVALID"),
        ({"deterministic": None}, "deterministic", "INPUT_MISSING"),
        ({"deterministic": {}}, "deterministic", "CATEGORY_MISSING"),
        (
            {"deterministic": FACTS | {"agentPerformance": 101}},
            "deterministic.agentPerformance",
            "SCORE_OUT_OF_RANGE",
        ),
        (
            {"deterministic": FACTS | {"agentPerformance": 101}, "ai": AiScores({})},
            "deterministic.agentPerformance",
            "SCORE_OUT_OF_RANGE",
        ),
        ({"ai": AiScores(OPINION | {"x": 1})}, "ai.x", "CATEGORY_UNKNOWN"),
        (
            {"ai": AiScores(OPINION | {"agentPerformance": [1, 101]})},
            "ai.agentPerformance[1]",
            "SCORE_OUT_OF_RANGE",
        ),
        (
            {"ai": AiScores(OPINION | {"agentPerformance": []})},
            "ai.agentPerformance",
            "SCORE_MISSING",
        ),
        ({"ai": AiScores(OPINION, {"x": "y"})}, "ai.x", "CATEGORY_UNKNOWN"),
        (
            {"deterministic": TaskSignals(errors=-1)},
            "signals.errors",
            "COUNT_OUT_OF_RANGE",
        ),
        ({"open_tasks": [OpenTask("")]}, "open_tasks[0].task_id", "REQUIRED"),
    ],
)
def test_refusals_name_the_field(changes: dict[str, Any], path: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        evaluate_task(request(**changes))
    assert (caught.value.violations[0].path, caught.value.reason) == (path, reason)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"drafts": [DRAFT] * 101}, "follow_up_drafts"),
        ({"drafts": [DRAFT] * 51, "ai": RawReply(reply(drafts=[DRAFT] * 50))}, "follow_up_drafts"),
        ({"open_tasks": [OpenTask("T")] * 10_001}, "open_tasks"),
        (
            {"ai": AiScores(OPINION, {}, {"agentPerformance": ["x"] * 101})},
            "ai.agentPerformance.evidence",
        ),
    ],
)
def test_limits_name_the_field(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(LimitError) as caught:
        evaluate_task(request(**changes))
    assert caught.value.violations[0].path == path


def test_the_drafts_of_the_request_come_before_those_of_the_reply() -> None:
    other = DRAFT | {"title": "Another thing"}
    evaluation = evaluate_task(
        request(drafts=[DRAFT], ai=RawReply(reply(drafts=[other, DRAFT])), evidence=EVIDENCE)
    )
    assert [(item.title, item.fate.suppressed_reason) for item in evaluation.suggestions] == [
        (DRAFT["title"], None),
        ("Another thing", None),
        (DRAFT["title"], "duplicate_prior_suggestion"),
    ]


def test_the_setting_off_makes_no_suggestion() -> None:
    evaluation = evaluate_task(
        request(drafts=[DRAFT], evidence=EVIDENCE, follow_up_policy=policy_for_setting("off"))
    )
    assert evaluation.suggestions == ()


def test_signals_fit_only_the_built_in_categories() -> None:
    policy = Policy.from_toml(
        """
        name = "quality"
        version = 2
        [blend]
        deterministic = 5000
        ai = 5000
        [[categories]]
        name = "quality"
        weight = 10000
        [[bands]]
        name = "red"
        min = 0
        max = 49
        [[bands]]
        name = "green"
        min = 50
        max = 100
        """
    )
    with pytest.raises(InvalidInputError) as caught:
        evaluate_task(request(deterministic=TaskSignals()), policy)
    assert caught.value.reason == "PROFILE_MISMATCH"
    scored = evaluate_task(
        request(deterministic={"quality": 40}, ai=AiScores({"quality": 61})), policy
    )
    assert (scored.overall_score, scored.overall_band) == (51, "green")
    assert scored.categories[0].weight == 10_000
    document_of(scored)


def test_rationales_are_needed_to_persist_only() -> None:
    rationales = dict.fromkeys(CATEGORIES[:2], "r") | {"processCompliance": "\u200b \n"}
    evaluation = evaluate_task(request(ai=AiScores(OPINION, rationales)))
    with pytest.raises(InvalidInputError) as caught:
        require_rationales(evaluation)
    assert caught.value.violations[0].path == "ai.processCompliance.rationale"


def test_long_rationales_are_bounded() -> None:
    evaluation = evaluate_task(request(ai=AiScores(OPINION, {"agentPerformance": "é" * 9_000})))
    assert len(evaluation.categories[0].rationale) == 4_000


def test_settling_gives_the_run_and_the_fates() -> None:
    evaluation = evaluate_task(
        request(
            drafts=[DRAFT, None],
            evidence=EVIDENCE,
            follow_up_policy=FollowUpPolicy(PolicyMode.CREATE_ALL_NON_DUPLICATES, True),
        )
    )
    fates = [Fate(SuggestionState.CREATED, created_task_id="T-7"), evaluation.suggestions[1].fate]
    settled = document_of(settle(evaluation, "ER-9", fates))
    assert settled["runId"] == "ER-9"
    first, second = settled["followUps"]
    assert (first["state"], first["createdTaskId"]) == ("created", "T-7")
    assert first["metadata"] == {"parentTaskId": "FN-1", "runId": "ER-9"}
    assert first["recommendation"] == {
        "shouldCreate": True,
        "policyQualified": True,
        "reason": "It became task T-7.",
    }
    assert second["state"] == "suppressed"
    blocked = with_active(evaluation, {evaluation.suggestions[0].suggestion_id})
    assert document_of(blocked)["followUps"][0]["suppressedReason"] == "duplicate_prior_suggestion"


def test_an_evaluation_is_deterministic() -> None:
    given = request(deterministic=None, evidence=EVIDENCE, drafts=[DRAFT])
    assert document_of(evaluate_task(given)) == document_of(evaluate_task(given))
