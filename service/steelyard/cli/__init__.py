"""The `steelyard` command. One module per command; this one only lists them."""

from __future__ import annotations

import click

from steelyard.cli.run import SteelyardGroup

__all__ = ["main"]

COMMANDS = (
    "call",
    "db",
    "demo",
    "evaluate",
    "followups",
    "gate",
    "keys",
    "lint",
    "playbook",
    "policy",
    "results",
    "runs",
    "score",
    "serve",
    "trend",
    "verify",
    "version",
)


@click.group(
    cls=SteelyardGroup,
    modules={name: f"steelyard.cli.{name}" for name in COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"]},
)
def main() -> None:
    """Score, evaluate and gate the work of AI agents.

    Exit codes: 0 done, 1 the answer is no (a failed check), 2 usage, unreadable or refused input,
    3 a server or store is away.
    """
