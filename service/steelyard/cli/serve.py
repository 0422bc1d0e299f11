"""`steelyard serve`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from steelyard.settings import Settings, load_settings

__all__ = ["announce", "serve", "settings_options"]


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags of the settings; each may also be a STEELYARD_* variable or a TOML key."""
    options = (
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            envvar="STEELYARD_CONFIG",
            help="TOML file with settings.",
        ),
        click.option(
            "--address",
            help="Where to listen, host:port. Port 0 takes a free one. [default: 127.0.0.1:50051]",
        ),
        click.option(
            "--workers", type=int, help="Worker processes, each pinned to a core. [default: 1]"
        ),
        click.option(
            "--policies",
            type=click.Path(path_type=Path),
            help="Folder with scoring policies, *.toml.",
        ),
        click.option(
            "--store",
            help="Where records are kept: a file, sqlite:///FILE or postgresql://…. "
            "[default: a file in the user's data folder]",
        ),
        click.option(
            "--board",
            type=click.Choice(["builtin", "outbox"]),
            help="Where follow-ups become tasks. [default: builtin]",
        ),
        click.option(
            "--max-message-bytes", type=int, help="Largest request in bytes. [default: 4194304]"
        ),
        click.option(
            "--max-batch-tasks", type=int, help="Most tasks in one message. [default: 100000]"
        ),
        click.option("--threads", type=int, help="Handler threads of a worker. [default: 16]"),
        click.option(
            "--max-concurrent-calls",
            type=int,
            help="Calls a worker takes on at once. [default: 2000]",
        ),
        click.option(
            "--grace-seconds",
            type=float,
            help="How long running calls may go on after SIGTERM. [default: 10]",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@settings_options
def serve(config: Path | None, **flags: Any) -> None:
    """Answer gRPC calls until SIGTERM or Ctrl-C.

    Every setting may come as a flag, as a variable (STEELYARD_WORKERS=2) or from the TOML file that
    --config names; the first of these wins.
    """
    # Imported here: no other command needs a server.
    from steelyard.server.workers import serve as run

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    settings = load_settings(flags, config)
    run(settings, lambda port: announce(settings, port))


def announce(settings: Settings, port: int) -> None:
    """Says where the server listens and how to end it."""
    host = settings.address.rpartition(":")[0]
    workers = "1 worker" if settings.workers == 1 else f"{settings.workers} workers"
    click.echo(f"steelyard listens on {host}:{port} ({workers}); Ctrl-C stops it")
