"""What `steelyard score --task FILE.json` does: evaluate a task and show the result."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steelyard.errors import NotFoundError
from steelyard.scoring.followups import Suggestion, recommend
from steelyard.scoring.policy import Policy
from steelyard.scoring.ports import Kept, TaskEvaluationStore
from steelyard.scoring.task_document import kept_document
from steelyard.scoring.task_input import MAX_DOCUMENT_BYTES, evaluate_document

__all__ = ["score_task_file"]


def score_task_file(
    file: str,
    policy_of: Callable[[str, int], Policy],
    *,
    as_json: bool,
    store: TaskEvaluationStore | None = None,
) -> None:
    """Evaluate the task of `file` ("-" is standard input) and print the result.

    A table for people, or with `as_json` the answer document on one line. Errors are raised as
    SteelyardError.
    """
    evaluated = evaluate_document(_read(file), policy_of, store)
    if as_json:
        document = kept_document(evaluated.kept, persisted=evaluated.persisted)
        click.echo(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
    else:
        _print(evaluated.kept, evaluated.persisted, Console())


def _read(file: str) -> bytes:
    # One byte more than is allowed, so that the reader can tell a document that is too large.
    limit = MAX_DOCUMENT_BYTES + 1
    if file == "-":
        return sys.stdin.buffer.read(limit)
    try:
        with Path(file).open("rb") as opened:
            return opened.read(limit)
    except OSError as error:
        raise NotFoundError("FILE_UNREADABLE", f"{file}: {error.strerror or error}") from error


def _print(kept: Kept, persisted: bool, console: Console) -> None:
    evaluation = kept.evaluation
    table = Table(title=f"Task {_shown(evaluation.task_id)}", title_justify="left")
    table.add_column("category", no_wrap=True)
    for name in ("facts", "judge", "final"):
        table.add_column(name, justify="right")
    table.add_column("band")
    table.add_column("weight", justify="right")
    table.add_column("evidence")
    for entry in evaluation.categories:
        table.add_row(
            _shown(entry.category),
            str(entry.deterministic_score),
            str(entry.ai_score),
            str(entry.final_score),
            entry.band + (" (below floor)" if entry.below_floor else ""),
            f"{entry.weight / 100:g} %",
            ", ".join(ref.evidence_id for ref in entry.evidence) or "none",
        )
    console.print(table)
    console.print(f"overall {evaluation.overall_score} ({evaluation.overall_band})")
    if evaluation.unknown_evidence:
        ids = dict.fromkeys(citation.evidence_id for citation in evaluation.unknown_evidence)
        console.print(f"cited but unknown: {_shown(', '.join(ids))}")
    if evaluation.suggestions:
        console.print(_suggestion_table(evaluation.suggestions))
    if persisted:
        again = ", as an earlier call had" if kept.replayed else ""
        console.print(f"stored in run {_shown(evaluation.run_id)}{again}")


def _suggestion_table(suggestions: tuple[Suggestion, ...]) -> Table:
    table = Table(title="Follow-ups", title_justify="left")
    for name in ("title", "priority", "state", "why"):
        table.add_column(name)
    for suggestion in suggestions:
        table.add_row(
            _shown(suggestion.title),
            suggestion.priority.value,
            suggestion.fate.state.value,
            _shown(recommend(suggestion).reason),
        )
    return table


def _shown(text: str) -> str:
    """Text of others for a terminal: no markup, nothing that moves the cursor or sets colours."""
    return escape("".join(char if char.isprintable() else "\ufffd" for char in text))
