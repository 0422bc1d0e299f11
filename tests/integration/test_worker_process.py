"""Worker processes: every way to misbehave ends in a result, and nothing stays behind."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.runner.process import (
    ARGUMENT_LIMIT_BYTES,
    OUTPUT_LIMIT_BYTES,
    Cancellation,
    ProcessResult,
    run_process,
)


@pytest.fixture
def cancellation() -> Iterator[Cancellation]:
    made = Cancellation()
    yield made
    made.close()


@pytest.fixture
def run(tmp_path: Path, cancellation: Cancellation) -> Runner:
    return Runner(tmp_path, cancellation)


class Runner:
    """Runs a Python text as a worker that can leave process ids in `pids`."""

    def __init__(self, folder: Path, cancellation: Cancellation) -> None:
        self.folder = folder
        self.cancellation = cancellation

    def __call__(
        self, code: str, payload: bytes = b"{}", timeout_seconds: float = 20.0
    ) -> ProcessResult:
        # Its own file for each thread: a worker must not read what another thread is writing.
        program = self.folder / f"program-{threading.get_ident()}.py"
        program.write_text("import os, signal, subprocess, sys, time\n" + PIDS + code)
        return run_process(
            [sys.executable, "-B", "-s", str(program)],
            payload,
            folder=self.folder,
            timeout_seconds=timeout_seconds,
            cancellation=self.cancellation,
        )

    def started(self) -> int:
        """How many process ids the workers have left."""
        pids = self.folder / "pids"
        return len(pids.read_text().splitlines()) if pids.exists() else 0

    def assert_nothing_lives(self, expected: int) -> None:
        pids = [int(line) for line in (self.folder / "pids").read_text().split()]
        assert len(pids) == expected
        assert [pid for pid in pids if is_alive(pid)] == []


PIDS = """
def note(pid):
    with open("pids", "a") as file:
        file.write(f"{pid}\\n")
note(os.getpid())
def child(code, **options):
    process = subprocess.Popen([sys.executable, "-c", code], **options)
    note(process.pid)
    return process
SLEEP = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(120)"
"""


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False
    return stat.rpartition(b")")[2].split()[0] not in {b"Z", b"X"}


def reason(result: ProcessResult) -> str | None:
    return result.failure.reason if result.failure else None


def test_the_payload_is_the_argument_up_to_the_limit_and_standard_input_above(run: Runner) -> None:
    code = "import json; print(json.dumps([len(sys.argv), len(''.join(sys.argv[1:])), "
    code += "len(sys.stdin.buffer.read())]))"
    limit = ARGUMENT_LIMIT_BYTES
    assert run(code, b"x" * limit).stdout == f"[2, {limit}, 0]\n".encode()
    assert run(code, b"x" * (limit + 1)).stdout == f"[1, 0, {limit + 1}]\n".encode()
    assert run(code, b"x" * 200 * 1024).stdout == b"[1, 0, 204800]\n"


def test_a_worker_need_not_read_its_input(run: Runner) -> None:
    result = run("os.close(0); time.sleep(0.1); print(1)", b"x" * 1_000_000)
    assert (reason(result), result.stdout) == (None, b"1\n")


def test_output_is_kept_to_the_last_byte_of_the_cap(run: Runner) -> None:
    result = run(f"sys.stdout.write('x' * {OUTPUT_LIMIT_BYTES})")
    assert (reason(result), len(result.stdout)) == (None, OUTPUT_LIMIT_BYTES)


@pytest.mark.parametrize("size", [OUTPUT_LIMIT_BYTES + 1, 9 * 1024 * 1024])
def test_output_above_the_cap_ends_the_worker(run: Runner, size: int) -> None:
    result = run(f"sys.stdout.write('x' * {size}); sys.stdout.flush(); time.sleep(120)")
    assert reason(result) == "WORKER_OUTPUT_TOO_LARGE"
    assert result.duration_seconds < 15
    run.assert_nothing_lives(1)


def test_standard_error_is_no_output_and_only_its_end_is_kept(run: Runner) -> None:
    result = run("sys.stderr.write('x' * 20_000_000 + 'the end'); print(1)")
    assert (reason(result), result.stdout) == (None, b"1\n")
    assert result.stderr_tail.endswith("xthe end")
    assert len(result.stderr_tail) == 2048


def test_a_worker_that_ignores_sigterm_is_killed_at_its_time_limit(run: Runner) -> None:
    result = run("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(120)", b"{}", 0.5)
    assert reason(result) == "WORKER_TIMEOUT"
    assert 0.5 <= result.duration_seconds < 5
    run.assert_nothing_lives(1)


def test_the_time_limit_covers_a_worker_that_drips(run: Runner) -> None:
    result = run("while True: print(1, flush=True); time.sleep(0.01)", b"{}", 0.5)
    assert reason(result) == "WORKER_TIMEOUT"
    run.assert_nothing_lives(1)


def test_a_child_that_holds_the_output_fails_the_run_and_dies(run: Runner) -> None:
    result = run("print('{}', flush=True); child(SLEEP)")
    assert reason(result) == "WORKER_OUTPUT_HELD"
    assert result.duration_seconds < 10
    run.assert_nothing_lives(2)


@pytest.mark.parametrize(
    "options",
    [
        "start_new_session=True",
        "process_group=0",
        "process_group=0, env={}",
    ],
)
def test_a_child_that_left_the_group_is_killed_too(run: Runner, options: str) -> None:
    quiet = "stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
    result = run(f"child(SLEEP, {quiet}, {options}); print('{{}}')")
    assert (reason(result), result.stdout) == (None, b"{}\n")
    run.assert_nothing_lives(2)


def test_a_family_that_keeps_forking_dies(run: Runner) -> None:
    code = """
for _ in range(5):
    if os.fork() == 0:
        note(os.getpid())
        os.setsid()
        while True:
            if os.fork() == 0:
                time.sleep(0.01)
                os._exit(0)
            os.wait()
time.sleep(0.3)
print('{}')
"""
    run(code)
    run.assert_nothing_lives(6)


@pytest.mark.parametrize(
    ("code", "expected", "message"),
    [
        ("sys.exit(1)", "WORKER_EXIT", "code 1"),
        ("print('{}'); sys.exit(3)", "WORKER_EXIT", "code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "WORKER_SIGNAL", "SIGKILL"),
        ("raise ValueError('why')", "WORKER_EXIT", "code 1"),
    ],
)
def test_a_bad_end_is_a_failure(run: Runner, code: str, expected: str, message: str) -> None:
    result = run(code)
    assert result.failure is not None
    assert result.failure.reason == expected
    assert message in result.failure.message


def test_a_missing_interpreter_is_a_failure(tmp_path: Path, cancellation: Cancellation) -> None:
    result = run_process(
        ["no-such-interpreter", "run.js"],
        b"{}",
        folder=tmp_path,
        timeout_seconds=5,
        cancellation=cancellation,
    )
    assert reason(result) == "WORKER_NOT_STARTED"


def test_the_environment_is_closed(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TEST_TOKEN", "hush-hush")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    result = run("import json; print(json.dumps(dict(os.environ)))")
    assert b"hush-hush" not in result.stdout
    names = set(eval(result.stdout))  # noqa: S307 - JSON of plain strings, written above
    assert names - {"LC_CTYPE"} == {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "TZ",
        "PYTHONHASHSEED",
        "PYTHONDONTWRITEBYTECODE",
        "STEELYARD_WORKER_RUN",
    }


def test_the_private_home_is_gone_afterwards(run: Runner) -> None:
    result = run("open(os.environ['HOME'] + '/x', 'w'); print(os.environ['HOME'])")
    assert not Path(result.stdout.decode().strip()).exists()


def test_no_descriptor_is_inherited_or_leaked(run: Runner) -> None:
    code = "print(sorted(os.listdir('/proc/self/fd'), key=int)[:-1])"
    with Path(__file__).open("rb") as held:
        os.set_inheritable(held.fileno(), False)
        assert run(code).stdout == b"['0', '1', '2']\n"
    before = len(list(Path("/proc/self/fd").iterdir()))
    run(code)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_cancelling_ends_every_worker(run: Runner) -> None:
    results: list[ProcessResult] = []
    threads = [
        threading.Thread(target=lambda: results.append(run("time.sleep(120)"))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 20
    while run.started() < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    run.cancellation.cancel()
    for thread in threads:
        thread.join(20)
    assert [reason(result) for result in results] == ["WORKER_CANCELLED"] * 3
    run.assert_nothing_lives(3)
