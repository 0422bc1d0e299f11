"""One measurement: ghz on one core against a server on another."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import grpc
from scenarios import Scenario
from servers import ROOT, Server

from steelyard.v1 import score_pb2

__all__ = [
    "GHZ_VERSION",
    "Result",
    "Sample",
    "check_answers",
    "ghz_command",
    "install_ghz",
    "on_cores",
    "run",
]

GHZ = ROOT / ".tools" / "bin" / "ghz"
GHZ_VERSION = "v0.121.0"
PROTO = ROOT / "proto" / "steelyard" / "v1" / "steelyard_service.proto"


@dataclass(frozen=True, slots=True)
class Sample:
    """One run. A request is one message: a stream counts as as many as it carries."""

    requests_per_second: float
    cpu_microseconds: float
    """Server CPU of one request."""
    p50_milliseconds: float
    """Latency of a call; of a stream, that of the whole stream."""
    p99_milliseconds: float
    errors: int
    peak_mib: float


@dataclass(frozen=True, slots=True)
class Result:
    """All runs of one scenario against one server."""

    scenario: str
    server: str
    tasks: int
    samples: Sequence[Sample]

    def median(self, name: str) -> float:
        """The median of a field of the samples."""
        return statistics.median(getattr(sample, name) for sample in self.samples)

    def spread(self, name: str) -> float:
        """How far the samples lie apart, as a share of the median."""
        values = [getattr(sample, name) for sample in self.samples]
        median = statistics.median(values)
        return (max(values) - min(values)) / median if median else 0.0

    def document(self) -> dict[str, Any]:
        """For the JSON file."""
        return asdict(self)


def install_ghz() -> None:
    """Puts ghz into .tools/bin unless it is there."""
    if not GHZ.exists():
        subprocess.run(
            ["go", "install", f"github.com/bojand/ghz/cmd/ghz@{GHZ_VERSION}"],
            check=True,
            env={**os.environ, "GOBIN": str(GHZ.parent)},
        )


@contextmanager
def running(server: Server) -> Iterator[None]:
    """Lets a paused server run for a while."""
    server.resume()
    try:
        yield
    finally:
        server.pause()


def check_answers(scenario: Scenario, servers: Sequence[Server]) -> None:
    """Refuses to measure servers that do not give the same answer; provenance is their own."""
    if len(servers) == 1:
        return  # nothing to compare; ghz counts its errors
    service, _, method = scenario.method.rpartition(".")
    path = f"/{service}/{method}"
    answers = {}
    for server in servers:
        with (
            running(server),
            grpc.insecure_channel(
                server.address, options=[("grpc.max_receive_message_length", -1)]
            ) as channel,
        ):
            if scenario.messages > 1:
                (data,) = channel.stream_stream(path)(iter([scenario.request]), timeout=60)
            else:
                data = channel.unary_unary(path)(scenario.request, timeout=60)
        answer = score_pb2.ScoreResponse.FromString(data)
        answer.ClearField("provenance")
        answers[server.name] = answer
    answers.pop("empty", None)
    differing = [name for name, answer in answers.items() if answer != answers["steelyard"]]
    if differing:
        raise SystemExit(f"{scenario.name}: {', '.join(differing)} answer otherwise")


def run(scenario: Scenario, server: Server, seconds: float, core: int) -> Sample:
    """One run of ghz, pinned to a core, for so many seconds, after a third of that to warm up.

    A server that was paused needs that: its first streams all begin at once and cost twice as much.
    """
    with tempfile.NamedTemporaryFile(suffix=".bin") as request, running(server):
        request.write(scenario.request)
        request.flush()
        _ghz(scenario, server, request.name, seconds / 3, core)
        server.forget_peak()
        before = server.cpu_seconds()
        report = _ghz(scenario, server, request.name, seconds, core)
        used = server.cpu_seconds() - before
    calls = report["count"]
    good = report["statusCodeDistribution"].get("OK", 0)
    latency = {entry["percentage"]: entry["latency"] for entry in report["latencyDistribution"]}
    return Sample(
        requests_per_second=good * scenario.messages / (report["total"] / 1e9),
        cpu_microseconds=used / max(calls * scenario.messages, 1) * 1e6,
        p50_milliseconds=latency.get(50, 0) / 1e6,
        p99_milliseconds=latency.get(99, 0) / 1e6,
        errors=calls - good,
        peak_mib=server.peak_mib(),
    )


def _ghz(scenario: Scenario, server: Server, request: str, seconds: float, core: int) -> Any:
    """Its report."""
    limits = [f"--duration={seconds:.3f}s", "--duration-stop=wait", "--cpus=1", "--format=json"]
    done = subprocess.run(
        ghz_command(scenario, server.address, request, *limits),
        capture_output=True,
        check=True,
        timeout=seconds + 60,
        preexec_fn=on_cores({core}),  # no thread runs yet
    )
    return json.loads(done.stdout)


def ghz_command(scenario: Scenario, address: str, request: str, *limits: str) -> list[str]:
    """The command that loads a server; `request` is a file, `limits` say how long."""
    command = [
        str(GHZ),
        "--insecure",
        f"--proto={PROTO}",
        f"--import-paths={ROOT / 'proto'}",
        f"--call={scenario.method}",
        f"--binary-file={request}",
        f"--concurrency={scenario.concurrency}",
        f"--connections={scenario.connections}",
        *limits,
    ]
    if scenario.messages > 1:
        command.append(f"--stream-call-count={scenario.messages}")
    return [*command, address]


def on_cores(cores: set[int]) -> Callable[[], None]:
    """Pins a process that is about to start."""
    return lambda: os.sched_setaffinity(0, cores)
