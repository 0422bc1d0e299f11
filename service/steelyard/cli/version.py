"""`steelyard version`."""

from __future__ import annotations

import click

from steelyard import _core
from steelyard.cli.run import print_json

__all__ = ["version"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def version(as_json: bool) -> None:
    """Show the version, the engine digest and the kernel paths of this machine."""
    paths = _core.kernel_paths()
    if as_json:
        print_json(
            {
                "version": _core.ENGINE_VERSION,
                "engineDigest": _core.ENGINE_DIGEST,
                "kernelPaths": paths,
            }
        )
        return
    click.echo(f"steelyard {_core.ENGINE_VERSION}")
    click.echo(f"engine    {_core.ENGINE_DIGEST}")
    click.echo(f"kernel    {paths[-1]} (available: {', '.join(paths)})")
