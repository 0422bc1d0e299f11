"""`steelyard score FILE`."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
from rich.table import Table

from steelyard._core import Engine
from steelyard.cli.records import StoreWhenNeeded
from steelyard.cli.run import BAND_STYLES, print_table
from steelyard.cli.score_files import format_of, read_tasks, result_table, write_results
from steelyard.cli.task import score_task_file
from steelyard.client import Client
from steelyard.scoring.batch import ScoreBatch
from steelyard.scoring.batch import score as score_here
from steelyard.scoring.policy import TASK_EVALUATION, load_policy

__all__ = ["score"]

SHOWN_ROWS = 20


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--task",
    "task_file",
    help="Evaluate the one task of this JSON file in full; - is standard input.",
)
@click.option("--json", "as_json", is_flag=True, help="With --task: print the evaluation as JSON.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the results to this file.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", "csv", "jsonl", "parquet"]),
    help="Form of the results. [default: by the name of --out, else table]",
)
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(path_type=Path),
    help="Policy file. [default: the built-in task-evaluation@1]",
)
@click.option(
    "--store",
    help="With --task: where a task with `persist` is stored. [default: as the settings say]",
)
@click.option("--server", help="Score on this server (host:port), not in this process.")
def score(
    file: Path | None,
    task_file: str | None,
    as_json: bool,
    out: Path | None,
    kind: str | None,
    policy_file: Path | None,
    store: str | None,
    server: str | None,
) -> None:
    """Score the tasks of FILE (.csv, .jsonl or .parquet), or one task in full with --task.

    Columns in: deterministic.CATEGORY and ai.CATEGORY for each category, task_id if you like; in
    JSON lines {"task_id": ..., "deterministic": {CATEGORY: ...}, "ai": {CATEGORY: ...}}. Columns
    out: task_id, final.CATEGORY, band.CATEGORY, overall, overall_band. With --server the policy
    must be loaded there too.
    """
    if (file is None) == (task_file is None):
        raise click.UsageError("give a FILE of tasks or --task FILE.json")
    policy = TASK_EVALUATION if policy_file is None else load_policy(policy_file)
    if file is None:
        if out is not None or kind is not None or server is not None:
            raise click.UsageError("--task goes with --policy, --store and --json only")
        engine = Engine([] if policy_file is None else [policy], max_tasks=1)
        with closing(StoreWhenNeeded(store, (policy,))) as kept:
            score_task_file(str(task_file), engine.policy, as_json=as_json, store=kept)
        return
    if store is not None:
        raise click.UsageError("--store goes with --task")
    if as_json:
        raise click.UsageError("--json goes with --task; use --format jsonl")
    if kind is None:
        kind = format_of(out) if out is not None else "table"
    tasks = read_tasks(file, policy.categories)
    if server is None:
        batch = score_here(tasks.deterministic, tasks.ai, policy)
    else:
        name = f"{policy.name}@{policy.version}"
        with Client(server, timeout=60) as client:
            batch = client.score(tasks.deterministic, tasks.ai, name, policy.categories)
    results = result_table(tasks, batch)
    if kind == "table":
        print_table(_rows(results, batch))
        print_table(_summary(batch))
    elif out is None:
        write_results(results, kind, sys.stdout.buffer)
    else:
        with out.open("wb") as target:
            write_results(results, kind, target)
        click.echo(f"{len(batch)} tasks scored into {out}", err=True)


def _rows(results: pa.Table, batch: ScoreBatch) -> Table:
    more = len(batch) - SHOWN_ROWS
    table = Table(
        "task",
        *batch.categories,
        "overall",
        "band",
        caption=f"and {more:,} more; --out FILE has them all" if more > 0 else None,
    )
    for index, row in enumerate(results.slice(0, SHOWN_ROWS).to_pylist()):
        table.add_row(
            str(row.get("task_id", index + 1)),
            *(str(row[f"final.{category}"]) for category in batch.categories),
            str(row["overall"]),
            row["overall_band"],
            style=BAND_STYLES.get(row["overall_band"]),
        )
    return table


def _summary(batch: ScoreBatch) -> Table:
    table = Table("overall band", "tasks", "share")
    for index, name in enumerate(batch.bands):
        count = int(np.count_nonzero(batch.overall_band == index))
        table.add_row(name, f"{count:,}", f"{count / len(batch):.1%}", style=BAND_STYLES.get(name))
    table.add_section()
    table.add_row("mean overall", f"{batch.overall.mean():.2f}", "")
    return table
