"""`steelyard keys`: make signing keys, look at them, trust them."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.trusted import TRUSTED_KEYS_VARIABLE
from steelyard.signing import default_trusted_keys_path, new_key, read_public_key, trust_key
from steelyard.signing.keys import public_pem

__all__ = ["keys"]

_path = click.Path(path_type=Path)


@click.group()
def keys() -> None:
    """Keys that sign gate reports (Ed25519). A private key is never printed."""


@keys.command("new")
@click.argument("path", metavar="FILE", type=_path)
def new(path: Path) -> None:
    """Make a private key FILE, readable by its owner only, and its public key FILE.pub."""
    key = new_key(path)
    click.echo(f"private key: {path} (mode 0600; keep it)\npublic key:  {path}.pub")
    click.echo(f"key id:      {key.keyid}")


@keys.command("show")
@click.argument("path", metavar="FILE", type=_path)
def show(path: Path) -> None:
    """Print the id and the public key of a private or public key FILE."""
    key = read_public_key(path)
    click.echo(f"key id: {key.keyid}\n{public_pem(key).decode('ascii')}", nl=False)


@keys.command("trust")
@click.argument("path", metavar="FILE", type=_path)
@click.option("--name", default=None, help="What to call it. Default: the file's name.")
@click.option(
    "--trusted-keys",
    "trusted_path",
    metavar="FILE",
    type=_path,
    envvar=TRUSTED_KEYS_VARIABLE,
    help="The trusted keys file to add to. Default: one in your configuration folder.",
)
def trust(path: Path, name: str | None, trusted_path: Path | None) -> None:
    """Count signatures of the public key FILE from now on."""
    target = trusted_path or default_trusted_keys_path()
    key = read_public_key(path)
    trusted = trust_key(target, key, name or path.stem)
    click.echo(f"{target} trusts {len(trusted.keys)} key(s), {trusted.names[key.keyid]} among them")
