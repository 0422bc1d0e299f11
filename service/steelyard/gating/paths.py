"""Paths as manifests write them, judged by their letters; symlinks are the caller's to follow."""

from __future__ import annotations

import posixpath
from typing import Final

__all__ = ["MAX_PATH_LENGTH", "normal_path", "shown_path"]

MAX_PATH_LENGTH: Final = 1024


def normal_path(raw: str) -> str | None:
    """`raw` relative to the project root in POSIX form without `.`, `..` and `//`.

    None for a path that is empty or absolute, leaves the root, names the root itself, is longer
    than 1,024 characters, or holds a control character or a drive letter.
    """
    path = raw.replace("\\", "/")
    if not path or len(path) > MAX_PATH_LENGTH or path.startswith("/") or path[1:2] == ":":
        return None
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in path):
        return None
    normal = posixpath.normpath(path)
    if normal in (".", "..") or normal.startswith("../"):
        return None
    return normal


def shown_path(raw: str) -> str:
    """How a report shows a path: its normal form, or its letters when it has none."""
    return normal_path(raw) or raw.replace("\\", "/")
