"""Files at the edge of the process: reading inside a folder, writing whole or not at all, locking.

Nothing here trusts a path. A read names a file relative to a root; the file must lie inside that
root lexically and after every symlink, be a regular file and stay under a cap. A write is a unique
temporary file, fsync, rename, fsync of the folder: whoever reads sees the old content or the new,
never a part.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import posixpath
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steelyard.errors import InvalidInputError, NotFoundError, SteelyardError, UnavailableError

__all__ = [
    "MAX_FILE_BYTES",
    "ContainedFile",
    "Folder",
    "locked",
    "path_contained",
    "write_atomic",
]

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
LOCK_WAIT_SECONDS: Final = 60.0


def path_contained(root: str, candidate: str) -> bool:
    """True when `candidate` is `root` or lies below it, by the letters alone (both absolute)."""
    base = posixpath.normpath(root)
    path = posixpath.normpath(candidate)
    return path == base or path.startswith(base.rstrip("/") + "/")


@dataclass(frozen=True, slots=True)
class ContainedFile:
    """What a contained read found: where the file really is below the root, and its bytes."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that nothing read through it can leave. `root` is absolute and free of symlinks."""

    root: Path

    @classmethod
    def open(cls, path: Path) -> Folder:
        """The folder at `path`, symlinks on the way to it resolved first.

        Raises NotFoundError (FOLDER_NOT_FOUND) when it is no folder.
        """
        try:
            root = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            root = None
        if root is None or not root.is_dir():
            raise NotFoundError("FOLDER_NOT_FOUND", f"{path}: no such folder")
        return cls(root)

    def locate(self, relative: str) -> Path:
        """The real absolute path of `relative`, which must exist inside this folder.

        Raises InvalidInputError with FILE_OUTSIDE_PROJECT or FILE_NOT_FOUND.
        """
        if not relative or "\0" in relative:
            raise InvalidInputError.at(relative, "FILE_NOT_FOUND", "names no file")
        root = str(self.root)
        if relative.startswith("/") or not path_contained(root, f"{root}/{relative}"):
            raise _outside(relative)
        try:
            real = (self.root / relative).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise InvalidInputError.at(relative, "FILE_NOT_FOUND", "no such file") from None
        if not path_contained(root, str(real)):
            raise _outside(relative)
        return real

    def read(self, relative: str, limit: int = MAX_FILE_BYTES) -> ContainedFile:
        """The bytes of the regular file `relative`, at most `limit` of them.

        Raises InvalidInputError with FILE_OUTSIDE_PROJECT, FILE_NOT_FOUND, FILE_NOT_REGULAR,
        FILE_TOO_LARGE or FILE_UNREADABLE; the violation's path is `relative`.
        """
        real = self.locate(relative)
        try:
            # Non-blocking: opening a FIFO that nobody writes to must not hang.
            descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise InvalidInputError.at(
                relative, "FILE_UNREADABLE", error.strerror or "unreadable"
            ) from None
        try:
            # A folder on the way may have become a symlink since: ask where this really is.
            opened = Path(f"/proc/self/fd/{descriptor}").readlink()
            if not path_contained(str(self.root), str(opened)):
                raise _outside(relative)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InvalidInputError.at(relative, "FILE_NOT_REGULAR", "is not a regular file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(limit + 1)
        except OSError as error:
            message = error.strerror or "unreadable"
            raise InvalidInputError.at(relative, "FILE_UNREADABLE", message) from None
        finally:
            os.close(descriptor)
        if len(data) > limit:
            raise InvalidInputError.at(relative, "FILE_TOO_LARGE", f"is larger than {limit} bytes")
        return ContainedFile(real.relative_to(self.root).as_posix(), data)

    def make(self, relative: str) -> Path:
        """The folder `relative` inside this one, created with its parents when missing.

        Raises InvalidInputError: FILE_OUTSIDE_PROJECT when a symlink leads it out, FILE_NOT_FOLDER
        when something else bears the name; UnavailableError (FILE_NOT_WRITTEN).
        """
        root = str(self.root)
        if relative.startswith("/") or not path_contained(root, f"{root}/{relative}"):
            raise _outside(relative)
        current = self.root
        for part in Path(relative).parts:
            current = current / part
            try:
                current.mkdir(exist_ok=True)
                real = current.resolve(strict=True)
            except (FileExistsError, NotADirectoryError, RuntimeError):
                message = "is in the way of a folder"
                raise InvalidInputError.at(relative, "FILE_NOT_FOLDER", message) from None
            except OSError as error:
                raise _not_written(current, error) from error
            if not path_contained(root, str(real)):
                raise _outside(relative)
        return current


def _not_written(path: Path, error: OSError) -> UnavailableError:
    message = f"{path}: {error.strerror or 'cannot be written'}"
    return UnavailableError("FILE_NOT_WRITTEN", message)


def _outside(path: str) -> SteelyardError:
    return InvalidInputError.at(path, "FILE_OUTSIDE_PROJECT", "leads out of the project folder")


@contextlib.contextmanager
def locked(path: Path, wait_seconds: float = LOCK_WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock file `path`, created when missing, against processes and threads alike.

    Raises UnavailableError: LOCK_TIMEOUT when it stays taken for `wait_seconds`, FILE_NOT_WRITTEN
    when it cannot be made.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _not_written(path, error) from error
    try:
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    message = f"{path}: another process has held this lock for {wait_seconds:g} s"
                    raise UnavailableError("LOCK_TIMEOUT", message) from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def write_atomic(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Replace the file at `path` by `data`; a crash leaves the old or the new one, whole.

    Call it with the lock of the folder held: leftovers of killed writers are removed here, and
    without the lock they could be those of a writer at work. Raises UnavailableError
    (FILE_NOT_WRITTEN) when the system refuses, with the old file in place.
    """
    try:
        _replace(path, data, mode)
    except OSError as error:
        raise _not_written(path, error) from error


def _replace(path: Path, data: bytes, mode: int) -> None:
    prefix = f".{path.name}."
    for leftover in path.parent.glob(f"{glob.escape(prefix)}*.tmp"):
        leftover.unlink(missing_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=prefix, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
