"""Evaluations between messages and the types of the domain.

What comes in goes through the parsers of the JSON documents, so that every door refuses the same
things with the same paths.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from steelyard.errors import Violation
from steelyard.evaluation import (
    Contract,
    EvalResult,
    FeedbackItem,
    Judgements,
    Known,
    Location,
    Previous,
    Progress,
    StrategyRun,
    parse_contract,
    parse_judgements,
    parse_previous,
)
from steelyard.ingest import DEFAULT_MAX_BYTES, DEFAULT_MAX_ITEMS
from steelyard.server.evaluate_words import (
    CATEGORY,
    CODE,
    FORMAT,
    OUTCOME,
    PRIORITY,
    RULING,
    SEVERITY,
    STATE,
    VERDICT,
)
from steelyard.v1 import evaluate_pb2 as pb

__all__ = [
    "contract_from_message",
    "judgements_from_message",
    "previous_from_message",
    "result_message",
    "runs_from_message",
    "violation_messages",
]

Json = dict[str, Any]


# In ---------------------------------------------------------------------------------------------


def contract_from_message(message: pb.SprintContract) -> Contract:
    """The contract of a request. Errors: those of `parse_contract`, and ENUM_INVALID."""
    return parse_contract(
        {
            "contractId": message.contract_id,
            "specId": message.spec_id,
            "title": message.title,
            "successCriteria": [
                {
                    "criterionId": criterion.criterion_id,
                    "description": criterion.description,
                    "verificationMethod": criterion.verification_method,
                    "required": criterion.required if criterion.HasField("required") else None,
                }
                for criterion in message.success_criteria
            ],
            "strategies": [
                {
                    "strategy": strategy.strategy,
                    "required": strategy.required if strategy.HasField("required") else None,
                    "command": strategy.command,
                    "format": FORMAT.word(strategy.format, f"contract.strategies[{index}].format")
                    if strategy.HasField("format")
                    else None,
                    "allowZeroTests": strategy.allow_zero_tests,
                }
                for index, strategy in enumerate(message.strategies)
            ],
            "nonGoals": list(message.non_goals),
            "outOfScope": list(message.out_of_scope),
            "stopConditions": list(message.stop_conditions),
        },
        "contract",
    )


def runs_from_message(runs: Iterable[pb.StrategyRun]) -> tuple[StrategyRun, ...]:
    """The runs of a request. Errors: InvalidInputError ENUM_INVALID for a format that is none."""
    return tuple(
        StrategyRun(
            strategy=run.strategy,
            required=run.required,
            report=run.report if run.HasField("report") else None,
            format=FORMAT.word(run.format, f"runs[{index}].format")
            if run.HasField("format")
            else None,
            exit_code=run.exit_code if run.HasField("exit_code") else None,
            command=run.command or None,
            root=run.root or None,
            cwd=run.cwd,
            skipped=run.skipped or None,
            error=run.error or None,
            max_items=run.max_items or DEFAULT_MAX_ITEMS,
            max_bytes=run.max_bytes or DEFAULT_MAX_BYTES,
        )
        for index, run in enumerate(runs)
    )


def judgements_from_message(request: pb.EvaluateRequest) -> Judgements:
    """The judgements of a request. Errors: those of `parse_judgements`, and ENUM_INVALID."""
    return parse_judgements(
        {
            "judgements": [
                {
                    "criterionId": judgement.criterion_id,
                    "result": RULING.word(judgement.result, f"judgements[{index}].result")
                    if judgement.result or not judgement.error
                    else None,
                    "evidence": judgement.evidence,
                    "feedback": judgement.feedback,
                    "expected": judgement.expected,
                    "reproduction": judgement.reproduction,
                    "error": judgement.error or None,
                    "category": CATEGORY.word(judgement.category, f"judgements[{index}].category")
                    if judgement.HasField("category")
                    else None,
                    **_place(judgement),
                }
                for index, judgement in enumerate(request.judgements)
            ],
            "regressions": [
                {
                    "description": regression.description,
                    "evidence": regression.evidence,
                    "severity": SEVERITY.word(
                        regression.severity, f"regressions[{index}].severity"
                    ),
                    "affectedFiles": list(regression.affected_files),
                }
                for index, regression in enumerate(request.regressions)
            ],
            "nonGoals": [
                {
                    "nonGoal": getattr(check, check.WhichOneof("non_goal") or "", None),
                    "breached": check.breached,
                    "evidence": check.evidence,
                }
                for check in request.non_goals
            ],
            "feedback": [
                {
                    "description": note.description,
                    "expected": note.expected,
                    "priority": PRIORITY.word(note.priority, f"feedback[{index}].priority")
                    if note.HasField("priority")
                    else None,
                    "category": CATEGORY.word(note.category, f"feedback[{index}].category")
                    if note.HasField("category")
                    else None,
                    "reproduction": note.reproduction,
                    "ruleId": note.rule_id,
                    "criterionId": note.criterion_id,
                    "strategy": note.strategy,
                    **_place(note),
                }
                for index, note in enumerate(request.feedback)
            ],
        }
    )


def _place(message: pb.CriterionJudgement | pb.FeedbackNote) -> Json:
    if not message.HasField("location"):
        return {}
    place = message.location
    return {
        "file": place.file,
        "line": place.line if place.HasField("line") else None,
        "endLine": place.end_line if place.HasField("end_line") else None,
        "column": place.column if place.HasField("column") else None,
    }


def previous_from_message(message: pb.EvalResult) -> Previous:
    """The earlier result of a request. Errors: those of `parse_previous`, and ENUM_INVALID."""
    return parse_previous(
        {
            "evalId": message.eval_id,
            "contractId": message.contract_id,
            "iteration": message.iteration,
            "criteriaResults": [
                {
                    "criterionId": criterion.criterion_id,
                    "result": OUTCOME.word(
                        criterion.result, f"previous.criteriaResults[{index}].result"
                    ),
                }
                for index, criterion in enumerate(message.criteria_results)
            ],
            "generatorFeedback": [
                {
                    "fingerprint": item.fingerprint,
                    "description": item.description,
                    "file": item.location.file or None,
                    "ruleId": item.rule_id,
                    "criterionId": item.criterion_id,
                    "strategy": item.sources[0] if item.sources else None,
                }
                for item in message.generator_feedback
            ],
            "progress": {
                "unchecked": [
                    {
                        "fingerprint": issue.fingerprint,
                        "description": issue.description,
                        "file": issue.file,
                        "ruleId": issue.rule_id,
                        "criterionId": issue.criterion_id,
                        "strategy": issue.strategy,
                    }
                    for issue in message.progress.unchecked
                ],
                "sameFailureRounds": message.progress.same_failure_rounds,
                "closed": list(message.progress.closed),
                "failureSets": list(message.progress.failure_sets),
                "passedTests": message.progress.passed_tests,
            },
        }
    )


# Out --------------------------------------------------------------------------------------------


def result_message(result: EvalResult) -> pb.EvalResult:
    """The message of a result."""
    score = result.score
    return pb.EvalResult(
        eval_id=result.eval_id,
        contract_id=result.contract_id,
        spec_id=result.spec_id,
        timestamp=result.timestamp,
        iteration=result.iteration,
        overall_result=VERDICT.values[result.overall_result],
        reasons=[
            pb.EvalReason(
                code=CODE.values[reason.code],
                strategy=reason.strategy or "",
                criterion_id=reason.criterion_id or "",
                message=reason.message,
            )
            for reason in result.reasons
        ],
        score=pb.EvalScore(
            criteria_total=score.criteria_total,
            criteria_passed=score.criteria_passed,
            criteria_failed=score.criteria_failed,
            criteria_skipped=score.criteria_skipped,
            required_passed=score.required_passed,
            required_failed=score.required_failed,
            required_total=score.required_total,
        ),
        strategy_results=[
            pb.StrategyResult(
                strategy=strategy.strategy,
                required=strategy.required,
                result=OUTCOME.values[strategy.result],
                exit_code=strategy.exit_code,
                output=strategy.output,
                error_count=strategy.error_count,
                details=strategy.details,
            )
            for strategy in result.strategy_results
        ],
        criteria_results=[
            pb.CriterionResult(
                criterion_id=criterion.criterion_id,
                description=criterion.description,
                required=criterion.required,
                result=OUTCOME.values[criterion.result],
                evidence=criterion.evidence,
                feedback=criterion.feedback,
            )
            for criterion in result.criteria_results
        ],
        regressions=[
            pb.EvalRegression(
                description=regression.description,
                evidence=regression.evidence,
                severity=SEVERITY.values[regression.severity],
                affected_files=regression.affected_files,
            )
            for regression in result.regressions
        ],
        generator_feedback=map(_item, result.generator_feedback),
        summary=result.summary,
        progress=_progress(result.progress),
    )


def violation_messages(violations: Iterable[Violation]) -> list[pb.JudgementViolation]:
    """The messages of violations."""
    return [
        pb.JudgementViolation(path=v.path, reason=v.reason, message=v.message) for v in violations
    ]


def _item(item: FeedbackItem) -> pb.FeedbackItem:
    return pb.FeedbackItem(
        priority=PRIORITY.values[item.priority],
        category=CATEGORY.values[item.category],
        location=_location(item.location) if item.location else None,
        description=item.description,
        expected=item.expected,
        reproduction=item.reproduction,
        locations=map(_location, item.locations),
        rule_id=item.rule_id,
        criterion_id=item.criterion_id,
        sources=item.sources,
        fingerprint=item.fingerprint,
        state=STATE.values[item.state],
    )


def _location(place: Location) -> pb.FeedbackLocation:
    return pb.FeedbackLocation(
        file=place.file, line=place.line, end_line=place.end_line, column=place.column
    )


def _progress(progress: Progress) -> pb.EvalProgress:
    return pb.EvalProgress(
        previous_eval_id=progress.previous_eval_id or "",
        fixed=map(_known, progress.fixed),
        unchecked=map(_known, progress.unchecked),
        same_failure_rounds=progress.same_failure_rounds,
        stalled=progress.stalled,
        oscillating=progress.oscillating,
        closed=progress.closed,
        failure_sets=progress.failure_sets,
        passed_tests=progress.passed_tests,
    )


def _known(issue: Known) -> pb.KnownIssue:
    return pb.KnownIssue(
        fingerprint=issue.fingerprint,
        description=issue.description,
        file=issue.file,
        rule_id=issue.rule_id,
        criterion_id=issue.criterion_id,
        strategy=issue.strategy,
    )
