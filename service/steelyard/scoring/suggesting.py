"""Drafts of follow-ups turned into suggestions, without saying the same twice.

Drafts come from a model or a caller and may be malformed; each becomes one suggestion, suggested or
suppressed with the reason, so an evaluation never fails on its drafts.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from steelyard.scoring.ai_reply import (
    MAX_CITATIONS,
    RATIONALE_UNITS,
    Citation,
    cited_id,
    split_citations,
)
from steelyard.scoring.evidence import Group
from steelyard.scoring.followups import (
    MIN_DESCRIPTION_UNITS,
    Fate,
    OpenTask,
    PolicyMode,
    Priority,
    Suggestion,
    SuggestionState,
    SuppressedReason,
    qualifies,
)
from steelyard.scoring.text import clean, shorten, trim, utf16_units

__all__ = [
    "SuggestionContext",
    "dedupe_key",
    "mark_duplicates",
    "normalise_key",
    "suggest",
    "suggestion_id",
]

TITLE_UNITS = 300
DESCRIPTION_UNITS = 4_000
# Normalisation can lengthen a text up to eighteen times; a stored key stays bounded.
KEY_CHARACTERS = 4_000
NO_REASON = "No rationale provided."

_ASCII_GAP = re.compile("[^0-9a-z]+")
_SPACES = re.compile(" +")

_GENERIC_TITLES = frozenset(
    {"follow up", "followup", "todo", "fix issue", "improve task", "investigate"}
)
_CLOSED_COLUMNS = frozenset({"done", "archived"})

_PRIORITY_OF_BAND: Mapping[str, Priority] = MappingProxyType(
    {
        "failing": Priority.URGENT,
        "weak": Priority.HIGH,
        "acceptable": Priority.NORMAL,
        "strong": Priority.LOW,
        "excellent": Priority.LOW,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionContext:
    """What decides the fate of drafts beside their own content."""

    parent_task_id: str
    run_id: str
    overall_score: int
    overall_band: str
    mode: PolicyMode
    sources: Mapping[str, Group]
    open_tasks: Sequence[OpenTask] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    title: str
    description: str
    reason: str
    citations: tuple[Citation, ...]
    problem: str


def suggest(
    drafts: Sequence[tuple[str, object]], context: SuggestionContext
) -> tuple[Suggestion, ...]:
    """One suggestion for each draft, in order; a draft comes with its path. Never raises.

    A draft is a JSON object with title, description, reason and evidenceRefs (ids, or objects that
    name one).
    """
    live: set[str] = set()
    # Padded, so that whole words are found by looking for a part.
    open_keys = [
        (task.task_id, f" {key} ")
        for task in context.open_tasks
        if task.column.casefold() not in _CLOSED_COLUMNS and (key := normalise_key(task.title))
    ]
    suggestions: list[Suggestion] = []
    for path, value in drafts:
        suggestion = _decide(_read_draft(value, path), context, open_keys, live)
        if suggestion.fate.state is SuggestionState.SUGGESTED:
            live.add(suggestion.suggestion_id)
        suggestions.append(suggestion)
    return tuple(suggestions)


def mark_duplicates(
    suggestions: Sequence[Suggestion], active: Collection[str]
) -> tuple[Suggestion, ...]:
    """The suggestions once it is known which ids are suggested or created already.

    An earlier suggestion that was suppressed is not active: a finding that returns with evidence is
    new.
    """
    return tuple(
        replace(suggestion, fate=_duplicate_of(suggestion.suggestion_id))
        if suggestion.suggestion_id in active
        and suggestion.fate.suppressed_reason in (None, SuppressedReason.POLICY_FILTERED)
        else suggestion
        for suggestion in suggestions
    )


def normalise_key(text: str) -> str:
    """`text` for comparison: NFKC, case-folded, runs of non-letters and non-digits one space.

    Marks stay with the letters they belong to: in many scripts they are what tells words apart.
    """
    folded = unicodedata.normalize("NFKC", clean(text)).casefold()
    if folded.isascii():
        return _ASCII_GAP.sub(" ", folded).strip()
    kept = [" "]
    for char in folded:
        kind = unicodedata.category(char)[0]
        kept.append(char if kind in "LN" or (kind == "M" and kept[-1] != " ") else " ")
    return _SPACES.sub(" ", "".join(kept)).strip()


def dedupe_key(parent_task_id: str, title: str, description: str) -> str:
    """What makes two suggestions the same: three normalised texts as netstrings of UTF-8 bytes."""
    parts = (normalise_key(text)[:KEY_CHARACTERS] for text in (parent_task_id, title, description))
    return "".join(f"{len(part.encode())}:{part}," for part in parts)


def suggestion_id(key: str) -> str:
    """The stable id of the suggestion with this dedupe key."""
    return f"efs-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _decide(
    draft: _Draft,
    context: SuggestionContext,
    open_keys: Sequence[tuple[str, str]],
    live: set[str],
) -> Suggestion:
    key = dedupe_key(context.parent_task_id, draft.title, draft.description)
    own_id = suggestion_id(key)
    known, unknown = split_citations(draft.citations, context.sources)
    priority = _priority(context.overall_band, context.overall_score)
    title_key = normalise_key(draft.title)
    suppressed = SuggestionState.SUPPRESSED
    if (
        not title_key
        or title_key in _GENERIC_TITLES
        or utf16_units(draft.description) < MIN_DESCRIPTION_UNITS
    ):
        fate = Fate(suppressed, SuppressedReason.EMPTY_OR_GENERIC)
    elif not draft.reason or not known:
        fate = Fate(suppressed, SuppressedReason.INSUFFICIENT_SIGNAL)
    elif task_id := _matching_task(title_key, open_keys):
        fate = Fate(suppressed, SuppressedReason.DUPLICATE_OPEN_TASK, matched_task_id=task_id)
    elif own_id in live:
        fate = _duplicate_of(own_id)
    elif context.mode is not PolicyMode.PERSIST_ONLY and not qualifies(context.mode, priority):
        fate = Fate(suppressed, SuppressedReason.POLICY_FILTERED)
    else:
        fate = Fate(SuggestionState.SUGGESTED)
    return Suggestion(
        suggestion_id=own_id,
        dedupe_key=key,
        parent_task_id=context.parent_task_id,
        run_id=context.run_id,
        title=draft.title,
        description=draft.description,
        rationale=draft.reason or NO_REASON,
        priority=priority,
        severity=context.overall_band,
        evidence_refs=known,
        unknown_refs=unknown,
        policy_mode=context.mode,
        fate=fate,
        problem=draft.problem,
    )


def _duplicate_of(suggestion_id: str) -> Fate:
    return Fate(
        SuggestionState.SUPPRESSED,
        SuppressedReason.DUPLICATE_PRIOR_SUGGESTION,
        matched_suggestion_id=suggestion_id,
    )


def _matching_task(title_key: str, open_keys: Iterable[tuple[str, str]]) -> str | None:
    """The first open task whose title is this one or contains it word by word."""
    wanted = f" {title_key} "
    return next((task for task, key in open_keys if wanted in key), None)


def _priority(band: str, score: int) -> Priority:
    """The priority of a band; a policy's own bands are read by the score, on the built-in scale."""
    if band in _PRIORITY_OF_BAND:
        return _PRIORITY_OF_BAND[band]
    if score < 40:
        return Priority.URGENT
    if score < 60:
        return Priority.HIGH
    return Priority.NORMAL if score < 75 else Priority.LOW


def _read_draft(value: object, path: str) -> _Draft:
    problems: list[str] = []
    members: Mapping[object, object] = value if isinstance(value, Mapping) else {}
    if not isinstance(value, Mapping):
        problems.append("The draft is not an object.")

    def text(name: str, limit: int) -> str:
        given = members.get(name)
        if given is None:
            given = ""
        if not isinstance(given, str):
            problems.append(f"{name} is not a string.")
            return ""
        return shorten(trim(clean(given)), limit)[0]

    title = text("title", TITLE_UNITS)
    description = text("description", DESCRIPTION_UNITS)
    reason = text("reason", RATIONALE_UNITS)
    refs = members.get("evidenceRefs")
    if refs is not None and not isinstance(refs, list | tuple):
        problems.append("evidenceRefs is not a list.")
    citations: list[Citation] = []
    for index, ref in enumerate(refs[:MAX_CITATIONS] if isinstance(refs, list | tuple) else ()):
        evidence_id = cited_id(ref)
        if evidence_id is None:
            problems.append(f"evidenceRefs[{index}] names no evidence id.")
        else:
            citations.append(Citation(f"{path}.evidenceRefs[{index}]", evidence_id))
    # A few problems explain a draft as well as a hundred.
    return _Draft(title, description, reason, tuple(citations), " ".join(problems[:3]))
