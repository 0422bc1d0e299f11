"""The last net under workers that tried to outlive the gate.

A process that takes a session of its own and empties its environment is invisible to the watch over
one run. While `no_orphans` is in force the kernel hands such a process to this one when its parent
ends, and what is left at the end is killed. It concerns every child of the process, so only a
program that owns its process uses it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["no_orphans"]

_PR_SET_CHILD_SUBREAPER: Final = 36
_ROUNDS: Final = 200


@contextlib.contextmanager
def no_orphans() -> Iterator[None]:
    """Kill, at the end, every child that was not there at the start."""
    prctl = ctypes.CDLL(None).prctl
    before = _children()
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        for _ in range(_ROUNDS):
            # Killing one hands its own children up: look again until none is left.
            left = _children() - before
            if not left:
                break
            for child in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child, os.WNOHANG)
            time.sleep(0.002)
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _children() -> set[int]:
    own = str(os.getpid()).encode()
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # State and parent follow the command in parentheses.
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                if fields[1] == own:
                    found.add(int(entry.name))
    return found
