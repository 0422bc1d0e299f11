"""What holds for every evidence, every reply and every batch of drafts."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import SteelyardError
from steelyard.scoring.ai_reply import parse_reply
from steelyard.scoring.evidence import (
    CAPS,
    Commit,
    Entry,
    Evidence,
    Group,
    LogEntry,
    Review,
    Severity,
    StepStatus,
    WorkflowStep,
    bundle_document,
    normalise,
)
from steelyard.scoring.followups import OpenTask, PolicyMode, SuggestionState, recommend
from steelyard.scoring.instant import parse_instant
from steelyard.scoring.prompt import render_evidence
from steelyard.scoring.signals import (
    TaskSignals,
    check_signals,
    score_signals,
    signals_from_evidence,
)
from steelyard.scoring.suggesting import SuggestionContext, normalise_key, suggest
from steelyard.scoring.text import clean, cut, shorten, utf16_units

# Every code point, lone surrogates and NUL among them.
texts = st.text(
    st.one_of(
        st.characters(codec=None),
        st.sampled_from('\x00\ud800\udfff😀é\u0301\r\n\u200b`"{}[] '),
    ),
    max_size=40,
)
long_texts = st.one_of(
    texts, st.builds(lambda part, times: part * times, texts, st.integers(0, 40))
)
times = st.one_of(
    st.just(""),
    st.builds(
        "2026-05-01T{:02}:{:02}:00{}{:02}:00".format,
        st.integers(0, 23),
        st.integers(0, 59),
        st.sampled_from("+-"),
        st.integers(0, 14),
    ),
)
common = {"label": texts, "timestamp": times, "excerpt": long_texts}
notes = st.lists(st.builds(Entry, **common), max_size=30).map(tuple)
logs = st.lists(st.builds(LogEntry, **common, severity=st.sampled_from(Severity)), max_size=30).map(
    tuple
)
evidences = st.builds(
    Evidence,
    task_metadata=notes,
    commits=st.lists(
        st.builds(
            Commit,
            **common,
            sha=st.text("0123456789abcdefABCDEF", min_size=7, max_size=8),
            subject=long_texts,
            author_name=texts,
        ),
        max_size=30,
    ).map(tuple),
    workflow=st.lists(
        st.builds(WorkflowStep, **common, status=st.sampled_from(StepStatus)), max_size=30
    ).map(tuple),
    reviews=st.lists(st.builds(Review, **common, status=texts), max_size=30).map(tuple),
    documents=notes,
    task_activity=logs,
    agent_logs=logs,
    run_audit=logs,
)


@given(long_texts, st.integers(13, 700))
def test_shortening_is_bounded_and_idempotent(text: str, limit: int) -> None:
    stored = clean(text)
    assert clean(stored) == stored
    short, was_cut = shorten(stored, limit)
    assert utf16_units(short) <= limit
    assert was_cut == (utf16_units(stored) > limit)
    assert shorten(short, limit) == (short, False)
    assert stored.startswith(cut(stored, limit))
    # No more than half a character is given away.
    assert utf16_units(cut(stored, limit)) >= min(limit - 1, utf16_units(stored))


@settings(max_examples=60, deadline=None)
@given(evidences)
def test_a_bundle_is_normal_bounded_and_ordered(evidence: Evidence) -> None:
    bundle = normalise(evidence)
    assert normalise(bundle.evidence) == bundle
    ids = []
    for group in Group:
        entries = bundle.evidence.entries(group)
        assert len(entries) <= CAPS[group]
        stamps = [parse_instant(item.timestamp, "t") for item in entries if item.timestamp]
        assert stamps == sorted(stamps)
        ids += [entry.id for entry in entries]
        assert all(utf16_units(entry.excerpt) <= 500 for entry in entries)
        assert all(utf16_units(entry.label) <= 160 for entry in entries)
    assert len(ids) == len(set(ids)) == len(bundle.sources)
    # UTF-8 is what protobuf, JSON files and stores take.
    json.dumps(bundle_document(bundle), ensure_ascii=False).encode("utf-8")
    section = render_evidence(bundle)
    assert section.count("```") == 2
    assert json.loads(section.split("```json\n")[1].split("```")[0]) == bundle_document(bundle)


@settings(max_examples=60, deadline=None)
@given(evidences, st.randoms(use_true_random=False))
def test_signals_do_not_depend_on_order_or_wording(evidence: Evidence, random: Any) -> None:
    signals = signals_from_evidence(evidence)
    check_signals(signals)
    shuffled = list(evidence.workflow), list(evidence.commits), list(evidence.task_activity)
    for entries in shuffled:
        random.shuffle(entries)
    other = Evidence(
        workflow=tuple(shuffled[0]),
        commits=tuple(shuffled[1]),
        task_activity=tuple(
            LogEntry(severity=entry.severity, excerpt="error: 3 failed abc1234")
            for entry in shuffled[2]
        ),
        agent_logs=evidence.agent_logs,
        run_audit=evidence.run_audit,
        reviews=evidence.reviews,
    )
    assert signals_from_evidence(other) == signals


counts = st.integers(0, 2**32 - 1)


@given(counts, counts, counts, counts, counts, texts, counts)
def test_scores_stay_on_the_scale_and_errors_never_help(
    total: int, passed: int, commits: int, errors: int, warnings: int, review: str, timing: int
) -> None:
    signals = TaskSignals(
        workflow_total=max(total, passed),
        workflow_passed=min(total, passed),
        commits=commits,
        errors=errors,
        warnings=warnings,
        review_status=review,
        timing_entries=timing,
    )
    scores = score_signals(check_signals(signals)).by_category()
    assert all(0 <= score <= 100 for score in scores.values())
    clean_run = TaskSignals(
        workflow_total=signals.workflow_total,
        workflow_passed=signals.workflow_passed,
        commits=commits,
        review_status=review,
        timing_entries=timing,
    )
    best = score_signals(clean_run).by_category()
    assert all(scores[name] <= best[name] for name in scores)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(
                texts,
                st.sampled_from(
                    ["categories", "a", "score", "rationale", "evidence", "id", "followUpDrafts"]
                ),
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@given(st.one_of(texts, json_values.map(json.dumps), st.tuples(texts, json_values).map(str)))
def test_any_reply_is_read_or_refused_with_its_path(text: str) -> None:
    paths: list[str] = []
    reply = None
    try:
        reply = parse_reply(text, ["a"])
    except SteelyardError as error:
        paths = [violation.path for violation in error.violations]
    if reply is None:
        assert len(paths) == 1
        assert paths[0].startswith("ai_reply")
    else:
        assert 0 <= reply.judgements[0].score <= 100
        assert reply.judgements[0].citations


@given(texts, texts, st.integers(0, 100))
def test_prose_around_a_reply_does_not_change_it(before: str, after: str, score: int) -> None:
    category = {"score": score, "rationale": "r", "evidence": ["x"]}
    text = json.dumps({"categories": {"a": category}})
    quiet = str.maketrans({"{": " "})
    reply = parse_reply(before.translate(quiet) + text + after.translate(quiet), ["a"])
    assert reply.judgements[0].score == score


drafts = st.one_of(
    json_values,
    st.fixed_dictionaries(
        {
            "title": texts,
            "description": long_texts,
            "reason": texts,
            "evidenceRefs": st.lists(st.sampled_from(["workflow-1", "x", ""]), max_size=3),
        }
    ),
)


@given(
    st.lists(drafts, max_size=6),
    st.lists(st.builds(OpenTask, st.just("T"), texts, texts), max_size=3),
    st.sampled_from(PolicyMode),
    st.sampled_from(["failing", "strong"]),
)
def test_every_draft_becomes_one_suggestion(
    values: list[Any], open_tasks: list[OpenTask], mode: PolicyMode, band: str
) -> None:
    context = SuggestionContext(
        parent_task_id="FN-1",
        run_id="",
        overall_score=10 if band == "failing" else 80,
        overall_band=band,
        mode=mode,
        sources={"workflow-1": Group.WORKFLOW},
        open_tasks=open_tasks,
    )
    suggestions = suggest([(f"d[{index}]", value) for index, value in enumerate(values)], context)
    assert len(suggestions) == len(values)
    live = [item for item in suggestions if item.fate.state is SuggestionState.SUGGESTED]
    assert len({item.suggestion_id for item in live}) == len(live)
    for item in suggestions:
        assert (item.fate.state is SuggestionState.SUPPRESSED) == bool(item.fate.suppressed_reason)
        if item.fate.state is SuggestionState.SUGGESTED:
            assert normalise_key(item.title)
            assert item.evidence_refs
        if recommend(item).should_create:
            assert item in live
            assert mode is not PolicyMode.PERSIST_ONLY
        f"{item.title}{item.description}{item.dedupe_key}{item.rationale}".encode()


@given(texts, texts)
def test_keys_ignore_case_and_punctuation_only(one: str, other: str) -> None:
    key = normalise_key(one)
    assert key == normalise_key(f" -{one}! ")
    assert key == " ".join(key.split(" ")).strip()
    assert (key == normalise_key(other)) or one != other
