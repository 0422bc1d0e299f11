"""Measures the service and its peers under load, in one run on two cores.

`python benches/load/run.py` prints one table and writes results.json and results.svg beside this
script. benches/README.md explains the numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import grpc
from chart import chart
from claims import Claim, claims
from measure import GHZ_VERSION, Result, Sample, check_answers, install_ghz, run
from rich.console import Console
from rich.table import Table
from scenarios import GROUPS
from servers import HERE, ROOT, build_peers, serving

# With this many seconds gone no further measurement begins.
BUDGET_SECONDS = 13 * 60


def table(results: list[Result]) -> Table:
    """The results for people: medians, and how far the repeats lie apart."""
    made = Table(
        "scenario",
        "server",
        *("requests/s", "tasks/s", "CPU us/request", "spread", "p50 ms", "p99 ms"),
        *("errors", "peak MiB"),
        title="Medians; spread is (highest - lowest) / median of CPU",
    )
    last = ""
    for result in results:
        if last and result.scenario != last:
            made.add_section()
        last = result.scenario
        rate = result.median("requests_per_second")
        made.add_row(
            result.scenario,
            result.server,
            f"{rate:,.0f}",
            f"{rate * result.tasks:,.0f}",
            f"{result.median('cpu_microseconds'):,.1f}",
            f"{result.spread('cpu_microseconds'):.0%}",
            f"{result.median('p50_milliseconds'):,.2f}",
            f"{result.median('p99_milliseconds'):,.2f}",
            str(sum(sample.errors for sample in result.samples)),
            f"{result.median('peak_mib'):,.0f}",
        )
    return made


def ratios(claimed: list[Claim]) -> Table:
    """The claims for people."""
    made = Table("server CPU", "median", "lowest", "highest", "aim", title="Ratios of the repeats")
    for claim in claimed:
        figures = (f"{each:.2f}" for each in (claim.median, claim.lowest, claim.highest))
        made.add_row(claim.what, *figures, claim.aim)
    return made


def said(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def machine() -> dict[str, Any]:
    """What it was measured on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "kernel": platform.release(),
        "load_average_before": os.getloadavg()[0],
        "python": platform.python_version(),
        "grpcio": grpc.__version__,
        "go": said("go", "env", "GOVERSION"),
        "rustc": said("rustc", "--version"),
        "ghz": GHZ_VERSION,
    }


def measure(seconds: float, repeats: int) -> list[Result]:
    """Every scenario; the repeats of a group take turns, so that drift of the machine meets all."""
    server_core, client_core = sorted(os.sched_getaffinity(0))[:2]
    begin = time.monotonic()
    names = {name for group in GROUPS for scenario in group for name in scenario.servers}
    results = []
    with serving(names, server_core) as servers:
        for group in GROUPS:
            pairs = [(scenario, servers[name]) for scenario in group for name in scenario.servers]
            for scenario in group:
                check_answers(scenario, [servers[name] for name in scenario.servers])
            samples: list[list[Sample]] = [[] for _ in pairs]
            for _ in range(repeats):
                for (scenario, server), taken in zip(pairs, samples, strict=True):
                    if time.monotonic() - begin > BUDGET_SECONDS:
                        raise SystemExit("out of time: give less with --seconds or --repeats")
                    taken.append(run(scenario, server, seconds, client_core))
            results += [
                Result(scenario.name, server.name, scenario.tasks, taken)
                for (scenario, server), taken in zip(pairs, samples, strict=True)
            ]
            done = ", ".join(scenario.name for scenario in group)
            print(f"{done}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return results


def main() -> int:
    """Builds, measures, prints and stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of one run")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results")
    arguments = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        raise SystemExit("server and load generator need a core each")
    os.environ.setdefault("STEELYARD_STORE", str(Path(mkdtemp()) / "records.db"))
    install_ghz()
    build_peers()
    described = machine()
    results = measure(arguments.seconds, arguments.repeats)
    claimed = list(claims(results))
    document = {
        "commit": said("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40"),
        "machine": described,
        "seconds": arguments.seconds,
        "repeats": arguments.repeats,
        "claims": [claim.document() for claim in claimed],
        "results": [result.document() for result in results],
    }
    (arguments.out / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    (arguments.out / "results.svg").write_text(chart(results))
    console = Console(width=130)
    console.print(table(results))
    console.print(ratios(claimed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
