"""Runs the server: in this process, or as several spawned and pinned ones that share a port."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

from steelyard.errors import UnavailableError
from steelyard.server.app import build, check
from steelyard.settings import Settings

__all__ = ["serve"]

log = logging.getLogger(__name__)

# A worker that dies sooner than this after its start is restarted only after as long a pause, so
# that a crash loop does not burn the machine.
CALM_SECONDS = 1.0


def serve(settings: Settings, ready: Callable[[int], None]) -> None:
    """Serves until SIGTERM or SIGINT, then drains and returns.

    `ready` is called once with the port when the server answers. Must run in the main thread.
    Raises the errors of `build`.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if settings.workers == 1:
        pin(0)
        _serve_here(settings, stop, ready)
    else:
        _supervise(settings, stop, ready)


def _serve_here(
    settings: Settings,
    stop: threading.Event,
    ready: Callable[[int], None],
    *,
    share_port: bool = False,
) -> None:
    server = build(settings, share_port=share_port)
    server.start()
    ready(server.port)
    stop.wait()
    server.stop()


def pin(index: int) -> None:
    """Ties this process to one core; one process per core answers most when it stays there.

    Its threads share that core, so a thread that wakes another is better not interrupted by it:
    SCHED_BATCH sees to that, and a call costs less. Threads started from here on inherit both: call
    it before there are any.
    """
    cores = sorted(os.sched_getaffinity(0))
    try:
        os.sched_setaffinity(0, {cores[index % len(cores)]})
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError as error:
        log.warning("worker %d is not pinned to a core: %s; expect less throughput", index, error)


def _supervise(settings: Settings, stop: threading.Event, ready: Callable[[int], None]) -> None:
    # Policies, settings and a store that do not load stop the start here, not in a loop of dying
    # workers.
    check(settings)
    cores = len(os.sched_getaffinity(0))
    if settings.workers > cores:
        log.warning("%d workers share %d cores", settings.workers, cores)
    host, _, port = settings.address.rpartition(":")
    with _reserve(host, port) as reserved:
        bound = reserved.getsockname()[1]
        fixed = settings.model_copy(update={"address": f"{host}:{bound}", "workers": 1})
        workers = [_Worker(fixed, index) for index in range(settings.workers)]
        for worker in workers:
            worker.await_ready()
        ready(bound)
        while not stop.is_set():
            wait([worker.process.sentinel for worker in workers], timeout=0.2)
            for worker in workers:
                if not stop.is_set() and not worker.process.is_alive():
                    worker.restart()
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join(settings.grace_seconds + 5)


def _reserve(host: str, port: str) -> socket.socket:
    """A bound socket that never listens: it keeps the port for the workers."""
    address = (host.strip("[]"), int(port))
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    reserved = socket.socket(family, socket.SOCK_STREAM)
    try:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(address)
    except OSError as error:
        reserved.close()
        raise UnavailableError(
            "ADDRESS_IN_USE", f"address: cannot listen on {host}:{port}: {error.strerror}"
        ) from error
    return reserved


class _Worker:
    """One spawned process, and a new one when it dies. Never forked: gRPC does not survive that."""

    def __init__(self, settings: Settings, index: int) -> None:
        self._settings = settings
        self._index = index
        self._context = multiprocessing.get_context("spawn")
        self.process: SpawnProcess
        self._start()

    def _start(self) -> None:
        self._started = time.monotonic()
        self._ready = self._context.Event()
        self.process = self._context.Process(
            target=_work, args=(self._settings, self._index, self._ready), daemon=True
        )
        self.process.start()

    def await_ready(self) -> None:
        while not self._ready.wait(0.05):
            if not self.process.is_alive():
                raise UnavailableError("WORKER_DIED", f"worker {self._index} died at its start")

    def restart(self) -> None:
        log.error("worker %d died (exit %s); restarting", self._index, self.process.exitcode)
        time.sleep(max(0.0, CALM_SECONDS - (time.monotonic() - self._started)))
        self._start()

    def stop(self) -> None:
        if self.process.is_alive():
            self.process.terminate()

    def join(self, seconds: float) -> None:
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()


def _work(settings: Settings, index: int, ready: object) -> None:
    logging.basicConfig(level=logging.INFO, format=f"worker {index}: %(levelname)s %(message)s")
    pin(index)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    # Ctrl-C reaches the whole group; the supervisor decides when the workers stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow_parent() -> None:
        if parent is not None:
            wait([parent.sentinel])
            stop.set()

    threading.Thread(target=follow_parent, daemon=True).start()
    _serve_here(settings, stop, lambda _: ready.set(), share_port=True)  # type: ignore[attr-defined]  # a spawn context's Event has no public type
