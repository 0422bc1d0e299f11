"""The `steelyard` command. One module per command; this one only assembles them."""

from __future__ import annotations

import click

from steelyard.cli.demo import demo
from steelyard.cli.gate import gate
from steelyard.cli.keys import keys
from steelyard.cli.playbook import playbook
from steelyard.cli.policy import policy
from steelyard.cli.run import SteelyardGroup
from steelyard.cli.score import score
from steelyard.cli.serve import serve
from steelyard.cli.verify import verify
from steelyard.cli.version import version

__all__ = ["main"]

COMMANDS: tuple[click.Command, ...] = (
    demo,
    gate,
    keys,
    playbook,
    policy,
    score,
    serve,
    verify,
    version,
)


@click.group(cls=SteelyardGroup, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Score, evaluate and gate the work of AI agents.

    Exit codes: 0 done, 1 the answer is no (a failed check), 2 usage, unreadable or refused input,
    3 a server or store is away.
    """


for _command in COMMANDS:
    main.add_command(_command)
