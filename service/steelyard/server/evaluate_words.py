"""The words of evaluation documents and the values of the proto enums that stand for them."""

from __future__ import annotations

from steelyard.evaluation import (
    Category,
    Code,
    LintMode,
    Outcome,
    OutputFormat,
    Priority,
    Ruling,
    Severity,
    State,
    Verdict,
)
from steelyard.ingest import Format
from steelyard.server.words import WordTable
from steelyard.v1 import evaluate_pb2 as pb

__all__ = [
    "CATEGORY",
    "CODE",
    "FORMAT",
    "LINT",
    "OUTCOME",
    "OUTPUT",
    "PRIORITY",
    "RULING",
    "SEVERITY",
    "STATE",
    "VERDICT",
]

FORMAT = WordTable(
    {
        Format.SARIF: pb.REPORT_FORMAT_SARIF,
        Format.JUNIT: pb.REPORT_FORMAT_JUNIT,
        Format.CTRF: pb.REPORT_FORMAT_CTRF,
        Format.PYTEST_REPORTLOG: pb.REPORT_FORMAT_PYTEST_REPORTLOG,
        Format.PYTEST: pb.REPORT_FORMAT_PYTEST,
        Format.VITEST: pb.REPORT_FORMAT_VITEST,
        Format.JEST: pb.REPORT_FORMAT_JEST,
        Format.PLAYWRIGHT: pb.REPORT_FORMAT_PLAYWRIGHT,
        Format.TSC: pb.REPORT_FORMAT_TSC,
        Format.ESLINT: pb.REPORT_FORMAT_ESLINT,
        Format.RUFF: pb.REPORT_FORMAT_RUFF,
        Format.MYPY: pb.REPORT_FORMAT_MYPY,
        Format.MYPY_JSON: pb.REPORT_FORMAT_MYPY_JSON,
        Format.PYRIGHT: pb.REPORT_FORMAT_PYRIGHT,
        Format.CARGO: pb.REPORT_FORMAT_CARGO,
        Format.GO_TEST: pb.REPORT_FORMAT_GO_TEST,
        Format.RDJSON: pb.REPORT_FORMAT_RDJSON,
        Format.RDJSONL: pb.REPORT_FORMAT_RDJSONL,
        Format.GCC: pb.REPORT_FORMAT_GCC,
        Format.TEXT: pb.REPORT_FORMAT_TEXT,
    }
)
RULING = WordTable(
    {
        Ruling.PASS: pb.JUDGEMENT_RESULT_PASS,
        Ruling.FAIL: pb.JUDGEMENT_RESULT_FAIL,
        Ruling.SKIPPED: pb.JUDGEMENT_RESULT_SKIPPED,
        Ruling.ERROR: pb.JUDGEMENT_RESULT_ERROR,
    }
)
LINT = WordTable(
    {
        LintMode.REPORT: pb.JUDGEMENT_LINT_REPORT,
        LintMode.REJECT: pb.JUDGEMENT_LINT_REJECT,
    }
)
OUTPUT = WordTable(
    {
        OutputFormat.JSON: pb.EVAL_OUTPUT_FORMAT_JSON,
        OutputFormat.CANONICAL: pb.EVAL_OUTPUT_FORMAT_CANONICAL,
        OutputFormat.MARKDOWN: pb.EVAL_OUTPUT_FORMAT_MD,
        OutputFormat.SARIF: pb.EVAL_OUTPUT_FORMAT_SARIF,
        OutputFormat.JUNIT: pb.EVAL_OUTPUT_FORMAT_JUNIT,
        OutputFormat.GITHUB: pb.EVAL_OUTPUT_FORMAT_GITHUB,
        OutputFormat.RDJSONL: pb.EVAL_OUTPUT_FORMAT_RDJSONL,
    }
)
VERDICT = WordTable(
    {
        Verdict.PASS: pb.EVAL_VERDICT_PASS,
        Verdict.FAIL: pb.EVAL_VERDICT_FAIL,
    }
)
CODE = WordTable(
    {
        Code.REQUIRED_STRATEGY_FAILED: pb.EVAL_REASON_CODE_REQUIRED_STRATEGY_FAILED,
        Code.REQUIRED_CRITERION_FAILED: pb.EVAL_REASON_CODE_REQUIRED_CRITERION_FAILED,
        Code.REQUIRED_SKIPPED: pb.EVAL_REASON_CODE_REQUIRED_SKIPPED,
        Code.CRITICAL_REGRESSION: pb.EVAL_REASON_CODE_CRITICAL_REGRESSION,
        Code.NON_GOAL_BREACHED: pb.EVAL_REASON_CODE_NON_GOAL_BREACHED,
        Code.NOTHING_EVALUATED: pb.EVAL_REASON_CODE_NOTHING_EVALUATED,
        Code.CRITERION_UNJUDGED: pb.EVAL_REASON_CODE_CRITERION_UNJUDGED,
        Code.EXIT_CODE_DISAGREES: pb.EVAL_REASON_CODE_EXIT_CODE_DISAGREES,
        Code.REPORT_UNREADABLE: pb.EVAL_REASON_CODE_REPORT_UNREADABLE,
        Code.NO_TESTS_RAN: pb.EVAL_REASON_CODE_NO_TESTS_RAN,
        Code.EVALUATOR_ERROR: pb.EVAL_REASON_CODE_EVALUATOR_ERROR,
    }
)
OUTCOME = WordTable(
    {
        Outcome.PASS: pb.EVAL_OUTCOME_PASS,
        Outcome.FAIL: pb.EVAL_OUTCOME_FAIL,
        Outcome.SKIPPED: pb.EVAL_OUTCOME_SKIPPED,
    }
)
SEVERITY = WordTable(
    {
        Severity.CRITICAL: pb.REGRESSION_SEVERITY_CRITICAL,
        Severity.MAJOR: pb.REGRESSION_SEVERITY_MAJOR,
        Severity.MINOR: pb.REGRESSION_SEVERITY_MINOR,
    }
)
PRIORITY = WordTable(
    {
        Priority.CRITICAL: pb.FEEDBACK_PRIORITY_CRITICAL,
        Priority.HIGH: pb.FEEDBACK_PRIORITY_HIGH,
        Priority.MEDIUM: pb.FEEDBACK_PRIORITY_MEDIUM,
        Priority.LOW: pb.FEEDBACK_PRIORITY_LOW,
    }
)
CATEGORY = WordTable(
    {
        Category.BUG: pb.FEEDBACK_CATEGORY_BUG,
        Category.MISSING_FEATURE: pb.FEEDBACK_CATEGORY_MISSING_FEATURE,
        Category.REGRESSION: pb.FEEDBACK_CATEGORY_REGRESSION,
        Category.QUALITY: pb.FEEDBACK_CATEGORY_QUALITY,
        Category.PERFORMANCE: pb.FEEDBACK_CATEGORY_PERFORMANCE,
    }
)
STATE = WordTable(
    {
        State.NEW: pb.FEEDBACK_STATE_NEW,
        State.PERSISTING: pb.FEEDBACK_STATE_PERSISTING,
        State.REOPENED: pb.FEEDBACK_STATE_REOPENED,
    }
)
