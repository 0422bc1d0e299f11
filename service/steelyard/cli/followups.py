"""`steelyard followups`."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.table import Table

from steelyard.cli.records import (
    Ask,
    page_note,
    page_options,
    records_options,
    show_json,
    value_of,
    when,
    word,
    words,
)
from steelyard.cli.run import print_table
from steelyard.v1 import records_pb2 as pb
from steelyard.v1 import task_pb2

__all__ = ["followups"]


@click.group()
def followups() -> None:
    """List follow-ups, decide about them, and hand them to another board."""


@followups.command("list")
@click.option("--task", "task_id", default="", help="Of this task.")
@click.option("--run", "run_id", default="", help="Of this run.")
@click.option("--state", type=words(task_pb2.SuggestionState), help="In this state.")
@page_options
@records_options
def list_follow_ups(
    ask: Ask,
    task_id: str,
    run_id: str,
    state: str | None,
    limit: int,
    page_token: str,
    as_json: bool,
) -> None:
    """List follow-ups, newest first."""
    request = pb.ListFollowUpsRequest(
        task_id=task_id, run_id=run_id, page_size=limit, page_token=page_token
    )
    request.state = value_of(task_pb2.SuggestionState, state)  # type: ignore[assignment]  # a known value
    response = ask(request, pb.ListFollowUpsResponse)
    if as_json:
        show_json(response)
    else:
        print_table(_table(list(response.follow_ups), page_note(response.next_page_token)))


@followups.command()
@click.argument("number", type=int)
@click.option("--as-task", "task_id", default="", help="The task that was made by hand.")
@click.option("--note", default="", help="Why, kept for audit.")
@records_options
def accept(ask: Ask, number: int, task_id: str, note: str, as_json: bool) -> None:
    """Make a task of follow-up NUMBER, or name the task made of it."""
    _decide(ask, pb.FOLLOW_UP_ACTION_ACCEPT, number, task_id, note, as_json)


@followups.command()
@click.argument("number", type=int)
@click.option("--note", default="", help="Why, kept for audit.")
@records_options
def dismiss(ask: Ask, number: int, note: str, as_json: bool) -> None:
    """Suppress follow-up NUMBER."""
    _decide(ask, pb.FOLLOW_UP_ACTION_DISMISS, number, "", note, as_json)


@followups.command()
@page_options
@records_options
def board(ask: Ask, limit: int, page_token: str, as_json: bool) -> None:
    """List the tasks of the store's own board, newest first."""
    request = pb.ListBoardTasksRequest(page_size=limit, page_token=page_token)
    response = ask(request, pb.ListBoardTasksResponse)
    if as_json:
        show_json(response)
        return
    note = page_note(response.next_page_token)
    table = Table("task", "created (UTC)", "column", "title", "from", caption=note)
    for each in response.tasks:
        table.add_row(
            escape(each.task_id),
            when(each.created_at),
            escape(each.task.column),
            escape(each.task.title),
            escape(each.task.source_parent_task_id),
        )
    print_table(table)


@followups.command()
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option(
    "--hold",
    type=click.IntRange(1, 3600),
    default=60,
    show_default=True,
    help="Seconds until an item that is not acknowledged is given out again.",
)
@records_options
def drain(ask: Ask, limit: int, hold: int, as_json: bool) -> None:
    """Take what waits in the outbox, oldest first."""
    request = pb.DrainOutboxRequest(limit=limit, hold_seconds=hold)
    response = ask(request, pb.DrainOutboxResponse)
    if as_json:
        show_json(response)
        return
    table = Table("item", "suggestion", "title", "attempts")
    for each in response.items:
        source = each.task.source_metadata
        table.add_row(
            str(each.number),
            escape(source.suggestion_id),
            escape(each.task.title),
            str(each.attempts),
        )
    print_table(table)


@followups.command()
@click.argument("number", type=int)
@click.argument("task")
@records_options
def acknowledge(ask: Ask, number: int, task: str, as_json: bool) -> None:
    """Say that item NUMBER of the outbox became TASK on another board."""
    request = pb.AcknowledgeOutboxRequest(number=number, task_id=task)
    response = ask(request, pb.AcknowledgeOutboxResponse)
    if as_json:
        show_json(response)
    else:
        click.echo(f"item {number} became {task}")


def _decide(
    ask: Ask,
    action: pb.FollowUpAction.ValueType,
    number: int,
    task_id: str,
    note: str,
    as_json: bool,
) -> None:
    request = pb.UpdateFollowUpRequest(number=number, action=action, task_id=task_id, note=note)
    response = ask(request, pb.UpdateFollowUpResponse)
    if as_json:
        show_json(response)
    else:
        print_table(_table([response.follow_up], None))


def _table(found: list[pb.StoredFollowUp], note: str | None) -> Table:
    table = Table("number", "of task", "title", "priority", "state", "became", "why", caption=note)
    for each in found:
        suggestion = each.suggestion
        table.add_row(
            str(each.number),
            escape(each.task_id),
            escape(suggestion.title),
            word(task_pb2.SuggestionPriority, suggestion.priority),
            word(task_pb2.SuggestionState, suggestion.state),
            escape(suggestion.created_task_id),
            escape(each.note or suggestion.recommendation.reason),
        )
    return table
