"""One pinned worker and two: CPU per request of each, and how 16 connections spread.

`python benches/load/workers.py` prints one table. Two workers take both cores, so the load
generator shares them; to compare like with like it also shares the one worker's core, and each
worker has as many calls in flight: a worker that often runs dry pays for waking up. Requests per
second say little then; the CPU of the workers per request is what is compared.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
from measure import ghz_command, install_ghz, on_cores
from rich.console import Console
from rich.table import Table
from scenarios import GROUPS
from servers import cpu_seconds

CONNECTIONS = 16
CALLS_PER_WORKER = 32
REQUESTS = 20_000
REPEATS = 7


@contextmanager
def serving(workers: int) -> Iterator[tuple[str, list[int]]]:
    """A server's address and the processes that answer."""
    command = [sys.executable, "-m", "steelyard", "serve", "--address", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--workers", str(workers)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        told = re.search(r"listens on (\S+) ", process.stdout.readline())
        assert told is not None
        children = psutil.Process(process.pid).children()
        pids = [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]
        yield told[1], pids if workers > 1 else [process.pid]
    finally:
        process.terminate()
        process.wait(30)


def load(address: str, pids: list[int]) -> tuple[float, list[int]]:
    """Microseconds of CPU per request, and the connections of each worker half way."""
    cores = {core for pid in pids for core in os.sched_getaffinity(pid)}
    scenario = replace(
        GROUPS[0][0], concurrency=CALLS_PER_WORKER * len(pids), connections=CONNECTIONS
    )
    with tempfile.NamedTemporaryFile(suffix=".bin") as request:
        request.write(scenario.request)
        request.flush()
        before = sum(map(cpu_seconds, pids))
        ghz = subprocess.Popen(
            ghz_command(scenario, address, request.name, f"--total={REQUESTS}"),
            stdout=subprocess.DEVNULL,
            preexec_fn=on_cores(cores),  # no thread runs yet
        )
        time.sleep(0.7)
        shares = [
            sum(
                one.status == psutil.CONN_ESTABLISHED
                for one in psutil.Process(pid).net_connections()
            )
            for pid in pids
        ]
        if ghz.wait(120):
            raise SystemExit("ghz failed")
        used = sum(map(cpu_seconds, pids)) - before
    return used / REQUESTS * 1e6, shares


def main() -> None:
    """Measures in turns and prints."""
    os.environ.setdefault("STEELYARD_STORE", str(Path(tempfile.mkdtemp()) / "records.db"))
    install_ghz()
    table = Table(
        "one worker, µs", "two workers, µs", "ratio", f"of {CONNECTIONS} connections each"
    )
    ratios = []
    with serving(1) as one, serving(2) as two:
        for repeat in range(REPEATS + 1):
            costs, shares = zip(*(load(*server) for server in (one, two)), strict=True)
            if repeat:  # the first round warms up
                ratios.append(costs[1] / costs[0])
                spread = " + ".join(map(str, shares[1]))
                table.add_row(f"{costs[0]:.0f}", f"{costs[1]:.0f}", f"{ratios[-1]:.2f}", spread)
    console = Console()
    console.print(table)
    console.print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
