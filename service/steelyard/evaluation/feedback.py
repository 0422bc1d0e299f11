"""Feedback items: one issue each, priority and category by fixed rules, most urgent first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from steelyard.evaluation.contract import Contract, Criterion
from steelyard.evaluation.fingerprint import fingerprints, skeleton
from steelyard.evaluation.judgement import Judgement, Note, is_repository_path
from steelyard.evaluation.model import (
    Category,
    Code,
    FeedbackItem,
    Location,
    Outcome,
    Priority,
    Regression,
    Severity,
    State,
    shorten,
)
from steelyard.evaluation.strategies import StrategyOutcome
from steelyard.ingest import Finding, Kind, Merged, merge
from steelyard.ingest import Severity as Gravity

__all__ = [
    "NON_GOAL_RULE",
    "Draft",
    "criterion_draft",
    "finding_drafts",
    "finished",
    "non_goal_draft",
    "non_goal_rule",
    "note_draft",
    "note_identity",
    "regression_draft",
]

NON_GOAL_RULE = "nonGoals"
MAX_DESCRIPTION = 2_000
_MAX_WORDS = 4_096


@dataclass(frozen=True, slots=True)
class Draft:
    """An item before it has its fingerprint, with the identity that the fingerprint is made of."""

    item: FeedbackItem
    identity: tuple[str, ...]


# Priorities -------------------------------------------------------------------------------------


def finding_priority(finding: Finding, *, blocking: bool) -> Priority:
    """Build and type errors that block are critical, other blocking failures high, quality medium,
    style low. Nothing that does not block is above medium."""
    if finding.severity == Gravity.NOTE or finding.kind == Kind.STYLE:
        return Priority.LOW
    if finding.severity == Gravity.WARNING:
        return Priority.MEDIUM if blocking else Priority.LOW
    if not blocking or finding.kind == Kind.LINT:
        return Priority.MEDIUM
    compiles_not = finding.kind in (Kind.BUILD, Kind.TYPECHECK, Kind.COLLECTION)
    return Priority.CRITICAL if compiles_not else Priority.HIGH


def criterion_priority(criterion: Criterion, category: Category) -> Priority:
    """High for a required criterion, critical when its feature is absent; medium for others."""
    if not criterion.required:
        return Priority.MEDIUM
    return Priority.CRITICAL if category == Category.MISSING_FEATURE else Priority.HIGH


_PRIORITIES = list(Priority)
_URGENT = (Priority.CRITICAL, Priority.HIGH)
_REGRESSION_PRIORITY = {
    Severity.CRITICAL: Priority.CRITICAL,
    Severity.MAJOR: Priority.HIGH,
    Severity.MINOR: Priority.MEDIUM,
}

_PERFORMANCE_RULE = re.compile(r"(?:^|[^a-z])perf", re.IGNORECASE)


def finding_category(finding: Finding) -> Category:
    """Quality for lint and style (performance when the rule says so), bug for the rest."""
    if finding.kind not in (Kind.LINT, Kind.STYLE):
        return Category.BUG
    about_speed = _PERFORMANCE_RULE.search(finding.rule_id or "")
    return Category.PERFORMANCE if about_speed else Category.QUALITY


# Findings ---------------------------------------------------------------------------------------


def finding_drafts(
    outcomes: Sequence[StrategyOutcome], regressed: Callable[[str], bool]
) -> list[Draft]:
    """Items for everything the tools found, and one for every failed strategy that has a problem of
    its own or whose findings do not say why it failed. `regressed`: a test passed before."""
    by_name = {outcome.name: outcome for outcome in outcomes}
    found = (
        (outcome.name, finding)
        for outcome in outcomes
        for finding in (outcome.report.findings if outcome.report else ())
    )
    drafts = [_finding_draft(merged, by_name, regressed) for merged in merge(found)]
    named = {source for draft in drafts for source in draft.item.sources}
    urgent = {s for d in drafts if d.item.priority in _URGENT for s in d.item.sources}
    for outcome in outcomes:
        explained = outcome.name in (urgent if outcome.blocking else named)
        if outcome.result.result == Outcome.FAIL and (outcome.problems or not explained):
            drafts.append(_strategy_draft(outcome))
    return drafts


def _finding_draft(
    merged: Merged, outcomes: Mapping[str, StrategyOutcome], regressed: Callable[[str], bool]
) -> Draft:
    finding = merged.finding
    sources = sorted({source.strategy for source in merged.sources})
    blocking = any(outcomes[name].blocking for name in sources)
    command = next((c for name in sources if (c := outcomes[name].command)), None)
    position = finding.position
    location = None
    if finding.path is not None:
        location = Location(
            file=finding.path,
            line=position.line if position else None,
            end_line=position.end_line if position else None,
            column=position.column if position else None,
        )
    description = finding.message.strip() or f"{finding.tool} reported a problem without a message."
    if finding.test_name and finding.test_name not in description:
        description = f"{finding.test_name}: {description}"
    if location is None and finding.raw_location:
        description = f"{description} (at {finding.raw_location})"
    description = shorten(description, MAX_DESCRIPTION)
    if finding.count > 1:
        description = f"{description} ({finding.count} reports of the same kind)"
    worked_before = finding.test_name is not None and regressed(finding.test_name)
    priority = finding_priority(finding, blocking=blocking)
    item = FeedbackItem(
        priority=Priority.CRITICAL if worked_before and blocking else priority,
        category=Category.REGRESSION if worked_before else finding_category(finding),
        description=description,
        expected=_expected(finding),
        location=location,
        reproduction=f"Run: {command}" if command else None,
        locations=_places(location, finding),
        rule_id=finding.rule_id,
        sources=tuple(sources),
    )
    if finding.test_name is not None:
        identity: tuple[str, ...] = ("test", finding.test_name)
    else:
        identity = (
            "finding",
            finding.path or "",
            finding.rule_id or "",
            skeleton(finding.message, identified=finding.rule_id is not None),
        )
    return Draft(item, identity)


def _places(location: Location | None, finding: Finding) -> tuple[Location, ...]:
    others = tuple(
        Location(
            file=place.path,
            line=place.position.line if place.position else None,
            end_line=place.position.end_line if place.position else None,
            column=place.position.column if place.position else None,
        )
        for place in finding.also_at
    )
    return (location, *others) if location and others else others


def _expected(finding: Finding) -> str:
    if finding.kind in (Kind.TEST, Kind.COLLECTION) and finding.test_name:
        wanted = f"{finding.test_name} passes"
        if finding.expected is not None and finding.received is not None:
            wanted += (
                f": {shorten(finding.expected, 500)} instead of {shorten(finding.received, 500)}"
            )
        return f"{wanted}." if not wanted.endswith((".", "!", "?")) else wanted
    if finding.kind == Kind.COLLECTION:
        return "The file loads, so that its tests run."
    if finding.kind == Kind.RUNTIME:
        return f"{finding.tool} runs to its end without an error of its own."
    rule = f" {finding.rule_id}" if finding.rule_id else " this problem"
    return f"{finding.tool} no longer reports{rule} here."


def _strategy_draft(outcome: StrategyOutcome) -> Draft:
    result = outcome.result
    broke = any(code == Code.EVALUATOR_ERROR for code, _ in outcome.problems)
    blocks = Priority.HIGH if result.required else Priority.MEDIUM
    item = FeedbackItem(
        priority=blocks,
        category=Category.BUG,
        description=shorten(
            f"Strategy {result.strategy} failed. {result.details}", MAX_DESCRIPTION
        ),
        expected=(
            "The run comes to its end and leaves a report."
            if broke
            else "The command exits 0 and its report names no failure."
        ),
        reproduction=f"Run: {outcome.command}" if outcome.command else None,
        sources=(result.strategy,),
    )
    return Draft(
        item, ("strategy", result.strategy, *sorted({code for code, _ in outcome.problems}))
    )


# Judges -----------------------------------------------------------------------------------------


def criterion_draft(criterion: Criterion, judgement: Judgement, *, regressed: bool) -> Draft:
    """The item of a failed criterion."""
    category = judgement.category or Category.BUG
    priority = criterion_priority(criterion, category)
    if regressed and criterion.required:
        priority = Priority.CRITICAL
    wrong = _said(judgement.feedback, judgement.evidence, "The criterion failed.")
    item = FeedbackItem(
        priority=priority,
        category=Category.REGRESSION if regressed else category,
        description=shorten(wrong, MAX_DESCRIPTION),
        expected=shorten(_said(judgement.expected, criterion.description), MAX_DESCRIPTION),
        location=judgement.location or _first_place(f"{wrong} {judgement.evidence}"),
        reproduction=judgement.reproduction,
        criterion_id=criterion.criterion_id,
    )
    return Draft(item, ("criterion", criterion.criterion_id))


def _said(*texts: str | None) -> str:
    """The first text with something visible in it; the last one when none has."""
    return next((text for text in texts if text and text.strip()), texts[-1] or "")


_PLACE = re.compile(r"(?<![\w./-])([\w.-]{1,100}(?:/[\w.-]{1,100}){0,30}\.\w{1,10}):(\d{1,9})\b")


def _first_place(text: str) -> Location | None:
    """The first `path:line` in a judge's words."""
    for match in _PLACE.finditer(text[:_MAX_WORDS]):
        file, line = match[1], int(match[2])
        if is_repository_path(file) and line >= 1:
            return Location(file, line)
    return None


def note_draft(note: Note, contract: Contract, failed: Iterable[str]) -> Draft:
    """The item of a judge's note. Its priority fits the failed criterion it names: at least high
    for a required one, at most medium for another. A note about no failed criterion keeps its own.
    """
    criterion = next((c for c in contract.criteria if c.criterion_id == note.criterion_id), None)
    category = note.category or Category.QUALITY
    priority = note.priority or Priority.MEDIUM
    if criterion is not None and criterion.criterion_id in failed:
        bound = criterion_priority(criterion, category)
        pick = min if criterion.required else max
        priority = pick(note.priority or bound, bound, key=_PRIORITIES.index)
    item = FeedbackItem(
        priority=priority,
        category=category,
        description=shorten(note.description, MAX_DESCRIPTION),
        expected=shorten(
            _said(note.expected, criterion.description if criterion else ""), MAX_DESCRIPTION
        ),
        location=note.location,
        reproduction=note.reproduction,
        rule_id=note.rule_id,
        criterion_id=note.criterion_id,
        sources=(note.strategy,) if note.strategy else (),
    )
    return Draft(
        item,
        note_identity(
            note.location.file if note.location else None,
            note.rule_id,
            note.criterion_id,
            note.description,
        ),
    )


def note_identity(
    file: str | None, rule_id: str | None, criterion_id: str | None, description: str
) -> tuple[str, ...]:
    """Identity of an issue that a judge wrote down."""
    identified = rule_id is not None or criterion_id is not None
    words = skeleton(description, identified=identified)
    return ("note", file or "", rule_id or "", criterion_id or "", words)


def regression_draft(regression: Regression) -> Draft:
    """The item of a regression that a judge reported."""
    files = tuple(Location(file) for file in sorted(set(regression.affected_files)))
    item = FeedbackItem(
        priority=_REGRESSION_PRIORITY[regression.severity],
        category=Category.REGRESSION,
        description=shorten(regression.description, MAX_DESCRIPTION),
        expected="It works again as it did before.",
        location=files[0] if files else None,
        reproduction=None,
        locations=files if len(files) > 1 else (),
    )
    words = skeleton(regression.description, identified=bool(files))
    return Draft(item, ("regression", *(place.file for place in files), words))


def non_goal_draft(index: int, non_goal: str, evidence: str) -> Draft:
    """The item of a breached non-goal; its rule is its place in the contract."""
    item = FeedbackItem(
        priority=Priority.HIGH,
        category=Category.BUG,
        description=shorten(
            _said(evidence, f"A non-goal was breached: {non_goal}"), MAX_DESCRIPTION
        ),
        expected=shorten(f"The non-goal holds: {non_goal}", MAX_DESCRIPTION),
        location=_first_place(evidence),
        rule_id=non_goal_rule(index),
    )
    return Draft(item, ("non-goal", non_goal))


def non_goal_rule(index: int) -> str:
    """The rule id of a non-goal."""
    return f"{NON_GOAL_RULE}[{index}]"


# Order ------------------------------------------------------------------------------------------


def finished(drafts: Sequence[Draft], state: Callable[[str], State]) -> tuple[FeedbackItem, ...]:
    """The items, fingerprinted: by priority, then file, then line; no file comes last."""
    orders = [_order(draft.item) for draft in drafts]
    keys = [(draft.identity, order[1:]) for draft, order in zip(drafts, orders, strict=True)]
    ranked = zip(orders, drafts, fingerprints(keys), strict=True)
    return tuple(
        replace(draft.item, fingerprint=fingerprint, state=state(fingerprint))
        for _, draft, fingerprint in sorted(ranked, key=itemgetter(0))
    )


def _order(item: FeedbackItem) -> tuple[object, ...]:
    place = item.location
    return (
        _PRIORITIES.index(item.priority),
        (0, place.file, place.line or 0, place.column or 0) if place else (1, "", 0, 0),
        item.rule_id or "",
        item.criterion_id or "",
        item.sources,
        item.description,
        item.expected,
        item.category,
        item.reproduction or "",
    )
