"""SARIF 2.1.0: one run, one result per feedback item, with fingerprints and baseline states.

Standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
Limits: https://docs.github.com/en/code-security/code-scanning/troubleshooting-sarif-uploads/results-exceed-limit
"""

from __future__ import annotations

import json
from urllib.parse import quote

from steelyard.evaluation.model import (
    EvalResult,
    FeedbackItem,
    Known,
    Location,
    Priority,
    State,
)

__all__ = ["to_sarif"]

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_MAX_LOCATIONS = 100

_LEVELS = {
    Priority.CRITICAL: "error",
    Priority.HIGH: "error",
    Priority.MEDIUM: "warning",
    Priority.LOW: "note",
}
_BASELINE = {State.NEW: "new", State.PERSISTING: "unchanged", State.REOPENED: "new"}

Json = dict[str, object]


def to_sarif(result: EvalResult) -> bytes:
    """Results carry `baselineState` exactly when there was a previous result to compare with; what
    was fixed since is `absent`."""
    compared = result.progress.previous_eval_id is not None
    findings = [_result(item, compared=compared) for item in result.generator_feedback]
    if compared:
        findings += [_absent(issue) for issue in result.progress.fixed]
    rules = sorted({str(finding["ruleId"]) for finding in findings})
    places = {rule: index for index, rule in enumerate(rules)}
    run: Json = {
        "tool": {
            "driver": {
                "name": "steelyard",
                "rules": [{"id": rule} for rule in rules],
            }
        },
        "automationDetails": {"id": f"steelyard/{result.contract_id}/{result.iteration}"},
        "results": [
            {"ruleId": f["ruleId"], "ruleIndex": places[str(f["ruleId"])], **f} for f in findings
        ],
        "properties": {
            "overallResult": str(result.overall_result),
            "reasons": [str(reason.code) for reason in result.reasons],
            "summary": result.summary,
            "timestamp": result.timestamp,
        },
    }
    log: Json = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2).encode() + b"\n"


def _result(item: FeedbackItem, *, compared: bool) -> Json:
    expected = f"\nExpected: {item.expected}" if item.expected else ""
    places = item.locations or ((item.location,) if item.location else ())
    finding: Json = {
        "ruleId": _rule(item.rule_id, item.criterion_id, item.category),
        "level": _LEVELS[item.priority],
        "message": {"text": f"{item.description}{expected}"},
        "locations": [_location(place) for place in places[:1]],
        "fingerprints": {"steelyard/v1": item.fingerprint},
        "partialFingerprints": {"primaryLocationLineHash": f"{item.fingerprint}:1"},
        "properties": {"priority": str(item.priority), "category": str(item.category)},
    }
    if len(places) > 1:
        related = places[1:_MAX_LOCATIONS]
        finding["relatedLocations"] = [_location(place) for place in related]
    if compared:
        finding["baselineState"] = _BASELINE[item.state]
    return finding


def _absent(issue: Known) -> Json:
    return {
        "ruleId": _rule(issue.rule_id, issue.criterion_id, "fixed"),
        "message": {"text": issue.description},
        "locations": [_location(Location(issue.file))] if issue.file else [],
        "fingerprints": {"steelyard/v1": issue.fingerprint},
        "partialFingerprints": {"primaryLocationLineHash": f"{issue.fingerprint}:1"},
        "baselineState": "absent",
    }


def _rule(rule_id: str | None, criterion_id: str | None, otherwise: str) -> str:
    return rule_id or criterion_id or f"steelyard/{otherwise}"


def _location(place: Location) -> Json:
    physical: Json = {"artifactLocation": {"uri": quote(place.file)}}
    if place.line is not None:
        region: Json = {"startLine": place.line}
        if place.column is not None:
            region["startColumn"] = place.column
        if place.end_line is not None:
            region["endLine"] = place.end_line
        physical["region"] = region
    return {"physicalLocation": physical}
