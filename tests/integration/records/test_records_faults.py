"""A full disk and a database that is away: the right error, nothing lost, and service returns."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import insert, text

from steelyard.errors import LimitError, SteelyardError, UnavailableError
from steelyard.records.engine import writing
from steelyard.records.model import (
    PageRequest,
    ResultFilter,
    RunDraft,
    RunFilter,
    RunStatus,
    Trigger,
)
from steelyard.records.schema import idempotency_keys
from steelyard.records.store import Store
from steelyard.records.writer import Transaction, Writer
from tests.support.evaluations import evaluation
from tests.support.pages import every
from tests.support.postgres import Cluster


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MB."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small tmpfs needs root and mount(8)")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=40m,mode=0777", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"mount(8) may not mount a tmpfs here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _fill_until_full(store: Store, free: Path) -> tuple[list[str], LimitError]:
    """Stores results until the disk is full, then gives the ballast back."""
    kept: list[str] = []
    refusals: list[SteelyardError] = []
    lock = threading.Lock()

    def work(index: int) -> None:
        for count in range(500):
            task = f"task-{index}-{count}"
            try:
                store.save_evaluation(evaluation(task), f"key-{task}")
            except SteelyardError as error:
                with lock:
                    refusals.append(error)
                return
            with lock:
                kept.append(task)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert {type(error) for error in refusals} == {LimitError}
    assert {error.reason for error in refusals} == {"STORE_FULL"}
    free.unlink()
    first = refusals[0]
    assert isinstance(first, LimitError)
    return kept, first


def _ballast(folder: Path, leave: int) -> Path:
    """Fills a disk but for `leave` bytes."""
    path = folder / "ballast"
    size = shutil.disk_usage(folder).free - leave
    with path.open("wb") as file:
        while size > 0:
            size -= file.write(b"\0" * min(size, 1 << 20))
    return path


def _check_service_returned(store: Store, kept: list[str]) -> None:
    store.save_evaluation(evaluation("after"), "")
    stored = _tasks(store)
    assert len(kept) > 20
    assert len(stored) == len(set(stored))
    assert set(stored) == {*kept, "after"}


def test_a_full_disk_under_sqlite(small_disk: Path) -> None:
    with Store(str(small_disk / "records.db")) as store:
        ballast = _ballast(small_disk, 1_500_000)
        kept, _ = _fill_until_full(store, ballast)
        _check_service_returned(store, kept)


def test_a_full_disk_under_postgresql(small_disk: Path, cluster: Cluster) -> None:
    place = small_disk / "tablespace"
    place.mkdir()
    if cluster.owner is not None:
        os.chown(place, *cluster.owner)
    for parent in small_disk.parents:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            # The server runs as another user and must reach the folder.
            parent.chmod(parent.stat().st_mode | 0o011)
    cluster.execute(f"CREATE TABLESPACE small LOCATION '{place}'")
    cluster.execute("CREATE DATABASE full_disk TEMPLATE steelyard_template TABLESPACE small")
    try:
        with Store(cluster.url("full_disk")) as store:
            ballast = _ballast(small_disk, 500_000)
            kept, _ = _fill_until_full(store, ballast)
            _check_service_returned(store, kept)
    finally:
        cluster.execute("DROP DATABASE full_disk WITH (FORCE)")
        cluster.execute("DROP TABLESPACE small")


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_stopped_postgresql(cluster: Cluster, mode: str) -> None:
    cluster.execute("DROP DATABASE IF EXISTS stopped WITH (FORCE)")
    cluster.execute("CREATE DATABASE stopped TEMPLATE steelyard_template")
    stop = threading.Event()
    kept: list[str] = []
    refusals: list[SteelyardError] = []
    lock = threading.Lock()

    def work(store: Store, index: int) -> None:
        count = 0
        while not stop.is_set():
            count += 1
            task = f"task-{index}-{count}"
            try:
                store.save_evaluation(evaluation(task), f"key-{task}")
            except SteelyardError as error:
                with lock:
                    refusals.append(error)
                time.sleep(0.01)
            else:
                with lock:
                    kept.append(task)

    with Store(cluster.url("stopped")) as store, ThreadPoolExecutor(8) as pool:
        writers = [pool.submit(work, store, index) for index in range(8)]
        try:
            time.sleep(0.5)
            cluster.stop(mode)
            try:
                time.sleep(0.5)
                with pytest.raises(UnavailableError):
                    store.list_results(ResultFilter(), PageRequest())
                before = len(kept)
                assert before > 0
                time.sleep(0.3)
                assert len(kept) == before
            finally:
                cluster.start()
            deadline = time.monotonic() + 20
            while len(kept) < before + 20 and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            stop.set()
        for writer in writers:
            writer.result()
        assert len(kept) >= before + 20
        assert {type(error) for error in refusals} == {UnavailableError}
        stored = _tasks(store)
        assert len(stored) == len(set(stored))
        assert set(kept) <= set(stored)


def _tasks(store: Store) -> list[str]:
    found = every(lambda page: store.list_results(ResultFilter(), page))
    return [each.task_id for each in found]


def test_a_locked_sqlite_is_busy_and_comes_back(tmp_path: Path) -> None:
    """Another program holds the write lock for longer than the store waits."""
    with Store(str(tmp_path / "records.db")) as store:
        with writing(store.engine).begin():
            started = time.monotonic()
            with pytest.raises(UnavailableError) as caught:
                store.create_run(RunDraft(Trigger.API, "run"))
            assert caught.value.reason == "STORE_BUSY"
            assert time.monotonic() - started < 15
        assert store.create_run(RunDraft(Trigger.API, "run")).run_id == "run"


def test_a_caller_without_time_hears_whether_his_call_was_stored(url: str) -> None:
    with Store(url) as store:
        entered, leave = threading.Event(), threading.Event()

        def slow(tx: Transaction, requests: object) -> list[int]:
            entered.set()
            leave.wait(10)
            return [1]

        writer: Writer = store._writer
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(writer.write, slow, None)
            entered.wait(10)
            with pytest.raises(UnavailableError) as caught:
                store.create_run(RunDraft(Trigger.API, "late"), timeout=0.05)
            assert caught.value.reason == "WRITE_TIMEOUT"
            leave.set()
            assert first.result() == 1
        assert store.create_run(RunDraft(Trigger.API, "late")).run_id == "late"
        entered.clear()
        leave.clear()
        threading.Timer(0.3, leave.set).start()
        with pytest.raises(UnavailableError) as caught:
            writer.write(slow, None, 0.05)
        assert caught.value.reason == "WRITE_OUTCOME_UNKNOWN"


def test_a_deadline_beyond_all_clocks_is_waited_for(url: str) -> None:
    with Store(url) as store:
        for timeout in (1e10, 3.6e11, 1e300, float("inf")):
            run = store.create_run(RunDraft(Trigger.API), timeout)
            assert store.get_run(run.run_id).status is RunStatus.PENDING


def test_what_callers_without_time_hear_is_true_of_every_call(url: str) -> None:
    heard: dict[str, str] = {}

    def call(name: str, timeout: float) -> None:
        try:
            store.create_run(RunDraft(Trigger.API, name), timeout)
            heard[name] = "STORED"
        except UnavailableError as error:
            heard[name] = error.reason

    with Store(url) as store:
        with ThreadPoolExecutor(32) as pool:
            for index in range(300):
                pool.submit(call, f"run-{index}", index % 30 / 100)
        stored = {run.run_id for run in store.list_runs(RunFilter(), PageRequest(1000)).items}
    assert set(heard.values()) >= {"STORED", "WRITE_TIMEOUT"}
    assert len(heard) == 300
    for name, word in heard.items():
        if word != "WRITE_OUTCOME_UNKNOWN":
            assert (name in stored) == (word == "STORED"), (name, word)


def test_a_call_that_breaks_the_transaction_fails_alone(url: str) -> None:
    """A defect of one call undoes its own work only, and its neighbours are stored."""
    with Store(url) as store:
        entered, leave = threading.Event(), threading.Event()

        def gate(tx: Transaction, requests: object) -> list[int]:
            entered.set()
            leave.wait(10)
            return [1]

        def breaks(tx: Transaction, requests: list[str]) -> list[int]:
            row = {"scope": "x", "content_hash": "", "made": "[]", "at": 0}
            for request in requests:
                tx.connection.execute(insert(idempotency_keys), {**row, "key": request})
                if request == "bad":
                    tx.connection.execute(text("INSERT INTO idempotency_keys (none) VALUES (1)"))
                if request == "bug":
                    raise ZeroDivisionError
            return [2] * len(requests)

        writer: Writer = store._writer
        with ThreadPoolExecutor(16) as pool:
            first = pool.submit(writer.write, gate, None)
            entered.wait(10)
            calls = {
                name: pool.submit(writer.write, breaks, name)
                for name in ("a", "b", "bad", "bug", "c")
            }
            runs = [
                pool.submit(store.create_run, RunDraft(Trigger.API, f"run-{index}"))
                for index in range(5)
            ]
            while writer._queue.qsize() < 10:
                time.sleep(0.01)
            leave.set()
            assert first.result() == 1
            assert [calls[name].result() for name in "abc"] == [2, 2, 2]
            assert isinstance(calls["bug"].exception(), ZeroDivisionError)
            assert calls["bad"].exception() is not None
            assert [run.result().run_id for run in runs] == [f"run-{n}" for n in range(5)]
        with store.engine.connect() as connection:
            keys = connection.execute(text("SELECT key FROM idempotency_keys")).scalars().all()
        assert sorted(keys) == ["a", "b", "c"]


def test_a_closed_store_refuses(url: str) -> None:
    store = Store(url)
    store.close()
    with pytest.raises(UnavailableError) as caught:
        store.create_run(RunDraft(Trigger.API))
    assert caught.value.reason == "STORE_CLOSED"
