"""`steelyard db`: the schema of a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from sqlalchemy import Engine

from steelyard.cli.run import print_json
from steelyard.records import migrate
from steelyard.records.engine import open_engine, store_url
from steelyard.settings import load_settings

__all__ = ["db"]


@contextmanager
def _engine(store: str | None, config: Path | None) -> Iterator[Engine]:
    engine = open_engine(store_url(load_settings({"store": store}, config).store))
    try:
        yield engine
    finally:
        engine.dispose()


def _options(command: Any) -> Any:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            envvar="STEELYARD_CONFIG",
            help="TOML file with settings.",
        ),
        click.option(
            "--store",
            help="Where records are kept: a file, sqlite:///FILE or postgresql://…. "
            "[default: as the settings say]",
        ),
    ):
        command = option(command)
    return command


@click.group()
def db() -> None:
    """Upgrade the schema of a store, or show its version."""


@db.command()
@_options
def upgrade(store: str | None, config: Path | None, as_json: bool) -> None:
    """Bring the store to the schema of this release. Back it up before."""
    with _engine(store, config) as engine:
        before = migrate.current(engine)
        after = migrate.upgrade(engine)
    if as_json:
        print_json({"before": before, "after": after})
    elif before == after:
        click.echo(f"schema {after}: nothing to do")
    else:
        click.echo(f"schema {before or 'none'} -> {after}")


@db.command()
@_options
@click.pass_context
def current(context: click.Context, store: str | None, config: Path | None, as_json: bool) -> None:
    """Show the schema of the store. Exit code 1 when this release needs another."""
    with _engine(store, config) as engine:
        found = migrate.current(engine)
    needed = migrate.head()
    if as_json:
        print_json({"current": found, "needed": needed})
    else:
        click.echo(f"schema {found or 'none'}, this release needs {needed}")
    context.exit(0 if found == needed else 1)
