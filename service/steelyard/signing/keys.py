"""Ed25519 key files: a PKCS#8 PEM that only its owner can read, and a public PEM beside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.signer import (  # type: ignore[attr-defined]  # re-exported without __all__
    CryptoSigner as Signer,
)
from securesystemslib.signer import (  # type: ignore[attr-defined]  # re-exported without __all__
    SSlibKey as PublicKey,
)

from steelyard.errors import AlreadyExistsError, InvalidInputError, NotFoundError, PreconditionError

__all__ = [
    "PublicKey",
    "Signer",
    "new_key",
    "public_pem",
    "read_private_key",
    "read_public_key",
]

MAX_KEY_FILE_BYTES: Final = 64 * 1024


def new_key(path: Path) -> PublicKey:
    """Create the private key file `path` (mode 0600) and `path`.pub; return the public key.

    Raises AlreadyExistsError (KEY_EXISTS) rather than replace either file.
    """
    public_path = path.with_name(path.name + ".pub")
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    key = PublicKey.from_crypto(private.public_key())
    if public_path.exists():
        raise AlreadyExistsError("KEY_EXISTS", f"{public_path}: exists already")
    _create(path, pem, 0o600)
    _create(public_path, public_pem(key), 0o644)
    return key


def read_private_key(path: Path) -> Signer:
    """The signer of a private key file.

    Raises NotFoundError (KEY_NOT_FOUND), PreconditionError (KEY_FILE_MODE) when others than the
    owner may read or write the file, InvalidInputError (KEY_INVALID) when it is no Ed25519 key.
    """
    data = _read(path, private=True)
    try:
        key = load_pem_private_key(data, password=None)
    except (ValueError, TypeError) as error:
        # The library's own words may quote the file.
        raise _invalid(path, "a private Ed25519 key in PEM (PKCS#8, no passphrase)") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _invalid(path, "a private Ed25519 key in PEM (PKCS#8, no passphrase)")
    return Signer(key)


def read_public_key(path: Path) -> PublicKey:
    """The public key of a public key file, or of a private one when that is what `path` names."""
    data = _read(path, private=False)
    if b"PRIVATE KEY" in data:
        return read_private_key(path).public_key
    try:
        key = load_pem_public_key(data)
    except ValueError as error:
        raise _invalid(path, "a public Ed25519 key in PEM") from error
    if not isinstance(key, Ed25519PublicKey):
        raise _invalid(path, "a public Ed25519 key in PEM")
    return PublicKey.from_crypto(key)


def public_pem(key: PublicKey) -> bytes:
    """The public key as PEM (SubjectPublicKeyInfo)."""
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.keyval["public"]))
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _create(path: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, mode)
    except FileExistsError:
        raise AlreadyExistsError("KEY_EXISTS", f"{path}: exists already") from None
    except OSError as error:
        raise NotFoundError("KEY_FOLDER", f"{path}: {error.strerror}") from None
    with os.fdopen(descriptor, "wb") as file:
        # The mode asked of open() passes through the umask, which could only narrow it further.
        os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path, *, private: bool) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotFoundError("KEY_NOT_FOUND", f"{path}: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _invalid(path, "a regular file")
        if private and status.st_mode & 0o077:
            message = f"{path}: others can reach this private key; chmod 600 it"
            raise PreconditionError("KEY_FILE_MODE", message)
        data = file.read(MAX_KEY_FILE_BYTES + 1)
    if len(data) > MAX_KEY_FILE_BYTES:
        raise _invalid(path, f"at most {MAX_KEY_FILE_BYTES} bytes")
    return data


def _invalid(path: Path, expected: str) -> InvalidInputError:
    return InvalidInputError("KEY_INVALID", f"{path}: must be {expected}")
