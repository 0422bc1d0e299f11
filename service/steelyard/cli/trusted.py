"""The option that says which keys are trusted, shared by the commands that check signatures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from steelyard.signing import TrustedKeys, default_trusted_keys_path

__all__ = ["TRUSTED_KEYS_VARIABLE", "trusted_keys_option"]

TRUSTED_KEYS_VARIABLE = "STEELYARD_TRUSTED_KEYS"
F = TypeVar("F", bound=Callable[..., object])


def trusted_keys_option(command: F) -> F:
    """Add `--trusted-keys`; the command gets `trusted`, a function that reads them when called.

    It returns None when no keys are configured: no file named, and none in the user's own place.
    """

    def reader(
        context: click.Context, parameter: click.Parameter, value: Path | None
    ) -> Callable[[], TrustedKeys | None]:
        path = value or default_trusted_keys_path()
        return lambda: TrustedKeys.read(path) if value or path.exists() else None

    return click.option(
        "--trusted-keys",
        "trusted",
        metavar="FILE",
        type=click.Path(path_type=Path),
        envvar=TRUSTED_KEYS_VARIABLE,
        callback=reader,
        help="Keys whose signatures count; a report that none of them signed is then refused. "
        "Default: the file that `steelyard keys trust` writes, when there is one.",
    )(command)
