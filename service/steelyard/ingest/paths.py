"""Paths of a report as paths of the repository: purely lexical, no disk is ever touched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

__all__ = ["Locator", "is_vendored"]

_MAX_PATH = 4_096
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffd]")
_VENDORED = frozenset({"node_modules", "site-packages", "dist-packages", ".venv", "venv", ".tox"})


@dataclass(frozen=True, slots=True)
class _Parts:
    """A path in pieces. `anchor` is empty for a relative one, else `/`, `c:/` or `//host/`."""

    anchor: str
    names: tuple[str, ...]


def _split(path: str) -> _Parts | None:
    """`path` with `/` between its parts, `.` and `..` resolved; None when it climbs out."""
    anchor = ""
    if _DRIVE.match(path):
        anchor, path = path[:2].lower() + "/", path[3:]
    elif path.startswith("//"):
        host, _, path = path[2:].partition("/")
        anchor = f"//{host.lower()}/"
    elif path.startswith("/"):
        anchor, path = "/", path[1:]
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if names:
                names.pop()
            elif not anchor:
                return None
        elif name not in ("", "."):
            names.append(name)
    return _Parts(anchor, tuple(names))


def _from_uri(uri: str) -> str | None:
    """The path a `file:` URI or a relative URI reference stands for, None for any other scheme."""
    scheme = _SCHEME.match(uri)
    rest = uri
    if scheme:
        if scheme[1].lower() != "file":
            return None
        rest = uri[scheme.end() :]
        if rest.startswith("//"):
            host, slash, path = rest[2:].partition("/")
            rest = slash + path if host.lower() in ("", "localhost") else f"//{host}/{path}"
    try:
        rest = unquote(rest, errors="strict")
    except UnicodeDecodeError:
        return None
    if re.match(r"/[A-Za-z]:(?:/|$)", rest):
        rest = rest[1:]
    return rest


def _plain(raw: str, *, uri: bool) -> str | None:
    """The path that `raw` stands for, None for what cannot be a path at all."""
    if not raw or len(raw) > _MAX_PATH or (raw[0] == "<" and raw[-1] == ">"):
        return None
    path: str | None = raw
    if not _is_windows(raw):
        if uri or raw[:5].lower() == "file:":
            path = _from_uri(raw)
        elif _SCHEME.match(raw):
            return None
    return None if path is None or _UNUSABLE.search(path) else path


@lru_cache(maxsize=64)
def _root_parts(root: str) -> _Parts | None:
    parts = _split(root.replace("\\", "/") if _is_windows(root) else root)
    return parts if parts and parts.anchor else None


def _is_windows(path: str) -> bool:
    return bool(_DRIVE.match(path)) or path.startswith("\\\\")


@dataclass(frozen=True, slots=True)
class Locator:
    """Tells where a path of a report lies.

    root  repository root as the tool saw it, None when unknown: then no absolute path is inside
    cwd   where relative paths start: absolute, or relative to the root
    """

    root: str | None
    cwd: str = ""

    def inside(self, raw: str, *, uri: bool = False) -> str | None:
        """The path relative to the root with `/` between its parts, None when it is not inside.

        `uri` says that `raw` is a URI reference (percent-encoded even when relative); a `file:` URI
        is recognised anyway. The root itself is a directory and never a location.
        """
        path = _plain(raw, uri=uri)
        if path is None:
            return None
        windows = self.root is not None and _is_windows(self.root)
        if not path.startswith("/") and not _is_windows(path) and self.cwd:
            path = f"{self.cwd}/{path}"
        if windows or _is_windows(path) or "/" not in path:
            path = path.replace("\\", "/")
        parts = _split(path)
        if parts is None:
            return None
        names = parts.names if not parts.anchor else self._below_root(parts, windows)
        return "/".join(names) if names else None

    def _below_root(self, parts: _Parts, windows: bool) -> tuple[str, ...] | None:
        root = _root_parts(self.root) if self.root else None
        if root is None or root.anchor != parts.anchor:
            return None
        head, names = parts.names[: len(root.names)], root.names
        if windows:
            head = tuple(name.casefold() for name in head)
            names = tuple(name.casefold() for name in names)
        return parts.names[len(root.names) :] if head == names else None


def is_vendored(path: str) -> bool:
    """Whether a path inside the repository belongs to installed dependencies."""
    return not _VENDORED.isdisjoint(path.split("/"))
