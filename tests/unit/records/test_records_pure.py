"""The parts of the records that need no database."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard._core import canonicalize
from steelyard.errors import InvalidInputError
from steelyard.gating.report import evidence_hash
from steelyard.records.document import dump, load, read_evaluation, stored_document
from steelyard.records.documents import (
    check_eval_result,
    check_gate_report,
    check_playbook_entry,
)
from steelyard.records.numbering import (
    NODES,
    NUMBERS_PER_DAY,
    Numbering,
    micros_of,
    moment_of,
    number_at,
    number_to_moment,
)
from steelyard.records.paging import Pager
from steelyard.records.rows import TABLES
from steelyard.records.settings import ExperimentalFeatures, ScheduleSettings
from steelyard.scoring.evidence import Commit, Entry, Evidence, LogEntry, StepStatus, WorkflowStep
from steelyard.scoring.followups import Suggestion
from steelyard.scoring.task_evaluation import evaluate_task
from steelyard.scoring.task_types import AiScores, TaskEvaluationRequest
from steelyard.settings import load_settings
from tests.support.evaluations import CATEGORIES, Clock, draft, eval_result, evaluation

MOMENTS = st.datetimes(
    min_value=datetime(2020, 1, 1),  # hypothesis adds the zone
    max_value=datetime(2090, 1, 1),
    timezones=st.just(UTC),
)


@given(MOMENTS)
def test_numbers_tell_their_time(moment: datetime) -> None:
    assert moment_of(micros_of(moment)) == moment
    assert number_to_moment(number_at(moment)) == moment
    day = number_at(moment) // NUMBERS_PER_DAY
    assert number_to_moment(day * NUMBERS_PER_DAY).date() == moment.date()


def test_numbers_ascend_when_the_clock_steps_back() -> None:
    clock = Clock()
    numbering = Numbering(clock, 77)
    numbers = [numbering.next() for _ in range(10)]
    clock.forward(hours=-3)
    numbers += [numbering.next() for _ in range(10)]
    clock.forward(hours=6)
    numbers += [numbering.next() for _ in range(10)]
    assert numbers == sorted(set(numbers))
    assert {number % 4096 for number in numbers} == {77}
    assert max(numbers) < 2**63


def test_rows_have_the_columns_of_their_tables() -> None:
    for kind, table in TABLES.items():
        assert kind._fields == tuple(table.columns.keys())


def test_numbers_of_one_look_at_the_clock_ascend_with_all_others() -> None:
    clock = Clock()
    numbering = Numbering(clock, 4095)
    numbers = [numbering.next(), *numbering.many(500), numbering.next(), *numbering.many(3)]
    assert list(numbering.many(0)) == []
    numbers.append(numbering.next())
    assert numbers == sorted(set(numbers))
    assert {number % NODES for number in numbers} == {4095}
    assert len(numbers) == 506


def test_times_beyond_the_numbers_are_cut() -> None:
    assert number_at(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert number_at(datetime(9999, 1, 1, tzinfo=UTC)) == 2**63 - 1
    assert moment_of(2**63 - 1).year == 9999


TEXT = st.text(max_size=30)
LOGS = st.builds(LogEntry, label=TEXT, excerpt=TEXT, duration_ms=st.none() | st.integers(0, 9999))
STEPS = st.builds(WorkflowStep, status=st.sampled_from(StepStatus), excerpt=TEXT)
EVIDENCE = st.builds(
    Evidence,
    task_metadata=st.tuples(st.builds(Entry, label=TEXT)),
    commits=st.integers(0, 2).map(
        lambda count: tuple(Commit(sha=f"{n:07x}", subject="s") for n in range(count))
    ),
    workflow=st.lists(STEPS, min_size=1, max_size=3).map(tuple),
    agent_logs=st.lists(LOGS, max_size=3).map(tuple),
)
SCORES = st.integers(0, 100)


@given(
    evidence=st.none() | EVIDENCE,
    deterministic=st.lists(SCORES, min_size=3, max_size=3),
    ai=st.lists(SCORES | st.lists(SCORES, min_size=1, max_size=4), min_size=3, max_size=3),
    titles=st.lists(st.text(min_size=1, max_size=20), max_size=3),
)
def test_an_evaluation_comes_back_from_its_document(
    evidence: Evidence | None,
    deterministic: list[int],
    ai: list[int | list[int]],
    titles: list[str],
) -> None:
    made = evaluate_task(
        TaskEvaluationRequest(
            task_id="t",
            deterministic=dict(zip(CATEGORIES, deterministic, strict=True)),
            ai=AiScores(
                scores=dict(zip(CATEGORIES, ai, strict=True)),
                rationales=dict.fromkeys(CATEGORIES, "r"),
                citations={} if evidence is None else {CATEGORIES[0]: ["workflow-1"]},
            ),
            evidence=evidence,
            drafts=[draft(title) for title in titles],
        )
    )
    document = stored_document(made)
    assert canonicalize(document.content) == document.content
    found = read_evaluation(document.text.decode())
    assert found.bundle == made.bundle
    for name in ("categories", "provenance", "overall_score", "signals", "unknown_evidence"):
        assert getattr(found, name) == getattr(made, name)
    for suggestion in made.suggestions:
        assert load(Suggestion, json.loads(dump(suggestion))) == suggestion


def test_documents_have_the_names_of_the_contract_and_tolerate_later_fields() -> None:
    document = json.loads(stored_document(evaluation("t", score=12)).text)
    assert document["categories"][0]["deterministicScore"] == 12
    assert document["overallBand"] == "failing"
    assert set(document["bundle"]) >= {"taskMetadata", "commits", "workflow", "agentLogs"}
    document["fromTheFuture"] = {"x": 1}
    del document["overallRationale"]
    with pytest.raises(TypeError):
        read_evaluation(json.dumps(document))
    document["overallRationale"] = ""
    del document["bundle"]["agentLogs"]
    assert read_evaluation(json.dumps(document)).overall_score == 12


def test_documents_with_a_run_and_suggestions_of_their_own_are_read() -> None:
    made = replace(evaluation("t"), suggestions=())
    document = json.loads(stored_document(made).text)
    earlier = {"runId": "", "suggestions": []} | document
    assert read_evaluation(json.dumps(earlier)) == made


def test_the_content_of_a_document_is_the_same_whichever_build_made_it() -> None:
    made = evaluation("t")
    other = replace(made, provenance=replace(made.provenance, engine_digest="0" * 64))
    one, two = stored_document(made), stored_document(other)
    assert one.content == two.content
    assert one.text != two.text
    assert json.loads(two.text)["provenance"]["engineDigest"] == "0" * 64


def test_a_document_that_json_cannot_hold_is_refused_with_its_path() -> None:
    made = evaluation("t")
    for changed, reason, path in (
        (replace(made, overall_rationale="\ud800"), "LONE_SURROGATE", "$.overallRationale"),
        (replace(made, overall_score=2**60), "INTEGER_OUT_OF_RANGE", "$.overallScore"),
        (
            replace(made, categories=(replace(made.categories[0], rationale="\ud800"),)),
            "LONE_SURROGATE",
            "$.categories[0].rationale",
        ),
    ):
        with pytest.raises(InvalidInputError) as caught:
            stored_document(changed)
        assert caught.value.reason == reason
        assert caught.value.violations[0].path == path


def test_any_altered_page_token_is_refused() -> None:
    pager = Pager(b"k" * 32)
    token = pager._write(b"12345678", 99)
    assert pager._read(token, b"12345678") == 99
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    altered = [
        token[:place] + letter + token[place + 1 :]
        for place in range(len(token) - 1)
        for letter in letters
        if letter != token[place]
    ]
    altered += [token[:cut] for cut in range(1, len(token))]
    altered += ["", "é", "=", "A" * 1000, token + "AAAA"]
    for bad in altered:
        with pytest.raises(InvalidInputError) as caught:
            pager._read(bad, b"12345678")
        assert caught.value.reason == "PAGE_TOKEN_INVALID"
    with pytest.raises(InvalidInputError):
        Pager(b"j" * 32)._read(token, b"12345678")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"evalId": "eval-c-3"}, "document.evalId"),
        ({"iteration": 0}, "document.iteration"),
        ({"iteration": "2"}, "document.iteration"),
        ({"overallResult": "PASS"}, "document.overallResult"),
        ({"contractId": None}, "document.contractId"),
        ({"specId": 7}, "document.specId"),
        ({"criteriaResults": None}, "document.criteriaResults"),
    ],
)
def test_bad_eval_results_are_refused(change: dict[str, object], path: str) -> None:
    given = {**eval_result("c", 2), **change}
    with pytest.raises(InvalidInputError) as caught:
        check_eval_result(json.dumps(given))
    assert path in [each.path for each in caught.value.violations]


def test_an_eval_result_is_kept_as_it_came() -> None:
    text = json.dumps(eval_result("c", 2), indent=3)
    checked = check_eval_result(text)
    assert checked.document == text
    assert checked.columns == {
        "eval_id": "eval-c-2",
        "contract_id": "c",
        "spec_id": "s",
        "iteration": 2,
        "overall_result": "pass",
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "INVALID_JSON"),
        ("{", "INVALID_JSON"),
        ("[]", "NOT_AN_OBJECT"),
        ("1", "NOT_AN_OBJECT"),
        ('{"a":1,"a":2}', "DUPLICATE_KEY"),
        ('{"a":9007199254740993}', "INTEGER_OUT_OF_RANGE"),
        ("[" * 100 + "]" * 100, "TOO_DEEP"),
        ('{"a":NaN}', "INVALID_JSON"),
        ('{"a":"\ud800"}', "INVALID_UTF8"),
    ],
)
def test_documents_that_are_no_strict_json_objects_are_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_eval_result(text)
    assert [(each.path, each.reason) for each in caught.value.violations] == [("document", reason)]


def test_a_gate_report_is_kept_under_its_recomputed_hash() -> None:
    report: dict[str, Any] = {"squad": "alpha", "verdict": "PASS", "reproduction": {"run_id": "r"}}
    digest = evidence_hash(report)
    report["reproduction"]["evidence_hash"] = digest
    report["signature"] = {"any": "thing"}
    assert check_gate_report(json.dumps(report)).columns["report_id"] == digest
    for tampered in (
        {"verdict": "FAIL"},
        {"extra": 1},
        {"reproduction": {"run_id": "s", "evidence_hash": digest}},
        {"reproduction": {"run_id": "r", "evidence_hash": "0" * 64}},
        {"reproduction": None},
    ):
        with pytest.raises(InvalidInputError) as caught:
            check_gate_report(json.dumps({**report, **tampered}))
        assert caught.value.violations[0].path == "document.reproduction.evidence_hash"


def test_a_playbook_entry_has_a_known_status() -> None:
    entry = {"id": "rule-0123456789abcdef", "status": "candidate"}
    assert check_playbook_entry("s", json.dumps(entry)).columns["entry_id"] == entry["id"]
    with pytest.raises(InvalidInputError):
        check_playbook_entry("s", json.dumps({**entry, "status": "done"}))
    with pytest.raises(InvalidInputError):
        check_playbook_entry("", json.dumps(entry))


def test_settings_refuse_what_cannot_work() -> None:
    for flags, path in (
        ({"store": "mysql://x/y"}, "store"),
        ({"store": "sqlite://"}, "store"),
        ({"board": "jira"}, "board"),
        ({"schedule": {"cron": "* * *"}}, "schedule.cron"),
        ({"schedule": {"crn": "* * * * *"}}, "schedule.crn"),
        ({"experimental_features": {"evals_view": "perhaps"}}, "experimental_features.evals_view"),
    ):
        with pytest.raises(InvalidInputError) as caught:
            load_settings(flags)
        assert [each.path for each in caught.value.violations] == [path]
    for bad in ({"cron": "* * *"}, {"timezone": "Mars/Olympus"}, {"timezone": "../etc"}):
        with pytest.raises(ValidationError):
            ScheduleSettings(**bad)
    assert ScheduleSettings().parsed() is None
    cron = ScheduleSettings(cron="0 6 * * *", timezone="Asia/Tokyo").parsed()
    assert cron is not None
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert cron.next_after(now) == now + timedelta(hours=21)
    assert ExperimentalFeatures().evals_view is True


def test_settings_come_whole_from_variables_and_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STEELYARD_SCHEDULE__CRON", "0 6 * * 1-5")
    monkeypatch.setenv("STEELYARD_STORE", "/x/y.db")
    config = tmp_path / "steelyard.toml"
    config.write_text(
        "[experimental_features]\nevals_view = false\n[schedule]\ntimezone = 'Asia/Tokyo'\n"
    )
    settings = load_settings({}, config)
    assert settings.store == "/x/y.db"
    assert settings.schedule == ScheduleSettings(cron="0 6 * * 1-5", timezone="Asia/Tokyo")
    assert settings.experimental_features.evals_view is False
