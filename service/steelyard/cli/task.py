"""What `steelyard score --task FILE.json` does: evaluate a task and show the result."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from steelyard.cli.run import BAND_STYLES, print_json, print_table
from steelyard.errors import NotFoundError
from steelyard.scoring.followups import Suggestion, recommend
from steelyard.scoring.policy import Policy
from steelyard.scoring.ports import TaskEvaluationStore
from steelyard.scoring.task_document import kept_document
from steelyard.scoring.task_input import (
    MAX_DOCUMENT_BYTES,
    EvaluatedDocument,
    evaluate_document,
)
from steelyard.scoring.task_types import TaskEvaluation

__all__ = ["score_task_file"]


def score_task_file(
    file: str,
    policy_of: Callable[[str, int], Policy],
    *,
    as_json: bool,
    store: TaskEvaluationStore | None = None,
) -> None:
    """Evaluate the task of `file` ("-" is standard input) and print the result.

    Tables for people, or with `as_json` the answer document. Raises SteelyardError.
    """
    evaluated = evaluate_document(_read(file), policy_of, store)
    if as_json:
        print_json(kept_document(evaluated.kept, persisted=evaluated.persisted))
    else:
        _print(evaluated)


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


def _print(evaluated: EvaluatedDocument) -> None:
    evaluation = evaluated.kept.evaluation
    print_table(_scores(evaluation))
    if evaluation.suggestions:
        print_table(_follow_ups(evaluation.suggestions))
    if evaluation.unknown_evidence:
        ids = dict.fromkeys(citation.evidence_id for citation in evaluation.unknown_evidence)
        click.echo(f"cited but not in the evidence: {_plain(', '.join(ids))}")
    if evaluated.persisted:
        again = " by an earlier call" if evaluated.kept.replayed else ""
        click.echo(f"stored{again} in run {_plain(evaluation.run_id)}")


def _scores(evaluation: TaskEvaluation) -> Table:
    table = Table("category", "facts", "judge", "final", "band", "weight", "evidence")
    for entry in evaluation.categories:
        table.add_row(
            entry.category,
            str(entry.deterministic_score),
            str(entry.ai_score),
            str(entry.final_score),
            entry.band + (" (below floor)" if entry.below_floor else ""),
            f"{entry.weight / 100:g} %",
            ", ".join(ref.evidence_id for ref in entry.evidence) or "none",
            style=BAND_STYLES.get(entry.band),
        )
    table.add_section()
    table.add_row(
        escape(_plain(evaluation.task_id)),
        "",
        "",
        str(evaluation.overall_score),
        evaluation.overall_band,
        style=BAND_STYLES.get(evaluation.overall_band),
    )
    return table


def _follow_ups(suggestions: tuple[Suggestion, ...]) -> Table:
    table = Table("follow-up", "priority", "state", "why")
    for suggestion in suggestions:
        table.add_row(
            escape(_plain(suggestion.title)),
            suggestion.priority.value,
            suggestion.fate.state.value,
            escape(_plain(recommend(suggestion).reason)),
        )
    return table


def _plain(text: str) -> str:
    """Text of others for a terminal: nothing that moves the cursor or sets colours."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
