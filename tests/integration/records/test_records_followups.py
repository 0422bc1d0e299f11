"""Follow-ups, the built-in board and the outbox."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from steelyard.errors import InvalidInputError, NotFoundError, PreconditionError
from steelyard.records.board import BOARDS
from steelyard.records.followups import FollowUpAction, FollowUpChange
from steelyard.records.model import FollowUpFilter, FollowUpRecord, PageRequest
from steelyard.records.store import Store
from steelyard.scoring.followups import PolicyMode, SuggestionState, SuppressedReason
from tests.support.evaluations import Clock, evaluation

TITLE = "Fix the retry loop"
ACCEPT, DISMISS = FollowUpAction.ACCEPT, FollowUpAction.DISMISS


def _all(store: Store) -> tuple[FollowUpRecord, ...]:
    return store.list_follow_ups(FollowUpFilter(), PageRequest()).items


def _suggested(store: Store, task_id: str = "t") -> FollowUpRecord:
    given = evaluation(task_id, drafts=[TITLE], mode=PolicyMode.PERSIST_ONLY)
    store.save_evaluation(given, "")
    found = _all(store)[0]
    assert found.suggestion.fate.state is SuggestionState.SUGGESTED
    return found


def test_a_created_follow_up_is_a_task_of_the_board(store: Store) -> None:
    saved = store.save_evaluation(evaluation("t", drafts=[TITLE]), "")
    (fate,) = saved.fates
    assert fate.state is SuggestionState.CREATED
    (task,) = store.list_board_tasks(PageRequest()).items
    assert task.task_id == fate.created_task_id
    assert task.column == "triage"
    assert task.title == TITLE
    assert task.source_parent_task_id == "t"
    (record,) = _all(store)
    assert task.source_metadata == {
        "type": "eval_follow_up",
        "runId": saved.run_id,
        "suggestionId": record.suggestion.suggestion_id,
        "policyMode": "create_all_non_duplicates",
        "dedupeKey": record.suggestion.dedupe_key,
    }
    for part in ("## Problem", "## Expected outcome", "acceptable", "It was seen", "workflow-2"):
        assert part in task.body


def test_the_store_knows_duplicates_of_earlier_runs(store: Store) -> None:
    store.save_evaluation(evaluation("t", drafts=[TITLE]), "")
    saved = store.save_evaluation(evaluation("t", drafts=[TITLE, "Rotate the signing keys"]), "")
    assert [fate.state for fate in saved.fates] == [
        SuggestionState.SUPPRESSED,
        SuggestionState.CREATED,
    ]
    assert saved.fates[0].suppressed_reason is SuppressedReason.DUPLICATE_PRIOR_SUGGESTION
    assert saved.fates[0].matched_suggestion_id
    assert len(store.list_board_tasks(PageRequest()).items) == 2
    ids = [each.suggestion.suggestion_id for each in _all(store)]
    assert store.active_suggestions([*ids, "efs-none"]) == set(ids)


def test_two_servers_at_once_create_one_task(url: str) -> None:
    with Store(url) as one, Store(url) as other, ThreadPoolExecutor(8) as pool:

        def save(index: int) -> list[SuggestionState]:
            drafts = [f"{TITLE} {index // 8}"]
            saved = (one, other)[index % 2].save_evaluation(evaluation("t", drafts=drafts), "")
            return [fate.state for fate in saved.fates]

        states = [state for fates in pool.map(save, range(80)) for state in fates]
        assert states.count(SuggestionState.CREATED) == 10
        assert states.count(SuggestionState.SUPPRESSED) == 70
        tasks = one.list_board_tasks(PageRequest()).items
        assert len(tasks) == len({task.title for task in tasks}) == 10


def test_a_replay_creates_nothing_twice(store: Store) -> None:
    first = store.save_evaluation(evaluation("t", drafts=[TITLE]), "key")
    again = store.save_evaluation(evaluation("t", drafts=[TITLE]), "key")
    assert again.fates == first.fates
    assert len(store.list_board_tasks(PageRequest()).items) == 1
    assert len(_all(store)) == 1


def test_accepting_makes_a_task_once(store: Store) -> None:
    record = _suggested(store)
    accepted = store.change_follow_up(FollowUpChange(record.number, ACCEPT, note="yes"))
    assert accepted.suggestion.fate.state is SuggestionState.CREATED
    assert accepted.note == "yes"
    again = store.change_follow_up(FollowUpChange(record.number, ACCEPT))
    assert again == accepted
    (task,) = store.list_board_tasks(PageRequest()).items
    assert accepted.suggestion.fate.created_task_id == task.task_id
    with pytest.raises(PreconditionError) as caught:
        store.change_follow_up(FollowUpChange(record.number, DISMISS))
    assert caught.value.reason == "FOLLOW_UP_DECIDED"


def test_accepting_can_name_a_task_made_by_hand(store: Store) -> None:
    record = _suggested(store)
    change = FollowUpChange(record.number, ACCEPT, "JIRA-7")
    assert store.change_follow_up(change).suggestion.fate.created_task_id == "JIRA-7"
    assert store.change_follow_up(change).suggestion.fate.created_task_id == "JIRA-7"
    with pytest.raises(PreconditionError):
        store.change_follow_up(FollowUpChange(record.number, ACCEPT, "JIRA-8"))
    assert store.list_board_tasks(PageRequest()).items == ()


def test_a_dismissed_suggestion_can_be_made_again_or_accepted_later(store: Store) -> None:
    record = _suggested(store)
    dismissed = store.change_follow_up(FollowUpChange(record.number, DISMISS, note="noise"))
    assert dismissed.suggestion.fate.state is SuggestionState.SUPPRESSED
    assert store.change_follow_up(FollowUpChange(record.number, DISMISS)) == dismissed
    second = _suggested(store)
    assert second.suggestion.suggestion_id == record.suggestion.suggestion_id
    with pytest.raises(PreconditionError) as caught:
        store.change_follow_up(FollowUpChange(record.number, ACCEPT))
    assert caught.value.reason == "FOLLOW_UP_ACTIVE"
    store.change_follow_up(FollowUpChange(second.number, DISMISS))
    accepted = store.change_follow_up(FollowUpChange(record.number, ACCEPT))
    assert accepted.suggestion.fate.state is SuggestionState.CREATED


def test_changes_name_a_stored_follow_up(store: Store) -> None:
    with pytest.raises(NotFoundError):
        store.change_follow_up(FollowUpChange(1, ACCEPT))
    record = _suggested(store)
    with pytest.raises(InvalidInputError) as caught:
        store.change_follow_up(FollowUpChange(record.number, ACCEPT, "a\nb"))
    assert caught.value.violations[0].path == "task_id"


def test_follow_ups_are_listed_newest_first_with_filters(store: Store) -> None:
    for task in ("a", "b"):
        saved = store.save_evaluation(
            evaluation(task, drafts=[TITLE, "Rotate the signing keys", TITLE]), ""
        )
    listed = _all(store)
    assert [each.suggestion.parent_task_id for each in listed] == ["b"] * 3 + ["a"] * 3
    assert [each.suggestion.title for each in listed[:3]] == [
        TITLE,
        "Rotate the signing keys",
        TITLE,
    ]
    for where, count in (
        (FollowUpFilter(task_id="a"), 3),
        (FollowUpFilter(run_id=saved.run_id), 3),
        (FollowUpFilter(state=SuggestionState.CREATED), 4),
        (FollowUpFilter(task_id="a", state=SuggestionState.SUPPRESSED), 1),
    ):
        assert len(store.list_follow_ups(where, PageRequest()).items) == count


def test_the_outbox_gives_each_item_to_one_drainer_until_it_is_acknowledged(url: str) -> None:
    clock = Clock()
    outbox = BOARDS["outbox"]
    with (
        Store(url, task_board=outbox, clock=clock) as store,
        Store(url, task_board=outbox, clock=clock) as other,
    ):
        for index in range(6):
            store.save_evaluation(evaluation(f"t-{index}", drafts=[TITLE]), "")
        assert {each.suggestion.fate.state for each in _all(store)} == {SuggestionState.SUGGESTED}
        with ThreadPoolExecutor(2) as pool:
            drained = pool.map(lambda each: each.drain_outbox(3, 60), (store, other))
            items = [item for batch in drained for item in batch]
        assert len({item.number for item in items}) == 6
        assert store.drain_outbox() == []
        store.acknowledge(items[0].number, "JIRA-1")
        store.acknowledge(items[0].number, "JIRA-1")
        with pytest.raises(PreconditionError) as caught:
            store.acknowledge(items[0].number, "JIRA-2")
        assert caught.value.reason == "ALREADY_ACKNOWLEDGED"
        created = store.list_follow_ups(
            FollowUpFilter(state=SuggestionState.CREATED), PageRequest()
        ).items
        assert [each.suggestion.fate.created_task_id for each in created] == ["JIRA-1"]
        assert created[0].suggestion.suggestion_id == items[0].suggestion_id
        clock.forward(seconds=60)
        again = store.drain_outbox()
        assert {item.number for item in again} == {item.number for item in items[1:]}
        assert {item.attempts for item in again} == {2}
        assert store.list_board_tasks(PageRequest()).items == ()


def test_a_queued_follow_up_is_left_to_its_board(url: str) -> None:
    with Store(url, task_board=BOARDS["outbox"]) as store:
        record = _suggested(store)
        queued = store.change_follow_up(FollowUpChange(record.number, ACCEPT))
        assert queued.suggestion.fate.state is SuggestionState.SUGGESTED
        assert store.change_follow_up(FollowUpChange(record.number, ACCEPT)) == queued
        for change in (
            FollowUpChange(record.number, DISMISS),
            FollowUpChange(record.number, ACCEPT, "BY-HAND"),
        ):
            with pytest.raises(PreconditionError) as caught:
                store.change_follow_up(change)
            assert caught.value.reason == "FOLLOW_UP_QUEUED"
        (item,) = store.drain_outbox()
        store.acknowledge(item.number, "JIRA-1")
        assert _all(store)[0].suggestion.fate.created_task_id == "JIRA-1"
        with pytest.raises(NotFoundError):
            store.acknowledge(7, "JIRA-1")
