"""The task evaluation contract against recorded inputs and outputs."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import InvalidInputError
from steelyard.scoring.ai_reply import parse_reply
from steelyard.scoring.evidence import (
    Commit,
    Entry,
    Evidence,
    Group,
    LogEntry,
    Review,
    StepStatus,
    WorkflowStep,
    bundle_document,
    normalise,
)
from steelyard.scoring.followups import (
    OpenTask,
    PolicyMode,
    SuggestionState,
    SuppressedReason,
    policy_for_setting,
    recommend,
)
from steelyard.scoring.policy import TASK_EVALUATION
from steelyard.scoring.signals import TaskSignals, score_signals, signals_from_evidence
from steelyard.scoring.suggesting import (
    SuggestionContext,
    dedupe_key,
    mark_duplicates,
    normalise_key,
    suggest,
    suggestion_id,
)
from steelyard.scoring.task import score_task
from steelyard.scoring.task_document import evaluation_document
from steelyard.scoring.task_evaluation import evaluate_task, require_rationales
from steelyard.scoring.task_types import (
    AiScores,
    Claim,
    RawReply,
    TaskEvaluation,
    TaskEvaluationRequest,
)

FILES = Path(__file__).parent.parent / "vectors"
VECTORS: dict[str, Any] = json.loads((FILES / "task_evaluation.json").read_text("utf-8"))
# What the contract overrides: entry -> rule, by section.
OVERRIDES: dict[str, Any] = json.loads((FILES / "task_evaluation_defects.json").read_text("utf-8"))
DEFECTS: dict[str, dict[str, str]] = OVERRIDES["entries"]
CATEGORIES = TASK_EVALUATION.categories


def named(section: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("entry", section, ids=lambda entry: entry["name"])


def by_name(section: dict[str, Any]) -> Any:
    return pytest.mark.parametrize(("name", "entry"), section.items(), ids=list(section))


# Deterministic signals


def grid() -> Iterator[TaskSignals]:
    for total in range(21):
        for passed in range(total + 1):
            for review in ("", "approved", "in-review"):
                for commits in range(9):
                    for errors in range(5):
                        for warnings in range(7):
                            for timing in range(2):
                                yield TaskSignals(
                                    workflow_total=total,
                                    workflow_passed=passed,
                                    commits=commits,
                                    errors=errors,
                                    warnings=warnings,
                                    review_status=review,
                                    timing_entries=timing,
                                )


def scores_of(signals: TaskSignals) -> list[int]:
    return list(score_signals(signals).by_category().values())


def test_deterministic_grid_digest() -> None:
    recorded = VECTORS["deterministic"]["grid"]
    scores = bytearray()
    best: dict[str, list[int]] = {}
    for signals in grid():
        row = scores_of(signals)
        scores += bytes(row)
        known = best.setdefault(signals.review_status, row)
        best[signals.review_status] = [max(pair) for pair in zip(known, row, strict=True)]
    assert len(scores) == recorded["bytes"]
    assert len(scores) // 3 == recorded["rows"]
    assert hashlib.sha256(scores).hexdigest() == recorded["sha256"]
    for entry in VECTORS["deterministic"]["max_by_review"]:
        assert best[entry["review"] or ""] == entry["max"]


def test_deterministic_rows() -> None:
    rows = VECTORS["deterministic"]["rows"]
    assert len(rows) > 200
    for row in rows:
        signals = TaskSignals(
            workflow_total=row["total"],
            workflow_passed=row["passed"],
            commits=row["commits"],
            errors=row["errors"],
            warnings=row["warnings"],
            review_status=row["review"] or "",
            timing_entries=row["timing"],
        )
        assert scores_of(signals) == row["scores"], row


def test_the_best_scores_without_a_review() -> None:
    facts = dict(zip(CATEGORIES, VECTORS["deterministic"]["max_by_review"][0]["max"], strict=True))
    score = score_task(facts, dict.fromkeys(CATEGORIES, 100))
    finals = [entry.final_score for entry in score.categories]
    assert finals == VECTORS["deterministic"]["max_final_no_review"]
    assert score.overall_score == VECTORS["deterministic"]["max_overall_no_review"]


@by_name(VECTORS["deterministic"]["signals"])
def test_recorded_counts_give_the_recorded_scores(name: str, entry: dict[str, Any]) -> None:
    assert scores_of(recorded_signals(entry)) == entry["scores"]


@by_name(VECTORS["deterministic"]["signals"])
def test_typed_evidence_gives_the_counts(name: str, entry: dict[str, Any]) -> None:
    counted = signals_from_evidence(typed_evidence(entry["task"]))
    if name in DEFECTS["signals"]:
        assert counted != recorded_signals(entry)
    else:
        assert counted == recorded_signals(entry)


def recorded_signals(entry: dict[str, Any]) -> TaskSignals:
    steps, logs = entry["workflowSummary"], entry["logSummary"]
    return TaskSignals(
        workflow_total=steps["total"],
        workflow_passed=steps["passed"],
        workflow_failed=steps["failed"],
        workflow_pending=steps["pending"],
        commits=entry["commitCount"],
        errors=logs["errorCount"],
        warnings=logs["warningCount"],
        review_status=entry["reviewStatus"] or "",
        timing_entries=logs["timingEntries"],
    )


def typed_evidence(task: dict[str, Any]) -> Evidence:
    """What a host that types its evidence says about a recorded task: log lines are informative."""
    merge = task.get("mergeDetails", {}).get("commitSha")
    logged = [entry["action"].removeprefix("committed ") for entry in task.get("log", [])]
    hashes = [text for text in logged if text.lower() == "abc1234"] + ([merge] if merge else [])
    return Evidence(
        workflow=tuple(
            WorkflowStep(status=StepStatus(step["status"]))
            for step in task.get("workflowStepResults", [])
        ),
        task_activity=tuple(
            LogEntry(label=entry["action"], excerpt=entry.get("outcome", ""))
            for entry in task.get("log", [])
        ),
        commits=tuple(Commit(sha=sha) for sha in hashes),
        reviews=(Review(status=task["status"]),) if "status" in task else (),
    )


# Evidence


def text_of(segments: list[tuple[str, int]]) -> str:
    return "".join(segment * times for segment, times in segments)


def utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


@named(VECTORS["evidence"]["cases"])
def test_excerpts(entry: dict[str, Any]) -> None:
    given = text_of(entry["input_segments"])
    assert len(utf16(given)) // 2 == entry["input_utf16_units"]
    bundle = normalise(Evidence(task_activity=(LogEntry(excerpt=given),)))
    result = bundle.evidence.task_activity[0]
    assert bool(result.excerpt) == entry["excerpt_present"]
    assert result.truncated == bool(entry["truncated"])
    if not entry["excerpt_present"]:
        return
    units = len(utf16(result.excerpt)) // 2
    digest = hashlib.sha256(utf16(result.excerpt)).hexdigest()
    if entry["name"] in DEFECTS["excerpts"]:
        assert digest != entry["output_utf16be_sha256"]
        assert units <= 500
        assert result.excerpt.endswith("… [truncated]")
        assert "\x00" not in result.excerpt
    else:
        assert entry["output_well_formed"]
        assert digest == entry["output_utf16be_sha256"]
        assert units == entry["output_utf16_units"]


@named(VECTORS["evidence"]["subject"])
def test_commit_subjects(entry: dict[str, Any]) -> None:
    subjects = {
        "159": "s" * 159,
        "160": "s" * 160,
        "161": "s" * 161,
        "emoji split at 160": "s" * 159 + "😀",
        "emoji at 158-159": "s" * 158 + "😀s",
    }
    subject = subjects[entry["name"]]
    assert len(utf16(subject)) // 2 == entry["in_units"]
    bundle = normalise(Evidence(commits=(Commit(sha="abc1234", subject=subject),)))
    kept = utf16(bundle.evidence.commits[0].subject)
    if entry["name"] in DEFECTS["subjects"]:
        assert not entry["out_well_formed"]
        assert kept.decode("utf-16-be") == "s" * 159
    else:
        assert len(kept) // 2 == entry["out_units"]
        assert kept.endswith(bytes.fromhex(entry["out_tail_utf16be_hex"]))


def test_entries_of_one_instant_keep_their_original_order() -> None:
    recorded = VECTORS["evidence"]["sort_ids_same_timestamp"]
    assert "sort_ids_same_timestamp" in DEFECTS["sorting"]
    entries = tuple(LogEntry(label=label, timestamp="2026-05-01T02:00:00Z") for label in recorded)
    bundle = normalise(Evidence(run_audit=entries))
    assert [entry.label for entry in bundle.evidence.run_audit] == recorded
    again = normalise(Evidence(run_audit=entries[::-1]))
    assert [entry.label for entry in again.evidence.run_audit] == recorded[::-1]


def test_timestamps_are_compared_as_instants() -> None:
    recorded = VECTORS["evidence"]["sort_timestamps"]
    given = VECTORS["evidence"]["sort_timestamps_input"]
    assert "sort_timestamps" in DEFECTS["sorting"]
    refused = ["10", "9", "not a date"]
    valid = [text for text in given if text not in refused]
    bundle = normalise(Evidence(run_audit=tuple(LogEntry(timestamp=text or "") for text in valid)))
    kept = [entry.timestamp for entry in bundle.evidence.run_audit]
    # Four of them are one instant and two another, each in their original order; the last is 07:00
    # UTC.
    assert kept == [
        "",
        "",
        "2026-05-01T10:00:00+09:00",
        "2026-05-01T02:00:00+00:00",
        "2026-05-01T02:00:00Z",
        "2026-05-01t02:00:00z",
        "2026-05-01T02:00:00.500Z",
        "2026-05-01T02:00:00.5Z",
        "2026-04-30T23:00:00-08:00",
    ]
    assert [text or "" for text in recorded if text not in refused] != kept
    for text in refused:
        with pytest.raises(InvalidInputError) as caught:
            normalise(Evidence(run_audit=(LogEntry(timestamp=text),)))
        assert caught.value.violations[0].path == "evidence.run_audit[0].timestamp"


def test_bundle_of_sixty_entries() -> None:
    recorded = VECTORS["evidence"]["bundles"]["activity_60_distinct"]
    entries = tuple(
        LogEntry(
            timestamp=f"2026-05-01T00:{index:02}:00Z",
            excerpt=f"step {index} — ok" if index == 59 else f"step {index}",
        )
        for index in range(60)
    )
    kept = normalise(Evidence(task_activity=entries)).evidence
    assert kept.task_activity[0].id == recorded["kept_first"]
    assert kept.task_activity[-1].id == recorded["kept_last"]
    assert len(kept.task_activity) == recorded["count"]
    assert kept.task_activity[-1].excerpt == recorded["excerpt_last"]
    assert kept.task_activity[-2].excerpt == recorded["excerpt_prev"]
    assert kept.dropped[Group.TASK_ACTIVITY] == 35


def test_bundle_of_sixty_entries_of_one_instant() -> None:
    recorded = VECTORS["evidence"]["bundles"]["activity_60_same_timestamp"]["ids"]
    assert "activity_60_same_timestamp" in DEFECTS["bundles"]
    entries = (LogEntry(timestamp="2026-05-01T00:00:00Z"),) * 60
    kept = [entry.id for entry in normalise(Evidence(task_activity=entries)).evidence.task_activity]
    assert kept == [f"task-activity-{index}" for index in range(36, 61)]
    assert kept != recorded


def test_an_entry_without_a_time_is_the_oldest() -> None:
    recorded = VECTORS["evidence"]["bundles"]["activity_missing_timestamp_dropped"]
    timed = tuple(LogEntry(timestamp=f"2026-05-01T00:{minute:02}:00Z") for minute in range(25))
    kept = normalise(Evidence(task_activity=(*timed, LogEntry(label="newest")))).evidence
    assert len(kept.task_activity) == recorded["count"]
    assert any(entry.label == "newest" for entry in kept.task_activity) == recorded["has_newest"]


def test_bundle_of_workflow_steps_keeps_original_indexes() -> None:
    recorded = VECTORS["evidence"]["bundles"]["workflow"]["entries"]
    steps = (
        WorkflowStep(status=StepStatus.PASSED, timestamp="2026-05-01T00:00:05Z", excerpt="x"),
        WorkflowStep(status=StepStatus.FAILED, timestamp="2026-05-01T00:00:02Z"),
    )
    kept = normalise(Evidence(workflow=steps)).evidence.workflow
    assert [entry.id for entry in kept] == [entry["id"] for entry in recorded]
    assert [entry.status for entry in kept] == [entry["status"] for entry in recorded]
    assert [entry.excerpt or None for entry in kept] == [entry["excerpt"] for entry in recorded]


@pytest.mark.parametrize("name", ["metadata_empty_summary", "metadata_no_summary"])
def test_bundle_of_metadata(name: str) -> None:
    recorded = VECTORS["evidence"]["bundles"][name]
    given = Entry(label=recorded["label"], excerpt=recorded["excerpt"] or "")
    kept = normalise(Evidence(task_metadata=(given,))).evidence.task_metadata[0]
    assert kept.id == "task-metadata-1"
    assert kept.label == recorded["label"]
    assert (kept.excerpt or None) == recorded["excerpt"]


def test_bundle_of_logs_and_audit() -> None:
    recorded = VECTORS["evidence"]["bundles"]["logs_audit"]
    assert "agent logs" in DEFECTS["bundles"]
    logs = tuple(
        LogEntry(timestamp=f"2026-05-01T00:{index:02}:00Z", excerpt=f"tok{index}")
        for index in range(40)
    )
    audit = tuple(
        LogEntry(timestamp=f"2026-05-01T00:{59 - index:02}:00Z", excerpt=f"ev{index}")
        for index in range(40)
    )
    kept = normalise(Evidence(agent_logs=logs, run_audit=audit)).evidence
    first, last = kept.agent_logs[0], kept.agent_logs[-1]
    # The texts are the recorded ones; the ids are not, they keep the original index.
    assert first.excerpt == recorded["agent_first"][1]
    assert (first.id, last.id) == ("agent-log-16", "agent-log-40")
    assert (first.id, last.id) != (recorded["agent_first"][0], recorded["agent_last"][0])
    first, last = kept.run_audit[0], kept.run_audit[-1]
    assert [first.id, first.excerpt] == recorded["audit_first"]
    assert [last.id, last.excerpt] == recorded["audit_last"]


def test_bundle_of_commits() -> None:
    bundles = VECTORS["evidence"]["bundles"]
    assert {"commits", "shell_injection", "unknown_sha"} <= DEFECTS["bundles"].keys()
    commits = tuple(Commit(sha=f"{index:07x}", subject="FN-1 the only") for index in range(30))
    kept = normalise(Evidence(commits=commits)).evidence
    assert len(kept.commits) == bundles["commits"]["count"]
    assert kept.commits[0].subject == bundles["commits"]["own_subject"]
    with pytest.raises(InvalidInputError) as caught:
        normalise(Evidence(commits=(Commit(sha=bundles["shell_injection"]["sha_field"]),)))
    assert caught.value.violations[0].path == "evidence.commits[0].sha"
    assert len(normalise(Evidence()).evidence.commits) == bundles["unknown_sha"]["commits"]


def test_bundle_of_a_commit_without_a_subject() -> None:
    recorded = VECTORS["evidence"]["bundles"]["empty_subject"]
    commit = Commit(sha="abc1234", timestamp=recorded["timestamp"], author_name="Dev")
    document = bundle_document(normalise(Evidence(commits=(commit,))))
    assert document["commits"] == [
        {name: recorded[name] for name in ("id", "label", "timestamp", "sha", "authorName")}
    ]


def test_bundle_of_a_commit_with_a_long_subject() -> None:
    recorded = VECTORS["evidence"]["bundles"]["long_subject"]
    commit = Commit(sha="abc1234", subject="s" * 600, excerpt="s" * 600)
    kept = normalise(Evidence(commits=(commit,))).evidence.commits[0]
    assert len(kept.label) == recorded["label"]
    assert len(kept.subject) == recorded["subject"]
    assert len(kept.excerpt) == recorded["excerpt"]
    assert kept.truncated == recorded["truncated"]


def test_only_a_typed_review_is_a_review() -> None:
    recorded = VECTORS["evidence"]["bundles"]["reviews"]["ids"]
    assert "reviews" in DEFECTS["bundles"]
    activity = tuple(LogEntry(label=label, excerpt=text or "") for _, label, text, _ in recorded)
    bundle = normalise(Evidence(task_activity=activity))
    assert bundle.evidence.reviews == ()
    assert signals_from_evidence(Evidence(task_activity=activity)).review_status == ""


# Follow-ups


@named(VECTORS["followups"])
def test_follow_ups(entry: dict[str, Any]) -> None:
    given = entry["input"]
    context = SuggestionContext(
        parent_task_id=given["parentTaskId"],
        run_id=given["runId"],
        overall_score=given["overallScore"],
        overall_band=given["overallBand"],
        mode=PolicyMode(given["policyMode"]),
        sources={"workflow-1": Group.WORKFLOW, "commit-abc": Group.COMMITS, "a": Group.DOCUMENTS},
        open_tasks=[
            OpenTask(task["id"], task["title"], task["column"]) for task in given["openTasks"]
        ],
    )
    drafts = [(f"drafts[{index}]", draft) for index, draft in enumerate(given["drafts"])]
    suggestions = mark_duplicates(suggest(drafts, context), active_ids(given))
    assert len(suggestions) == len(given["drafts"])
    outcomes = [outcome(suggestion) for suggestion in suggestions]
    name = entry["name"]
    if name in DEFECTS["followups"]:
        assert outcomes == OVERRIDDEN[name]
        return
    recorded = entry["normalized"]
    assert outcomes == [
        (item["state"], item.get("suppressedReason"), item.get("matchedTaskId", ""))
        for item in recorded
    ]
    created = entry.get("materialized", recorded)
    for suggestion, item, made in zip(suggestions, recorded, created, strict=True):
        assert suggestion.title == item["title"]
        assert suggestion.description == item["description"]
        assert suggestion.rationale == item["rationale"]
        assert suggestion.priority == item["priority"]
        assert suggestion.severity == item["severity"]
        assert suggestion.policy_mode == item["policyMode"]
        advice = recommend(suggestion)
        assert advice.should_create == item["recommendation"]["shouldCreate"]
        assert advice.policy_qualified == item["recommendation"]["policyQualified"]
        if "materialized" in entry:
            assert advice.should_create == (made["state"] == "created")
        # Members that the contract makes otherwise.
        assert {"suggestionId", "dedupeKey"} <= DEFECTS["follow_up_members"].keys()
        assert suggestion.suggestion_id != item["suggestionId"]
        assert suggestion.dedupe_key != item["dedupeKey"]


SUGGESTED = ("suggested", None, "")
OVERRIDDEN: dict[str, list[tuple[str, str | None, str]]] = {
    "band acceptable mode auto_create_qualified": [("suppressed", "policy_filtered", "")],
    "band strong mode auto_create_qualified": [("suppressed", "policy_filtered", "")],
    "band excellent mode auto_create_qualified": [("suppressed", "policy_filtered", "")],
    'generic title "follow - up"': [("suppressed", "empty_or_generic", "")],
    "ref is empty string": [("suppressed", "insufficient_signal", "")],
    "fabricated ref": [("suppressed", "insufficient_signal", "")],
    "missing title crash": [("suppressed", "empty_or_generic", "")],
    "null draft crash": [("suppressed", "empty_or_generic", "")],
    "missing description crash": [("suppressed", "empty_or_generic", "")],
    "open title substring inside a word": [SUGGESTED],
    "open title empty string suppresses all": [SUGGESTED, SUGGESTED],
    "open title punctuation suppresses all": [SUGGESTED],
    "first match wins order": [SUGGESTED],
    "semantic dup not caught (dash)": [("suppressed", "duplicate_open_task", "FN-9")],
    "batch CJK distinct merged": [SUGGESTED, SUGGESTED],
    "prior suppressed blocks forever": [SUGGESTED],
    "prior insufficient_signal blocks a now well-evidenced one": [SUGGESTED],
    "untrimmed seed vs trimmed title": [
        SUGGESTED,
        ("suppressed", "duplicate_prior_suggestion", ""),
    ],
    # What is overridden in these is not the decision but the id, or the creation of the tasks.
    "partial failure second create": [SUGGESTED, SUGGESTED],
    "run id changes suggestionId A": [SUGGESTED],
    "run id changes suggestionId B": [SUGGESTED],
}


def outcome(suggestion: Any) -> tuple[str, str | None, str]:
    fate = suggestion.fate
    return fate.state.value, fate.suppressed_reason, fate.matched_task_id


def active_ids(given: dict[str, Any]) -> set[str]:
    """Ids of recorded prior suggestions that are not suppressed; all are of the first draft."""
    states = [item.get("state") for prior in given["priorResults"] for item in prior["followUps"]]
    draft = given["drafts"][0]
    if draft is None or all(state == "suppressed" for state in states):
        return set()
    key = dedupe_key(given["parentTaskId"], draft["title"], draft["description"])
    return {suggestion_id(key)}


def test_every_listed_defect_is_recorded_and_has_a_rule() -> None:
    recorded = {
        "followups": [entry["name"] for entry in VECTORS["followups"]],
        "excerpts": [entry["name"] for entry in VECTORS["evidence"]["cases"]],
        "subjects": [entry["name"] for entry in VECTORS["evidence"]["subject"]],
        "signals": VECTORS["deterministic"]["signals"],
        "replies": [entry["name"] for entry in VECTORS["ai_response_parsing"]],
        "scoring_errors": [entry["name"] for entry in VECTORS["scoring_errors"]],
        "misc": VECTORS["misc_behaviour"],
    }
    for section, names in recorded.items():
        assert set(DEFECTS[section]) <= set(names), section
    assert set(OVERRIDDEN) == set(DEFECTS["followups"])
    rules = {rule for table in DEFECTS.values() for rule in table.values()}
    assert rules == OVERRIDES["rules"].keys()


def test_the_run_does_not_change_the_id() -> None:
    entries = {entry["name"]: entry for entry in VECTORS["followups"]}
    ids = set()
    for letter in "AB":
        given = entries[f"run id changes suggestionId {letter}"]["input"]
        draft = given["drafts"][0]
        key = dedupe_key(given["parentTaskId"], draft["title"], draft["description"])
        ids.add(suggestion_id(key))
    assert len(ids) == 1


def test_the_recorded_collision_is_gone() -> None:
    pair = VECTORS["fnv_collision"]["pair"]
    keys = [
        dedupe_key(pair["parentTaskId"], pair[side]["title"], pair[side]["description"])
        for side in ("a", "b")
    ]
    assert keys[0] != keys[1]
    assert suggestion_id(keys[0]) != suggestion_id(keys[1])


def test_normalised_keys() -> None:
    cases = VECTORS["normalization_and_ids"]["cases"]
    as_recorded = OVERRIDES["normalised_keys"]["as_recorded"]
    assert len(cases) == 172
    for index, case in enumerate(cases):
        given = bytes.fromhex(case["in_utf16be_hex"]).decode("utf-16-be", "surrogatepass")
        key = normalise_key(given)
        assert (key == case["out"]) == (index in as_recorded), index
        # Independent of the recording: no letter or digit is lost, no space is doubled.
        folded = unicodedata.normalize("NFKC", given).casefold()
        assert only_letters(key) == only_letters(folded)
        assert key == " ".join(key.split())


def only_letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def test_code_points_of_keys() -> None:
    section = VECTORS["normalization_and_ids"]
    for point in section["codepoints_mapped_to_space"]:
        assert normalise_key(f"a{chr(point)}b") == "a b"
    for point, recorded in section["codepoints_kept_nonidentity"]:
        assert (normalise_key(chr(point)) == recorded) == (str(point) not in DEFECTS["code_points"])


@pytest.mark.parametrize("entry", VECTORS["policy_mapping"], ids=lambda entry: entry["in"])
def test_project_settings(entry: dict[str, str]) -> None:
    setting = None if entry["in"] == "<undefined>" else entry["in"]
    assert policy_for_setting(setting).mode == entry["out"]


# AI replies


@named(VECTORS["ai_response_parsing"])
def test_replies(entry: dict[str, Any]) -> None:
    name = entry["name"]
    expected = entry["ok"] != (name in DEFECTS["replies"])
    if not expected:
        with pytest.raises(InvalidInputError) as caught:
            parse_reply(entry["raw"], CATEGORIES)
        assert caught.value.violations[0].path.startswith("ai_reply")
        return
    reply = parse_reply(entry["raw"], CATEGORIES)
    assert [judgement.score for judgement in reply.judgements] == entry.get("scores", [80, 80, 80])
    assert len(reply.drafts) == entry.get("drafts", 0)


# Whole evaluations


def reply(score: int, evidence: list[object]) -> str:
    category = {"score": score, "rationale": "r", "evidence": evidence}
    return json.dumps({"categories": dict.fromkeys(CATEGORIES, category)})


CITED = {"kind": "task", "label": "l", "value": "v", "source": "s"}
SEVEN_COMMITS = TaskSignals(workflow_total=1, workflow_passed=1, commits=7, timing_entries=1)
END_TO_END: dict[str, tuple[TaskSignals, int, list[object]]] = {
    "fabricated evidence": (
        TaskSignals(),
        100,
        [{"kind": "commit", "label": "commit-does-not-exist"}],
    ),
    "empty evidence object": (TaskSignals(), 100, [{}]),
    "evidence null crashes": (TaskSignals(), 80, [None]),
    "same without store": (TaskSignals(), 80, [CITED]),
    "all AI 100 all-pass no review": (SEVEN_COMMITS, 100, [CITED]),
    "all AI 0 all-pass": (SEVEN_COMMITS, 0, [CITED]),
}


@named(VECTORS["evaluate_end_to_end"])
def test_end_to_end(entry: dict[str, Any]) -> None:
    signals, score, evidence = END_TO_END[entry["name"]]
    request = TaskEvaluationRequest(
        task_id="FN-1", deterministic=signals, ai=RawReply(reply(score, evidence))
    )
    if "error" in entry or entry["name"] in DEFECTS["end_to_end"]:
        with pytest.raises(InvalidInputError) as caught:
            evaluate_task(request)
        assert caught.value.violations[0].path == "ai_reply.categories.agentPerformance.evidence[0]"
        return
    result = evaluate_task(request)
    assert result.overall_score == entry["overall"]
    assert [
        [item.category, item.deterministic_score, item.ai_score, item.final_score, item.band]
        for item in result.categories
    ] == [recorded[:5] for recorded in entry["cats"]]
    # Nothing that is cited here is in the bundle, so nothing of it is kept.
    assert DEFECTS["end_to_end"]["evidence of every entry"]
    assert all(item.evidence == () and not item.supported for item in result.categories)
    assert len(result.unknown_evidence) == 3


SCALARS: dict[str, object] = {
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-0": 0,
    "1.5": 1.5,
    '"50"': "50",
    "null": None,
    "true": True,
    "101": 101,
    "-1": -1,
    "100.0": 100,
    "[50]": [50],
}
NOT_EXPRESSIBLE = ("undefined", "50n")


@named([entry for entry in VECTORS["scoring_errors"] if entry["name"].startswith("blend")])
def test_scores_that_are_none(entry: dict[str, Any]) -> None:
    side, _, literal = entry["name"].removeprefix("blend ").partition("=")
    if literal in NOT_EXPRESSIBLE:
        assert "error" in entry
        return
    values: dict[str, Any] = {"det": 50, "ai": 50}
    values[side] = SCALARS[literal]
    facts = dict.fromkeys(CATEGORIES, values["det"])
    opinion = AiScores(dict.fromkeys(CATEGORIES, values["ai"]))
    request = TaskEvaluationRequest(task_id="FN-1", deterministic=facts, ai=opinion)
    if ("error" in entry) != (entry["name"] in DEFECTS["scoring_errors"]):
        with pytest.raises(InvalidInputError) as caught:
            evaluate_task(request)
        where = "deterministic" if side == "det" else "ai"
        assert caught.value.violations[0].path == f"{where}.agentPerformance"
        return
    final = evaluate_task(request).categories[0].final_score
    assert final == entry.get("value", 50)


@named([entry for entry in VECTORS["scoring_errors"] if entry["name"].startswith("overall")])
def test_sets_of_categories(entry: dict[str, Any]) -> None:
    first, second, third = CATEGORIES
    sets = {
        "overall len2": (first, second),
        "overall len4": (*CATEGORIES, "x"),
        "overall unknown": (first, second, "x"),
        "overall unknown beats missing": (first, "x"),
        "overall []": (),
    }
    name = entry["name"]
    if name in sets:
        facts = dict.fromkeys(sets[name], 50)
        request = TaskEvaluationRequest(
            task_id="FN-1", deterministic=facts, ai=AiScores(dict.fromkeys(CATEGORIES, 50))
        )
        with pytest.raises(InvalidInputError) as caught:
            evaluate_task(request)
        unknown = "x" in sets[name]
        assert caught.value.reason == ("CATEGORY_UNKNOWN" if unknown else "CATEGORY_MISSING")
    elif name == "overall tampered final accepted":
        assert name in DEFECTS["scoring_errors"]
        request = TaskEvaluationRequest(
            task_id="FN-1",
            deterministic=dict.fromkeys(CATEGORIES, 50),
            ai=AiScores(dict.fromkeys(CATEGORIES, 50)),
            claim=Claim({third: 100}),
        )
        with pytest.raises(InvalidInputError, match=r"is 100, but computes to 50"):
            evaluate_task(request)
    elif name == "overall order shuffled":
        scores = dict(zip(CATEGORIES, (50, 60, 40), strict=True))
        shuffled = {category: scores[category] for category in (third, first, second)}
        opinion = AiScores(shuffled)
        results = [
            evaluate_task(
                TaskEvaluationRequest(task_id="FN-1", deterministic=facts, ai=opinion)
            ).overall_score
            for facts in (scores, shuffled)
        ]
        assert results == [entry["value"], entry["value"]]
    else:
        # A mapping has no duplicates; messages and documents refuse them before.
        assert name.startswith("overall dup cat")
        assert "error" in entry


def test_rationales() -> None:
    recorded = {entry["name"]: entry for entry in VECTORS["scoring_errors"]}
    assert "error" in recorded["norm undefined rationale"]
    assert "error" in recorded["norm unknown + blank + bad"]

    def evaluated(rationales: dict[str, str]) -> TaskEvaluation:
        opinion = AiScores(dict.fromkeys(CATEGORIES, 50), rationales)
        facts = dict.fromkeys(CATEGORIES, 50)
        return evaluate_task(TaskEvaluationRequest(task_id="FN-1", deterministic=facts, ai=opinion))

    with pytest.raises(InvalidInputError) as caught:
        require_rationales(evaluated({}))
    assert caught.value.violations[0].path == "ai.agentPerformance.rationale"
    with pytest.raises(InvalidInputError, match="no category 'x'"):
        evaluated({"x": " "})
    evaluation = evaluated(dict.fromkeys(CATEGORIES, "r"))
    require_rationales(evaluation)
    categories = evaluation_document(evaluation)["categoryScores"]
    assert isinstance(categories, list)
    expected = recorded["norm ok"]["value"]
    assert {name: categories[0][name] for name in expected} == expected


def test_all_recorded_scoring_errors_are_looked_at() -> None:
    kinds = {entry["name"].split(" ")[0] for entry in VECTORS["scoring_errors"]}
    assert kinds == {"blend", "overall", "norm", "band"}
    assert any(name.startswith("band") for name in OVERRIDES["elsewhere"]["scoring_errors"])


def test_misc_behaviour() -> None:
    recorded = VECTORS["misc_behaviour"]
    overridden = set(recorded) & DEFECTS["misc"].keys()
    assert set(recorded) - overridden == {"after_followup_done_same_finding"}
    states = recorded["after_followup_done_same_finding"]["states"]
    assert {state[1] for state in states} == {"duplicate_prior_suggestion"}
    draft = VECTORS["followups"][0]["input"]["drafts"][0]
    context = SuggestionContext(
        parent_task_id="FN-1",
        run_id="ER-2",
        overall_score=50,
        overall_band="weak",
        mode=PolicyMode.CREATE_ALL_NON_DUPLICATES,
        sources={"workflow-1": Group.WORKFLOW},
    )
    fresh = suggest([("drafts[0]", draft)], context)
    done = mark_duplicates(fresh, {fresh[0].suggestion_id})
    assert done[0].fate.state is SuggestionState.SUPPRESSED
    assert done[0].fate.suppressed_reason is SuppressedReason.DUPLICATE_PRIOR_SUGGESTION
    assert done[0].fate.matched_suggestion_id == fresh[0].suggestion_id
    assert not policy_for_setting("off").keeps_suggestions
    assert recorded["policy_off"] != []
