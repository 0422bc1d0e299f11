"""`steelyard runs`."""

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

__all__ = ["runs"]

STATUS_STYLES = {"running": "cyan", "completed": "green", "failed": "red", "cancelled": "yellow"}


@click.group()
def runs() -> None:
    """List, show, create and end runs."""


@runs.command("list")
@click.option("--status", type=words(pb.RunStatus), help="With this status.")
@click.option("--trigger", type=words(pb.RunTrigger), help="With this trigger.")
@page_options
@records_options
def list_runs(
    ask: Ask, status: str | None, trigger: str | None, limit: int, page_token: str, as_json: bool
) -> None:
    """List runs, newest first."""
    request = pb.ListRunsRequest(page_size=limit, page_token=page_token)
    request.status = value_of(pb.RunStatus, status)  # type: ignore[assignment]  # a known value
    request.trigger = value_of(pb.RunTrigger, trigger)  # type: ignore[assignment]  # a known value
    response = ask(request, pb.ListRunsResponse)
    if as_json:
        show_json(response)
    else:
        print_table(_table(list(response.runs), page_note(response.next_page_token)))


@runs.command()
@click.argument("run")
@records_options
def show(ask: Ask, run: str, as_json: bool) -> None:
    """Show one run."""
    response = ask(pb.GetRunRequest(run_id=run), pb.GetRunResponse)
    _show(response.run, response, as_json)


@runs.command()
@click.option("--id", "run_id", default="", help="Its id. [default: the store names it]")
@click.option("--summary", default="", help="What it is about.")
@click.option("--lease", type=int, default=0, help="Length of its lease in seconds. [default: 300]")
@click.option("--start/--no-start", default=True, help="Start it at once.", show_default=True)
@click.option("--key", default="", help="Idempotency key: the same key creates one run.")
@records_options
def create(
    ask: Ask, run_id: str, summary: str, lease: int, start: bool, key: str, as_json: bool
) -> None:
    """Create a run with trigger `manual`."""
    request = pb.CreateRunRequest(
        run_id=run_id,
        trigger=pb.RUN_TRIGGER_MANUAL,
        summary=summary,
        lease_seconds=max(lease, 0),
        start=start,
        idempotency_key=key,
    )
    response = ask(request, pb.CreateRunResponse)
    _show(response.run, response, as_json)


@runs.command()
@click.argument("run")
@click.option("--error", default="", help="It failed, for this reason.")
@click.option("--summary", default="", help="Replaces its summary.")
@records_options
def finish(ask: Ask, run: str, error: str, summary: str, as_json: bool) -> None:
    """End a run: completed, or failed with --error."""
    request = pb.FinishRunRequest(
        run_id=run,
        status=pb.RUN_STATUS_FAILED if error else pb.RUN_STATUS_COMPLETED,
        summary=summary,
        error=error,
    )
    response = ask(request, pb.FinishRunResponse)
    _show(response.run, response, as_json)


@runs.command()
@click.argument("run")
@records_options
def cancel(ask: Ask, run: str, as_json: bool) -> None:
    """Cancel a run."""
    response = ask(pb.CancelRunRequest(run_id=run), pb.CancelRunResponse)
    _show(response.run, response, as_json)


def _show(run: pb.EvalRun, response: object, as_json: bool) -> None:
    if as_json:
        show_json(response)  # type: ignore[arg-type]  # every response is a message
    else:
        print_table(_table([run], run.error or run.summary or None))


def _table(found: list[pb.EvalRun], note: str | None) -> Table:
    table = Table("run", "created (UTC)", "trigger", "status", caption=note, caption_justify="left")
    for name in ("scored", "skipped", "errors", "mean"):
        table.add_column(name, justify="right")
    for run in found:
        status = word(pb.RunStatus, run.status)
        has_mean = run.aggregates.HasField("mean_overall")
        table.add_row(
            escape(run.run_id),
            when(run.created_at),
            word(pb.RunTrigger, run.trigger),
            f"[{STATUS_STYLES.get(status, 'default')}]{status}[/]",
            str(run.scored_count),
            str(run.skipped_count),
            str(run.error_count),
            f"{run.aggregates.mean_overall:.1f}" if has_mean else "",
        )
    return table
