"""Reviewdog diagnostics, one JSON object per line and feedback item.

Format: https://github.com/reviewdog/reviewdog/tree/master/proto/rdf
"""

from __future__ import annotations

import json

from steelyard.evaluation.model import EvalResult, FeedbackItem, Location, Priority

__all__ = ["to_rdjsonl"]

_SEVERITIES = {
    Priority.CRITICAL: "ERROR",
    Priority.HIGH: "ERROR",
    Priority.MEDIUM: "WARNING",
    Priority.LOW: "INFO",
}


def to_rdjsonl(result: EvalResult) -> bytes:
    """One diagnostic per item. An item without a file has no `location`."""
    lines = (json.dumps(_diagnostic(i), ensure_ascii=False) for i in result.generator_feedback)
    return "".join(f"{line}\n" for line in lines).encode()


def _diagnostic(item: FeedbackItem) -> dict[str, object]:
    expected = f"\nExpected: {item.expected}" if item.expected else ""
    diagnostic: dict[str, object] = {"message": f"{item.description}{expected}"}
    if item.location:
        diagnostic["location"] = _location(item.location)
    diagnostic["severity"] = _SEVERITIES[item.priority]
    diagnostic["source"] = {"name": item.sources[0] if item.sources else "steelyard"}
    code = item.rule_id or item.criterion_id
    if code:
        diagnostic["code"] = {"value": code}
    return diagnostic


def _location(location: Location) -> dict[str, object]:
    if location.line is None:
        return {"path": location.file}
    start = {"line": location.line}
    if location.column is not None:
        start["column"] = location.column
    span: dict[str, object] = {"start": start}
    if location.end_line is not None:
        span["end"] = {"line": location.end_line}
    return {"path": location.file, "range": span}
