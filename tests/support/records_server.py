"""`steelyard serve` in a process of its own, for tests that kill it."""

from __future__ import annotations

import subprocess
import sys
import threading

__all__ = ["ServerProcess"]


class ServerProcess:
    """The server as a child process on a fixed port: it comes back at the same address."""

    def __init__(self, store: str, address: str) -> None:
        self._arguments = [sys.executable, "-m", "steelyard", "serve"]
        self._arguments += ["--store", store, "--address", address]
        self._process: subprocess.Popen[str]
        self.start()

    def start(self) -> None:
        """Starts it and waits until it answers."""
        self._process = subprocess.Popen(
            self._arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        output = self._process.stdout
        assert output is not None
        line = output.readline()
        if "listens on" not in line:
            raise RuntimeError(f"the server did not start: {line}{output.read()}")
        threading.Thread(target=output.read, daemon=True).start()

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        self._process.kill()
        self._process.wait()
