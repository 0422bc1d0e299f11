"""Follow-up suggestions: what they are, and what the policies make of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from steelyard.scoring.ai_reply import Citation, EvidenceRef

__all__ = [
    "MIN_DESCRIPTION_UNITS",
    "Fate",
    "FollowUpPolicy",
    "FollowUpSetting",
    "OpenTask",
    "PolicyMode",
    "Priority",
    "Recommendation",
    "Suggestion",
    "SuggestionState",
    "SuppressedReason",
    "policy_for_setting",
    "qualifies",
    "recommend",
]

MIN_DESCRIPTION_UNITS = 20


class SuggestionState(StrEnum):
    """Where a suggestion is in its life."""

    SUGGESTED = "suggested"
    SUPPRESSED = "suppressed"
    CREATED = "created"


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


class FollowUpSetting(StrEnum):
    """What a project wants to happen with follow-ups."""

    OFF = "off"
    SUGGEST = "suggest"
    CREATE = "create"


class Priority(StrEnum):
    """How soon a follow-up should be done."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


@dataclass(frozen=True, slots=True)
class FollowUpPolicy:
    """What a project's follow-up setting means: the mode, and whether suggestions are kept."""

    mode: PolicyMode
    keeps_suggestions: bool


def policy_for_setting(setting: str | None) -> FollowUpPolicy:
    """The policy for a project setting: one of `FollowUpSetting`.

    Anything else, and no setting, means `suggest`: it keeps suggestions and creates nothing.
    """
    creates = setting == FollowUpSetting.CREATE
    mode = PolicyMode.AUTO_CREATE_QUALIFIED if creates else PolicyMode.PERSIST_ONLY
    return FollowUpPolicy(mode, keeps_suggestions=setting != FollowUpSetting.OFF)


@dataclass(frozen=True, slots=True)
class OpenTask:
    """A task of the caller's board; in column done or archived it is not open."""

    task_id: str
    title: str = ""
    column: str = ""


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


def recommend(suggestion: Suggestion) -> Recommendation:
    """What the policy makes of a suggestion in its present state, in words."""
    fate = suggestion.fate
    wanted = fate.state is not SuggestionState.SUPPRESSED and qualifies(
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


_WHY_SUPPRESSED: Mapping[SuppressedReason, str] = MappingProxyType(
    {
        SuppressedReason.EMPTY_OR_GENERIC: (
            "The title is empty or generic, "
            f"or the description has fewer than {MIN_DESCRIPTION_UNITS} characters."
        ),
        SuppressedReason.INSUFFICIENT_SIGNAL: "No reason is given, or no known evidence is cited.",
        SuppressedReason.DUPLICATE_OPEN_TASK: "The open task {task} already covers it.",
        SuppressedReason.DUPLICATE_PRIOR_SUGGESTION: "The same suggestion was already made.",
        SuppressedReason.POLICY_FILTERED: "Only high and urgent ones qualify; this is {priority}.",
    }
)


def qualifies(mode: PolicyMode, priority: Priority) -> bool:
    """Whether a mode makes a task of a suggestion of this priority."""
    if mode is PolicyMode.AUTO_CREATE_QUALIFIED:
        return priority in (Priority.HIGH, Priority.URGENT)
    return mode is PolicyMode.CREATE_ALL_NON_DUPLICATES
