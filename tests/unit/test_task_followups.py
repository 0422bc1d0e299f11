"""Follow-up suggestions: keys, suppression, modes."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.scoring.evidence import Group
from steelyard.scoring.followups import (
    Fate,
    OpenTask,
    PolicyMode,
    Priority,
    Suggestion,
    SuggestionState,
    SuppressedReason,
    policy_for_setting,
    recommend,
)
from steelyard.scoring.suggesting import (
    SuggestionContext,
    dedupe_key,
    mark_duplicates,
    normalise_key,
    suggest,
    suggestion_id,
)

DESCRIPTION = "The verification command fails now and then and causes reruns."


def draft(title: object = "Fix flaky verification", **changes: object) -> dict[str, object]:
    return {
        "title": title,
        "description": DESCRIPTION,
        "reason": "because",
        "evidenceRefs": ["workflow-1"],
    } | changes


def decide(
    *drafts: object,
    open_tasks: tuple[OpenTask, ...] = (),
    mode: PolicyMode = PolicyMode.PERSIST_ONLY,
    band: str = "weak",
    score: int = 50,
) -> tuple[Suggestion, ...]:
    context = SuggestionContext(
        parent_task_id="FN-1",
        run_id="ER-1",
        overall_score=score,
        overall_band=band,
        mode=mode,
        sources={"workflow-1": Group.WORKFLOW, "commit-abc1234": Group.COMMITS},
        open_tasks=open_tasks,
    )
    return suggest([(f"drafts[{index}]", value) for index, value in enumerate(drafts)], context)


def reason_of(value: object, **more: Any) -> SuppressedReason | None:
    return decide(value, **more)[0].fate.suppressed_reason


def test_titles_of_all_scripts_keep_distinct_keys() -> None:
    titles = [
        "修复登录流程",
        "修复登出流程",
        "更新部署文档",
        "Починить вход",
        "Починить выход",
        "Élan réparé",
        "Elan repare",
        "Élan répare",
        "लॉगिन ठीक करें",
        "लॉगिन ठीक करो",
        "ログインを直す",
        "ロクインを直す",
        "إصلاح تسجيل الدخول",
        "Διόρθωση",
        "แก้ไข",
        "แก้ไข่",
    ]
    suggestions = decide(*(draft(title) for title in titles))
    assert all(suggestion.fate.state is SuggestionState.SUGGESTED for suggestion in suggestions)
    assert len({suggestion.dedupe_key for suggestion in suggestions}) == len(titles)
    assert len({suggestion.suggestion_id for suggestion in suggestions}) == len(titles)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Fix  flaky—verification!", "fix flaky verification"),
        ("\uff26\uff29\uff38 \ufb02aky", "fix flaky"),
        ("e\u0301clair", "éclair"),
        ("STRASSE", "straße"),
        ("a_b.c", "A B C"),
        ("\u200bFix\u00a0it\u200b", "fix it"),
    ],
)
def test_spellings_of_one_title(one: str, other: str) -> None:
    assert normalise_key(one) == normalise_key(other)
    assert dedupe_key("FN-1", one, DESCRIPTION) == dedupe_key("FN-1", other, DESCRIPTION)


def test_the_boundaries_of_a_key_cannot_blur() -> None:
    keys = {
        dedupe_key("FN-1", "a b", "c"),
        dedupe_key("FN-1", "a", "b c"),
        dedupe_key("FN-1 a", "b", "c"),
        dedupe_key("FN-1", "a", "b, 1 c"),
        dedupe_key("FN-1", "1 a 1 b", ""),
    }
    assert len(keys) == 5


def test_a_key_is_bounded_whatever_normalisation_does() -> None:
    key = dedupe_key("FN-1", "\ufdfa" * 300, "\ufdfa" * 4_000)
    assert len(key) < 8_100


def test_the_id_is_made_of_the_key() -> None:
    suggestion = decide(draft())[0]
    assert suggestion.dedupe_key == (
        "4:fn 1,22:fix flaky verification,"
        "61:the verification command fails now and then and causes reruns,"
    )
    # printf %s "$key" | sha256sum
    assert suggestion.suggestion_id == suggestion_id(suggestion.dedupe_key)
    assert suggestion_id("") == "efs-e3b0c44298fc1c149afbf4c8996fb924"


@pytest.mark.parametrize(
    "title",
    [
        "",
        " ",
        "\u200b",
        "???",
        "🔥️",
        "Follow-up",
        "follow - up",
        "FOLLOWUP!",
        "TODO",
        "fix: issue",
        "Improve task.",
        "investigate…",
    ],
)
def test_empty_and_generic_titles(title: str) -> None:
    assert reason_of(draft(title)) is SuppressedReason.EMPTY_OR_GENERIC


@pytest.mark.parametrize("title", ["investigate this", "Fix issue 7", "Todo list is lost"])
def test_titles_that_only_start_like_generic_ones(title: str) -> None:
    assert reason_of(draft(title)) is None


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ("x" * 19, SuppressedReason.EMPTY_OR_GENERIC),
        ("x" * 20, None),
        (" " + "x" * 19 + "\u200b", SuppressedReason.EMPTY_OR_GENERIC),
        ("😀" * 10, None),
        ("😀" * 9 + "x", SuppressedReason.EMPTY_OR_GENERIC),
        (" " * 30, SuppressedReason.EMPTY_OR_GENERIC),
    ],
)
def test_short_descriptions(description: str, reason: SuppressedReason | None) -> None:
    assert reason_of(draft(description=description)) is reason


@pytest.mark.parametrize(
    "changes",
    [
        {"reason": ""},
        {"reason": " \u00a0"},
        {"reason": None},
        {"evidenceRefs": []},
        {"evidenceRefs": None},
        {"evidenceRefs": [""]},
        {"evidenceRefs": ["workflow-2"]},
        {"evidenceRefs": "workflow-1"},
        {"evidenceRefs": [None, 1, {}]},
    ],
)
def test_insufficient_signal(changes: dict[str, object]) -> None:
    assert reason_of(draft(**changes)) is SuppressedReason.INSUFFICIENT_SIGNAL


def test_unknown_references_count_for_nothing_and_are_named() -> None:
    refs = ["nope-1", "workflow-1", {"evidenceId": "commit-abc1234"}, "workflow-1"]
    suggestion = decide(draft(evidenceRefs=refs))[0]
    assert [(ref.evidence_id, ref.source) for ref in suggestion.evidence_refs] == [
        ("workflow-1", Group.WORKFLOW),
        ("commit-abc1234", Group.COMMITS),
    ]
    assert [(ref.path, ref.evidence_id) for ref in suggestion.unknown_refs] == [
        ("drafts[0].evidenceRefs[0]", "nope-1")
    ]
    assert suggestion.fate.state is SuggestionState.SUGGESTED


@pytest.mark.parametrize("title", ["", "   ", "???", "🔥", "\u200b"])
def test_an_open_task_without_a_usable_title_suppresses_nothing(title: str) -> None:
    tasks = (OpenTask("T-1", title),)
    assert reason_of(draft(), open_tasks=tasks) is None


@pytest.mark.parametrize(
    ("open_title", "title", "matches"),
    [
        ("Fix flaky verification", "Fix flaky verification", True),
        ("FIX: flaky   verification!", "Fix flaky verification", True),
        ("Urgent: fix flaky verification in CI", "Fix flaky verification", True),
        ("Fix", "Remove deprecated prefix option", False),
        ("Fix", "Fix flaky verification", False),
        ("Remove prefix option", "fix option", False),
        ("Fix the flaky verification", "Fix flaky verification", False),
        ("flaky", "Fix flaky verification", False),
        ("修复登录流程", "修复登录流程", True),
        ("修复登录流程", "修复登录", False),
    ],
)
def test_open_tasks_match_by_whole_words(open_title: str, title: str, matches: bool) -> None:
    suggestion = decide(draft(title), open_tasks=(OpenTask("T-1", open_title),))[0]
    if matches:
        assert suggestion.fate == Fate(
            SuggestionState.SUPPRESSED,
            SuppressedReason.DUPLICATE_OPEN_TASK,
            matched_task_id="T-1",
        )
    else:
        assert suggestion.fate == Fate(SuggestionState.SUGGESTED)


@pytest.mark.parametrize(
    ("column", "is_open"),
    [("", True), ("triage", True), ("doing", True), ("done", False), ("Archived", False)],
)
def test_only_open_tasks_suppress(column: str, is_open: bool) -> None:
    tasks = (OpenTask("T-1", "Fix flaky verification", column),)
    reason = reason_of(draft(), open_tasks=tasks)
    assert reason is (SuppressedReason.DUPLICATE_OPEN_TASK if is_open else None)


def test_the_first_open_task_is_named() -> None:
    tasks = (
        OpenTask("T-0", "Other"),
        OpenTask("T-2", "Fix flaky verification now"),
        OpenTask("T-1", "Fix flaky verification"),
    )
    assert decide(draft(), open_tasks=tasks)[0].fate.matched_task_id == "T-2"


def test_duplicates_inside_one_batch() -> None:
    first, second, third = decide(draft(), draft(" FIX flaky verification "), draft("Other thing"))
    assert first.fate.state is SuggestionState.SUGGESTED
    assert second.fate.suppressed_reason is SuppressedReason.DUPLICATE_PRIOR_SUGGESTION
    assert second.fate.matched_suggestion_id == first.suggestion_id
    assert third.fate.state is SuggestionState.SUGGESTED


def test_a_suppressed_one_in_the_batch_does_not_block_its_better_copy() -> None:
    first, second = decide(draft(evidenceRefs=[]), draft())
    assert first.suggestion_id == second.suggestion_id
    assert first.fate.suppressed_reason is SuppressedReason.INSUFFICIENT_SIGNAL
    assert second.fate.state is SuggestionState.SUGGESTED


def test_a_suppressed_finding_returns_with_evidence() -> None:
    earlier = decide(draft(reason=""))[0]
    active = {
        suggestion.suggestion_id
        for suggestion in (earlier,)
        if suggestion.fate.state is not SuggestionState.SUPPRESSED
    }
    returned = mark_duplicates(decide(draft()), active)[0]
    assert returned.suggestion_id == earlier.suggestion_id
    assert returned.fate.state is SuggestionState.SUGGESTED


def test_an_active_suggestion_blocks_its_repetition() -> None:
    fresh = decide(draft(), draft("Other thing"), draft(evidenceRefs=[]))
    marked = mark_duplicates(fresh, {fresh[0].suggestion_id})
    assert [suggestion.fate.suppressed_reason for suggestion in marked] == [
        SuppressedReason.DUPLICATE_PRIOR_SUGGESTION,
        None,
        # The earlier reason in the order wins.
        SuppressedReason.INSUFFICIENT_SIGNAL,
    ]
    filtered = decide(draft(), mode=PolicyMode.AUTO_CREATE_QUALIFIED, band="strong", score=80)
    assert filtered[0].fate.suppressed_reason is SuppressedReason.POLICY_FILTERED
    marked = mark_duplicates(filtered, {filtered[0].suggestion_id})
    assert marked[0].fate.suppressed_reason is SuppressedReason.DUPLICATE_PRIOR_SUGGESTION


def test_a_malformed_draft_beside_a_good_one() -> None:
    malformed: list[object] = [
        None,
        1,
        "x",
        [],
        {},
        {"title": "A title"},
        draft(None),
        draft(7),
        draft(description=["x"] * 30),
        draft(title={"a": 1}),
    ]
    suggestions = decide(*malformed, draft())
    assert len(suggestions) == len(malformed) + 1
    for suggestion in suggestions[:-1]:
        assert suggestion.fate.state is SuggestionState.SUPPRESSED
        assert suggestion.fate.suppressed_reason is SuppressedReason.EMPTY_OR_GENERIC
        assert recommend(suggestion).reason
    assert recommend(suggestions[0]).reason.startswith("The draft is not an object.")
    assert recommend(suggestions[7]).reason.startswith("title is not a string.")
    assert suggestions[-1].fate.state is SuggestionState.SUGGESTED


@pytest.mark.parametrize(
    ("band", "score", "priority"),
    [
        ("failing", 10, Priority.URGENT),
        ("weak", 50, Priority.HIGH),
        ("acceptable", 70, Priority.NORMAL),
        ("strong", 80, Priority.LOW),
        ("excellent", 95, Priority.LOW),
        # Bands of a policy's own are read by the score.
        ("red", 39, Priority.URGENT),
        ("amber", 59, Priority.HIGH),
        ("amber", 74, Priority.NORMAL),
        ("green", 75, Priority.LOW),
    ],
)
def test_severity_and_priority(band: str, score: int, priority: Priority) -> None:
    suggestion = decide(draft(), band=band, score=score)[0]
    assert (suggestion.severity, suggestion.priority) == (band, priority)


@pytest.mark.parametrize(
    ("mode", "band", "state", "creates"),
    [
        (PolicyMode.PERSIST_ONLY, "failing", SuggestionState.SUGGESTED, False),
        (PolicyMode.PERSIST_ONLY, "strong", SuggestionState.SUGGESTED, False),
        (PolicyMode.AUTO_CREATE_QUALIFIED, "failing", SuggestionState.SUGGESTED, True),
        (PolicyMode.AUTO_CREATE_QUALIFIED, "weak", SuggestionState.SUGGESTED, True),
        (PolicyMode.AUTO_CREATE_QUALIFIED, "acceptable", SuggestionState.SUPPRESSED, False),
        (PolicyMode.CREATE_ALL_NON_DUPLICATES, "excellent", SuggestionState.SUGGESTED, True),
    ],
)
def test_modes(mode: PolicyMode, band: str, state: SuggestionState, creates: bool) -> None:
    suggestion = decide(draft(), mode=mode, band=band)[0]
    assert suggestion.fate.state is state
    advice = recommend(suggestion)
    assert (advice.should_create, advice.policy_qualified) == (creates, creates)
    assert advice.reason.endswith(".")


def test_project_settings() -> None:
    settings = {name: policy_for_setting(name) for name in ("off", "suggest", "create")}
    assert {
        name: (policy.mode.value, policy.keeps_suggestions) for name, policy in settings.items()
    } == {
        "off": ("persist_only", False),
        "suggest": ("persist_only", True),
        "create": ("auto_create_qualified", True),
    }


def test_texts_of_a_suggestion_are_storable_and_bounded() -> None:
    suggestion = decide(
        draft("t\x00" + "x" * 400, description="\ud800" + "d" * 5_000, reason="r" * 5_000)
    )[0]
    assert suggestion.title == "t\ufffd" + "x" * 285 + "… [truncated]"
    assert suggestion.description == "\ufffd" + "d" * 3_986 + "… [truncated]"
    assert len(suggestion.rationale) == 4_000


def test_a_million_suggestions_have_a_million_ids() -> None:
    # The fast form: keys as `dedupe_key` builds them, of titles that only differ in a number.
    made = {
        suggestion_id(f"4:fn 1,{len(title)}:{title},11:description,")
        for title in (f"add retry budget {number}" for number in range(1_000_000))
    }
    assert len(made) == 1_000_000
    title = "add retry budget 7"
    assert dedupe_key("FN-1", title, "description") == f"4:fn 1,18:{title},11:description,"
