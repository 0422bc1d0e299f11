"""Workers of a squad: found, hashed over every file, and watched for change.

A worker is a folder `workers/<name>/` with a `worker.json` and one program, `run.js` or `run.py`.
Its identity is its content: the path and the bytes of every file below the folder, and of the lock
file that `worker.json` may name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steelyard import strictjson
from steelyard._core import sha256_hex
from steelyard.errors import InvalidInputError, LimitError
from steelyard.files import Folder
from steelyard.gating.model import FileHash, Worker
from steelyard.strictjson import JsonValue

__all__ = ["DEFAULT_TIMEOUT_SECONDS", "MAX_TIMEOUT_SECONDS", "LoadedWorker", "load_worker"]

DEFAULT_TIMEOUT_SECONDS: Final = 30.0
MAX_TIMEOUT_SECONDS: Final = 600.0
MAX_FILES: Final = 5_000
MAX_TOTAL_BYTES: Final = 64 * 1024 * 1024
MAX_NESTING: Final = 32
# run.py runs under the interpreter of the gate itself, without the cache files that would change
# its folder and without the user's own site packages.
_INTERPRETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "run.js": ("node",),
    "run.py": (sys.executable, "-B", "-s"),
}


@dataclass(frozen=True, slots=True)
class LoadedWorker:
    """A worker ready to run. Two loads are equal exactly when nobody touched a file between.

    `stamps` is what the file system says of each folder and file: it changes with every write and
    rename, so that a file which was overwritten and put back is told from one that was left alone.
    """

    command: tuple[str, ...]
    timeout_seconds: float
    content: Worker
    stamps: tuple[tuple[int, ...], ...]


def load_worker(project: Folder, folder: str) -> LoadedWorker:
    """The worker in `folder`, a path relative to the project.

    Raises InvalidInputError: WORKER_NOT_FOUND, WORKER_PROGRAM (none or two), WORKER_TIMEOUT_RANGE,
    WORKER_LOCK_FILE, WORKER_LINK, WORKER_FILE_NAME, or a reason of `Folder.read` or
    `strictjson.parse`; LimitError (WORKER_TOO_LARGE).
    """
    try:
        root = project.locate(folder)
        description_path = f"{folder}/worker.json"
        description = strictjson.parse_object(project.read(description_path).data, description_path)
    except InvalidInputError as error:
        if error.reason != "FILE_NOT_FOUND":
            raise
        message = "is not there or has no worker.json"
        raise InvalidInputError.at(folder, "WORKER_NOT_FOUND", message) from None
    programs = [program for program in _INTERPRETERS if (root / program).is_file()]
    if len(programs) != 1:
        message = "must hold exactly one of run.js and run.py"
        raise InvalidInputError.at(folder, "WORKER_PROGRAM", message)
    found = list(_files(project, root, folder))
    lock_file = description.get("lockFile")
    if lock_file is not None:
        if not isinstance(lock_file, str):
            message = "lockFile must be a path relative to the project"
            raise InvalidInputError.at(description_path, "WORKER_LOCK_FILE", message)
        # A leading slash, which no file of the folder has, says that it counts from the project.
        found.append(_file(project, lock_file, f"/{lock_file}"))
    return LoadedWorker(
        (*_INTERPRETERS[programs[0]], str(root / programs[0])),
        _timeout(description.get("timeoutSeconds"), description_path),
        Worker(tuple(file.hash for file in found)),
        (*_folder_stamps(root), *(file.stamp for file in found)),
    )


@dataclass(frozen=True, slots=True)
class _File:
    hash: FileHash
    size: int
    stamp: tuple[int, ...]


def _timeout(value: JsonValue, path: str) -> float:
    if value is None:
        return DEFAULT_TIMEOUT_SECONDS
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value)
        if 0 < seconds <= MAX_TIMEOUT_SECONDS:
            return seconds
    message = f"timeoutSeconds must be a number above 0, at most {MAX_TIMEOUT_SECONDS:g}"
    raise InvalidInputError.at(path, "WORKER_TIMEOUT_RANGE", message)


def _files(project: Folder, root: Path, folder: str) -> Iterator[_File]:
    total = 0
    for count, path in enumerate(_walk(root, folder), 1):
        file = _file(project, f"{folder}/{path}", path)
        total += file.size
        if total > MAX_TOTAL_BYTES or count > MAX_FILES:
            raise _too_large(folder)
        yield file


def _walk(root: Path, folder: str) -> Iterator[str]:
    """Paths of all files below `root`, in one order everywhere."""
    for directory, folders, files in os.walk(root):
        relative = Path(directory).relative_to(root)
        if len(relative.parts) > MAX_NESTING:
            raise _too_large(folder)
        folders.sort()
        for name in folders:
            if Path(directory, name).is_symlink():
                message = f"{name} is a link to a folder; its content could not be pinned"
                raise InvalidInputError.at(folder, "WORKER_LINK", message)
        for name in sorted(files):
            yield (relative / name).as_posix()


def _file(project: Folder, path: str, shown: str) -> _File:
    try:
        shown.encode("utf-8")
    except UnicodeEncodeError:
        message = "has a name that is not UTF-8"
        raise InvalidInputError.at(ascii(path), "WORKER_FILE_NAME", message) from None
    # Looked at before it is read: a write in between shows at the next look.
    stamp = _stamp(project.locate(path))
    data = project.read(path).data
    return _File(FileHash(shown, sha256_hex(data)), len(data), stamp)


def _folder_stamps(root: Path) -> Iterator[tuple[int, ...]]:
    for directory, folders, _ in os.walk(root):
        folders.sort()
        yield _stamp(Path(directory))


def _stamp(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return (status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_ctime_ns)


def _too_large(folder: str) -> LimitError:
    message = f"holds more than {MAX_FILES} files, {MAX_TOTAL_BYTES} bytes or {MAX_NESTING} levels"
    return LimitError("WORKER_TOO_LARGE", f"{folder}: {message}")
