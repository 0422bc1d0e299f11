"""`steelyard results`."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from steelyard.cli.records import (
    Ask,
    filter_options,
    page_note,
    page_options,
    records_options,
    result_filter,
    show_json,
    value_of,
    when,
    word,
    words,
)
from steelyard.cli.run import BAND_STYLES, print_table, stdout
from steelyard.v1 import records_pb2 as pb
from steelyard.v1 import task_pb2

__all__ = ["results"]


@click.group()
def results() -> None:
    """List results of tasks, or show one in full."""


@results.command("list")
@click.option("--status", type=words(pb.ResultStatus), help="With this status.")
@filter_options
@page_options
@records_options
def list_results(
    ask: Ask, status: str | None, limit: int, page_token: str, as_json: bool, **where: Any
) -> None:
    """List results, newest first."""
    chosen = result_filter(**where)
    chosen.status = value_of(pb.ResultStatus, status)  # type: ignore[assignment]  # a known value
    request = pb.ListResultsRequest(filter=chosen, page_size=limit, page_token=page_token)
    response = ask(request, pb.ListResultsResponse)
    if as_json:
        show_json(response)
        return
    note = page_note(response.next_page_token)
    table = Table("task", "run", "stored (UTC)", "status", caption=note, caption_justify="left")
    table.add_column("overall", justify="right")
    table.add_column("band")
    table.add_column("finals")
    for each in response.results:
        table.add_row(
            escape(each.task_id),
            escape(each.run_id),
            when(each.created_at),
            word(pb.ResultStatus, each.status),
            str(each.overall_score) if each.HasField("overall_score") else "",
            _band(each.overall_band) or escape(each.reason),
            " ".join(str(category.final_score) for category in each.categories),
        )
    print_table(table)


@results.command()
@click.argument("run")
@click.argument("task")
@records_options
def show(ask: Ask, run: str, task: str, as_json: bool) -> None:
    """Show the result of TASK in RUN in full."""
    response = ask(pb.GetResultRequest(run_id=run, task_id=task), pb.GetResultResponse)
    if as_json:
        show_json(response)
        return
    summary = response.summary
    stdout().print(
        f"{escape(summary.task_id)} in {escape(summary.run_id)}, {when(summary.created_at)} UTC"
    )
    if not response.HasField("evaluation"):
        stdout().print(f"{word(pb.ResultStatus, summary.status)}: {escape(summary.reason)}")
        return
    print_table(_categories(response.evaluation))
    if response.follow_ups:
        table = Table("follow-up", "title", "state", "task")
        for each in response.follow_ups:
            table.add_row(
                str(each.number),
                escape(each.suggestion.title),
                word(task_pb2.SuggestionState, each.suggestion.state),
                escape(each.suggestion.created_task_id),
            )
        print_table(table)


def _categories(evaluation: task_pb2.TaskEvaluation) -> Table:
    table = Table("category")
    for name in ("deterministic", "ai", "final"):
        table.add_column(name, justify="right")
    for name in ("band", "rationale", "evidence"):
        table.add_column(name)
    for each in evaluation.categories:
        table.add_row(
            escape(each.category),
            str(each.deterministic_score),
            str(each.ai_score),
            str(each.final_score),
            _band(each.band),
            escape(each.rationale),
            escape(", ".join(ref.evidence_id for ref in each.evidence)),
        )
    overall, band = str(evaluation.overall_score), _band(evaluation.overall_band)
    table.add_section()
    table.add_row("overall", "", "", overall, band, escape(evaluation.overall_rationale), "")
    return table


def _band(band: str) -> str:
    return f"[{BAND_STYLES.get(band, 'default')}]{escape(band)}[/]" if band else ""
