"""Scheduled runs: windows without gaps or overlaps, one run per tick."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from steelyard.client import Client
from steelyard.errors import InvalidInputError, PreconditionError, UnavailableError
from steelyard.records import schedule
from steelyard.records.model import RunFilter, RunRecord, RunStatus, Trigger
from steelyard.records.schedule import Cron, Schedule
from steelyard.records.store import Store
from steelyard.server.app import build
from steelyard.settings import load_settings
from steelyard.v1 import records_pb2 as pb
from tests.support.evaluations import Clock, evaluation
from tests.support.pages import every


def _scheduled(store: Store) -> list[RunRecord]:
    where = RunFilter(trigger=Trigger.SCHEDULE)
    return list(reversed(every(lambda page: store.list_runs(where, page))))


def test_windows_follow_each_other(url: str) -> None:
    clock = Clock()
    with Store(url, clock=clock, lease_check_seconds=3600) as store:
        pick = random.Random(3)  # noqa: S311  # the same scores in every run
        per_tick: list[list[int]] = []
        for _ in range(5):
            scores = [pick.randrange(101) for _ in range(pick.randrange(4))]
            for score in scores:
                clock.forward(seconds=1)
                store.save_evaluation(evaluation("t", score=score), "")
            per_tick.append(scores)
            clock.forward(minutes=1)
            run = store.run_tick(clock.now)
            assert run is not None
            assert run.status is RunStatus.COMPLETED
        listed = _scheduled(store)
        assert [run.scored for run in listed] == [len(scores) for scores in per_tick]
        for run, scores in zip(listed, per_tick, strict=True):
            assert run.aggregates is not None
            mean = sum(scores) / len(scores) if scores else None
            assert run.aggregates.mean_overall == mean
        assert listed[0].window_start == datetime(1970, 1, 1, tzinfo=UTC)
        for before, after in pairwise(listed):
            assert after.window_start == before.window_end


def test_two_servers_never_run_one_tick_twice(url: str) -> None:
    clock = Clock()
    with (
        Store(url, clock=clock) as one,
        Store(url, clock=clock) as other,
        ThreadPoolExecutor(4) as pool,
    ):
        for _ in range(20):
            one.save_evaluation(evaluation("t"), "")
            clock.forward(minutes=1)
            tick = clock.now
            made = list(pool.map(lambda store, at=tick: store.run_tick(at), (one, other) * 2))
            assert sum(run is not None for run in made) == 1
        assert [run.scored for run in _scheduled(one)] == [1] * 20


def test_each_result_is_in_one_window_while_many_write(url: str) -> None:
    """Real time, writers that never pause, ticks as fast as they go: nothing lost or doubled."""
    with Store(url) as one, Store(url) as other, ThreadPoolExecutor(9) as pool:

        def write(index: int) -> None:
            for count in range(25):
                store = (one, other)[count % 2]
                store.save_evaluation(evaluation(f"t-{index}-{count}"), "")

        writers = [pool.submit(write, index) for index in range(8)]
        while not all(writer.done() for writer in writers):
            other.run_tick(datetime.now(UTC))
        for writer in writers:
            writer.result()
        one.run_tick(datetime.now(UTC))
        assert sum(run.scored for run in _scheduled(one)) == 200


def test_a_tick_whose_server_died_is_taken_over_by_the_next(url: str) -> None:
    clock = Clock()
    with Store(url, clock=clock, lease_check_seconds=3600) as store:
        store.save_evaluation(evaluation("t"), "")
        clock.forward(minutes=1)
        dead = store.claim_tick(clock.now)
        assert dead is not None
        clock.forward(minutes=1)
        # While its lease lasts, the tick may still complete: nobody else touches its window.
        assert store.run_tick(clock.now) is None
        clock.forward(seconds=schedule.TICK_LEASE_S)
        run = store.run_tick(clock.now)
        assert run is not None
        assert run.scored == 1
        assert [each.status for each in _scheduled(store)] == [
            RunStatus.FAILED,
            RunStatus.COMPLETED,
        ]


def test_a_tick_of_the_past_is_not_run(url: str) -> None:
    clock = Clock()
    with Store(url, clock=clock) as store:
        clock.forward(minutes=5)
        assert store.run_tick(clock.now) is not None
        assert store.run_tick(clock.now) is None
        assert store.run_tick(clock.now - timedelta(minutes=1)) is None


def test_cron_ticks_in_its_zone() -> None:
    cron = Cron("30 2 * * *", ZoneInfo("Europe/Berlin"))
    # 2026-03-29 has no 02:30 in Berlin: as Debian's cron does, the job runs right after the gap.
    tick = cron.next_after(datetime(2026, 3, 29, 0, 0, tzinfo=UTC))
    assert tick == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert cron.next_after(datetime(2026, 3, 29, 12, 0, tzinfo=UTC)) == datetime(
        2026, 3, 30, 0, 30, tzinfo=UTC
    )


@pytest.mark.parametrize(
    "text", ["", "* * * *", "61 * * * *", "* * * * * *", "@daily", "x y z a b"]
)
def test_bad_cron_expressions_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Cron(text, ZoneInfo("UTC"))
    assert caught.value.violations[0].path == "schedule.cron"


class _Ticks:
    """A cron that ticks every 50 ms, and what was done at each tick."""

    def __init__(self) -> None:
        self.seen: list[datetime] = []
        self.fail = True

    def next_after(self, moment: datetime) -> datetime:
        return moment + timedelta(milliseconds=50)

    def run_tick(self, tick: datetime) -> None:
        self.seen.append(tick)
        if len(self.seen) == 1:
            raise UnavailableError("STORE_UNAVAILABLE", "away")


def test_the_schedule_survives_a_store_that_is_away_and_stops_when_told() -> None:
    ticks = _Ticks()
    running = Schedule(
        ticks,  # type: ignore[arg-type]  # ticks faster than any cron expression
        ticks.run_tick,
        lambda: datetime.now(UTC),
    )
    running.start()
    deadline = time.monotonic() + 20
    while len(ticks.seen) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.stop()
    count = len(ticks.seen)
    assert count >= 3
    time.sleep(0.15)
    assert len(ticks.seen) == count


@pytest.mark.parametrize(("evals_view", "running"), [(True, True), (False, False)])
def test_the_schedule_sleeps_while_the_feature_is_off(evals_view: bool, running: bool) -> None:
    settings = load_settings(
        {
            "address": "127.0.0.1:0",
            "grace_seconds": 0,
            "schedule": {"cron": "0 6 * * *"},
            "experimental_features": {"evals_view": evals_view},
        }
    )
    server = build(settings)
    server.start()
    try:
        names = {thread.name for thread in threading.enumerate()}
        assert ("steelyard-schedule" in names) is running
        with Client(f"127.0.0.1:{server.port}", timeout=20) as client:
            method, request = "/steelyard.v1.RecordsService/ListRuns", pb.ListRunsRequest()
            if running:
                client.call(method, request, pb.ListRunsResponse)
            else:
                with pytest.raises(PreconditionError) as caught:
                    client.call(method, request, pb.ListRunsResponse)
                assert caught.value.reason == "RECORDS_DISABLED"
    finally:
        server.stop()
    assert "steelyard-schedule" not in {thread.name for thread in threading.enumerate()}
