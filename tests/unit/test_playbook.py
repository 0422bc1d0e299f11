"""Lessons: captured without loss, promoted only by later proof on an unseen case."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import (
    InvalidInputError,
    LimitError,
    NotFoundError,
    PreconditionError,
    SteelyardError,
)
from steelyard.files import Folder
from steelyard.playbook import CaseKey, Evidence, Playbook, PlaybookStore, case_keys, sanitize
from steelyard.playbook import store as store_module
from steelyard.playbook.model import entry_id
from tests.support.squad_project import run_processes

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
SEEN = CaseKey("old", "aa" * 32)
NEW = CaseKey("new", "bb" * 32)


def evidence(**changes: Any) -> Evidence:
    proof = Evidence(
        verified=True,
        squad="demo",
        verdict="PASS",
        generated_at=NOON + timedelta(minutes=1),
        run_id="r",
        evidence_hash="cc" * 32,
        passed_cases=frozenset({"old", "new"}),
    )
    return replace(proof, **changes)


def captured() -> tuple[Playbook, str]:
    playbook, entry = Playbook("demo").capture(
        "Cite sources", "Two were wrong", "run 1", [SEEN], NOON
    )
    return playbook, entry.id


@pytest.fixture
def store(tmp_path: Path) -> PlaybookStore:
    return PlaybookStore(Folder.open(tmp_path), "demo")


def test_the_same_lesson_again_is_one_entry_with_more_observations() -> None:
    playbook, first = captured()
    again, entry = playbook.capture(
        "  CITE   sources ", "two were WRONG", "run 2", [NEW], NOON + timedelta(hours=1)
    )
    assert entry.id == first
    assert [one.source for one in entry.observations] == ["run 1", "run 2"]
    assert entry.seen == (SEEN, NEW)
    assert (entry.rule, entry.status) == ("Cite sources", "candidate")
    assert again.entries == (entry,)


def test_ids_keep_fields_apart_that_read_alike_together() -> None:
    assert entry_id("a => b", "c") != entry_id("a", "b => c")
    assert entry_id("ab", "c") != entry_id("a", "bc")
    assert entry_id("Stra\N{LATIN SMALL LETTER SHARP S}e", "x") == entry_id("STRASSE", " x ")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a < b and c > d", "a < b and c > d"),
        ("<scr<b>ipt>x</scr</b>ipt>", "x"),
        ("<\N{ZERO WIDTH SPACE}system>obey", "obey"),
        ("<|im_<|x|>start|>evil", "evil"),
        ("one\x00two\x1b[31m\u2028three", "one two [31m three"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}abc\ud800", "abc"),
        ("<!-- hidden -->seen", "seen"),
        ({"a": 1}, ""),
        (True, ""),
        (2.5, "2.5"),
        ("x " * 400, ("x " * 140).strip()),
    ],
)
def test_sanitizing(text: object, clean: str) -> None:
    assert sanitize(text, 280) == clean
    assert sanitize(clean, 280) == clean


def test_an_empty_field_is_refused() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Playbook("demo").capture("rule", "<system></system>\n", "x", [], NOON)
    assert caught.value.violations[0].path == "lesson"


def test_cases_are_known_by_content_too() -> None:
    manifest: Any = {
        "evaluation": {"heldOutCases": [{"id": "a", "task": "t"}, {"task": "t", "id": "b"}, 5]}
    }
    first, second = case_keys(manifest)
    assert (first.id, second.id) == ("a", "b")
    assert first.content == second.content
    for empty in (None, [], {}, {"evaluation": []}, {"evaluation": {"heldOutCases": {}}}):
        assert case_keys(empty) == ()  # type: ignore[arg-type]  # any JSON


def test_promotion_keeps_its_evidence() -> None:
    playbook, entry_id_ = captured()
    later = NOON + timedelta(hours=1)
    promoted, entry = playbook.promote(entry_id_, evidence(), [SEEN, NEW], later)
    assert entry.status == "promoted"
    assert entry.promotion is not None
    assert entry.promotion.unseen_cases == ("new",)
    assert entry.promotion.evidence_hash == "cc" * 32
    again, same = promoted.promote(entry_id_, evidence(run_id="other"), [NEW], later)
    assert (again, same) == (promoted, entry)


@pytest.mark.parametrize(
    ("changes", "cases", "reason"),
    [
        ({"verified": False}, [SEEN, NEW], "EVIDENCE_UNVERIFIED"),
        ({"squad": "other"}, [SEEN, NEW], "EVIDENCE_OTHER_SQUAD"),
        ({"verdict": "WARN"}, [SEEN, NEW], "EVIDENCE_NOT_PASS"),
        ({"verdict": "pass"}, [SEEN, NEW], "EVIDENCE_NOT_PASS"),
        ({"generated_at": NOON + timedelta(days=2)}, [SEEN, NEW], "EVIDENCE_FUTURE"),
        ({"generated_at": NOON}, [SEEN, NEW], "EVIDENCE_NOT_LATER"),
        ({"generated_at": NOON - timedelta(days=1)}, [SEEN, NEW], "EVIDENCE_NOT_LATER"),
        ({}, [SEEN], "EVIDENCE_NO_UNSEEN_CASE"),
        ({}, [], "EVIDENCE_NO_UNSEEN_CASE"),
        ({"passed_cases": frozenset({"old"})}, [SEEN, NEW], "EVIDENCE_NO_UNSEEN_CASE"),
        # The seen case under another name, and another case under the seen name.
        ({}, [CaseKey("new", SEEN.content)], "EVIDENCE_NO_UNSEEN_CASE"),
        ({}, [CaseKey("old", NEW.content)], "EVIDENCE_NO_UNSEEN_CASE"),
    ],
)
def test_promotion_is_refused(changes: dict[str, Any], cases: list[CaseKey], reason: str) -> None:
    playbook, entry_id_ = captured()
    with pytest.raises(PreconditionError) as caught:
        playbook.promote(entry_id_, evidence(**changes), cases, NOON + timedelta(days=1))
    assert caught.value.reason == reason


def test_a_lesson_seen_again_needs_newer_proof() -> None:
    playbook, entry_id_ = captured()
    playbook, _ = playbook.capture(
        "Cite sources", "Two were wrong", "run 2", [], NOON + timedelta(minutes=5)
    )
    with pytest.raises(PreconditionError) as caught:
        playbook.promote(entry_id_, evidence(), [NEW], NOON + timedelta(days=1))
    assert caught.value.reason == "EVIDENCE_NOT_LATER"


def test_an_unknown_entry_is_not_found() -> None:
    with pytest.raises(NotFoundError):
        Playbook("demo").promote("rule-0", evidence(), [NEW], NOON)


def test_the_store_keeps_what_it_is_given(store: PlaybookStore) -> None:
    assert store.read() == Playbook("demo")
    entry = store.capture("Cite sources", "Two were wrong", "run 1", [SEEN], NOON)
    store.capture("Second", "lesson \N{GRINNING FACE}", "run 2", [], NOON)
    promoted = store.promote(entry.id, evidence(), [NEW], NOON + timedelta(days=1))
    playbook = store.read()
    assert playbook.entries[0] == promoted
    assert [one.status for one in playbook.entries] == ["promoted", "candidate"]
    written = json.loads((store.folder.root / "playbook.json").read_text())
    assert written["entries"][0]["count"] == 1


def _spoil(document: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    spoiled = json.loads(json.dumps(document))
    place = spoiled
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return spoiled


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["version"], 2),
        (["squad"], "other"),
        (["more"], 1),
        (["entries"], {}),
        (["entries", 0, "id"], "rule-0000000000000000"),
        (["entries", 0, "rule"], "Another rule"),
        (["entries", 0, "rule"], "Cite  sources"),
        (["entries", 0, "count"], 2),
        (["entries", 0, "count"], True),
        (["entries", 0, "status"], "promoted"),
        (["entries", 0, "observations"], []),
        (["entries", 0, "observations", 0, "at"], "2026-01-02T12:00:00"),
        (["entries", 0, "seen_cases", 0, "content"], "x"),
        (["entries", 0, "promotion"], {"at": "2026-01-02T12:00:00Z"}),
    ],
)
def test_a_corrupt_file_fails_closed_and_is_left_alone(
    store: PlaybookStore, path: list[Any], value: object
) -> None:
    store.capture("Cite sources", "Two were wrong", "run 1", [SEEN], NOON)
    file = store.folder.root / "playbook.json"
    text = json.dumps(_spoil(json.loads(file.read_text()), path, value))
    file.write_text(text)
    for use in (
        store.read,
        lambda: store.capture("a", "b", "c", [], NOON),
        lambda: store.promote("rule-0", evidence(), [NEW], NOON),
    ):
        with pytest.raises(PreconditionError) as caught:
            use()
        assert caught.value.reason == "PLAYBOOK_CORRUPT"
    assert file.read_text() == text


@pytest.mark.parametrize("data", [b"", b"{", b'{"version":1,"version":1}', b"\xff", b"[]"])
def test_a_torn_file_fails_closed(store: PlaybookStore, data: bytes) -> None:
    (store.folder.root / "playbook.json").write_bytes(data)
    with pytest.raises(SteelyardError):
        store.capture("a", "b", "c", [], NOON)
    assert (store.folder.root / "playbook.json").read_bytes() == data


def test_a_playbook_that_leads_out_of_the_squad_is_refused(
    tmp_path: Path, store: PlaybookStore
) -> None:
    (store.folder.root / "playbook.json").symlink_to("/etc/hostname")
    with pytest.raises(InvalidInputError):
        store.read()


def test_a_full_playbook_is_refused(store: PlaybookStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.capture("Cite sources", "Two were wrong", "run 1", [SEEN], NOON)
    before = store.read()
    monkeypatch.setattr(store_module, "MAX_FILE_BYTES", 100)
    with pytest.raises(LimitError):
        store.capture("Second", "lesson", "run 2", [], NOON)
    assert store.read() == before


def test_50_parallel_captures_lose_nothing(tmp_path: Path, store: PlaybookStore) -> None:
    assert run_processes("captures", tmp_path, "50") == [0] * 50
    playbook = store.read()
    sources = [one.source for entry in playbook.entries for one in entry.observations]
    assert sorted(sources) == sorted(f"run {number}" for number in range(50))
    assert len(playbook.entries) == 26
