"""GitHub Actions workflow commands: one annotation per feedback item, within what a step may show.

Syntax and escaping: https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
Limits: https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md#limitations
"""

from __future__ import annotations

from collections import Counter

from steelyard.evaluation.model import EvalResult, FeedbackItem, Priority, Verdict

__all__ = ["PER_LEVEL", "to_github"]

PER_LEVEL = 10
"""Annotations of each level (error, warning, notice) that GitHub shows per step."""

_MAX_MESSAGE = 4_096

_LEVELS = {
    Priority.CRITICAL: "error",
    Priority.HIGH: "error",
    Priority.MEDIUM: "warning",
    Priority.LOW: "notice",
}


def to_github(result: EvalResult) -> bytes:
    """At most 10 errors, 10 warnings and 10 notices, most urgent first.

    The first notice is the summary (a failed evaluation that has no error to show makes it an
    error); it says how many items did not fit.
    """
    failed = result.overall_result == Verdict.FAIL
    no_error = not any(_LEVELS[i.priority] == "error" for i in result.generator_feedback)
    level = "error" if failed and no_error else "notice"
    shown: Counter[str] = Counter({level: 1})
    lines = []
    for item in result.generator_feedback:
        kind = _LEVELS[item.priority]
        shown[kind] += 1
        if shown[kind] <= PER_LEVEL:
            lines.append(_annotation(item))
    hidden = len(result.generator_feedback) - len(lines)
    more = f" {hidden} more items are in the result but not shown here." if hidden else ""
    lines.insert(0, _command(level, {"title": result.eval_id}, f"{result.summary}{more}"))
    return "".join(f"{line}\n" for line in lines).encode()


def _annotation(item: FeedbackItem) -> str:
    properties: dict[str, object] = {}
    place = item.location
    if place:
        properties["file"] = place.file
        properties["line"] = place.line
        properties["endLine"] = place.end_line
        # GitHub shows a column only for a range within one line.
        properties["col"] = place.column if place.end_line in (None, place.line) else None
    properties["title"] = " ".join(
        filter(None, (item.priority, item.category, item.rule_id or item.criterion_id))
    )
    expected = f"\nExpected: {item.expected}" if item.expected else ""
    return _command(_LEVELS[item.priority], properties, f"{item.description}{expected}")


def _command(level: str, properties: dict[str, object], message: str) -> str:
    pairs = ",".join(f"{k}={_property(str(v))}" for k, v in properties.items() if v is not None)
    return f"::{level} {pairs}::{_data(message[:_MAX_MESSAGE])}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
