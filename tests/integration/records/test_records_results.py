"""Results: stored once, listed stably, aggregated right."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from statistics import fmean

import pytest
from sqlalchemy import text, update

from steelyard.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from steelyard.records.engine import writing
from steelyard.records.model import (
    Page,
    PageRequest,
    ResultFilter,
    ResultStatus,
    ResultSummary,
    RunDraft,
    RunFilter,
    RunStatus,
    Trigger,
    UnscoredResult,
)
from steelyard.records.numbering import number_at
from steelyard.records.rows import insert_rows
from steelyard.records.run_state import run_row
from steelyard.records.schema import store_settings
from steelyard.records.store import Store
from steelyard.records.writer import Transaction
from steelyard.scoring.task_evaluation import settle
from tests.support.evaluations import CATEGORIES, Clock, evaluation


def _run(store: Store, run_id: str = "run") -> None:
    store.create_run(RunDraft(Trigger.MANUAL, run_id, start=True))


def test_an_evaluation_comes_back_as_it_was_stored(store: Store) -> None:
    _run(store)
    given = evaluation("task/ä 1", "run", 42, drafts=["Fix the retry loop"])
    saved = store.save_evaluation(given, "key")
    found = store.get_result("run", "task/ä 1")
    assert found.evaluation == settle(given, "run", saved.fates)
    assert found.summary.overall_score == 42
    assert found.summary.band == "weak"
    assert [each.final_score for each in found.summary.categories] == [42, 42, 42]
    assert [each.category for each in found.summary.categories] == list(CATEGORIES)


def test_an_evaluation_without_a_run_gets_one_of_its_own(store: Store) -> None:
    saved = store.save_evaluation(evaluation("t"), "")
    run = store.get_run(saved.run_id)
    assert run.status is RunStatus.COMPLETED
    assert run.trigger is Trigger.API
    assert run.scored == 1
    _status, events = store.events_after(saved.run_id, 0)
    assert [event.sequence for event in events] == [1, 2, 3]
    again = store.save_evaluation(evaluation("t"), "")
    assert again.run_id != saved.run_id


def test_a_key_stores_once(store: Store) -> None:
    first = store.save_evaluation(evaluation("t", drafts=["Fix the retry loop"]), "key")
    second = store.save_evaluation(evaluation("t", drafts=["Fix the retry loop"]), "key")
    assert not first.replayed
    assert second == replace(first, replayed=True)
    with pytest.raises(AlreadyExistsError) as caught:
        store.save_evaluation(evaluation("t", score=71), "key")
    assert caught.value.reason == "IDEMPOTENCY_KEY_REUSED"
    assert len(store.list_results(ResultFilter(), PageRequest()).items) == 1
    assert len(store.list_runs(RunFilter(), PageRequest()).items) == 1
    # A key of another kind of call is another key.
    assert store.create_run(RunDraft(Trigger.API, idempotency_key="key")).run_id != first.run_id


def test_a_group_of_many_results_is_stored_as_each_alone_would_be(store: Store) -> None:
    """More rows than one statement takes, with an old key and one that two of them share."""
    store.save_evaluation(evaluation("old"), "old")
    entered, leave = threading.Event(), threading.Event()

    def hold(tx: Transaction, requests: Sequence[None]) -> list[None]:
        entered.set()
        leave.wait(10)
        return [None] * len(requests)

    calls = [(f"task-{index}", f"key-{index}") for index in range(70)]
    calls += [("old", "old"), ("task-3", "key-3"), ("other", "key-4")]
    with ThreadPoolExecutor(len(calls) + 1) as pool:
        first = pool.submit(store._writer.write, hold, None)
        entered.wait(10)
        futures = [pool.submit(store.save_evaluation, evaluation(task), key) for task, key in calls]
        while store._writer._queue.qsize() < len(calls):
            time.sleep(0.01)
        leave.set()
        first.result()
        errors = [each.exception() for each in futures]
        refused = [error for error in errors if error is not None]
        saved = [each.result() for each in futures if each.exception() is None]
    # Of two contents for one key the first that came is stored.
    assert len(refused) == 1
    assert isinstance(refused[0], AlreadyExistsError)
    assert refused[0].reason == "IDEMPOTENCY_KEY_REUSED"
    assert sum(each.replayed for each in saved) == 2
    found = store.list_results(ResultFilter(), PageRequest(1000)).items
    assert len(found) == 71
    assert {each.task_id for each in found} >= {f"task-{n}" for n in range(70) if n != 4}
    for each in found:
        assert [entry.category for entry in each.categories] == list(CATEGORIES)
        assert store.get_result(each.run_id, each.task_id).evaluation is not None
        status, events = store.events_after(each.run_id, 0)
        assert status is RunStatus.COMPLETED
        assert [event.task_id for event in events] == ["", each.task_id, ""]


def test_two_servers_store_a_key_once(url: str) -> None:
    with Store(url) as one, Store(url) as other, ThreadPoolExecutor(16) as pool:

        def save(index: int) -> tuple[str, bool]:
            key = f"key-{index // 8}"
            saved = (one, other)[index % 2].save_evaluation(evaluation(f"t-{index // 8}"), key)
            return saved.run_id, saved.replayed

        answers = list(pool.map(save, range(64)))
        stored = one.list_results(ResultFilter(), PageRequest()).items
        assert len(stored) == 8
        assert {run_id for run_id, _ in answers} == {each.run_id for each in stored}
        assert sum(not replayed for _, replayed in answers) == 8


def test_a_task_has_one_result_in_a_run(store: Store) -> None:
    _run(store)
    store.save_evaluation(evaluation("t", "run"), "")
    for again in (
        lambda: store.save_evaluation(evaluation("t", "run"), ""),
        lambda: store.save_unscored(UnscoredResult("run", "t", ResultStatus.ERROR, "again")),
    ):
        with pytest.raises(AlreadyExistsError) as caught:
            again()
        assert caught.value.reason == "RESULT_EXISTS"
        assert caught.value.violations[0].path == "task_id"
    assert store.get_run("run").scored == 1


def test_a_skipped_task_is_kept_with_its_reason(store: Store) -> None:
    _run(store)
    result = UnscoredResult("run", "t", ResultStatus.SKIPPED, "no evidence yet", "key")
    assert store.save_unscored(result) is False
    assert store.save_unscored(result) is True
    found = store.get_result("run", "t")
    assert found.evaluation is None
    assert found.summary.reason == "no evidence yet"
    assert found.summary.overall_score is None
    with pytest.raises(NotFoundError):
        store.get_result("run", "other")


@pytest.mark.parametrize(
    ("result", "path"),
    [
        (UnscoredResult("run", "t", ResultStatus.SCORED, "x"), "status"),
        (UnscoredResult("run", "t", ResultStatus.ERROR, " \t"), "reason"),
        (UnscoredResult("run", "", ResultStatus.ERROR, "x"), "task_id"),
        (UnscoredResult("", "t", ResultStatus.ERROR, "x"), "run_id"),
    ],
)
def test_bad_unscored_results_are_refused(store: Store, result: UnscoredResult, path: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        store.save_unscored(result)
    assert caught.value.violations[0].path == path


def test_filters_and_aggregates_agree_with_python(url: str) -> None:
    clock = Clock()
    pick = random.Random(7)  # noqa: S311  # the same scores in every run
    kept: list[tuple[str, str, int, object]] = []
    with Store(url, clock=clock) as store:
        for day in range(4):
            for run in ("a", "b"):
                _run(store, f"{run}-{day}")
                for task in range(6):
                    score = pick.randrange(101)
                    store.save_evaluation(evaluation(f"t-{task}", f"{run}-{day}", score), "")
                    kept.append((f"{run}-{day}", f"t-{task}", score, clock.now))
                    clock.forward(milliseconds=1)
            store.save_unscored(UnscoredResult(f"a-{day}", "s", ResultStatus.SKIPPED, "why"))
            clock.forward(days=1)
        start = kept[0][3]
        bounds = (start + timedelta(days=1), start + timedelta(days=3))
        for where, expected in (
            (ResultFilter(task_id="t-3"), [k for k in kept if k[1] == "t-3"]),
            (ResultFilter(run_id="b-2"), [k for k in kept if k[0] == "b-2"]),
            (ResultFilter(min_score=40, max_score=59), [k for k in kept if 40 <= k[2] <= 59]),
            (ResultFilter(band="weak"), [k for k in kept if 40 <= k[2] <= 59]),
            (
                ResultFilter(since=bounds[0], until=bounds[1], status=ResultStatus.SCORED),
                [k for k in kept if bounds[0] <= k[3] < bounds[1]],
            ),
        ):
            listed = store.list_results(where, PageRequest(size=1000)).items
            assert [(each.run_id, each.task_id, each.overall_score) for each in listed] == [
                k[:3] for k in reversed(expected)
            ]
            found = store.aggregate(where, days=True)
            assert found.scored == len(expected)
            assert found.mean_overall == pytest.approx(fmean(k[2] for k in expected))
            assert sum(day.count for day in found.days) == len(expected)
        whole = store.aggregate(ResultFilter(), days=True)
        assert whole.skipped == 4
        assert [each.category for each in whole.categories] == list(CATEGORIES)
        for each in whole.categories:
            assert each.mean == pytest.approx(fmean(k[2] for k in kept))
        bands = Counter(_band(k[2]) for k in kept)
        assert dict(whole.bands) == bands
        assert [day.day for day in whole.days] == [
            "2026-03-01",
            "2026-03-02",
            "2026-03-03",
            "2026-03-04",
        ]
        assert [day.mean_overall for day in whole.days] == [
            pytest.approx(fmean(k[2] for k in kept[day * 12 : day * 12 + 12])) for day in range(4)
        ]


def _band(score: int) -> str:
    names = ("failing", "weak", "acceptable", "strong", "excellent")
    return names[sum(score >= least for least in (40, 60, 75, 90))]


def test_nothing_scored_has_no_mean(store: Store) -> None:
    found = store.aggregate(ResultFilter(), days=True)
    assert found.mean_overall is None
    assert (found.categories, found.bands, found.days) == ((), (), ())


def test_paging_through_100000_results_is_stable_while_new_ones_arrive(store: Store) -> None:
    count = 100_000
    _bulk(store, count)
    seen: list[str] = []
    token = ""
    arrived = 0
    while True:
        page: Page[ResultSummary] = store.list_results(ResultFilter(), PageRequest(1000, token))
        seen += [each.task_id for each in page.items]
        if arrived < 30:
            store.save_evaluation(evaluation(f"new-{arrived}"), "")
            arrived += 1
        token = page.next_token
        if not token:
            break
    assert seen == [f"task-{1000000 + index}" for index in reversed(range(count))]
    newest = store.list_results(ResultFilter(), PageRequest(40)).items
    assert [each.task_id for each in newest[:30]] == [f"new-{n}" for n in reversed(range(30))]


_BULK = """
INSERT INTO eval_task_results
    (number, run_id, task_id, status, band, policy_name, policy_version, reason)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count)
SELECT :first + i * 4096, 'bulk', 'task-' || (1000000 + i), 'skipped', '', '', 0, 'bulk' FROM n
"""


def _bulk(store: Store, count: int) -> None:
    """Rows as skipped tasks have them, oldest first."""
    first = number_at(datetime(2026, 3, 1, tzinfo=UTC))
    with writing(store.engine).begin() as connection:
        row = run_row(
            first,
            "bulk",
            Trigger.API,
            RunStatus.COMPLETED,
            now=0,
            lease_seconds=1,
            event_count=0,
        )
        insert_rows(connection, [row])
        connection.execute(text(_BULK), {"count": count, "first": first})


@pytest.mark.parametrize("size", [-1, 1001])
def test_page_sizes_are_bounded(store: Store, size: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        store.list_results(ResultFilter(), PageRequest(size))
    assert caught.value.violations[0].path == "page_size"


def test_a_page_token_serves_one_list_of_one_store(new_url: Callable[[], str]) -> None:
    urls = [new_url(), new_url()]
    with Store(urls[1]) as other, writing(other.engine).begin() as connection:
        # A copy of a store has its key; this one shall be another store.
        connection.execute(update(store_settings).values(value="00" * 32))
    with Store(urls[0]) as store, Store(urls[1]) as other:
        for each in (store, other):
            for index in range(3):
                each.save_evaluation(evaluation(f"t-{index}"), "")
        token = store.list_results(ResultFilter(), PageRequest(1)).next_token
        assert len(store.list_results(ResultFilter(), PageRequest(2, token)).items) == 2
        for call, reason in (
            (lambda: other.list_results(ResultFilter(), PageRequest(1, token)), "INVALID"),
            (lambda: store.list_runs(RunFilter(), PageRequest(1, token)), "OTHER_LIST"),
            (
                lambda: store.list_results(ResultFilter(band="weak"), PageRequest(1, token)),
                "OTHER_LIST",
            ),
        ):
            with pytest.raises(InvalidInputError) as caught:
                call()
            assert caught.value.reason == f"PAGE_TOKEN_{reason}"
