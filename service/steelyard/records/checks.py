"""Decides whether a result may be stored. Pure; the only way to a `CheckedResult`.

Nothing that can be recomputed is believed: finals, bands, weights and the overall are compared with
what the policy gives for the scores, and a difference names the field and both values. A cited
evidence id must stand in the evaluation's bundle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard._core import canonical_json, hash_object, sha256_hex
from steelyard.errors import InvalidInputError, NotFoundError
from steelyard.records.document import StoredDocument, stored_document
from steelyard.records.model import ResultStatus, UnscoredResult
from steelyard.scoring.ai_reply import EvidenceRef
from steelyard.scoring.evidence import Group
from steelyard.scoring.followups import Suggestion, SuggestionState
from steelyard.scoring.policy import Policy
from steelyard.scoring.task import sample_mean
from steelyard.scoring.task_types import CategoryResult, TaskEvaluation
from steelyard.scoring.text import check_id, clean, is_blank

__all__ = ["CheckedResult", "check_evaluation", "check_text", "check_unscored"]

MAX_TEXT = 20_000
MAX_SUGGESTIONS = 100
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CheckedResult:
    """A result that may be stored. `content_hash` tells repeated calls from different ones."""

    run_id: str
    task_id: str
    status: ResultStatus
    overall_score: int | None
    band: str
    policy_name: str
    policy_version: int
    categories: tuple[CategoryResult, ...]
    reason: str
    document: str
    suggestions: tuple[Suggestion, ...]
    idempotency_key: str
    content_hash: str


def check_text(path: str, value: str, *, required: bool = False) -> str:
    """Free text: at most 20,000 characters, no NUL, no lone surrogate."""
    if required and is_blank(value):
        raise InvalidInputError.at(path, "REQUIRED", "must not be blank")
    if len(value) > MAX_TEXT:
        raise InvalidInputError.at(
            path, "TOO_LONG", f"has {len(value)} characters, limit {MAX_TEXT}"
        )
    if clean(value) != value:
        raise InvalidInputError.at(path, "TEXT_INVALID", "must not hold NUL or a lone surrogate")
    return value


def check_evaluation(
    evaluation: TaskEvaluation, idempotency_key: str, policies: Mapping[tuple[str, int], Policy]
) -> CheckedResult:
    """A scored result. Raises InvalidInputError that names the field, NotFoundError for a policy
    that is not loaded."""
    check_id("task_id", evaluation.task_id)
    check_id("run_id", evaluation.run_id, required=False)
    check_id("idempotency_key", idempotency_key, required=False)
    provenance = evaluation.provenance
    policy = policies.get((provenance.policy_name, provenance.policy_version))
    if policy is None:
        raise NotFoundError.at(
            "provenance.policy_name",
            "POLICY_NOT_FOUND",
            f"{provenance.policy_name}@{provenance.policy_version} is not loaded",
        )
    _same("provenance.policy_digest", "DIGEST_MISMATCH", provenance.policy_digest, policy.digest)
    sources = {} if evaluation.bundle is None else evaluation.bundle.sources
    _check_scores(evaluation, policy)
    for index, each in enumerate(evaluation.categories):
        check_text(f"categories[{index}].rationale", each.rationale, required=True)
        _check_evidence(f"categories[{index}].evidence", each.evidence, sources)
    _check_suggestions(evaluation, sources)
    document = stored_document(evaluation)
    if len(document.text) > MAX_DOCUMENT_BYTES:
        raise InvalidInputError.at(
            "evaluation",
            "TOO_LARGE",
            f"has {len(document.text)} bytes, limit {MAX_DOCUMENT_BYTES}",
        )
    return CheckedResult(
        run_id=evaluation.run_id,
        task_id=evaluation.task_id,
        status=ResultStatus.SCORED,
        overall_score=evaluation.overall_score,
        band=evaluation.overall_band,
        policy_name=policy.name,
        policy_version=policy.version,
        categories=evaluation.categories,
        reason="",
        document=document.text.decode(),
        suggestions=evaluation.suggestions,
        idempotency_key=idempotency_key,
        content_hash=_content_hash(evaluation, document) if idempotency_key else "",
    )


def check_unscored(result: UnscoredResult) -> CheckedResult:
    """A skipped or failed result. Raises InvalidInputError that names the field."""
    if result.status is ResultStatus.SCORED:
        raise InvalidInputError.at(
            "status", "STATUS_INVALID", "a scored result is stored by evaluating its task"
        )
    check_id("run_id", result.run_id)
    check_id("task_id", result.task_id)
    check_id("idempotency_key", result.idempotency_key, required=False)
    check_text("reason", result.reason, required=True)
    return CheckedResult(
        run_id=result.run_id,
        task_id=result.task_id,
        status=result.status,
        overall_score=None,
        band="",
        policy_name="",
        policy_version=0,
        categories=(),
        reason=result.reason,
        document="",
        suggestions=(),
        idempotency_key=result.idempotency_key,
        content_hash=hash_object(
            [result.run_id, result.task_id, result.status.value, result.reason]
        ),
    )


def _check_scores(evaluation: TaskEvaluation, policy: Policy) -> None:
    _check_category_set(evaluation.categories, policy)
    path = "categories[{}]."
    for index, (each, weight) in enumerate(zip(evaluation.categories, policy.weights, strict=True)):
        _check_score(path + "deterministic_score", each.deterministic_score, index)
        for place, sample in enumerate(each.ai_samples):
            _check_score(path + "ai_samples[{}]", sample, index, place)
        _check_score(path + "ai_score", each.ai_score, index)
        if each.ai_samples:
            mean = sample_mean(each.ai_samples)
            _same(path + "ai_score", "MEAN_MISMATCH", each.ai_score, mean, index)
        final = policy.blend(each.deterministic_score, each.ai_score)
        _same(path + "final_score", "FINAL_MISMATCH", each.final_score, final, index)
        _same(path + "band", "BAND_MISMATCH", each.band, policy.band_name(final), index)
        _same(path + "weight", "WEIGHT_MISMATCH", each.weight, weight, index)
    overall = policy.overall(bytes(each.final_score for each in evaluation.categories))
    _same("overall_score", "OVERALL_MISMATCH", evaluation.overall_score, overall)
    band = policy.band_name(overall)
    _same("overall_band", "BAND_MISMATCH", evaluation.overall_band, band)


def _check_category_set(categories: Sequence[CategoryResult], policy: Policy) -> None:
    if tuple(each.category for each in categories) == policy.categories:
        return
    seen: set[str] = set()
    for index, each in enumerate(categories):
        path = f"categories[{index}].category"
        if each.category not in policy.categories:
            raise InvalidInputError.at(
                path, "CATEGORY_UNKNOWN", f"the policy has no category {each.category!r}"
            )
        if each.category in seen:
            raise InvalidInputError.at(path, "CATEGORY_DUPLICATE", f"{each.category!r} again")
        seen.add(each.category)
    for name in policy.categories:
        if name not in seen:
            raise InvalidInputError.at("categories", "CATEGORY_MISSING", f"{name!r} is missing")
    raise InvalidInputError.at("categories", "CATEGORY_ORDER", "must be in policy order")


# Their paths have a {} for each index: what is right needs no path.
def _check_score(path: str, value: object, *indices: int) -> None:
    if type(value) is not int or not 0 <= value <= 100:
        raise InvalidInputError.at(
            path.format(*indices),
            "SCORE_OUT_OF_RANGE",
            f"{value!r} is not a score, an integer from 0 to 100",
        )


def _same(path: str, reason: str, given: object, computed: object, *indices: int) -> None:
    if type(given) is not type(computed) or given != computed:
        raise InvalidInputError.at(
            path.format(*indices), reason, f"is {given!r}, but computes to {computed!r}"
        )


def _check_evidence(path: str, refs: Sequence[EvidenceRef], sources: Mapping[str, Group]) -> None:
    for index, ref in enumerate(refs):
        if sources.get(ref.evidence_id) is not ref.source:
            raise InvalidInputError.at(
                f"{path}[{index}]",
                "EVIDENCE_UNKNOWN",
                f"{ref.evidence_id!r} is not in group {ref.source} of the bundle",
            )


def _check_suggestions(evaluation: TaskEvaluation, sources: Mapping[str, Group]) -> None:
    if len(evaluation.suggestions) > MAX_SUGGESTIONS:
        raise InvalidInputError.at(
            "suggestions", "TOO_MANY_ENTRIES", f"more than {MAX_SUGGESTIONS} suggestions"
        )
    for index, each in enumerate(evaluation.suggestions):
        path = f"suggestions[{index}]"
        check_id(f"{path}.suggestion_id", each.suggestion_id)
        _same(f"{path}.parent_task_id", "PARENT_MISMATCH", each.parent_task_id, evaluation.task_id)
        if each.fate.state is SuggestionState.CREATED:
            raise InvalidInputError.at(
                f"{path}.fate.state", "STATE_INVALID", "tasks are created by the store alone"
            )
        _check_evidence(f"{path}.evidence_refs", each.evidence_refs, sources)


def _content_hash(evaluation: TaskEvaluation, document: StoredDocument) -> str:
    """The same for the same call, whatever was stored since and whichever build answers it."""
    policy = evaluation.provenance
    rest = [
        policy.policy_name,
        policy.policy_version,
        policy.policy_digest,
        evaluation.run_id,
        [each.suggestion_id for each in evaluation.suggestions],
    ]
    return sha256_hex(document.content + canonical_json(rest))
