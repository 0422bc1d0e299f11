"""The summary: two or three sentences made from data, and the sentence count that lint uses."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.evaluation.model import (
    Code,
    FeedbackItem,
    Outcome,
    Priority,
    Progress,
    Reason,
    Score,
    StrategyResult,
    Verdict,
)

__all__ = ["sentences", "summarise"]

_ABBREVIATIONS = frozenset(
    {"e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "no.", "incl.", "resp."}
)
_ENDS = (".", "!", "?", "…")
_CLOSERS = "\"'\u201d\u2019)]"
_CLAUSE = 160


def sentences(text: str) -> int:
    """How many sentences a text has: runs of words, the last of which ends in . ! ? or an ellipsis.

    Dots inside names and numbers and after common abbreviations end nothing; words after the last
    end count as one more sentence.
    """
    count, begun = 0, False
    for word in text.split():
        begun = begun or any(map(str.isalnum, word))
        if begun and _ends(word):
            count, begun = count + 1, False
    return count + begun


def _ends(word: str) -> bool:
    return word.rstrip(_CLOSERS).endswith(_ENDS) and word.lower() not in _ABBREVIATIONS


def summarise(
    contract_id: str,
    iteration: int,
    verdict: Verdict,
    score: Score,
    strategies: Sequence[StrategyResult],
    reasons: Sequence[Reason],
    items: Sequence[FeedbackItem],
    progress: Progress,
) -> str:
    """Result and score; the most critical issues when failed; what to focus on next."""
    required = [result for result in strategies if result.required]
    passed = sum(result.result == Outcome.PASS for result in required)
    done = "passed" if verdict == Verdict.PASS else "failed"
    opening = (
        f"{contract_id} iteration {iteration} {done}: {score.required_passed} of "
        f"{score.required_total} required criteria and {passed} of {len(required)} required "
        "strategies passed"
    )
    if verdict == Verdict.PASS:
        return f"{_sentence(opening)} {_sentence(_closing(items))}"
    urgent = [i for i in items if i.priority in (Priority.CRITICAL, Priority.HIGH)]
    count = len(urgent) or len(reasons)
    issues = [_issue(i) for i in urgent[:2]] or [_clause(r.message) for r in reasons[:2]]
    if count == 1:
        worst = f"The most critical issue is {issues[0]}"
    else:
        more = f" and {count - 2} more" if count > 2 else ""
        worst = f"The most critical issues are (1) {issues[0]} and (2) {issues[1]}{more}"
    return " ".join(map(_sentence, (opening, worst, _focus(urgent, reasons, progress))))


def _closing(items: Sequence[FeedbackItem]) -> str:
    if not items:
        return "Nothing is left to fix"
    things = "1 item" if len(items) == 1 else f"{len(items)} items"
    return f"Nothing blocks it; next, consider {things} of feedback, first {_issue(items[0])}"


_REDO = {
    Code.EVALUATOR_ERROR: "judge again",
    Code.CRITERION_UNJUDGED: "judge",
    Code.REQUIRED_SKIPPED: "evaluate",
}


def _focus(urgent: Sequence[FeedbackItem], reasons: Sequence[Reason], progress: Progress) -> str:
    wanted = []
    if urgent:
        files = list(dict.fromkeys(item.location.file for item in urgent if item.location))
        where = f" in {', '.join(files[:3])}" if files else ""
        wanted.append(f"fix {len(urgent)} blocking item{'s'[: len(urgent) != 1]}{where}")
    for code, verb in _REDO.items():
        names = [r.criterion_id or r.strategy or "" for r in reasons if r.code == code]
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            wanted.append(f"{verb} {', '.join(names[:3])}{more}")
    if not wanted:
        wanted.append("give the contract a required strategy or criterion and evaluate it")
    loop = ""
    if progress.oscillating:
        loop = "; the loop oscillates, so fix both sides at once"
    elif progress.stalled:
        rounds = progress.same_failure_rounds
        loop = f"; these failures have stood for {rounds} rounds, so change the approach"
    return f"Next, {', then '.join(wanted)}{loop}"


def _issue(item: FeedbackItem) -> str:
    place = item.location
    if place is None:
        return _clause(item.description)
    line = f":{place.line}" if place.line else ""
    return f"{_clause(item.description)} at {place.file}{line}"


def _clause(text: str) -> str:
    """Text as part of one sentence: on one line, without sentence ends, of bounded length."""
    words: list[str] = []
    length = 0
    for word in text[: 4 * _CLAUSE].split():
        length += len(word) + 1
        if length > _CLAUSE and words:
            break
        words.append(f"{word.rstrip(_CLOSERS).rstrip(''.join(_ENDS))};" if _ends(word) else word)
    return " ".join(words)[:_CLAUSE].rstrip(" ;:,.!?…") or "an issue without words"


def _sentence(text: str) -> str:
    """Text as one whole sentence, whatever was put into it."""
    words = [f"{word.rstrip(''.join(_ENDS))};" if _ends(word) else word for word in text.split()]
    return f"{' '.join(words).rstrip(' ;')}."
