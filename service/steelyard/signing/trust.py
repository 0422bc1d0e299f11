"""The keys whose signatures count: one JSON file that its owner keeps out of the signers' reach.

    {"version": 1, "keys": {"<key id>": {"name": "ci", "public": "<64 hex digits>"}}}

The key id is derived from the public key, and a file in which the two disagree is refused as a
whole: a list of trusted keys that cannot be read trusts nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard import strictjson
from steelyard._core import canonical_json
from steelyard.errors import InvalidInputError
from steelyard.files import MAX_FILE_BYTES, locked, write_atomic
from steelyard.signing.keys import PublicKey

NAME_LIMIT: Final = 160

__all__ = ["TrustedKeys", "default_trusted_keys_path", "trust_key"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _TrustedKey(_Model):
    name: Annotated[str, Field(min_length=1, max_length=NAME_LIMIT)]
    public: Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]


class _TrustedKeysFile(_Model):
    version: Literal[1]
    keys: Annotated[dict[str, _TrustedKey], Field(max_length=1000)]


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """Public keys by key id, and the names their owner gave them."""

    keys: Mapping[str, PublicKey]
    names: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> TrustedKeys:
        """The trusted keys file `path`.

        Raises InvalidInputError (TRUSTED_KEYS_INVALID) when it is missing, unreadable or breaks its
        format in any place.
        """
        try:
            data = path.read_bytes() if path.stat().st_size <= MAX_FILE_BYTES else b""
        except OSError as error:
            raise _invalid(path, error.strerror or "unreadable") from None
        try:
            file = _TrustedKeysFile.model_validate(strictjson.parse(data, str(path)))
        except (ValidationError, InvalidInputError) as error:
            raise _invalid(path, "is not a trusted keys file") from error
        keys = {}
        for key_id, entry in file.keys.items():
            key = _key(entry.public)
            if key.keyid != key_id:
                raise _invalid(path, f"key {key_id} is not the id of its public key")
            keys[key_id] = key
        return cls(keys, {key_id: entry.name for key_id, entry in file.keys.items()})


def default_trusted_keys_path() -> Path:
    """Where the keys that this user trusts are kept unless another file is named."""
    return user_config_path("steelyard") / "trusted-keys.json"


def trust_key(path: Path, key: PublicKey, name: str) -> TrustedKeys:
    """Add `key` to the trusted keys file `path`, created when missing, and return all it holds.

    A key that is there already keeps its place and takes the new name. Raises InvalidInputError:
    KEY_NAME unless `name` is 1 to 160 printable characters, TRUSTED_KEYS_INVALID as `read` does.
    """
    if not 1 <= len(name) <= NAME_LIMIT or not name.isprintable():
        message = f"must be 1 to {NAME_LIMIT} printable characters"
        raise InvalidInputError.at("name", "KEY_NAME", message)
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_name(f".{path.name}.lock")):
        old = TrustedKeys.read(path) if path.exists() else TrustedKeys({}, {})
        keys = {**old.keys, key.keyid: key}
        names = {**old.names, key.keyid: name}
        file = _TrustedKeysFile(
            version=1,
            keys={
                key_id: _TrustedKey(name=names[key_id], public=one.keyval["public"])
                for key_id, one in keys.items()
            },
        )
        write_atomic(path, canonical_json(file.model_dump()) + b"\n")
    return TrustedKeys(keys, names)


def _key(public: str) -> PublicKey:
    return PublicKey.from_crypto(Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)))


def _invalid(path: Path, message: str) -> InvalidInputError:
    return InvalidInputError("TRUSTED_KEYS_INVALID", f"{path}: {message}")
