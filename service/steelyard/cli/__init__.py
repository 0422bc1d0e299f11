"""The `steelyard` command. One module per command; this one only assembles them."""

from __future__ import annotations

import click

__all__ = ["main"]

COMMANDS: tuple[click.Command, ...] = ()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Score, evaluate and gate the work of AI agents."""


for _command in COMMANDS:
    main.add_command(_command)
