"""The worked example of docs/evaluate.md gives what the page shows, and its tables are complete."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from steelyard.evaluation import (
    Category,
    Code,
    EvalResult,
    OutputFormat,
    Priority,
    State,
    StrategyRun,
    evaluate,
    parse_contract,
    parse_judgements,
    render,
)

PAGE = Path(__file__).parents[2] / "docs" / "evaluate.md"
FENCE = re.compile(r"<!-- example: (\w+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
EXAMPLES = dict(FENCE.findall(PAGE.read_text("utf-8")))
SHOWN = [form for form in OutputFormat if form != OutputFormat.CANONICAL]


def example() -> EvalResult:
    return evaluate(
        parse_contract(json.loads(EXAMPLES["contract"])),
        iteration=1,
        timestamp="2026-01-31T12:00:00Z",
        runs=[StrategyRun("typecheck", report=EXAMPLES["tsc"].encode(), exit_code=2)],
        judgements=parse_judgements(json.loads(EXAMPLES["judgements"])),
    ).result


@pytest.mark.parametrize("form", SHOWN)
def test_the_page_shows_what_is_written(form: OutputFormat) -> None:
    assert EXAMPLES[form] == render(example(), form).decode()


@pytest.mark.parametrize("words", [Code, Priority, Category, State])
def test_the_page_explains_every_word(words: type[Code | Priority | Category | State]) -> None:
    page = PAGE.read_text("utf-8")
    assert [word for word in words if f"| `{word}` |" not in page] == []
