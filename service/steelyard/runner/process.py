"""One worker process: started closed, watched to a limit, and gone when `run_process` returns.

The worker gets a closed environment, its own session, and its payload as the only argument or,
above 96 KiB, on standard input. Whatever it started is killed with it: its process group, its
session, and anything that carries its mark in the environment, so that a child that went off into a
session of its own is found too.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = [
    "ARGUMENT_LIMIT_BYTES",
    "OUTPUT_LIMIT_BYTES",
    "Cancellation",
    "Failure",
    "ProcessResult",
    "run_process",
]

# Linux caps one argument at 128 KiB; the rest of the command line needs room too.
ARGUMENT_LIMIT_BYTES: Final = 96 * 1024
OUTPUT_LIMIT_BYTES: Final = 8 * 1024 * 1024
# How long standard output may stay open after the worker itself has exited.
HELD_OUTPUT_SECONDS: Final = 1.0
STDERR_TAIL_BYTES: Final = 2048
_CHUNK: Final = 64 * 1024
_MARK: Final = "STEELYARD_WORKER_RUN"
_KILL_ROUNDS: Final = 500


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a worker's run does not count: an UPPER_SNAKE reason and a sentence for people."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """What came out: standard output when `failure` is None, and the end of standard error."""

    failure: Failure | None
    stdout: bytes
    stderr_tail: str
    duration_seconds: float


class Cancellation:
    """Stops every worker that watches it, from any thread. Close it when the last one is done."""

    def __init__(self) -> None:
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC)

    def fileno(self) -> int:
        return self._descriptor

    def cancel(self) -> None:
        os.eventfd_write(self._descriptor, 1)

    def close(self) -> None:
        os.close(self._descriptor)


def run_process(
    command: Sequence[str],
    payload: bytes,
    *,
    folder: Path,
    timeout_seconds: float,
    cancellation: Cancellation,
) -> ProcessResult:
    """Run `command` in `folder` with `payload` (UTF-8 without NUL) and wait for its end.

    Never raises for anything the worker does: a missing interpreter, a non-zero exit, a signal, too
    much output, held output and a timeout are failures of the result. When it returns, no process
    of this run is alive.
    """
    as_argument = len(payload) <= ARGUMENT_LIMIT_BYTES
    arguments = [*command, payload.decode("utf-8")] if as_argument else list(command)
    mark = secrets.token_hex(16)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="steelyard-", ignore_cleanup_errors=True) as home:
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list, no shell
                arguments,
                stdin=subprocess.DEVNULL if as_argument else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=_environment(home, mark),
                start_new_session=True,
            )
        except OSError as error:
            message = f"cannot start {command[0]}: {error.strerror or 'refused by the system'}"
            return ProcessResult(Failure("WORKER_NOT_STARTED", message), b"", "", 0.0)
        watch = _Watch(process, b"" if as_argument else payload, started + timeout_seconds)
        try:
            failure = watch.until_end(cancellation)
        finally:
            _kill_everything(process, mark)
            watch.close()
    if failure is None:
        failure = _exit_failure(process.returncode)
    tail = bytes(watch.stderr).decode("utf-8", "replace")
    return ProcessResult(failure, bytes(watch.stdout), tail, time.monotonic() - started)


def _environment(home: str, mark: str) -> Mapping[str, str]:
    # Nothing of the caller's environment but the way to the interpreters: a worker sees no secret,
    # and two machines give it the same locale, time zone and hash order.
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        # A cache file beside the sources would change the worker's hash.
        "PYTHONDONTWRITEBYTECODE": "1",
        _MARK: mark,
    }


def _exit_failure(code: int) -> Failure | None:
    if code == 0:
        return None
    if code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            return Failure("WORKER_SIGNAL", f"the worker was ended by {name}")
        return Failure("WORKER_SIGNAL", f"the worker was ended by signal {-code}")
    return Failure("WORKER_EXIT", f"the worker exited with code {code}")


class _Watch:
    """Feeds and drains one process until it ends or breaks a limit. Single use, single thread."""

    def __init__(self, process: subprocess.Popen[bytes], payload: bytes, deadline: float) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._process = process
        self._payload = memoryview(payload)
        self._deadline = deadline
        self._selector = selectors.DefaultSelector()
        self._exit = os.pidfd_open(process.pid)
        self._selector.register(self._exit, selectors.EVENT_READ)
        for pipe in (process.stdout, process.stderr, process.stdin):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                writes = pipe is process.stdin
                event = selectors.EVENT_WRITE if writes else selectors.EVENT_READ
                self._selector.register(pipe, event)

    def close(self) -> None:
        self._selector.close()
        os.close(self._exit)
        for pipe in (self._process.stdout, self._process.stderr, self._process.stdin):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def until_end(self, cancellation: Cancellation) -> Failure | None:
        self._selector.register(cancellation, selectors.EVENT_READ)
        exited = False
        output_open = True
        limit = self._deadline
        while output_open or not exited:
            ready = self._selector.select(max(0.0, limit - time.monotonic()))
            if not ready:
                if exited:
                    return Failure(
                        "WORKER_OUTPUT_HELD",
                        "the worker exited but a process it left behind holds its output open",
                    )
                return Failure("WORKER_TIMEOUT", "the worker ran past its time limit")
            for key, _ in ready:
                source = key.fileobj
                if source is cancellation:
                    return Failure("WORKER_CANCELLED", "the gate was interrupted")
                if source == self._exit:
                    exited = True
                    self._selector.unregister(self._exit)
                    limit = min(limit, time.monotonic() + HELD_OUTPUT_SECONDS)
                elif source is self._process.stdout:
                    output_open = self._read(self.stdout, self._process.stdout.fileno())
                    if not output_open:
                        self._selector.unregister(source)
                    if len(self.stdout) > OUTPUT_LIMIT_BYTES:
                        message = f"the worker wrote more than {OUTPUT_LIMIT_BYTES} bytes"
                        return Failure("WORKER_OUTPUT_TOO_LARGE", message)
                elif source is self._process.stderr:
                    if not self._read(self.stderr, self._process.stderr.fileno()):
                        self._selector.unregister(source)
                    del self.stderr[:-STDERR_TAIL_BYTES]
                else:
                    self._write()
        return None

    def _read(self, into: bytearray, descriptor: int) -> bool:
        """One read; False at the end of the stream."""
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return True
        into += chunk
        return bool(chunk)

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101 - only a registered pipe is reported ready
        try:
            self._payload = self._payload[os.write(pipe.fileno(), self._payload[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # A worker need not read its input; what it answers is judged by its output.
            self._payload = self._payload[:0]
        if not self._payload:
            self._selector.unregister(pipe)
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _kill_everything(process: subprocess.Popen[bytes], mark: str) -> None:
    # The leader is reaped last: until then its number can name no other process, group or session.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for _ in range(_KILL_ROUNDS):
        if not _kill_survivors(process.pid, mark.encode()):
            break
        time.sleep(0.002)
    process.wait()


def _kill_survivors(session: int, mark: bytes) -> bool:
    """Kill what lives of a session or carries the mark; True when there was anything."""
    found = False
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        # Opened before looking, so that the signal cannot hit a later process of the same number.
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(int(entry.name))
            try:
                if _belongs(entry, session, mark):
                    found = True
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
    return found


def _belongs(entry: Path, session: int, mark: bytes) -> bool:
    # Fields of /proc/PID/stat after the command in parentheses: state, parent, group, session, ...
    state, _, _, its_session, *_ = (entry / "stat").read_bytes().rpartition(b")")[2].split()
    if state in b"ZX":
        return False
    return int(its_session) == session or mark in (entry / "environ").read_bytes()
