"""How commands end: the exit codes of a verdict, and errors as one line with a code of one's own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from steelyard.errors import SteelyardError

__all__ = ["UNUSABLE", "VERDICT_EXITS", "StrictUsageCommand", "StrictUsageError", "exit_on_error"]

VERDICT_EXITS: Final[Mapping[str, int]] = {"PASS": 0, "WARN": 0, "FAIL": 1, "UNVERIFIED": 2}
# Usage errors, a failed precheck, and input that cannot be read.
UNUSABLE: Final = 3


class StrictUsageError(click.UsageError):
    """A usage error that ends with 3, because 2 is the exit code of a verdict."""

    exit_code = UNUSABLE


class StrictUsageCommand(click.Command):
    """A command whose usage errors are strict ones."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            raise StrictUsageError(error.format_message(), error.ctx) from error


@contextlib.contextmanager
def exit_on_error(code: int) -> Iterator[None]:
    """Print an error as `REASON: message` on standard error and exit with `code`."""
    try:
        yield
    except SteelyardError as error:
        click.echo(f"{error.reason}: {error.message}", err=True)
        raise SystemExit(code) from error
    except OSError as error:
        click.echo(f"SYSTEM_ERROR: {error}", err=True)
        raise SystemExit(code) from error
