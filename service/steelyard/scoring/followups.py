"""Follow-up suggestions: what an evaluation says should be done next, without saying it twice.

Drafts come from a model or a caller and may be malformed; each becomes one suggestion, suggested or
suppressed with the reason, so an evaluation never fails on its drafts.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from steelyard.scoring.ai_reply import (
    MAX_CITATIONS,
    RATIONALE_UNITS,
    Citation,
    EvidenceRef,
    cited_id,
    split_citations,
)
from steelyard.scoring.evidence import Group
from steelyard.scoring.text import clean, shorten, trim, utf16_units

__all__ = [
    "MOVES",
    "Fate",
    "FollowUpPolicy",
    "OpenTask",
    "PolicyMode",
    "PriorSuggestion",
    "Priority",
    "Recommendation",
    "Suggestion",
    "SuggestionContext",
    "SuggestionState",
    "SuppressedReason",
    "dedupe_key",
    "normalise_key",
    "policy_for_setting",
    "recommend",
    "suggest",
    "suggestion_id",
]

TITLE_UNITS = 300
DESCRIPTION_UNITS = 4_000
MIN_DESCRIPTION_UNITS = 20
# Normalisation can lengthen a text up to eighteen times; a stored key stays bounded.
KEY_CHARACTERS = 4_000

_ASCII_GAP = re.compile("[^0-9a-z]+")
_SPACES = re.compile(" +")

_GENERIC_TITLES = frozenset(
    {"follow up", "followup", "todo", "fix issue", "improve task", "investigate"}
)
_CLOSED_COLUMNS = frozenset({"done", "archived"})


class SuggestionState(StrEnum):
    """Where a suggestion is in its life."""

    SUGGESTED = "suggested"
    SUPPRESSED = "suppressed"
    CREATED = "created"


# A person may create or dismiss what was suggested, and create what was suppressed. A created
# suggestion is a task; its life goes on there.
MOVES: Mapping[SuggestionState, frozenset[SuggestionState]] = MappingProxyType(
    {
        SuggestionState.SUGGESTED: frozenset({SuggestionState.SUPPRESSED, SuggestionState.CREATED}),
        SuggestionState.SUPPRESSED: frozenset({SuggestionState.CREATED}),
        SuggestionState.CREATED: frozenset(),
    }
)


class SuppressedReason(StrEnum):
    """Why a suggestion was suppressed; the first that applies, in this order."""

    EMPTY_OR_GENERIC = "empty_or_generic"
    INSUFFICIENT_SIGNAL = "insufficient_signal"
    DUPLICATE_OPEN_TASK = "duplicate_open_task"
    DUPLICATE_PRIOR_SUGGESTION = "duplicate_prior_suggestion"
    POLICY_FILTERED = "policy_filtered"


class PolicyMode(StrEnum):
    """Which suggestions become tasks by themselves."""

    PERSIST_ONLY = "persist_only"
    AUTO_CREATE_QUALIFIED = "auto_create_qualified"
    CREATE_ALL_NON_DUPLICATES = "create_all_non_duplicates"


class Priority(StrEnum):
    """How soon a follow-up should be done."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


_PRIORITY_OF_BAND = {
    "failing": Priority.URGENT,
    "weak": Priority.HIGH,
    "acceptable": Priority.NORMAL,
    "strong": Priority.LOW,
    "excellent": Priority.LOW,
}


@dataclass(frozen=True, slots=True)
class FollowUpPolicy:
    """What a project's follow-up setting means: the mode, and whether suggestions are kept."""

    mode: PolicyMode
    keeps_suggestions: bool


def policy_for_setting(setting: str | None) -> FollowUpPolicy:
    """The policy for a project setting off, suggest or create.

    Anything else, and no setting, means `suggest`: it keeps suggestions and creates nothing.
    """
    mode = PolicyMode.AUTO_CREATE_QUALIFIED if setting == "create" else PolicyMode.PERSIST_ONLY
    return FollowUpPolicy(mode, keeps_suggestions=setting != "off")


@dataclass(frozen=True, slots=True)
class OpenTask:
    """A task of the caller's board; in column done or archived it is not open."""

    task_id: str
    title: str = ""
    column: str = ""


@dataclass(frozen=True, slots=True)
class PriorSuggestion:
    """An earlier suggestion for the same parent task. A suppressed one blocks nothing."""

    suggestion_id: str
    state: SuggestionState


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Whether the policy makes a task of the suggestion, and why, for people."""

    should_create: bool
    policy_qualified: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a suggestion: the part that storing it may change."""

    state: SuggestionState
    suppressed_reason: SuppressedReason | None = None
    matched_task_id: str = ""
    matched_suggestion_id: str = ""
    created_task_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One follow-up suggestion, with all that an audit of its fate needs.

    `suggestion_id` is the same in every run for the same parent task, title and description; among
    suppressed suggestions it need not be unique. `unknown_refs` are cited ids the bundle does not
    hold. `problem` says what was malformed in the draft, empty for a well-formed one.
    """

    suggestion_id: str
    dedupe_key: str
    parent_task_id: str
    run_id: str
    title: str
    description: str
    rationale: str
    priority: Priority
    severity: str
    evidence_refs: tuple[EvidenceRef, ...]
    unknown_refs: tuple[Citation, ...]
    policy_mode: PolicyMode
    fate: Fate
    problem: str = ""


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
    prior: Sequence[PriorSuggestion] = ()


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
    live = {
        prior.suggestion_id
        for prior in context.prior
        if prior.state is not SuggestionState.SUPPRESSED
    }
    open_keys = [
        (task.task_id, key)
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


def recommend(suggestion: Suggestion) -> Recommendation:
    """What the policy makes of a suggestion in its present state, in words."""
    fate = suggestion.fate
    wanted = fate.state is not SuggestionState.SUPPRESSED and _qualifies(
        suggestion.policy_mode, suggestion.priority
    )
    if fate.created_task_id:
        why = f"It became task {fate.created_task_id}."
    elif fate.suppressed_reason is not None:
        why = _WHY_SUPPRESSED[fate.suppressed_reason].format(
            task=fate.matched_task_id, priority=suggestion.priority
        )
    elif wanted:
        why = f"The mode {suggestion.policy_mode} makes it a task."
    else:
        why = f"The mode {suggestion.policy_mode} keeps suggestions and creates no task."
    return Recommendation(wanted, wanted, f"{suggestion.problem} {why}".strip())


_WHY_SUPPRESSED = {
    SuppressedReason.EMPTY_OR_GENERIC: (
        "The title is empty or generic, "
        f"or the description has fewer than {MIN_DESCRIPTION_UNITS} characters."
    ),
    SuppressedReason.INSUFFICIENT_SIGNAL: "No reason is given, or no known evidence is cited.",
    SuppressedReason.DUPLICATE_OPEN_TASK: "The open task {task} already covers it.",
    SuppressedReason.DUPLICATE_PRIOR_SUGGESTION: "The same suggestion was already made.",
    SuppressedReason.POLICY_FILTERED: "Priority high or urgent qualifies; this one is {priority}.",
}


def _qualifies(mode: PolicyMode, priority: Priority) -> bool:
    """Whether a mode makes a task of a suggestion of this priority."""
    if mode is PolicyMode.AUTO_CREATE_QUALIFIED:
        return priority in (Priority.HIGH, Priority.URGENT)
    return mode is PolicyMode.CREATE_ALL_NON_DUPLICATES


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
        fate = Fate(
            suppressed, SuppressedReason.DUPLICATE_PRIOR_SUGGESTION, matched_suggestion_id=own_id
        )
    elif context.mode is not PolicyMode.PERSIST_ONLY and not _qualifies(context.mode, priority):
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
        rationale=draft.reason,
        priority=priority,
        severity=context.overall_band,
        evidence_refs=known,
        unknown_refs=unknown,
        policy_mode=context.mode,
        fate=fate,
        problem=draft.problem,
    )


def _matching_task(title_key: str, open_keys: Iterable[tuple[str, str]]) -> str | None:
    """The first open task whose title is this one or contains it word by word."""
    return next((task for task, key in open_keys if f" {title_key} " in f" {key} "), None)


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
