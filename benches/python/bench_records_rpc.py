"""What records cost a server: CPU of the server process per call, peers in the same run.

- Score with a store open in the server and without one, in turns.
- ScoreTask with and without `persist`, beside an RPC that does nothing.

Run: `python -m benches.python.bench_records_rpc [--calls N] [--rounds N]`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import psutil
from tests.support.evaluations import CATEGORIES

from steelyard import _core
from steelyard.records.store import Store
from steelyard.scoring.policy import TASK_EVALUATION
from steelyard.server.records import records_handlers
from steelyard.server.score import score_handlers
from steelyard.server.table import HandlerTable, UnaryHandler
from steelyard.server.task import task_handlers
from steelyard.server.transport import Transport
from steelyard.settings import Settings
from steelyard.v1 import score_pb2, task_pb2

ROOT = Path(__file__).parents[2]
EMPTY = "/steelyard.bench.Bench/Empty"
SCORE = "/steelyard.v1.SteelyardService/Score"
SCORE_TASK = "/steelyard.v1.SteelyardService/ScoreTask"
CALLERS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="steelyard-bench-") as folder,
        serving("") as without,
        serving(str(Path(folder) / "records.db")) as with_store,
    ):
        compare(without, with_store, arguments.calls, arguments.rounds)


def compare(without: Served, with_store: Served, calls: int, rounds: int) -> None:
    """Prints the figures of both servers."""
    turns: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(rounds):
        for name, server in (("without", without), ("with", with_store)):
            turns[name].append(server.cpu_per_call(SCORE, lambda _: SCORE_REQUEST, calls))
    medians = {name: statistics.median(figures) for name, figures in turns.items()}
    ratio = medians["with"] / medians["without"] - 1
    print("CPU of the server per call, microseconds (median of rounds)")
    print(f"  Score, no store             {medians['without']:8.1f}")
    print(f"  Score, store configured     {medians['with']:8.1f}   {ratio:+.1%}")
    for label, method, request in (
        ("an RPC that does nothing", EMPTY, lambda _: b""),
        ("ScoreTask", SCORE_TASK, lambda number: task(number, persist=False)),
        ("ScoreTask with persist", SCORE_TASK, lambda number: task(number, persist=True)),
    ):
        print(f"  {label:<26}  {with_store.cpu_per_call(method, request, calls):8.1f}")


def _score_request() -> bytes:
    row = score_pb2.TaskRow(task_id="t")
    for name in CATEGORIES:
        row.categories.add(category=name, deterministic_score=70, ai_score=80)
    return score_pb2.ScoreRequest(rows=score_pb2.TaskRows(tasks=[row])).SerializeToString()


SCORE_REQUEST = _score_request()


def task(number: int, *, persist: bool) -> bytes:
    """A ScoreTask request with a little evidence."""
    return task_pb2.ScoreTaskRequest(
        task_id=f"task-{number}",
        signals=task_pb2.TaskSignals(workflow_total=4, workflow_passed=3, commits=2),
        ai=task_pb2.AiScores(
            categories=[
                task_pb2.AiScore(category=name, score=70, rationale="as seen")
                for name in CATEGORIES
            ]
        ),
        evidence=task_pb2.TaskEvidence(
            workflow=[task_pb2.StepEvidence(status=task_pb2.STEP_STATUS_PASSED, excerpt="ok")] * 4
        ),
        persist=persist,
    ).SerializeToString()


class Served:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process = psutil.Process(process.pid)
        self._channels = [grpc.insecure_channel(f"127.0.0.1:{port}") for _ in range(CALLERS)]

    def cpu_per_call(self, method: str, request: Callable[[int], bytes], calls: int) -> float:
        """Microseconds of CPU that the server takes for a call, of many by several callers."""
        numbers, lock = iter(range(calls)), threading.Lock()

        def call(channel: grpc.Channel) -> None:
            rpc = channel.unary_unary(method)
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                rpc(request(number), timeout=60)

        before = sum(self._process.cpu_times()[:2])
        with ThreadPoolExecutor(CALLERS) as pool:
            list(pool.map(call, self._channels))
        return (sum(self._process.cpu_times()[:2]) - before) / calls * 1e6


@contextmanager
def serving(store: str) -> Iterator[Served]:
    """A server with this store, or without one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benches.python.bench_records_rpc", "--serve", store],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        yield Served(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()


def serve(setting: str) -> None:
    """The server process: prints its port and answers until it is killed."""
    store = Store(setting) if setting else None
    engine = _core.Engine([], 1000)
    table: HandlerTable = {
        EMPTY: UnaryHandler(lambda _request, _call: b""),
        **score_handlers(engine),
        **task_handlers(lambda _name, _version: TASK_EVALUATION, store),
        **records_handlers(store),
    }
    transport = Transport(table, (), Settings(address="127.0.0.1:0"))
    transport.start()
    print(transport.port, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main()
