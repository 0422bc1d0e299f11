"""`steelyard policy show|check`."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.table import Table

from steelyard.cli.run import BAND_STYLES, print_json, print_table
from steelyard.errors import SteelyardError
from steelyard.scoring.policy import TASK_EVALUATION, Policy, load_policy

__all__ = ["policy"]


@click.group()
def policy() -> None:
    """Look at scoring policies and check policy files."""


@policy.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the policy document as JSON.")
def show(file: Path | None, as_json: bool) -> None:
    """Show the policy in FILE, or the built-in one."""
    shown = TASK_EVALUATION if file is None else load_policy(file)
    if as_json:
        print_json({**json.loads(shown.document), "digest": shown.digest})
        return
    deterministic, ai = shown.blend_weights
    click.echo(f"{shown.name}@{shown.version}, {shown.arithmetic} arithmetic")
    click.echo(f"blend: {deterministic / 100:g} % deterministic, {ai / 100:g} % AI")
    click.echo(f"digest: {shown.digest}")
    print_table(_categories(shown))
    print_table(_bands(shown))


def _categories(shown: Policy) -> Table:
    table = Table("category", "weight", "floor")
    for name, weight, floor in zip(shown.categories, shown.weights, shown.floors, strict=True):
        table.add_row(name, f"{weight / 100:g} %", "" if floor is None else str(floor))
    return table


def _bands(shown: Policy) -> Table:
    table = Table("band", "from", "to")
    for name, low, high in shown.bands:
        table.add_row(name, str(low), str(high), style=BAND_STYLES.get(name))
    return table


@policy.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(files: tuple[Path, ...], as_json: bool) -> None:
    """Check policy FILES. Exit code 1 when any of them is bad."""
    results = []
    for file in files:
        try:
            good = load_policy(file)
        except SteelyardError as error:
            results.append({"file": str(file), "ok": False, "error": error.message})
        else:
            name = f"{good.name}@{good.version}"
            results.append({"file": str(file), "ok": True, "policy": name, "digest": good.digest})
    if as_json:
        print_json(results)
    else:
        for result in results:
            text = result["policy"] if result["ok"] else result["error"]
            click.echo(f"{'ok ' if result['ok'] else 'BAD'} {result['file']}: {text}")
    if not all(result["ok"] for result in results):
        raise click.exceptions.Exit(1)
