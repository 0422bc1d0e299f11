"""Reading the files that commands are given, and showing text of others on a terminal."""

from __future__ import annotations

from pathlib import Path

from steelyard import strictjson
from steelyard.errors import LimitError, NotFoundError

__all__ = ["MAX_DOCUMENT", "MAX_REPORT", "printable", "read_bytes", "read_document"]

MAX_DOCUMENT = 64 * 1024**2
"""Bytes of a contract, result or judgements file that are read."""

MAX_REPORT = 1024**3
"""Bytes of a tool's report that are read."""


def read_bytes(path: Path, limit: int) -> bytes:
    """The content of a file of at most `limit` bytes.

    Raises NotFoundError (FILE_UNREADABLE) or LimitError (FILE_TOO_LARGE).
    """
    try:
        with path.open("rb") as opened:
            data = opened.read(limit + 1)
    except OSError as error:
        raise NotFoundError("FILE_UNREADABLE", f"{path}: {error.strerror or error}") from error
    if len(data) > limit:
        raise LimitError("FILE_TOO_LARGE", f"{path}: has more than {limit} bytes")
    return data


def read_document(path: Path) -> object:
    """The JSON value in a file. Raises as `read_bytes` and `steelyard.strictjson.parse` do."""
    return strictjson.parse(read_bytes(path, MAX_DOCUMENT), str(path))


def printable(text: str) -> str:
    """Text of others on one line: nothing in it moves the cursor or sets colours."""
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))
