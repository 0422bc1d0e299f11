"""The JSON document of a result: what is written, and what the next round reads back from it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from steelyard.evaluation.contract import IDENTITY
from steelyard.evaluation.feedback import note_identity
from steelyard.evaluation.fields import Field
from steelyard.evaluation.fingerprint import fingerprints
from steelyard.evaluation.model import (
    CriterionResult,
    EvalResult,
    FeedbackItem,
    Known,
    Location,
    Outcome,
    Progress,
    Reason,
    Regression,
    StrategyResult,
)
from steelyard.evaluation.progress import Previous

__all__ = ["parse_previous", "result_bytes", "result_value"]

_MAX_ITEMS = 50_000
_MAX_PACKED = 1_000_000
_FINGERPRINT_LENGTH = 128

Json = dict[str, object]


def result_bytes(result: EvalResult) -> bytes:
    """The document as UTF-8: members in the published order, two spaces, a newline at the end.

    There is one spelling of every result, so equal results are equal bytes.
    """
    text = json.dumps(result_value(result), ensure_ascii=False, indent=2)
    return text.encode() + b"\n"


def result_value(result: EvalResult) -> Json:
    """The document as JSON values, members in the published order, absent ones left out."""
    score = result.score
    return {
        "evalId": result.eval_id,
        "contractId": result.contract_id,
        "specId": result.spec_id,
        "timestamp": result.timestamp,
        "iteration": result.iteration,
        "overallResult": str(result.overall_result),
        "reasons": [_reason(reason) for reason in result.reasons],
        "score": {
            "criteriaTotal": score.criteria_total,
            "criteriaPassed": score.criteria_passed,
            "criteriaFailed": score.criteria_failed,
            "criteriaSkipped": score.criteria_skipped,
            "requiredPassed": score.required_passed,
            "requiredFailed": score.required_failed,
            "requiredTotal": score.required_total,
        },
        "strategyResults": [_strategy(strategy) for strategy in result.strategy_results],
        "criteriaResults": [_criterion(criterion) for criterion in result.criteria_results],
        "regressions": [_regression(regression) for regression in result.regressions],
        "generatorFeedback": [_item(item) for item in result.generator_feedback],
        "summary": result.summary,
        "progress": _progress(result.progress),
    }


def _present(members: Mapping[str, object]) -> Json:
    return {name: value for name, value in members.items() if value is not None}


def _reason(reason: Reason) -> Json:
    return _present(
        {
            "code": str(reason.code),
            "strategy": reason.strategy,
            "criterionId": reason.criterion_id,
            "message": reason.message,
        }
    )


def _strategy(result: StrategyResult) -> Json:
    return _present(
        {
            "strategy": result.strategy,
            "required": result.required,
            "result": str(result.result),
            "exitCode": result.exit_code,
            "output": result.output,
            "errorCount": result.error_count,
            "details": result.details,
        }
    )


def _criterion(result: CriterionResult) -> Json:
    return _present(
        {
            "criterionId": result.criterion_id,
            "description": result.description,
            "required": result.required,
            "result": str(result.result),
            "evidence": result.evidence,
            "feedback": result.feedback,
        }
    )


def _regression(regression: Regression) -> Json:
    return {
        "description": regression.description,
        "evidence": regression.evidence,
        "severity": str(regression.severity),
        "affectedFiles": list(regression.affected_files),
    }


def _place(location: Location | None) -> Json:
    if location is None:
        return {}
    return _present(
        {
            "file": location.file,
            "line": location.line,
            "endLine": location.end_line,
            "column": location.column,
        }
    )


def _item(item: FeedbackItem) -> Json:
    return _present(
        {
            "priority": str(item.priority),
            "category": str(item.category),
            **_place(item.location),
            "description": item.description,
            "expected": item.expected,
            "reproduction": item.reproduction,
            "locations": [_place(location) for location in item.locations] or None,
            "ruleId": item.rule_id,
            "criterionId": item.criterion_id,
            "strategy": item.sources[0] if item.sources else None,
            "sources": list(item.sources) if len(item.sources) > 1 else None,
            "fingerprint": item.fingerprint,
            "state": str(item.state),
        }
    )


def _known(issue: Known) -> Json:
    return _present(
        {
            "fingerprint": issue.fingerprint,
            "description": issue.description,
            "file": issue.file,
            "ruleId": issue.rule_id,
            "criterionId": issue.criterion_id,
            "strategy": issue.strategy,
        }
    )


def _progress(progress: Progress) -> Json:
    return _present(
        {
            "previousEvalId": progress.previous_eval_id,
            "fixed": [_known(issue) for issue in progress.fixed],
            "unchecked": [_known(issue) for issue in progress.unchecked],
            "sameFailureRounds": progress.same_failure_rounds,
            "stalled": progress.stalled,
            "oscillating": progress.oscillating,
            "closed": list(progress.closed),
            "failureSets": list(progress.failure_sets),
            "passedTests": progress.passed_tests,
        }
    )


def parse_previous(value: object, path: str = "previous") -> Previous:
    """Read from the JSON value of an EvalResult what the next round needs.

    Members that play no part are not looked at, so a result written by hand will do; without
    `progress` nothing can be reopened, stalled or oscillating, and no test can regress.

    Raises InvalidInputError with the path of the first element that is not as it should be.
    """
    field = Field(value, path).object()
    hint = "must be an id as contracts have it"
    criteria = {
        entry["criterionId"].words(): entry["result"].choice(Outcome)
        for entry in field["criteriaResults"].items(_MAX_ITEMS)
    }
    return Previous(
        eval_id=field["evalId"].words(),
        contract_id=field["contractId"].matching(IDENTITY, hint),
        iteration=field["iteration"].integer(1, 10**9),
        criteria=criteria,
        items=tuple(map(_read_known, field["generatorFeedback"].items(_MAX_ITEMS))),
        progress=_read_progress(field["progress"]),
    )


def _read_known(field: Field) -> Known:
    """An item or a known issue. One without a fingerprint gets that of a note with its words."""
    file, rule, criterion = (
        field[name].optional_text() for name in ("file", "ruleId", "criterionId")
    )
    description = field["description"].text()
    given = field["fingerprint"].optional_text(_FINGERPRINT_LENGTH)
    if given is None:
        (given,) = fingerprints([(note_identity(file, rule, criterion, description), ())])
    return Known(
        fingerprint=given,
        description=description,
        file=file,
        rule_id=rule,
        criterion_id=criterion,
        strategy=field["strategy"].optional_text(),
    )


def _read_progress(field: Field) -> Progress:
    if not field.given:
        return Progress()
    rounds = field["sameFailureRounds"]
    return Progress(
        unchecked=tuple(map(_read_known, field["unchecked"].items(_MAX_ITEMS))),
        same_failure_rounds=rounds.optional_integer(0, 10**9) or 0,
        closed=_read_texts(field["closed"]),
        failure_sets=_read_texts(field["failureSets"]),
        passed_tests=field["passedTests"].text(_MAX_PACKED) if field["passedTests"].given else "",
    )


def _read_texts(field: Field) -> tuple[str, ...]:
    return tuple(element.text(_FINGERPRINT_LENGTH) for element in field.items(_MAX_ITEMS))
