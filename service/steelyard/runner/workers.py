"""Workers of a squad: found, hashed over every file, and watched for change.

A worker is a folder `workers/<name>/` with a `worker.json` and one program, `run.js` or `run.py`.
Its identity is its content: the path and the bytes of every file below the folder, and of the lock
file that `worker.json` may name.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steelyard import strictjson
from steelyard.errors import InvalidInputError
from steelyard.files import Folder
from steelyard.strictjson import JsonValue

__all__ = ["DEFAULT_TIMEOUT_SECONDS", "MAX_TIMEOUT_SECONDS", "Source", "Worker", "load_worker"]

DEFAULT_TIMEOUT_SECONDS: Final = 30.0
MAX_TIMEOUT_SECONDS: Final = 600.0
MAX_FILES: Final = 5_000
MAX_TOTAL_BYTES: Final = 64 * 1024 * 1024
MAX_NESTING: Final = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
# run.py runs under the interpreter of the gate itself, without the cache files that would change
# its folder and without the user's own site packages.
_INTERPRETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "run.js": ("node",),
    "run.py": (sys.executable, "-B", "-s"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a worker. `path` counts from the worker's folder, or with `/` from the project.

    `stamp` is what the file system says of it: it changes with every write, so that a file which
    was overwritten and put back is told from one that was left alone.
    """

    path: str
    hash: str
    stamp: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as it was found. Two loads are equal exactly when nobody touched a file between."""

    name: str
    command: tuple[str, ...]
    timeout_seconds: float
    sources: tuple[Source, ...]


def load_worker(project: Folder, workers_path: str, name: str) -> Worker:
    """The worker `name` below `workers_path`, a folder relative to the project.

    Raises InvalidInputError whose violation names the file: WORKER_NAME, WORKER_NOT_FOUND,
    WORKER_PROGRAM (none or two), WORKER_TIMEOUT_RANGE, WORKER_LOCK_FILE, WORKER_LINK,
    WORKER_TOO_LARGE, and the reasons of `Folder.read` and `strictjson.parse`.
    """
    folder = f"{workers_path}/{name}"
    if _NAME.fullmatch(name) is None:
        raise InvalidInputError.at(folder, "WORKER_NAME", f"must match {_NAME.pattern}")
    try:
        root = Folder.open(project.locate(folder))
    except InvalidInputError as error:
        raise InvalidInputError.at(folder, "WORKER_NOT_FOUND", "no such worker") from error
    description = strictjson.parse_object(
        project.read(f"{folder}/worker.json").data, f"{folder}/worker.json"
    )
    programs = [program for program in _INTERPRETERS if (root.root / program).is_file()]
    if len(programs) != 1:
        message = "must hold exactly one of run.js and run.py"
        raise InvalidInputError.at(folder, "WORKER_PROGRAM", message)
    sources = list(_sources(project, root, folder))
    lock_file = description.get("lockFile")
    if lock_file is not None:
        sources.append(_lock_source(project, lock_file, folder))
    return Worker(
        name,
        (*_INTERPRETERS[programs[0]], str(root.root / programs[0])),
        _timeout(description.get("timeoutSeconds"), f"{folder}/worker.json"),
        tuple(sorted(sources, key=lambda source: source.path)),
    )


def _timeout(value: JsonValue, path: str) -> float:
    if value is None:
        return DEFAULT_TIMEOUT_SECONDS
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value)
        if 0 < seconds <= MAX_TIMEOUT_SECONDS:
            return seconds
    message = f"timeoutSeconds must be a number above 0, at most {MAX_TIMEOUT_SECONDS:g}"
    raise InvalidInputError.at(path, "WORKER_TIMEOUT_RANGE", message)


def _sources(project: Folder, root: Folder, folder: str) -> Iterator[Source]:
    total = 0
    count = 0
    for directory, folders, files in os.walk(root.root):
        relative = os.path.relpath(directory, root.root)
        if relative.count("/") >= MAX_NESTING:
            raise _too_large(folder)
        folders.sort()
        for name in folders:
            if Path(directory, name).is_symlink():
                message = f"{name} is a link to a folder; its content could not be pinned"
                raise InvalidInputError.at(folder, "WORKER_LINK", message)
        for name in sorted(files):
            path = Path(relative, name).as_posix()
            source, size = _source(project, f"{folder}/{path}", path)
            total += size
            count += 1
            if total > MAX_TOTAL_BYTES or count > MAX_FILES:
                raise _too_large(folder)
            yield source


def _lock_source(project: Folder, value: JsonValue, folder: str) -> Source:
    if not isinstance(value, str):
        message = "lockFile must be a path relative to the project"
        raise InvalidInputError.at(f"{folder}/worker.json", "WORKER_LOCK_FILE", message)
    # A leading slash, which no file of the folder has, says that it counts from the project.
    return _source(project, value, f"/{value}")[0]


def _source(project: Folder, path: str, shown: str) -> tuple[Source, int]:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        message = "has a name that is not UTF-8"
        raise InvalidInputError.at(ascii(path), "FILE_NAME", message) from None
    # Looked at before it is read: a write in between shows at the next look.
    stamp = _stamp(project.locate(path).stat())
    data = project.read(path).data
    return Source(shown, hashlib.sha256(data).hexdigest(), stamp), len(data)


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_ctime_ns)


def _too_large(folder: str) -> InvalidInputError:
    message = f"holds more than {MAX_FILES} files, {MAX_TOTAL_BYTES} bytes or {MAX_NESTING} levels"
    return InvalidInputError("WORKER_TOO_LARGE", f"{folder}: {message}")
