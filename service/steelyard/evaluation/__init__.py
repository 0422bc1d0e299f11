"""Evaluation: contract, tool runs and judgements in, a result that a generator can act on out."""

from steelyard.evaluation.contract import Contract, Criterion, Strategy, parse_contract
from steelyard.evaluation.document import parse_previous, result_bytes, result_value
from steelyard.evaluation.engine import Evaluation, LintMode, evaluate
from steelyard.evaluation.judgement import (
    Judgement,
    Judgements,
    NonGoalCheck,
    Note,
    Ruling,
    parse_judgements,
)
from steelyard.evaluation.lint import lint_document, schema_valid
from steelyard.evaluation.model import (
    Category,
    Code,
    CriterionResult,
    EvalResult,
    FeedbackItem,
    Known,
    Location,
    Outcome,
    Priority,
    Progress,
    Reason,
    Regression,
    Score,
    Severity,
    State,
    StrategyResult,
    Verdict,
)
from steelyard.evaluation.progress import Previous
from steelyard.evaluation.render import OutputFormat, render
from steelyard.evaluation.repair import Repair, repair_document
from steelyard.evaluation.strategies import StrategyRun

__all__ = [
    "Category",
    "Code",
    "Contract",
    "Criterion",
    "CriterionResult",
    "EvalResult",
    "Evaluation",
    "FeedbackItem",
    "Judgement",
    "Judgements",
    "Known",
    "LintMode",
    "Location",
    "NonGoalCheck",
    "Note",
    "Outcome",
    "OutputFormat",
    "Previous",
    "Priority",
    "Progress",
    "Reason",
    "Regression",
    "Repair",
    "Ruling",
    "Score",
    "Severity",
    "State",
    "Strategy",
    "StrategyResult",
    "StrategyRun",
    "Verdict",
    "evaluate",
    "lint_document",
    "parse_contract",
    "parse_judgements",
    "parse_previous",
    "render",
    "repair_document",
    "result_bytes",
    "result_value",
    "schema_valid",
]
