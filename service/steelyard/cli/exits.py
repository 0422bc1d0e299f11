"""Exit codes of commands that answer with a verdict: 2 is UNVERIFIED, so refusals end with 3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from steelyard.errors import SteelyardError

__all__ = ["REFUSED", "VERDICT_EXITS", "StrictUsageError", "VerdictCommand"]

VERDICT_EXITS: Final[Mapping[str, int]] = {"PASS": 0, "WARN": 0, "FAIL": 1, "UNVERIFIED": 2}
# Wrong usage, a failed precheck, input that cannot be read, a store that is away.
REFUSED: Final = 3


class StrictUsageError(click.UsageError):
    """A usage error that ends with 3."""

    exit_code = REFUSED


class VerdictCommand(click.Command):
    """A command whose usage errors and refusals end with 3."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parses the arguments; a usage error becomes a strict one."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            raise StrictUsageError(error.format_message(), error.ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; a SteelyardError becomes one line and exit code 3."""
        try:
            return super().invoke(ctx)
        except SteelyardError as error:
            click.echo(f"steelyard: {error.message} [{error.reason}]", err=True)
            ctx.exit(REFUSED)
