"""The servers that answer: ours and its peers, each a process pinned to one core."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PEERS = HERE / "peers"
START_SECONDS = 60
NO_RECORDS = "STEELYARD_EXPERIMENTAL_FEATURES__EVALS_VIEW=false"


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used, user and system, of all its threads.

    utime + stime of /proc/PID/stat, read from the process's CPU clock: clock ticks are too coarse
    for a short run. The clock's number is that of clock_getcpuclockid(3).
    """
    return time.clock_gettime(~pid << 3 | 2)


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    name: str
    address: str
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """See the function of this name."""
        return cpu_seconds(self.process.pid)

    def pause(self) -> None:
        """Stops it where it is, so that it takes nothing from the one that is measured."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        self.process.send_signal(signal.SIGCONT)

    def forget_peak(self) -> None:
        """Starts the peak of memory anew."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def peak_mib(self) -> float:
        """The most memory that was resident at once, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(
            int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")
        )


def commands(address: str) -> dict[str, list[str]]:
    """How each server is started on an address."""
    python = sys.executable
    return {
        "steelyard": [python, "-m", "steelyard", "serve", "--address", address],
        # `env` becomes the server: the process is the same.
        "no-records": ["env", NO_RECORDS, python, "-m", "steelyard", "serve", "--address", address],
        "messages": [python, str(PEERS / "own_transport.py"), address, "messages"],
        "empty": [python, str(PEERS / "own_transport.py"), address, "empty"],
        "python-sync": [python, str(PEERS / "python_sync.py"), address],
        "python-aio": [python, str(PEERS / "python_aio.py"), address],
        "grpc-go": [str(PEERS / "go" / "build" / "server"), address],
        "tonic": [str(PEERS / "rust" / "target" / "release" / "peer"), address],
    }


def build_peers() -> None:
    """Builds the peers that need it."""
    go = PEERS / "go"
    _run([sys.executable, str(ROOT / "tools" / "go_stubs.py"), str(go)], ROOT)
    _run(["go", "build", "-o", "build/server", "."], go)
    # Not --locked: it follows the dependencies of the core, whatever they become.
    _run(["cargo", "build", "--release", "--quiet"], PEERS / "rust")


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True)


@contextmanager
def serving(names: set[str], core: int) -> Iterator[dict[str, Server]]:
    """The servers, all pinned to one core and paused: resume the one that is called."""
    with ExitStack() as stack:
        servers = {name: stack.enter_context(_serving(name, core)) for name in sorted(names)}
        yield servers


@contextmanager
def _serving(name: str, core: int) -> Iterator[Server]:
    address = f"127.0.0.1:{_free_port()}"
    process = subprocess.Popen(
        commands(address)[name],
        stdout=subprocess.DEVNULL,
        preexec_fn=_pinned(core),  # no thread runs yet
    )
    try:
        with grpc.insecure_channel(address) as channel:
            grpc.channel_ready_future(channel).result(START_SECONDS)
        server = Server(name, address, process)
        server.pause()
        yield server
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _pinned(core: int) -> Callable[[], None]:
    """What every server gets, peers too, because ours does it to itself: see `workers.pin`."""

    def settle() -> None:
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))

    return settle


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
