"""One task evaluation in full: from facts and a judge's opinion to the record that is stored.

The number comes from `steelyard.scoring.task`; this module decides what goes into it and keeps what
it takes to audit it: evidence, rationale, signals, follow-ups and provenance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from steelyard.errors import InvalidInputError, LimitError
from steelyard.scoring.ai_reply import (
    MAX_CITATIONS,
    MAX_DRAFTS,
    RATIONALE_UNITS,
    Citation,
    EvidenceRef,
    parse_reply,
    split_citations,
)
from steelyard.scoring.evidence import Group, normalise
from steelyard.scoring.followups import Fate, Suggestion
from steelyard.scoring.policy import TASK_EVALUATION, Policy
from steelyard.scoring.signals import (
    SIGNALS_PROFILE,
    TaskSignals,
    check_signals,
    score_signals,
    signals_from_evidence,
)
from steelyard.scoring.suggesting import SuggestionContext, mark_duplicates, suggest
from steelyard.scoring.task import TaskScore, sample_mean, score_task
from steelyard.scoring.task_types import (
    AiScores,
    AiSource,
    CategoryResult,
    Claim,
    DeterministicSource,
    RawReply,
    TaskEvaluation,
    TaskEvaluationRequest,
)
from steelyard.scoring.text import check_id, clean, is_blank, shorten

__all__ = ["evaluate_task", "require_rationales", "settle", "with_active"]

MAX_OPEN_TASKS = 10_000
NO_SOURCES: Mapping[str, Group] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Opinion:
    """The AI side, whatever form it came in; citations are by category."""

    source: AiSource
    scores: Mapping[str, int | Sequence[int]]
    rationales: Mapping[str, str]
    known: Mapping[str, tuple[EvidenceRef, ...]]
    unknown: tuple[Citation, ...] = ()
    overall_rationale: str = ""
    drafts: tuple[object, ...] = ()
    digest: str = ""


def evaluate_task(
    request: TaskEvaluationRequest, policy: Policy = TASK_EVALUATION
) -> TaskEvaluation:
    """Evaluate one task. The same arguments give the same result everywhere.

    A suggestion is compared with the open tasks and the drafts of this request; `with_active`
    compares it with earlier evaluations.

    Errors: InvalidInputError or LimitError naming the field. Beside those of the parts:
    INPUT_MISSING, PROFILE_MISMATCH (signals under a policy with other categories),
    EVIDENCE_UNKNOWN (a citation in `ai` that is not in the bundle), FINAL_MISMATCH and
    OVERALL_MISMATCH with both numbers.
    """
    check_id("task_id", request.task_id)
    check_id("run_id", request.run_id, required=False)
    bundle = None if request.evidence is None else normalise(request.evidence)
    sources = NO_SOURCES if bundle is None else bundle.sources
    source, signals, facts = _facts(request, policy)
    if isinstance(request.ai, RawReply):
        opinion = _opinion_of_reply(request.ai, policy, sources)
    else:
        opinion = _opinion_of_scores(request.ai, policy, sources)
    score = score_task(facts, opinion.scores, policy)
    _check_claim(request.claim, score)
    suggestions = _suggestions(request, opinion, score, sources)
    return TaskEvaluation(
        task_id=request.task_id,
        run_id=request.run_id,
        categories=_categories(score, facts, opinion, policy),
        overall_score=score.overall_score,
        overall_band=score.overall_band,
        overall_rationale=opinion.overall_rationale,
        bundle=bundle,
        signals=signals,
        suggestions=suggestions,
        unknown_evidence=opinion.unknown
        + tuple(citation for suggestion in suggestions for citation in suggestion.unknown_refs),
        provenance=score.provenance,
        deterministic_source=source,
        ai_source=opinion.source,
        ai_reply_digest=opinion.digest,
    )


def with_active(evaluation: TaskEvaluation, active: Collection[str]) -> TaskEvaluation:
    """The evaluation when the suggestions `active` are suggested or created already."""
    return replace(evaluation, suggestions=mark_duplicates(evaluation.suggestions, active))


def settle(evaluation: TaskEvaluation, run_id: str, fates: Sequence[Fate]) -> TaskEvaluation:
    """The evaluation as a store kept it: under its run, each suggestion with its final fate."""
    suggestions = tuple(
        replace(suggestion, run_id=run_id, fate=fate)
        for suggestion, fate in zip(evaluation.suggestions, fates, strict=True)
    )
    return replace(evaluation, run_id=run_id, suggestions=suggestions)


def require_rationales(evaluation: TaskEvaluation) -> None:
    """Refuse an evaluation that must not be persisted.

    Errors: InvalidInputError RATIONALE_BLANK for the first category without a rationale.
    """
    for entry in evaluation.categories:
        if not entry.rationale:
            raise InvalidInputError.at(
                f"ai.{entry.category}.rationale", "RATIONALE_BLANK", "is required to persist"
            )


def _facts(
    request: TaskEvaluationRequest, policy: Policy
) -> tuple[DeterministicSource, TaskSignals | None, Mapping[str, int]]:
    given = request.deterministic
    if isinstance(given, TaskSignals):
        source, path, signals = DeterministicSource.SIGNALS, "signals", check_signals(given)
    elif given is not None:
        return DeterministicSource.SCORES, None, given
    elif request.evidence is not None:
        source, path = DeterministicSource.EVIDENCE, "evidence"
        signals = signals_from_evidence(request.evidence)
    else:
        raise InvalidInputError.at(
            "deterministic", "INPUT_MISSING", "give deterministic scores, signals or evidence"
        )
    facts = score_signals(signals).by_category()
    if facts.keys() != set(policy.categories):
        raise InvalidInputError.at(
            path,
            "PROFILE_MISMATCH",
            f"{SIGNALS_PROFILE} scores {', '.join(facts)}; "
            f"the policy {policy.name}@{policy.version} has {', '.join(policy.categories)}",
        )
    return source, signals, facts


def _opinion_of_reply(reply: RawReply, policy: Policy, sources: Mapping[str, Group]) -> _Opinion:
    parsed = parse_reply(reply.text, policy.categories)
    known: dict[str, tuple[EvidenceRef, ...]] = {}
    unknown: list[Citation] = []
    for judgement in parsed.judgements:
        known[judgement.category], missing = split_citations(judgement.citations, sources)
        unknown += missing
    return _Opinion(
        source=AiSource.REPLY,
        scores={judgement.category: judgement.score for judgement in parsed.judgements},
        rationales={judgement.category: judgement.rationale for judgement in parsed.judgements},
        known=known,
        unknown=tuple(unknown),
        overall_rationale=parsed.overall_rationale,
        drafts=parsed.drafts,
        digest=hashlib.sha256(reply.text.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _opinion_of_scores(given: AiScores, policy: Policy, sources: Mapping[str, Group]) -> _Opinion:
    known: dict[str, tuple[EvidenceRef, ...]] = {}
    for name in (*given.rationales, *given.citations):
        if name not in policy.categories:
            raise InvalidInputError.at(
                f"ai.{name}", "CATEGORY_UNKNOWN", f"the policy has no category {name!r}"
            )
    for category, ids in given.citations.items():
        path = f"ai.{category}.evidence"
        if len(ids) > MAX_CITATIONS:
            raise LimitError.at(path, "TOO_MANY_ENTRIES", f"cites more than {MAX_CITATIONS} ids")
        citations = [Citation(f"{path}[{index}]", value) for index, value in enumerate(ids)]
        known[category], unknown = split_citations(citations, sources)
        if unknown:
            raise InvalidInputError.at(
                unknown[0].path,
                "EVIDENCE_UNKNOWN",
                f"{unknown[0].evidence_id!r} is not in the evidence",
            )
    sampled = any(not isinstance(score, int) for score in given.scores.values())
    return _Opinion(
        source=AiSource.SAMPLES if sampled else AiSource.SCORES,
        scores=given.scores,
        rationales={
            category: "" if is_blank(text) else shorten(clean(text), RATIONALE_UNITS)[0]
            for category, text in given.rationales.items()
        },
        known=known,
    )


def _categories(
    score: TaskScore, facts: Mapping[str, int], opinion: _Opinion, policy: Policy
) -> tuple[CategoryResult, ...]:
    results = []
    for result, weight in zip(score.categories, policy.weights, strict=True):
        name = result.category
        value = opinion.scores[name]
        samples = () if isinstance(value, int) else tuple(value)
        results.append(
            CategoryResult(
                category=name,
                deterministic_score=facts[name],
                ai_score=value if isinstance(value, int) else sample_mean(samples),
                final_score=result.final_score,
                weight=weight,
                band=result.band,
                below_floor=result.below_floor,
                rationale=opinion.rationales.get(name, ""),
                evidence=opinion.known.get(name, ()),
                ai_samples=samples,
                spread=result.spread,
            )
        )
    return tuple(results)


def _check_claim(claim: Claim, score: TaskScore) -> None:
    computed = {entry.category: entry.final_score for entry in score.categories}
    for category, given in claim.final_scores.items():
        path = f"claim.final_scores.{category}"
        if category not in computed:
            raise InvalidInputError.at(
                path, "CATEGORY_UNKNOWN", f"the policy has no category {category!r}"
            )
        _same(path, "FINAL_MISMATCH", given, computed[category])
    if claim.overall_score is not None:
        _same("claim.overall_score", "OVERALL_MISMATCH", claim.overall_score, score.overall_score)


def _same(path: str, reason: str, given: object, computed: int) -> None:
    if type(given) is not int or given != computed:
        raise InvalidInputError.at(path, reason, f"is {given!r}, but computes to {computed}")


def _suggestions(
    request: TaskEvaluationRequest,
    opinion: _Opinion,
    score: TaskScore,
    sources: Mapping[str, Group],
) -> tuple[Suggestion, ...]:
    drafts = [
        *((f"follow_up_drafts[{index}]", draft) for index, draft in enumerate(request.drafts)),
        *(
            (f"ai_reply.followUpDrafts[{index}]", draft)
            for index, draft in enumerate(opinion.drafts)
        ),
    ]
    if len(drafts) > MAX_DRAFTS:
        raise LimitError.at(
            "follow_up_drafts", "TOO_MANY_ENTRIES", f"more than {MAX_DRAFTS} drafts in all"
        )
    if len(request.open_tasks) > MAX_OPEN_TASKS:
        raise LimitError.at(
            "open_tasks", "TOO_MANY_ENTRIES", f"more than {MAX_OPEN_TASKS} open tasks"
        )
    for index, task in enumerate(request.open_tasks):
        check_id(f"open_tasks[{index}].task_id", task.task_id)
    if not request.follow_up_policy.keeps_suggestions:
        return ()
    return suggest(
        drafts,
        SuggestionContext(
            parent_task_id=request.task_id,
            run_id=request.run_id,
            overall_score=score.overall_score,
            overall_band=score.overall_band,
            mode=request.follow_up_policy.mode,
            sources=sources,
            open_tasks=request.open_tasks,
        ),
    )
