"""What all commands share: errors become messages and exit codes, tables go to the terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from steelyard.errors import SteelyardError, UnavailableError

__all__ = ["BAND_STYLES", "SteelyardGroup", "exit_code", "print_json", "print_table", "stdout"]

USAGE = 2
AWAY = 3

# Colours on a terminal only: rich looks at the stream and at NO_COLOR.
BAND_STYLES = {
    "failing": "red",
    "weak": "yellow",
    "acceptable": "cyan",
    "strong": "green",
    "excellent": "bold green",
}


class SteelyardGroup(click.Group):
    """A group whose commands end with one line on the error stream instead of a traceback.

    A command is imported when it is asked for: no command waits for what only another one needs.
    """

    def __init__(self, *, modules: Mapping[str, str], **attributes: Any) -> None:
        """`modules` says in which module each command is; the command has its own name there."""
        super().__init__(**attributes)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None where there is none."""
        if cmd_name not in self._modules:
            return None
        command: click.Command = getattr(import_module(self._modules[cmd_name]), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; a SteelyardError becomes its exit code."""
        try:
            return super().invoke(ctx)
        except SteelyardError as error:
            click.echo(f"steelyard: {error.message} [{error.reason}]", err=True)
            ctx.exit(exit_code(error))


def exit_code(error: SteelyardError) -> int:
    """The exit code that an error ends a command with."""
    return AWAY if isinstance(error, UnavailableError) else USAGE


def stdout() -> Console:
    """The console of standard output, made anew so that tests and pipes see their own stream."""
    return Console(highlight=False, soft_wrap=False)


def print_table(table: Table) -> None:
    """A table for people; columns are never folded to fit a pipe."""
    console = stdout()
    if not console.is_terminal:
        console.width = 10_000
    console.print(table)


def print_json(document: object) -> None:
    """A document for machines: UTF-8 JSON with keys in the order of the contract."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))
