"""A private PostgreSQL cluster for tests and benches: real server, own folder, Unix socket only.

`python -m tests.support.postgres install` installs Debian's package where the binaries are missing.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

__all__ = ["Cluster", "find_binaries", "install"]

_STARTUP_S = 60


def find_binaries() -> Path | None:
    """The folder with initdb and pg_ctl, None when PostgreSQL's server is not installed."""
    candidates = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name, reverse=True
    )
    if pg_config := shutil.which("pg_config"):
        said = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        candidates.append(Path(said.stdout.strip()))
    if initdb := shutil.which("initdb"):
        candidates.append(Path(initdb).resolve().parent)
    return next((path for path in candidates if (path / "initdb").exists()), None)


def install() -> Path:
    """Installs Debian's `postgresql` package when needed (root and apt only)."""
    if (found := find_binaries()) is not None:
        return found
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SystemExit(
            "PostgreSQL's server is missing and can only be installed by root with apt"
        )
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (
        ["update", "-qq"],
        ["install", "-y", "-qq", "--no-install-recommends", "postgresql"],
    ):
        subprocess.run(["apt-get", *arguments], check=True, env=environment)
    if (found := find_binaries()) is None:
        raise SystemExit("the postgresql package brought no initdb")
    return found


class Cluster:
    """One cluster with superuser `steelyard`, run as an ordinary user when this process is root."""

    def __init__(self, binaries: Path, *, fsync: bool) -> None:
        self._binaries = binaries
        self._user = _ordinary_user()
        self.folder = Path(tempfile.mkdtemp(prefix="steelyard-pg-"))
        self._data = self.folder / "data"
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self._run(
            "initdb", "-D", str(self._data), "-U", "steelyard", "-A", "trust", "-N", "-E", "UTF8"
        )
        with (self._data / "postgresql.conf").open("a") as config:
            config.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n"
                f"port = 5432\nfsync = {'on' if fsync else 'off'}\nmax_connections = 200\n"
                "shared_buffers = 128MB\n"
            )
        self.start()

    @property
    def owner(self) -> tuple[int, int] | None:
        """User and group id of the server, None when it is this process's."""
        return None if self._user is None else (self._user.pw_uid, self._user.pw_gid)

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-l", log, "-w", "-t", str(_STARTUP_S), "start")

    def stop(self, mode: str = "fast") -> None:
        """Stops the server; `immediate` is the way of a crash."""
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "stop")

    def kill(self) -> None:
        """Ends the server's main process with SIGKILL."""
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)

    def url(self, database: str = "postgres") -> str:
        """The URL of a database of this cluster."""
        return f"postgresql://steelyard@/{database}?host={self.folder}&port=5432"

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Runs one statement outside a transaction, such as CREATE DATABASE."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def close(self) -> None:
        """Stops the server and removes the folder."""
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        as_user = (
            {} if self._user is None else {"user": self._user.pw_uid, "group": self._user.pw_gid}
        )
        done = subprocess.run(
            [str(self._binaries / program), *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=(self.folder / "stdout").open("a"),
            stderr=subprocess.STDOUT,
            check=False,
            **as_user,  # type: ignore[call-overload]  the two keywords of a root's child
        )
        if done.returncode != 0:
            said = (self.folder / "stdout").read_text()[-2000:]
            raise RuntimeError(f"{program} failed with {done.returncode}: {said}")


def _ordinary_user() -> pwd.struct_passwd | None:
    """The user to run as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("neither user postgres nor nobody exists")


if __name__ == "__main__":
    if sys.argv[1:] != ["install"]:
        raise SystemExit("usage: python -m tests.support.postgres install")
    print(install())
