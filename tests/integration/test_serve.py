"""`steelyard serve` as a process: start, drain, workers that die, settings that do not load."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import psutil

from steelyard.client import Client
from steelyard.v1 import score_pb2


@contextmanager
def serving(
    *flags: str, env: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and its address; killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", "serve", "--address", "127.0.0.1:0", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"listens on (\S+) ", line)
        assert found, line + process.stdout.read()
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield process, found[1]
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)


def fails(*flags: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", "serve", "--address", "127.0.0.1:0", *flags],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (2, 3), done
    assert "Traceback" not in done.stderr
    return done.stderr


def test_one_worker_answers_and_drains() -> None:
    with serving() as (process, address), Client(address) as client:
        assert client.score([[1, 2, 3]], [[1, 2, 3]]).overall.tolist() == [2]
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0


def test_running_calls_end_before_the_server_does() -> None:
    with serving("--grace-seconds", "10") as (process, address):
        go = threading.Event()

        def requests() -> Iterator[score_pb2.ScoreStreamRequest]:
            for value in range(20):
                if value == 5:
                    go.wait(10)
                scores = bytes([value]) * 3
                yield score_pb2.ScoreStreamRequest(
                    columns=score_pb2.TaskColumns(deterministic=scores, ai=scores)
                )

        with Client(address) as client:
            answers = client.score_stream(requests(), timeout=30)
            first = [next(answers).columns.overall_scores[0] for _ in range(5)]
            process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            go.set()
            rest = [answer.columns.overall_scores[0] for answer in answers]
        assert first + rest == list(range(20))
        assert process.wait(15) == 0


def test_ten_million_tasks_over_one_stream_take_no_memory() -> None:
    tasks, messages = 50_000, 200
    scores = bytes(index % 101 for index in range(3 * tasks))
    columns = score_pb2.TaskColumns(deterministic=scores, ai=scores)
    request = score_pb2.ScoreStreamRequest(columns=columns)
    with serving() as (process, address), Client(address) as client:
        server = psutil.Process(process.pid)
        for _ in client.score_stream(iter([request] * 4)):
            pass
        before = server.memory_info().rss
        peak = answered = 0
        for answer in client.score_stream(request for _ in range(messages)):
            answered += len(answer.columns.overall_scores)
            peak = max(peak, server.memory_info().rss)
        assert answered == tasks * messages == 10_000_000
        assert peak - before < 64 * 1024 * 1024


def worker_pids(process: subprocess.Popen[str]) -> set[int]:
    """The spawned workers; neither the resource tracker nor a dead worker is one."""
    found = set()
    for child in psutil.Process(process.pid).children():
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(child.cmdline()):
                found.add(child.pid)
    return found


def test_workers_are_pinned_share_the_port_and_are_restarted() -> None:
    cores = len(os.sched_getaffinity(0))
    with serving("--workers", "2") as (process, address):
        workers = worker_pids(process)
        assert len(workers) == 2
        pinned = [psutil.Process(pid).cpu_affinity() for pid in workers]
        assert all(len(cpus) == 1 for cpus in pinned)
        assert len({cpus[0] for cpus in pinned}) == min(2, cores)
        for pid in workers:
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            transport = [int(each.name) for each in tasks if "event" in (each / "comm").read_text()]
            assert transport
            policies = {os.sched_getscheduler(thread) for thread in (pid, *transport)}
            assert policies == {os.SCHED_BATCH}
        victim = min(workers)
        os.kill(victim, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while len(worker_pids(process) - {victim}) < 2:
            assert time.monotonic() < deadline, "the dead worker was not replaced"
            time.sleep(0.1)
        # Each connection may meet either worker, the new one included.
        for _ in range(20):
            with Client(address) as client:
                assert client.score([[1, 2, 3]], [[1, 2, 3]]).overall.tolist() == [2]
        survivors = worker_pids(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert not any(psutil.pid_exists(pid) for pid in survivors)


def test_workers_do_not_outlive_a_killed_supervisor() -> None:
    with serving("--workers", "2", "--grace-seconds", "1") as (process, _):
        workers = worker_pids(process)
        process.kill()
        process.wait(10)
        _, alive = psutil.wait_procs(
            [psutil.Process(p) for p in workers if psutil.pid_exists(p)], 15
        )
        assert not alive


def test_a_taken_port_is_an_error_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for workers in ("1", "2"):
            text = fails("--address", address, "--workers", workers)
            assert address in text
            assert "ADDRESS_IN_USE" in text


def test_bad_settings_and_policies_stop_the_start(tmp_path: Path) -> None:
    assert "workers" in fails("--workers", "0")
    (tmp_path / "bad.toml").write_text("name = 'x'\nversion = 1\n")
    for workers in ("1", "2"):
        text = fails("--policies", str(tmp_path), "--workers", workers)
        assert "bad.toml" in text
        assert "line 1" in text
    config = tmp_path / "settings.cfg"
    config.write_text("threads = 'many'\n")
    assert "threads" in fails("--config", str(config))
    config.write_text("thread = 4\n")
    assert "thread" in fails("--config", str(config))
    config.write_text("threads = \n")
    assert "line 1" in fails("--config", str(config))


def test_flags_win_over_variables_and_variables_over_the_file(tmp_path: Path) -> None:
    config = tmp_path / "settings.cfg"
    config.write_text("max_batch_tasks = 1\nmax_message_bytes = 100000\n")

    def largest(flags: tuple[str, ...], env: dict[str, str]) -> int:
        with serving("--config", str(config), *flags, env=env) as (_, address):
            with grpc.insecure_channel(address) as channel:
                call = channel.unary_unary("/steelyard.v1.SteelyardService/Score")
                for tasks in (4, 3, 2, 1):
                    columns = score_pb2.TaskColumns(
                        deterministic=bytes(3 * tasks), ai=bytes(3 * tasks)
                    )
                    try:
                        call(
                            score_pb2.ScoreRequest(columns=columns).SerializeToString(), timeout=10
                        )
                    except grpc.RpcError:
                        continue
                    return tasks
            return 0

    assert largest((), {}) == 1
    assert largest((), {"STEELYARD_MAX_BATCH_TASKS": "2"}) == 2
    assert largest(("--max-batch-tasks", "3"), {"STEELYARD_MAX_BATCH_TASKS": "2"}) == 3
