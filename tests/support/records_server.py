"""A server of ScoreTask and the RecordsService in a process of its own, for tests that kill it.

`python -m tests.support.records_server STORE ADDRESS` prints one line once it answers and serves
until it is killed.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from steelyard.records.store import Store
from steelyard.scoring.policy import TASK_EVALUATION
from steelyard.server.records import records_handlers
from steelyard.server.task import task_handlers
from steelyard.server.transport import Transport
from steelyard.settings import Settings

__all__ = ["ServerProcess"]


class ServerProcess:
    """The server as a child process on a fixed port: it comes back at the same address."""

    def __init__(self, store: str, address: str) -> None:
        self._arguments = [sys.executable, "-m", __name__, store, address]
        self._process: subprocess.Popen[str]
        self.start()

    def start(self) -> None:
        """Starts it and waits until it answers."""
        self._process = subprocess.Popen(
            self._arguments, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError(f"the server ended with {self._process.wait()}")

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def main(store: str, address: str) -> None:
    opened = Store(store)
    table = {
        **records_handlers(opened),
        **task_handlers(lambda _name, _version: TASK_EVALUATION, opened),
    }
    transport = Transport(table, (), Settings(address=address, threads=64))
    transport.start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
