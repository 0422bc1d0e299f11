"""The gate never trips over its input, and never rewards what is taken away from it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steelyard._core import hash_object
from steelyard.errors import InvalidInputError
from steelyard.gating.judge import judge
from steelyard.gating.manifest import read_manifest, referenced_paths, worker_names
from steelyard.gating.model import (
    Completed,
    Evidence,
    Execution,
    Failed,
    FoundFile,
    Project,
    Report,
    RunLabel,
    Status,
)
from steelyard.gating.precheck import precheck
from steelyard.gating.report import report_json
from steelyard.gating.verdict import SEVERITY, combined
from steelyard.gating.verify import verify
from tests.support.gate_world import (
    COMPILED,
    GENOME_OWNER,
    GOOD,
    GOOD_AB,
    NOW,
    PROVENANCE,
    case,
    document,
    evidence,
    manifest,
    passing,
    passing_ab,
    project,
    table,
    worker,
)

SCHEMA = json.loads(
    (
        Path(__file__).parents[2] / "service" / "steelyard" / "schemas" / "gate-report.schema.json"
    ).read_text()
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

words = st.sampled_from(
    ["", "a", "pass", "candidate", "manifest.goal", "../x", "__proto__", "agents/owner.md", "prod"]
)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | words | st.text()
json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(words | st.text(), inner, max_size=4)
    ),
)


def nodes(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        yield from nodes(item, (*at, key))


def changed(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    root = copy.deepcopy(value)
    holder = root
    for step in at[:-1]:
        holder = holder[step]
    holder[at[-1]] = new
    return root


HONEST = [
    (passing(), document(passing(), GOOD)),
    (passing_ab(), document(passing_ab(), GOOD_AB)),
]
SQUADS = [squad for squad, _ in HONEST]


# --- totality -----------------------------------------------------------------------------------


@given(json_values)
@settings(deadline=None)
def test_any_json_is_verified(report: Any) -> None:
    for squad in (None, *SQUADS):
        assert not verify(report, squad, now=NOW).valid


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_any_change_to_a_report_is_a_mismatch(data: st.DataObject) -> None:
    squad, report = data.draw(st.sampled_from(HONEST))
    at = data.draw(st.sampled_from(list(nodes(report))))
    forged = changed(report, at, data.draw(json_values))
    assume(json.dumps(forged, sort_keys=True) != json.dumps(report, sort_keys=True))
    found = verify(forged, squad, now=NOW)
    assert not found.valid or json_equal(forged, report)
    for mismatch in found.mismatches:
        assert mismatch.code == mismatch.code.upper()
    verify(forged, None, now=NOW)


def json_equal(one: Any, other: Any) -> bool:
    """Equal as JSON: 1.0 is 1, -0.0 is 0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(json_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(json_equal, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


@given(json_values)
@settings(deadline=None)
def test_any_manifest_is_judged(top: Any) -> None:
    squad = project(top, {})
    try:
        report = judge(Evidence(squad, (), PROVENANCE))
    except InvalidInputError:
        return  # canonical JSON cannot hold it
    assert report.verdict in (Status.FAIL, Status.UNVERIFIED)
    assert precheck(squad) == report.precheck


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_any_change_to_a_manifest_is_judged_and_verifies(data: st.DataObject) -> None:
    honest = data.draw(st.sampled_from(SQUADS))
    at = data.draw(st.sampled_from(list(nodes(honest.manifest))))
    top = changed(honest.manifest, at, data.draw(json_values))
    contents = {path: file for path, file in honest.files.items() if isinstance(file, FoundFile)}
    squad = project(top, {path: file.content for path, file in contents.items()})
    read, _ = read_manifest(top)
    assert all(isinstance(one, str) for one in (*referenced_paths(top), *worker_names(top)))
    assume(len({one.id for one in read.cases}) == len(read.cases))
    try:
        given_evidence = evidence(squad, GOOD_AB)
        report = report_json(judge(given_evidence))
    except InvalidInputError:
        return
    assert_sound(squad, report)


@given(json_values, json_values)
@settings(deadline=None)
def test_any_output_is_judged_and_verifies(produced: Any, scored: Any) -> None:
    answers = table({"prod": {"baseline": produced, "candidate": produced}, "judge": scored})
    for squad in SQUADS:
        try:
            given_evidence = evidence(squad, answers)
        except InvalidInputError:
            return  # canonical JSON cannot hold the output; the runner reports a failed run
        assert_sound(squad, report_json(judge(given_evidence)))


@given(st.dictionaries(st.sampled_from(["grounding", "style", "new"]), json_values))
@settings(deadline=None)
def test_any_score_is_judged_and_verifies(dimensions: Any) -> None:
    answers = table({"prod": {"baseline": 1, "candidate": 2}, "judge": {"dimensions": dimensions}})
    for squad in SQUADS:
        try:
            given_evidence = evidence(squad, answers)
        except InvalidInputError:
            return
        assert_sound(squad, report_json(judge(given_evidence)))


def assert_sound(squad: Project, report: Any) -> None:
    """The report keeps its schema, and verification finds nothing in it."""
    report = json.loads(json.dumps(report))
    assert [error.message for error in VALIDATOR.iter_errors(report)] == []
    assert verify(report, squad, now=NOW).mismatches == ()
    assert verify(report, None, now=NOW).mismatches == ()
    assert (report["verdict"] == "PASS") == (report["reasons"] == [])
    assert (report["verdict"] == "PASS") == (report["required_changes"] == [])


# --- monotony -----------------------------------------------------------------------------------

statuses = st.sampled_from(list(Status))


@given(st.lists(statuses, min_size=1), st.data())
@settings(deadline=None)
def test_a_worse_status_never_helps(items: list[Status], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(items) - 1))
    worse = data.draw(statuses)
    assume(SEVERITY[worse] >= SEVERITY[items[index]])
    assume(items != [Status.NOT_APPLICABLE])
    after = [*items[:index], worse, *items[index + 1 :]]
    assert (
        SEVERITY[combined(after)] >= SEVERITY[combined(items)]
        or combined(items) is Status.UNVERIFIED
    )


@given(st.lists(statuses))
@settings(deadline=None)
def test_nothing_outvotes_a_failure(items: list[Status]) -> None:
    assert combined([*items, Status.FAIL]) is Status.FAIL
    assert combined([*items, Status.PASS]) is not Status.NOT_APPLICABLE


fractions = st.sampled_from([0.0, 0.3, 0.5, 0.7999999, 0.8, 0.9, 1.0])


@st.composite
def squads(draw: st.DrawFn) -> Evidence:
    """Squads of all sorts: with and without a baseline, good and bad scores, files and criteria."""
    names = draw(st.lists(st.sampled_from(["grounding", "style", "tone"]), min_size=1, unique=True))
    dimensions = {
        name: {"threshold": draw(fractions), "critical": draw(st.booleans())} for name in names
    }
    paired = draw(st.booleans())
    entries = {}
    for name in names:
        entry: dict[str, Any] = {"candidate": draw(fractions), "evidence": "ev"}
        if paired:
            entry["baseline"] = draw(fractions)
        entries[name] = entry
    runs: dict[str, Any] = {"worker": None, "baselineRun": "prod", "candidateRun": "prod"}
    held_out = case(
        dimensions=dimensions,
        deterministic=draw(st.booleans()),
        artifact="out.md",
        expectedContains=["approved"],
        expectedNotContains=["todo"],
        **(runs if paired else {}),
    )
    criteria: Any = [
        {
            "id": f"c{index}",
            "kind": draw(st.sampled_from(["scope", "grounding", "anti_pattern"])),
            "source": draw(st.sampled_from(["manifest.goal", "source.md"])),
            "artifact": draw(st.sampled_from(["agents/owner.md", "out.md"])),
            "expectedTerms": [draw(st.sampled_from(["cites", "approved", "nowhere"]))],
        }
        for index in range(draw(st.integers(1, 2)))
    ]
    top = manifest(cases=[held_out], criteria=criteria, bindings=[COMPILED] if paired else None)
    output = draw(st.sampled_from(["Approved.", "Approved, todo.", "Rejected."]))
    squad = project(top, {**GENOME_OWNER, "out.md": output, "source.md": "cite"})
    answers = {"prod": {"baseline": 1, "candidate": 2}, "judge": {"dimensions": entries}}
    return evidence(squad, table(answers))


Change = Callable[[Evidence], Iterator[Evidence]]


def each_run(change: Callable[[Execution], Execution | None]) -> Change:
    """The change made to one run at a time."""

    def apply(given_evidence: Evidence) -> Iterator[Evidence]:
        for index, one in enumerate(given_evidence.executions):
            other = change(one)
            executions = list(given_evidence.executions)
            executions[index : index + 1] = [] if other is None else [other]
            yield replace(given_evidence, executions=tuple(executions))

    return apply


def each_score(change: Callable[[dict[str, Any]], Any]) -> Change:
    """The change made to one dimension of the scorer's output at a time, consistently repeated."""

    def apply(given_evidence: Evidence) -> Iterator[Evidence]:
        for index, one in enumerate(given_evidence.executions):
            if one.label is not RunLabel.SCORER or not isinstance(one.outcome, Completed):
                continue
            output: Any = one.outcome.output
            for name in output["dimensions"]:
                other = copy.deepcopy(output)
                entry = change(other["dimensions"][name])
                if entry is None:
                    del other["dimensions"][name]
                else:
                    other["dimensions"][name] = entry
                repeat = one.outcome.repeat_output_hash and hash_object(other)
                executions = list(given_evidence.executions)
                executions[index] = replace(one, outcome=Completed(other, repeat))
                yield replace(given_evidence, executions=tuple(executions))

    return apply


def each_file(content: bytes | None) -> Change:
    """One file at a time emptied, or taken away."""

    def apply(given_evidence: Evidence) -> Iterator[Evidence]:
        squad = given_evidence.project
        for path in squad.files:
            files = {key: file for key, file in squad.files.items() if key != path}
            if content is not None:
                files[path] = FoundFile(path, content)
            yield replace(given_evidence, project=replace(squad, files=files))

    return apply


def without_workers(given_evidence: Evidence) -> Iterator[Evidence]:
    squad = given_evidence.project
    for name in squad.workers:
        workers = {key: one for key, one in squad.workers.items() if key != name}
        yield replace(given_evidence, project=replace(squad, workers=workers))


def scorer_like_the_producer(given_evidence: Evidence) -> Iterator[Evidence]:
    squad = given_evidence.project
    workers = {**squad.workers, "judge": worker("print('prod')")}
    yield replace(given_evidence, project=replace(squad, workers=workers))


def repeat_lost(one: Execution) -> Execution:
    outcome = one.outcome
    if isinstance(outcome, Completed):
        outcome = replace(outcome, repeat_output_hash=None)
    return replace(one, outcome=outcome)


STRICT: dict[str, Change] = {
    "a run unreported": each_run(lambda one: None),
    "a run failed": each_run(lambda one: replace(one, outcome=Failed("WORKER_EXIT"))),
    "a run not repeated": each_run(repeat_lost),
    "a run on something else": each_run(lambda one: replace(one, payload_hash="0" * 64)),
    "evidence lost": each_score(lambda entry: {**entry, "evidence": ""}),
    "a lower score": each_score(lambda entry: {**entry, "candidate": entry["candidate"] / 2}),
    "a higher baseline": each_score(
        lambda entry: {**entry, "baseline": 1.0} if "baseline" in entry else entry
    ),
    "a file lost": each_file(None),
    "a file emptied": each_file(b" \n"),
    "a worker lost": without_workers,
    "no independent scorer": scorer_like_the_producer,
}
# These take away the very score that fails: what is left may be unverified instead, never accepted.
LOSING: dict[str, Change] = {
    "a score lost": each_score(lambda entry: None),
    "a score garbled": each_score(lambda entry: {**entry, "candidate": 87}),
    "a baseline score lost": each_score(
        lambda entry: {key: value for key, value in entry.items() if key != "baseline"}
    ),
}


def accepted(report: Report) -> bool:
    return report.verdict in (Status.PASS, Status.WARN)


@pytest.mark.parametrize("name", STRICT)
@given(squads())
@settings(deadline=None, max_examples=40)
def test_taking_evidence_away_never_helps(name: str, given_evidence: Evidence) -> None:
    before = SEVERITY[judge(given_evidence).verdict]
    for worse in STRICT[name](given_evidence):
        assert SEVERITY[judge(worse).verdict] >= before


@pytest.mark.parametrize("name", LOSING)
@given(squads())
@settings(deadline=None, max_examples=40)
def test_losing_a_score_is_never_accepted(name: str, given_evidence: Evidence) -> None:
    before = judge(given_evidence)
    for worse in LOSING[name](given_evidence):
        after = judge(worse)
        assert SEVERITY[after.verdict] >= min(SEVERITY[before.verdict], SEVERITY[Status.UNVERIFIED])
        assert not accepted(after) or worse == given_evidence


@given(squads())
@settings(deadline=None, max_examples=40)
def test_all_sorts_of_squads_verify(given_evidence: Evidence) -> None:
    assert_sound(given_evidence.project, report_json(judge(given_evidence)))
