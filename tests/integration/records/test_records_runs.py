"""Runs: lifecycle, lease, events, idempotency."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from steelyard.errors import (
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    PreconditionError,
    SteelyardError,
)
from steelyard.records.model import (
    EventType,
    FinishRequest,
    PageRequest,
    ResultStatus,
    RunDraft,
    RunFilter,
    RunStatus,
    Trigger,
    UnscoredResult,
)
from steelyard.records.store import Store
from tests.support.evaluations import Clock, evaluation

ENDS = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)


def _create(store: Store, run_id: str, *, start: bool = True, lease: int = 60) -> None:
    store.create_run(RunDraft(Trigger.MANUAL, run_id, start=start, lease_seconds=lease))


def _finish(store: Store, run_id: str, status: RunStatus) -> RunStatus:
    error = "broke" if status is RunStatus.FAILED else ""
    return store.finish_run(FinishRequest(run_id, status, error=error)).status


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("end", ENDS)
def test_a_run_ends_once(store: Store, start: bool, end: RunStatus) -> None:
    _create(store, "run", start=start)
    assert _finish(store, "run", end) is end
    ended = store.get_run("run")
    assert ended.finished_at is not None
    assert ended.lease_expires_at is None
    assert _finish(store, "run", end) is end
    assert store.get_run("run") == ended
    for other in ENDS:
        if other is not end:
            with pytest.raises(PreconditionError) as caught:
                _finish(store, "run", other)
            assert caught.value.reason == "RUN_FINISHED"
    with pytest.raises(PreconditionError):
        store.finish_run(FinishRequest("run", end, summary="another", error=ended.error))
    with pytest.raises(PreconditionError):
        store.renew_run("run")
    assert store.get_run("run") == ended


def test_renewing_starts_a_pending_run_and_extends_its_lease(url: str) -> None:
    clock = Clock()
    with Store(url, clock=clock, lease_check_seconds=3600) as store:
        _create(store, "run", start=False, lease=60)
        assert store.get_run("run").status is RunStatus.PENDING
        assert store.get_run("run").started_at is None
        clock.forward(days=2)
        assert store.expire_leases() == []
        run = store.renew_run("run")
        assert run.status is RunStatus.RUNNING
        assert run.started_at == clock.now
        assert run.lease_expires_at == clock.now + timedelta(seconds=60)
        clock.forward(seconds=59)
        assert store.renew_run("run", 120).lease_expires_at == clock.now + timedelta(seconds=120)


def test_a_run_left_past_its_lease_is_failed(url: str) -> None:
    clock = Clock()
    with Store(url, clock=clock, lease_check_seconds=3600) as store:
        _create(store, "dead", lease=60)
        _create(store, "alive", lease=60)
        store.save_evaluation(evaluation("t1", "dead"), "")
        clock.forward(seconds=59)
        store.save_evaluation(evaluation("t1", "alive"), "")
        clock.forward(seconds=1)
        with pytest.raises(PreconditionError) as caught:
            store.save_evaluation(evaluation("t2", "dead"), "")
        assert caught.value.reason == "RUN_LEASE_EXPIRED"
        assert store.expire_leases() == ["dead"]
        assert store.expire_leases() == []
        dead = store.get_run("dead")
        assert dead.status is RunStatus.FAILED
        assert "lease" in dead.error
        assert dead.aggregates is not None
        assert dead.aggregates.scored == 1
        assert store.get_run("alive").status is RunStatus.RUNNING


def test_the_lease_keeper_looks_by_itself(url: str) -> None:
    clock = Clock()
    with Store(url, clock=clock, lease_check_seconds=0.05) as store:
        _create(store, "run", lease=1)
        clock.forward(seconds=2)
        for _ in range(200):
            status, _events = store.events_after("run", 0)
            if status is RunStatus.FAILED:
                break
            time.sleep(0.05)
        assert status is RunStatus.FAILED


def test_events_have_no_gaps(store: Store) -> None:
    _create(store, "run", start=False)
    store.save_evaluation(evaluation("t1", "run"), "")
    store.save_unscored(UnscoredResult("run", "t2", ResultStatus.SKIPPED, "not due"))
    store.save_unscored(UnscoredResult("run", "t3", ResultStatus.ERROR, "judge away"))
    _finish(store, "run", RunStatus.FAILED)
    status, events = store.events_after("run", 0)
    assert status is RunStatus.FAILED
    assert [event.sequence for event in events] == [1, 2, 3, 4, 5, 6]
    assert [event.type for event in events] == [
        EventType.RUN_CREATED,
        EventType.RUN_STARTED,
        EventType.RESULT_STORED,
        EventType.RESULT_STORED,
        EventType.RESULT_STORED,
        EventType.RUN_FAILED,
    ]
    assert [event.task_id for event in events[2:5]] == ["t1", "t2", "t3"]
    assert events[-1].message == "broke"
    assert store.events_after("run", 4)[1] == events[4:]
    run = store.get_run("run")
    assert (run.scored, run.skipped, run.errors, run.event_count) == (1, 1, 1, 6)


def test_creating_again_with_the_key_gives_the_same_run(store: Store) -> None:
    first = store.create_run(RunDraft(Trigger.API, idempotency_key="k"))
    assert store.create_run(RunDraft(Trigger.API, idempotency_key="k")) == first
    with pytest.raises(AlreadyExistsError) as caught:
        store.create_run(RunDraft(Trigger.MANUAL, idempotency_key="k"))
    assert caught.value.reason == "IDEMPOTENCY_KEY_REUSED"
    with pytest.raises(AlreadyExistsError):
        store.create_run(RunDraft(Trigger.API, run_id=first.run_id))
    assert len(store.list_runs(RunFilter(), PageRequest()).items) == 1


def test_one_of_many_servers_creates_the_run_of_a_key(url: str) -> None:
    with Store(url) as one, Store(url) as other, ThreadPoolExecutor(16) as pool:
        made = list(
            pool.map(
                lambda index: (one, other)[index % 2].create_run(
                    RunDraft(Trigger.API, idempotency_key="same")
                ),
                range(32),
            )
        )
        assert len({run.run_id for run in made}) == 1
        assert len(one.list_runs(RunFilter(), PageRequest()).items) == 1


@pytest.mark.parametrize(
    ("draft", "path", "reason"),
    [
        (RunDraft(Trigger.SCHEDULE), "trigger", "TRIGGER_RESERVED"),
        (RunDraft(Trigger.API, lease_seconds=-1), "lease_seconds", "LEASE_INVALID"),
        (RunDraft(Trigger.API, lease_seconds=604_801), "lease_seconds", "LEASE_INVALID"),
        (RunDraft(Trigger.API, run_id="a\x00b"), "run_id", "ID_INVALID"),
        (RunDraft(Trigger.API, run_id="r" * 201), "run_id", "TOO_LONG"),
        (RunDraft(Trigger.API, summary="\ud800"), "summary", "TEXT_INVALID"),
    ],
)
def test_bad_runs_are_refused(store: Store, draft: RunDraft, path: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        store.create_run(draft)
    assert [(each.path, each.reason) for each in caught.value.violations] == [(path, reason)]


@pytest.mark.parametrize(
    ("request_", "path"),
    [
        (FinishRequest("run", RunStatus.FAILED), "error"),
        (FinishRequest("run", RunStatus.COMPLETED, error="x"), "error"),
    ],
)
def test_the_error_belongs_to_failed_runs(store: Store, request_: FinishRequest, path: str) -> None:
    _create(store, "run")
    with pytest.raises(InvalidInputError) as caught:
        store.finish_run(request_)
    assert caught.value.violations[0].path == path


def test_unknown_runs_are_not_found(store: Store) -> None:
    calls = (
        lambda: store.get_run("none"),
        lambda: store.renew_run("none"),
        lambda: store.finish_run(FinishRequest("none", RunStatus.CANCELLED)),
        lambda: store.events_after("none", 0),
        lambda: store.save_evaluation(evaluation("t", "none"), ""),
    )
    for call in calls:
        with pytest.raises(NotFoundError) as caught:
            call()
        assert caught.value.reason == "RUN_NOT_FOUND"


def test_runs_are_listed_newest_first_with_filters(store: Store) -> None:
    for index in range(5):
        _create(store, f"run-{index}", start=index % 2 == 0)
    store.create_run(RunDraft(Trigger.TASK_COMPLETION, "run-5"))
    listed = store.list_runs(RunFilter(), PageRequest()).items
    assert [run.run_id for run in listed] == [f"run-{index}" for index in (5, 4, 3, 2, 1, 0)]
    running = store.list_runs(RunFilter(status=RunStatus.RUNNING), PageRequest()).items
    assert [run.run_id for run in running] == ["run-4", "run-2", "run-0"]
    by_trigger = store.list_runs(RunFilter(trigger=Trigger.TASK_COMPLETION), PageRequest())
    assert [run.run_id for run in by_trigger.items] == ["run-5"]


def test_one_bad_call_does_not_fail_its_neighbours(store: Store) -> None:
    """Good and bad calls that share transactions: each gets its own answer."""
    _create(store, "run")

    def call(index: int) -> str:
        run_id = ("run", "none")[index % 5 == 0]
        try:
            store.save_evaluation(evaluation(f"t-{index % 40}", run_id), "")
        except SteelyardError as error:
            return error.reason
        return "stored"

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(call, range(80)))
    # Tasks 0..39 twice each, every fifth index in a run that does not exist.
    assert answers.count("RUN_NOT_FOUND") == 16
    assert answers.count("stored") == 32
    assert answers.count("RESULT_EXISTS") == 32
    assert store.get_run("run").scored == 32
