"""What may be stored: everything recomputable is recomputed, and a difference names its field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from steelyard.errors import InvalidInputError, NotFoundError
from steelyard.records.checks import check_evaluation
from steelyard.records.model import ResultStatus
from steelyard.scoring.ai_reply import EvidenceRef
from steelyard.scoring.evidence import Group
from steelyard.scoring.followups import Fate, SuggestionState
from steelyard.scoring.policy import TASK_EVALUATION, Policy
from steelyard.scoring.task_types import TaskEvaluation
from tests.support.evaluations import evaluation

POLICIES = {(TASK_EVALUATION.name, TASK_EVALUATION.version): TASK_EVALUATION}


def _category(index: int, **changes: Any) -> TaskEvaluation:
    given = evaluation("t", score=70, drafts=["Fix the retry loop"])
    categories = list(given.categories)
    categories[index] = replace(categories[index], **changes)
    return replace(given, categories=tuple(categories))


def _whole(**changes: Any) -> TaskEvaluation:
    return replace(evaluation("t", score=70, drafts=["Fix the retry loop"]), **changes)


def _provenance(**changes: Any) -> TaskEvaluation:
    given = _whole()
    return replace(given, provenance=replace(given.provenance, **changes))


def _suggestion(**changes: Any) -> TaskEvaluation:
    given = _whole()
    return replace(given, suggestions=(replace(given.suggestions[0], **changes),))


GHOST = EvidenceRef("workflow-99", Group.WORKFLOW)
MISPLACED = EvidenceRef("workflow-1", Group.COMMITS)
categories = _whole().categories

REFUSED = {
    "tampered final": (_category(1, final_score=71), "categories[1].final_score", "FINAL_MISMATCH"),
    "tampered final at the edge": (
        _category(0, final_score=100),
        "categories[0].final_score",
        "FINAL_MISMATCH",
    ),
    "final as a float": (
        _category(0, final_score=70.0),
        "categories[0].final_score",
        "FINAL_MISMATCH",
    ),
    "tampered overall": (_whole(overall_score=71), "overall_score", "OVERALL_MISMATCH"),
    "overall out of range": (_whole(overall_score=250), "overall_score", "OVERALL_MISMATCH"),
    "negative overall": (_whole(overall_score=-1), "overall_score", "OVERALL_MISMATCH"),
    "overall as a float": (_whole(overall_score=70.0), "overall_score", "OVERALL_MISMATCH"),
    "overall as a bool": (_whole(overall_score=True), "overall_score", "OVERALL_MISMATCH"),
    "no overall": (_whole(overall_score=None), "overall_score", "OVERALL_MISMATCH"),
    "tampered band": (_whole(overall_band="excellent"), "overall_band", "BAND_MISMATCH"),
    "tampered category band": (_category(2, band="strong"), "categories[2].band", "BAND_MISMATCH"),
    "tampered weight": (_category(2, weight=9000), "categories[2].weight", "WEIGHT_MISMATCH"),
    "score out of range": (
        _category(0, deterministic_score=101),
        "categories[0].deterministic_score",
        "SCORE_OUT_OF_RANGE",
    ),
    "score as a bool": (
        _category(0, deterministic_score=True),
        "categories[0].deterministic_score",
        "SCORE_OUT_OF_RANGE",
    ),
    "ai score out of range": (
        _category(0, ai_score=-1),
        "categories[0].ai_score",
        "SCORE_OUT_OF_RANGE",
    ),
    "sample out of range": (
        _category(0, ai_samples=(70, 170)),
        "categories[0].ai_samples[1]",
        "SCORE_OUT_OF_RANGE",
    ),
    "mean of other samples": (
        _category(0, ai_samples=(70, 73)),
        "categories[0].ai_score",
        "MEAN_MISMATCH",
    ),
    "blank rationale": (_category(1, rationale=" \u200b"), "categories[1].rationale", "REQUIRED"),
    "rationale with NUL": (
        _category(1, rationale="a\x00b"),
        "categories[1].rationale",
        "TEXT_INVALID",
    ),
    "unknown evidence": (
        _category(0, evidence=(GHOST,)),
        "categories[0].evidence[0]",
        "EVIDENCE_UNKNOWN",
    ),
    "evidence of another group": (
        _category(1, evidence=(MISPLACED,)),
        "categories[1].evidence[0]",
        "EVIDENCE_UNKNOWN",
    ),
    "evidence without a bundle": (
        _whole(bundle=None),
        "categories[1].evidence[0]",
        "EVIDENCE_UNKNOWN",
    ),
    "unknown evidence of a suggestion": (
        _suggestion(evidence_refs=(GHOST,)),
        "suggestions[0].evidence_refs[0]",
        "EVIDENCE_UNKNOWN",
    ),
    "suggestion that is a task already": (
        _suggestion(fate=Fate(SuggestionState.CREATED, created_task_id="x")),
        "suggestions[0].fate.state",
        "STATE_INVALID",
    ),
    "suggestion of another task": (
        _suggestion(parent_task_id="other"),
        "suggestions[0].parent_task_id",
        "PARENT_MISMATCH",
    ),
    "suggestion without id": (
        _suggestion(suggestion_id=""),
        "suggestions[0].suggestion_id",
        "REQUIRED",
    ),
    "too many suggestions": (
        _whole(suggestions=_whole().suggestions * 101),
        "suggestions",
        "TOO_MANY_ENTRIES",
    ),
    "missing category": (_whole(categories=categories[:2]), "categories", "CATEGORY_MISSING"),
    "repeated category": (
        _whole(categories=(*categories[:2], categories[0])),
        "categories[2].category",
        "CATEGORY_DUPLICATE",
    ),
    "unknown category": (
        _category(1, category="style"),
        "categories[1].category",
        "CATEGORY_UNKNOWN",
    ),
    "other order": (_whole(categories=categories[::-1]), "categories", "CATEGORY_ORDER"),
    "no task": (_whole(task_id=""), "task_id", "REQUIRED"),
    "control character in the run": (_whole(run_id="a\nb"), "run_id", "ID_INVALID"),
    "tampered policy digest": (
        _provenance(policy_digest="0" * 64),
        "provenance.policy_digest",
        "DIGEST_MISMATCH",
    ),
}


@pytest.mark.parametrize(("given", "path", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_the_field_named(given: TaskEvaluation, path: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_evaluation(given, "", POLICIES)
    assert [(each.path, each.reason) for each in caught.value.violations] == [(path, reason)]


def test_a_mismatch_names_both_numbers() -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_evaluation(_whole(overall_score=99), "", POLICIES)
    assert "99" in caught.value.message
    assert "70" in caught.value.message


def test_a_policy_that_is_not_loaded_is_not_found() -> None:
    with pytest.raises(NotFoundError) as caught:
        check_evaluation(_provenance(policy_version=2), "", POLICIES)
    assert caught.value.reason == "POLICY_NOT_FOUND"


def test_an_honest_evaluation_is_kept_whole() -> None:
    given = _whole()
    checked = check_evaluation(given, "key", POLICIES)
    assert checked.status is ResultStatus.SCORED
    assert checked.overall_score == 70
    assert checked.band == "acceptable"
    assert [each.final_score for each in checked.categories] == [70, 70, 70]
    assert checked.suggestions == given.suggestions


def test_the_content_hash_is_of_the_call_and_not_of_the_moment() -> None:
    given = _whole()
    base = check_evaluation(given, "key", POLICIES).content_hash
    suppressed = replace(given.suggestions[0], fate=Fate(SuggestionState.SUPPRESSED))
    for same in (
        replace(given, suggestions=(suppressed,)),
        replace(given, provenance=replace(given.provenance, engine_digest="f" * 64)),
    ):
        assert check_evaluation(same, "key", POLICIES).content_hash == base
    for other in (
        replace(given, run_id="r"),
        replace(given, overall_rationale="x"),
        replace(given, suggestions=()),
        _category(0, rationale="another"),
        evaluation("u", score=70, drafts=["Fix the retry loop"]),
    ):
        assert check_evaluation(other, "key", POLICIES).content_hash != base


def test_other_policies_are_recomputed_by_their_own_numbers() -> None:
    policy = Policy.from_toml(
        """
name = "halves"
version = 3
arithmetic = "decimal"
[blend]
deterministic = 5000
ai = 5000
[[categories]]
name = "agentPerformance"
weight = 2000
[[categories]]
name = "taskOutcomeQuality"
weight = 3000
[[categories]]
name = "processCompliance"
weight = 5000
[[bands]]
name = "no"
min = 0
max = 69
[[bands]]
name = "yes"
min = 70
max = 100
"""
    )
    given = _whole()
    moved = replace(
        given,
        overall_band="yes",
        categories=tuple(
            replace(each, weight=weight, band="yes")
            for each, weight in zip(given.categories, policy.weights, strict=True)
        ),
        provenance=replace(
            given.provenance,
            policy_name=policy.name,
            policy_version=policy.version,
            policy_digest=policy.digest,
        ),
    )
    known = {(policy.name, policy.version): policy}
    assert check_evaluation(moved, "", known).band == "yes"
    with pytest.raises(InvalidInputError) as caught:
        check_evaluation(replace(moved, overall_score=69, overall_band="no"), "", known)
    assert caught.value.reason == "OVERALL_MISMATCH"
