"""Ways to win without deserving it: each ends in FAIL or UNVERIFIED, for the right reason."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from steelyard.errors import InvalidInputError
from steelyard.gating.judge import judge
from steelyard.gating.model import (
    Completed,
    DimensionResult,
    Evidence,
    Execution,
    Failed,
    Project,
    Report,
    RunLabel,
    Status,
)
from steelyard.gating.names import GUARDS
from tests.support.gate_world import (
    BLOCK,
    COMPILED,
    GENOME_OWNER,
    GOOD,
    GOOD_AB,
    OWNER,
    PROVENANCE,
    case,
    gate,
    manifest,
    passing,
    passing_ab,
    project,
    run_workers,
    scores,
    table,
    worker,
)


def squad(**changes: Any) -> Project:
    return project(manifest(cases=[case(**changes)]), OWNER)


def dimension(report: Report, name: str, position: int = 0) -> DimensionResult:
    found = [one for one in report.cases[position].dimensions if one.name == name]
    assert len(found) == 1, [one.name for one in report.cases[position].dimensions]
    return found[0]


def codes(report: Report) -> set[str]:
    return {reason.code for reason in report.reasons}


def scored(**dimensions: Any) -> Any:
    return table({"prod": {"candidate": {"t": 1}}, "judge": scores(**dimensions)})


def test_honest_squads_pass() -> None:
    assert gate(passing(), GOOD).verdict is Status.PASS
    assert gate(passing_ab(), GOOD_AB).verdict is Status.PASS


# --- who scores ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "workers"),
    [
        ({"scorer": "prod"}, {}),
        ({"scorer": "copy"}, {"copy": worker("print('prod')")}),
        ({"scorer": "copy"}, {"copy": worker("print('prod')", **{"worker.json": '{"name":1}'})}),
    ],
    ids=["by name", "by content", "by content under another description"],
)
def test_scorer_that_is_the_producer(changes: Any, workers: Any) -> None:
    answers = {"dimensions": {"grounding": {"candidate": 1, "evidence": "mine"}}}
    report = gate(
        project(manifest(cases=[case(**changes)]), OWNER, workers), lambda *_given: answers
    )
    assert report.verdict is Status.UNVERIFIED
    assert dimension(report, "independent-evaluation").status is Status.UNVERIFIED
    assert dimension(report, "grounding").reason == "SCORER_NOT_INDEPENDENT"
    assert not report.cases[0].scorer_independent


def test_scorer_that_is_the_baseline_producer() -> None:
    report = gate(
        squad(worker=None, baselineRun="prod2", candidateRun="prod", scorer="prod2"),
        lambda *_given: scores(grounding=(0.5, 0.9)),
    )
    assert "NOT_INDEPENDENT" in codes(report)
    assert report.verdict is Status.UNVERIFIED


@pytest.mark.parametrize("path", ["./prod", "x/../prod", "../prod", "prod/", "PROD\u200b", "/prod"])
def test_scorer_by_path_trick(path: str) -> None:
    report = gate(squad(scorer=path), GOOD)
    assert report.verdict is Status.FAIL
    assert {"INVALID_NAME", "WORKER_UNAVAILABLE"} & codes(report)
    assert dimension(report, "scorer-execution").status is Status.FAIL


def test_scorer_does_not_see_thresholds_or_declared_scores() -> None:
    seen: list[str] = []

    def respond(name: str, label: RunLabel, given: Any) -> Any:
        if label is RunLabel.SCORER:
            seen.append(json.dumps(given))
        return GOOD(name, label, given)

    declared = {"grounding": {"threshold": 0.123, "critical": True, "candidate": 0.987}}
    report = gate(squad(dimensions=declared), respond)
    assert seen
    assert "0.123" not in seen[0]
    assert "0.987" not in seen[0]
    assert "grounding" in seen[0]
    assert [finding.code for finding in report.precheck.warnings] == ["UNKNOWN_KEY"]


def test_scores_in_the_manifest_or_from_the_producer_never_count() -> None:
    declared = {"grounding": {"threshold": 0.8, "critical": True, "candidate": 1, "score": 1}}
    for held_out in (case(scorer=None, dimensions=declared), case(dimensions=declared)):
        producer = {"dimensions": {"grounding": {"candidate": 1, "evidence": "mine"}}}
        answers = {"prod": producer, "judge": {"dimensions": {}}}
        report = gate(project(manifest(cases=[held_out]), OWNER), table(answers))
        assert report.verdict in (Status.FAIL, Status.UNVERIFIED)
        assert dimension(report, "grounding").candidate is None


def test_producer_that_overwrites_the_scorer_during_the_run() -> None:
    """The runner sees the change and reports the run as failed; the judge does not overlook it."""
    honest = passing()
    executions = tuple(
        replace(one, outcome=Failed("WORKER_CHANGED", "judge/run.py"))
        if one.label is RunLabel.SCORER
        else one
        for one in run_workers(honest, GOOD)
    )
    report = judge(Evidence(honest, executions, PROVENANCE))
    assert report.verdict is Status.FAIL
    assert dimension(report, "scorer-execution").reason == "WORKER_CHANGED"


# --- what is scored -----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [87, -0.1, True, False, "0.9", None, [], {}, [0.9], 1.0000001])
@pytest.mark.parametrize("critical", [True, False])
def test_scores_that_are_no_scores(value: Any, critical: bool) -> None:
    entry = {"candidate": value, "evidence": "ev"}
    answers = {"prod": {"t": 1, "candidate": 1}, "judge": {"dimensions": {"grounding": entry}}}
    report = gate(squad(dimensions={"grounding": {"critical": critical}}), table(answers))
    assert dimension(report, "grounding").reason == "SCORE_INVALID"
    assert report.verdict is Status.UNVERIFIED


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_scores_that_json_cannot_hold(value: float) -> None:
    honest = passing()
    output = {"dimensions": {"grounding": {"candidate": value, "evidence": "ev"}}}
    executions = tuple(
        replace(one, outcome=Completed(output, None)) if one.label is RunLabel.SCORER else one  # type: ignore[arg-type]
        for one in run_workers(honest, GOOD)
    )
    report = judge(Evidence(honest, executions, PROVENANCE))
    assert report.verdict is Status.FAIL
    assert dimension(report, "scorer-execution").reason == "OUTPUT_NOT_CANONICAL"


@pytest.mark.parametrize("threshold", ["", None, -5, 1.5, "0.5", True, [], {}])
def test_thresholds_that_are_no_thresholds(threshold: Any) -> None:
    report = gate(squad(dimensions={"grounding": {"threshold": threshold}}), GOOD)
    assert report.verdict is Status.FAIL
    assert "THRESHOLD_INVALID" in codes(report)
    assert dimension(report, "grounding").status is not Status.PASS


@pytest.mark.parametrize("name", ["constructor", "toString", "hasOwnProperty"])
def test_names_that_objects_inherit_elsewhere(name: str) -> None:
    """Ordinary names: declared and not scored, they are missing like any other."""
    report = gate(squad(dimensions={name: {"critical": True}}), scored())
    assert dimension(report, name).reason == "SCORE_MISSING"
    assert "EVIDENCE_MISSING" in codes(report)
    assert report.verdict is Status.FAIL


@pytest.mark.parametrize("name", ["__proto__", "", " ", "a b", "x" * 65, "é", "a\n", "../x"])
def test_names_that_are_no_names(name: str) -> None:
    report = gate(squad(dimensions={name: {}}), GOOD)
    assert report.verdict is Status.FAIL
    assert "INVALID_NAME" in codes(report)
    entry = {"candidate": 1, "evidence": "ev"}
    report = gate(squad(), scored(grounding=entry, **{name: entry}))
    assert report.verdict is Status.UNVERIFIED
    assert dimension(report, "scorer-evidence").reason == "INVALID_NAME"


@pytest.mark.parametrize("name", ["reproducibility", "task-output", "independent-evaluation"])
def test_dimension_with_the_name_of_a_guard(name: str) -> None:
    report = gate(squad(dimensions={name: {}}), GOOD)
    assert report.verdict is Status.FAIL
    assert "RESERVED_NAME" in codes(report)
    entry = {"candidate": 1, "evidence": "ev"}
    report = gate(squad(deterministic=False), scored(grounding=entry, **{name: entry}))
    assert report.verdict is Status.UNVERIFIED
    assert dimension(report, "reproducibility").status is Status.UNVERIFIED
    assert dimension(report, "scorer-evidence").reason == "INVALID_NAME"


def test_declared_dimension_left_out() -> None:
    both = {"grounding": {"critical": True}, "style": {}}
    report = gate(squad(dimensions=both), GOOD)
    assert dimension(report, "style").reason == "SCORE_MISSING"
    assert report.verdict is Status.UNVERIFIED
    report = gate(squad(dimensions={**both, "style": {"critical": True}}), GOOD)
    assert report.verdict is Status.FAIL


@pytest.mark.parametrize("text", [None, "", "  ", "\u200b", "\u00a0\u2800", 5, ["x"]])
def test_evidence_that_shows_nothing(text: Any) -> None:
    report = gate(squad(), scored(grounding={"candidate": 1, "evidence": text}))
    assert report.verdict is Status.UNVERIFIED
    assert dimension(report, "scorer-evidence").reason == "EVIDENCE_MISSING"
    assert not report.cases[0].scorer_evidence_complete


# --- against what -------------------------------------------------------------------------------


def ab(respond: Any = GOOD_AB, owner: Any = GENOME_OWNER, **changes: Any) -> Report:
    plain = {
        "worker": None,
        "baselineRun": {"worker": "prod", "input": {"a": 1}},
        "candidateRun": {"worker": "prod", "input": {"a": 1}},
        "dimensions": {"grounding": {"critical": True}, "style": {"threshold": 0.5}},
    }
    held_out = case(**{**plain, **changes})
    return gate(project(manifest(cases=[held_out], bindings=[COMPILED]), owner), respond)


def test_dimension_without_baseline_cannot_hide_a_regression() -> None:
    left_out = {"candidate": 0.9, "evidence": "ev"}
    outputs = scores(grounding=(0.7, 0.9), style=left_out)
    report = ab(table({"prod": {"t": 1, "baseline": 1, "candidate": 2}, "judge": outputs}))
    assert dimension(report, "style").reason == "BASELINE_MISSING"
    assert report.comparison.reason == "SIDE_MISSING"
    assert report.verdict is Status.UNVERIFIED


def test_regression_fails_even_above_target_and_when_not_critical() -> None:
    answers = {
        "prod": {"baseline": 1, "candidate": 2},
        "judge": scores(grounding=(0.9, 0.9), style=(0.9, 0.8)),
    }
    report = ab(table(answers))
    assert dimension(report, "style").reason == "REGRESSED"
    assert report.comparison.status is Status.FAIL
    assert report.verdict is Status.FAIL


@pytest.mark.parametrize(
    ("changes", "owner", "reason"),
    [
        ({"candidateRun": {"worker": "prod", "input": {"a": 2}}}, GENOME_OWNER, "INPUTS_DIFFER"),
        ({"candidateRun": {"worker": "prod2", "input": {"a": 1}}}, GENOME_OWNER, "WORKERS_DIFFER"),
        ({}, OWNER, "NO_GENOME_EFFECTS"),
        ({}, {"agents/owner.md": BLOCK.replace("rule", "  \n")}, "NO_GENOME_EFFECTS"),
        (
            {},
            {"agents/owner.md": f"{BLOCK}<!-- AIOSON:GENOME-COMPILED:BEGIN -->"},
            "PROMPTS_NOT_INTACT",
        ),
        ({}, {"agents/owner.md": b"\xff" + BLOCK.encode()}, "PROMPTS_NOT_INTACT"),
    ],
    ids=["inputs", "workers", "no block", "empty block", "stray marker", "no text"],
)
def test_comparison_that_is_not_controlled(changes: Any, owner: Any, reason: str) -> None:
    answers = {
        "prod": {"baseline": 1, "candidate": 2},
        "prod2": {"candidate": 3},
        "judge": GOOD_AB("judge", RunLabel.SCORER, {}),
    }
    report = ab(table(answers), owner, **changes)
    assert dimension(report, "genome-ab-control").reason == reason
    assert report.comparison.reason == "NOTHING_COMPARED"
    assert report.verdict is Status.FAIL


def test_every_managed_block_is_off_in_the_baseline() -> None:
    contexts: dict[RunLabel, Any] = {}

    def respond(name: str, label: RunLabel, given: Any) -> Any:
        contexts[label] = given["_aioson_eval"]
        return GOOD_AB(name, label, given)

    owner = {
        "agents/owner.md": f"cites every source\n{BLOCK}middle\n{BLOCK.replace('rule', 'two')}"
    }
    assert ab(respond, owner).verdict is Status.PASS
    baseline, candidate = contexts[RunLabel.BASELINE], contexts[RunLabel.CANDIDATE]
    assert baseline["executor_contexts"][0]["content"] == "cites every source\n\nmiddle\n"
    assert not baseline["genome_enabled"]
    assert baseline["genome_bindings"] == []
    assert "two" in candidate["executor_contexts"][0]["content"]
    assert candidate["genome_bindings"][0]["slug"] == "g"


def test_input_cannot_override_the_envelope() -> None:
    seen: dict[RunLabel, Any] = {}

    def respond(name: str, label: RunLabel, given: Any) -> Any:
        seen[label] = given
        return GOOD(name, label, given)

    gate(squad(input={"_aioson_eval": {"variant": "free"}, "a": 1}), respond)
    assert seen[RunLabel.CANDIDATE]["a"] == 1
    assert seen[RunLabel.CANDIDATE]["_aioson_eval"]["variant"] == "candidate"
    assert seen[RunLabel.CANDIDATE]["_aioson_eval"]["seed"] == 7


@pytest.mark.parametrize("status", ["pending", "removed", "Compiled", ""])
def test_binding_that_is_not_compiled(status: str) -> None:
    bindings: Any = [COMPILED, {"slug": "other", "status": status}]
    report = gate(project(manifest(cases=[case()], bindings=bindings), GENOME_OWNER), GOOD)
    assert report.comparison.reason == "BINDING_NOT_COMPILED"
    assert report.verdict is Status.FAIL


# --- the same, twice ----------------------------------------------------------------------------


@pytest.mark.parametrize("label", list(RunLabel))
@pytest.mark.parametrize("repeat", [None, "0" * 64])
def test_run_that_does_not_repeat(label: RunLabel, repeat: str | None) -> None:
    honest = passing_ab()
    executions = tuple(
        replace(one, outcome=replace(one.outcome, repeat_output_hash=repeat))  # type: ignore[type-var]
        if one.label is label
        else one
        for one in run_workers(honest, GOOD_AB)
    )
    report = judge(Evidence(honest, executions, PROVENANCE))
    assert dimension(report, "reproducibility").reason == "NOT_REPRODUCED"
    assert report.verdict is Status.UNVERIFIED


def test_run_that_was_given_something_else() -> None:
    honest = passing()
    executions = tuple(
        replace(one, payload_hash="0" * 64) if one.label is RunLabel.SCORER else one
        for one in run_workers(honest, GOOD)
    )
    report = judge(Evidence(honest, executions, PROVENANCE))
    assert dimension(report, "scorer-execution").reason == "PAYLOAD_MISMATCH"
    assert report.verdict is Status.FAIL


def test_duplicate_ids() -> None:
    """The second case would lend the first one's runs: the precheck fails before any run."""
    twice = project(manifest(cases=[case(), case(deterministic=False)]), OWNER)
    report = judge(Evidence(twice, (), PROVENANCE))
    assert report.verdict is Status.FAIL
    assert [one.path for one in report.precheck.errors] == ["evaluation.heldOutCases[1].id"]
    assert report.precheck.errors[0].code == "DUPLICATE"
    criterion: Any = {"id": "c", "kind": "scope", "expectedTerms": ["x"]}
    report = gate(project(manifest(cases=[case()], criteria=[criterion] * 2), OWNER), GOOD)
    assert report.verdict is Status.FAIL
    assert [one.path for one in report.precheck.errors] == ["evaluation.criteria[1].id"]


# --- sources and artifacts ----------------------------------------------------------------------


def rubric(files: Any = OWNER, **criterion: Any) -> Report:
    plain = {
        "id": "c",
        "kind": "responsibility",
        "source": "manifest.goal",
        "executor": "owner",
        "expectedTerms": ["cites"],
    }
    entry = {key: value for key, value in {**plain, **criterion}.items() if value is not None}
    return gate(project(manifest(cases=[case()], criteria=[entry]), files), GOOD)


def test_criterion_passes_and_warns() -> None:
    assert rubric().verdict is Status.PASS
    report = rubric(expectedTerms=["nowhere"])
    assert report.criteria[0].status is Status.FAIL
    assert (report.source_rubric, report.verdict) == (Status.WARN, Status.WARN)
    assert rubric(expectedTerms=["nowhere"], critical=True).verdict is Status.FAIL


@pytest.mark.parametrize(
    ("criterion", "status", "reason"),
    [
        ({"source": None}, Status.UNVERIFIED, "NO_SOURCE"),
        ({"source": "manifest.nothing"}, Status.UNVERIFIED, "SOURCE_UNRESOLVED"),
        ({"source": "manifest.blank"}, Status.UNVERIFIED, "SOURCE_EMPTY"),
        ({"source": "gone.md"}, Status.UNVERIFIED, "SOURCE_UNRESOLVED"),
        ({"source": "../../etc/passwd"}, Status.UNVERIFIED, "SOURCE_UNRESOLVED"),
        ({"source": "agents/owner.md"}, Status.UNVERIFIED, "SOURCE_IS_ARTIFACT"),
        ({"source": "copy.md"}, Status.UNVERIFIED, "SOURCE_IS_ARTIFACT"),
        ({"executor": "nobody"}, Status.UNVERIFIED, "NO_ARTIFACT"),
        ({"expectedTerms": []}, Status.UNVERIFIED, "NO_EXPECTED_TERMS"),
        ({"expectedTerms": [" ", "\u200b"]}, Status.UNVERIFIED, "NO_EXPECTED_TERMS"),
        ({"artifact": "gone.md"}, Status.FAIL, "ARTIFACT_NOT_FOUND"),
        ({"artifact": "/etc/passwd"}, Status.FAIL, "ARTIFACT_ESCAPES"),
        ({"artifact": "binary"}, Status.FAIL, "ARTIFACT_NOT_TEXT"),
        ({"source": "gone.md", "expectedTerms": ["nowhere"]}, Status.FAIL, "MISSING_TERMS"),
        ({"kind": "anti_pattern"}, Status.FAIL, "FORBIDDEN_TERMS"),
        ({"kind": "anti_pattern", "artifact": "blank.md"}, Status.FAIL, "ARTIFACT_EMPTY"),
        ({"kind": "anti_pattern", "artifact": "gone.md"}, Status.FAIL, "ARTIFACT_NOT_FOUND"),
        ({"kind": "anti_pattern", "expectedTerms": ["nowhere"]}, Status.PASS, "NONE_PRESENT"),
    ],
)
def test_criteria(criterion: Any, status: Status, reason: str) -> None:
    files = {
        **OWNER,
        "copy.md": OWNER["agents/owner.md"],
        "binary": b"cites \xff",
        "blank.md": " \n",
    }
    held = manifest(
        cases=[case()],
        criteria=[
            {
                "id": "c",
                "kind": "scope",
                "source": "manifest.goal",
                "executor": "owner",
                "expectedTerms": ["cites"],
            }
            | criterion
        ],
        blank=" \u200b",
    )
    result = gate(project(held, files), GOOD).criteria[0]
    assert (result.status, result.reason) == (status, reason)


@pytest.mark.parametrize(
    ("changes", "text", "status", "reason"),
    [
        ({"expectedContains": ["APPROVED"]}, "approved", Status.PASS, "MET"),
        ({"expectedContains": ["approved"]}, "rejected", Status.FAIL, "MISSING_TERMS"),
        ({"expectedNotContains": ["todo"]}, "TODO", Status.FAIL, "FORBIDDEN_TERMS"),
        ({"expectedNotContains": ["todo"]}, "\n", Status.FAIL, "ARTIFACT_EMPTY"),
        ({"expectedContains": ["approved"]}, None, Status.FAIL, "ARTIFACT_NOT_FOUND"),
        ({"expectedContains": [" "]}, "approved", Status.UNVERIFIED, "NOTHING_TO_CHECK"),
        ({}, "approved", Status.UNVERIFIED, "NOTHING_TO_CHECK"),
    ],
)
def test_artifact_assertions(changes: Any, text: Any, status: Status, reason: str) -> None:
    files = OWNER if text is None else {**OWNER, "out.md": text}
    held_out = case(artifact="out.md", **changes)
    report = gate(project(manifest(cases=[held_out]), files), GOOD)
    guard = dimension(report, "task-output")
    assert (guard.status, guard.reason) == (status, reason)
    assert report.verdict is status


def test_nothing_declared_is_unverified() -> None:
    assert gate(project(manifest(cases=[]), OWNER), GOOD).verdict is Status.UNVERIFIED
    no_criteria = manifest(cases=[case()], criteria=[])
    assert gate(project(no_criteria, OWNER), GOOD).verdict is Status.UNVERIFIED
    nothing = {"dimensions": None, "worker": None, "scorer": None}
    report = gate(squad(**nothing), GOOD)
    assert dimension(report, "task-output").reason == "NOTHING_TO_CHECK"


def test_declared_run_that_nobody_reports() -> None:
    honest = passing_ab()
    for label in RunLabel:
        kept = tuple(one for one in run_workers(honest, GOOD_AB) if one.label is not label)
        report = judge(Evidence(honest, kept, PROVENANCE))
        assert dimension(report, f"{label}-execution").reason == "NOT_RUN"
        assert report.verdict is Status.FAIL


def test_guards_come_in_their_fixed_order() -> None:
    held_out = case(
        worker=None,
        baselineRun="prod",
        candidateRun="prod2",
        artifact="out.md",
        deterministic=False,
    )
    squad_project = project(manifest(cases=[held_out], bindings=[COMPILED]), GENOME_OWNER)
    names = [one.name for one in gate(squad_project, lambda *_given: None).cases[0].dimensions]
    assert names == ["grounding", *(name for name in GUARDS if name != "scorer-evidence")]


def test_smallest_set_of_changes() -> None:
    report = gate(passing(), table({"prod": {"candidate": {"t": 1}}}))
    names = [one.name for one in report.cases[0].dimensions]
    position = names.index("scorer-execution")
    assert report.required_changes == (f"held_out.cases[0].dimensions[{position}]",)
    assert {reason.code for reason in report.reasons} >= {"SCORE_MISSING", "NOT_INDEPENDENT"}
    assert gate(passing(), GOOD).required_changes == ()


def test_executions_that_are_none_are_refused() -> None:
    honest = passing()
    executions = run_workers(honest, GOOD)
    stray = Execution("other", RunLabel.CANDIDATE, Failed("X"))
    first, scorer = executions
    for third, reason in (
        (stray, "UNKNOWN_CASE"),
        (first, "DUPLICATE_EXECUTION"),
        (replace(scorer, duration_ms=-1), "INVALID_COUNT"),
        (replace(scorer, attempt=2**53), "INVALID_COUNT"),
        (replace(scorer, outcome=Failed("it broke")), "INVALID_REASON"),
    ):
        kept = executions if third in (stray, first) else (first,)
        with pytest.raises(InvalidInputError) as caught:
            judge(Evidence(honest, (*kept, third), PROVENANCE))
        assert caught.value.reason == reason
        assert caught.value.violations[0].path.startswith(f"executions[{len(kept)}]")
