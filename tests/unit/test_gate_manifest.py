"""Reading manifests, and the small rules that everything else stands on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from steelyard.errors import InvalidInputError
from steelyard.gating.difference import differences
from steelyard.gating.evaluation_block import read_dimension
from steelyard.gating.judge import judge
from steelyard.gating.managed import BEGIN, END, remove_managed_blocks
from steelyard.gating.manifest import read_manifest, referenced_paths, worker_names
from steelyard.gating.model import BrokenWorker, Evidence, FileProblem, Status
from steelyard.gating.names import is_name, is_slug
from steelyard.gating.paths import normal_path
from steelyard.gating.precheck import precheck
from steelyard.gating.references import manifest_reference
from steelyard.gating.text import fold, is_visible
from steelyard.gating.verify import verify
from tests.support.gate_world import (
    GOOD,
    NOW,
    PROVENANCE,
    case,
    document,
    gate,
    manifest,
    passing,
    passing_ab,
    project,
)


def errors(**evaluation: Any) -> set[tuple[str, str]]:
    _, found = read_manifest({"evaluation": {"criteria": [], **evaluation}})
    return {(one.code, one.path) for one in found.errors}


def in_case(**changes: Any) -> set[tuple[str, str]]:
    found = errors(heldOutCases=[{"id": "h", "task": "t", "worker": "w", **changes}])
    prefix = "evaluation.heldOutCases[0]"
    assert all(path.startswith(prefix) for _, path in found)
    return {(code, path.removeprefix(prefix).removeprefix(".")) for code, path in found}


def test_well_formed_manifests_have_no_findings() -> None:
    for squad in (passing(), passing_ab()):
        found = precheck(squad)
        assert (found.errors, found.warnings) == ((), ())


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"id": "a b"}, "INVALID_NAME", "id"),
        ({"id": 5}, "INVALID_NAME", "id"),
        ({"task": ""}, "TASK_MISSING", "task"),
        ({"task": 5}, "NOT_TEXT", "task"),
        ({"worker": "../w"}, "INVALID_NAME", "worker"),
        ({"input": []}, "NOT_AN_OBJECT", "input"),
        ({"baselineRun": []}, "NOT_AN_OBJECT", "baselineRun"),
        ({"baselineRun": {}}, "INVALID_NAME", "baselineRun.worker"),
        ({"scorer": {"worker": 1}}, "INVALID_NAME", "scorer.worker"),
        ({"worker": None, "scorer": "s"}, "CANDIDATE_MISSING", "candidateRun"),
        ({"deterministic": "true"}, "NOT_A_BOOLEAN", "deterministic"),
        ({"seed": -1}, "INVALID_SEED", "seed"),
        ({"seed": True}, "INVALID_SEED", "seed"),
        ({"seed": 1.5}, "INVALID_SEED", "seed"),
        ({"seed": 2**53}, "INVALID_SEED", "seed"),
        ({"artifact": "../a"}, "PATH_ESCAPES", "artifact"),
        ({"expectedContains": ["x"]}, "ARTIFACT_MISSING", "artifact"),
        ({"artifact": "a", "expectedContains": [None]}, "NOT_TEXT", "expectedContains[0]"),
        ({"artifact": "a", "expectedContains": {}}, "NOT_AN_ARRAY", "expectedContains"),
        ({"artifact": "a", "expectedContains": ["x"] * 201}, "TOO_MANY", "expectedContains"),
        ({"artifact": "a", "expectedContains": "x" * 10_001}, "TOO_LONG", "expectedContains[0]"),
        ({"dimensions": []}, "NOT_AN_OBJECT", "dimensions"),
        ({"dimensions": {"d": 5}}, "NOT_AN_OBJECT", "dimensions.d"),
        ({"dimensions": {"d": {"threshold": "1"}}}, "THRESHOLD_INVALID", "dimensions.d.threshold"),
        ({"dimensions": {"d": {"threshold": None}}}, "THRESHOLD_INVALID", "dimensions.d.threshold"),
        ({"thresholds": {"d": 5}}, "THRESHOLD_INVALID", "dimensions.d.threshold"),
        ({"dimensions": {"d": {"margin": 1}}}, "MARGIN_INVALID", "dimensions.d.margin"),
        ({"dimensions": {"d": {"critical": 1}}}, "NOT_A_BOOLEAN", "dimensions.d.critical"),
        ({"dimensions": {"task-output": {}}}, "RESERVED_NAME", "dimensions.task-output"),
        ({"criticalDimensions": ["a b"]}, "INVALID_NAME", "dimensions.a b"),
        ({"criticalDimensions": [5]}, "NOT_TEXT", "criticalDimensions[0]"),
    ],
)
def test_case_findings(changes: Any, code: str, path: str) -> None:
    assert (code, path) in in_case(**changes)


@pytest.mark.parametrize(
    ("evaluation", "code", "path"),
    [
        ({"contractVersion": "2.0.0"}, "CONTRACT_VERSION", "evaluation.contractVersion"),
        ({"contractVersion": 1}, "CONTRACT_VERSION", "evaluation.contractVersion"),
        ({"criteria": {}}, "NOT_AN_ARRAY", "evaluation.criteria"),
        ({"criteria": [5]}, "NOT_AN_OBJECT", "evaluation.criteria[0]"),
        ({"criteria": [{"kind": "other"}]}, "INVALID_KIND", "evaluation.criteria[0].kind"),
        ({"criteria": [{"kind": []}]}, "INVALID_KIND", "evaluation.criteria[0].kind"),
        ({"heldOutCases": [{"task": "t"}] * 1001}, "TOO_MANY", "evaluation.heldOutCases"),
        ({"maxAgeDays": 0}, "INVALID_MAX_AGE", "evaluation.maxAgeDays"),
        ({"maxAgeDays": True}, "INVALID_MAX_AGE", "evaluation.maxAgeDays"),
        ({"deferReason": "later"}, "DEFER_REASON_TOO_SHORT", "evaluation.deferReason"),
    ],
)
def test_evaluation_findings(evaluation: Any, code: str, path: str) -> None:
    assert (code, path) in errors(**evaluation)


@pytest.mark.parametrize(
    ("top", "code", "path"),
    [
        ({}, "EVALUATION_MISSING", "evaluation"),
        ({"slug": "A"}, "INVALID_SLUG", "slug"),
        ({"executors": [{}]}, "INVALID_NAME", "executors[0].slug"),
        ({"executors": [{"slug": "a"}, {"slug": "a"}]}, "DUPLICATE", "executors[1].slug"),
        ({"executors": [{"slug": "a", "file": "/x"}]}, "PATH_ESCAPES", "executors[0].file"),
        ({"sourceDocs": ["../x"]}, "PATH_ESCAPES", "sourceDocs[0]"),
        ({"genomeBindings": "g"}, "NOT_AN_ARRAY", "genomeBindings"),
        ({"genomeBindings": [{"slug": "!!"}]}, "INVALID_SLUG", "genomeBindings[0].slug"),
        (
            {"genomeBindings": {"executors": {"e": [{"slug": "g", "priority": "1"}]}}},
            "NOT_A_NUMBER",
            "genomeBindings.executors.e[0].priority",
        ),
        ({"regulated": 1}, "NOT_A_BOOLEAN", "regulated"),
    ],
)
def test_manifest_findings(top: Any, code: str, path: str) -> None:
    _, found = read_manifest(top)
    assert (code, path) in {(one.code, one.path) for one in found.errors}


def test_flags_that_are_no_booleans_count_against_the_squad() -> None:
    squad, _ = read_manifest(
        {"ephemeral": "yes", "regulated": "no", "evaluation": {"deferReason": "not yet built"}}
    )
    assert (squad.ephemeral, squad.regulated) == (False, True)
    spec, _ = read_dimension("d", {"critical": "false"})
    assert spec.critical


def test_misspelt_keys_warn() -> None:
    _, found = read_manifest(
        {"evaluation": {"heldOutCases": [case(dimensions={"d": {"treshold": 0.1}}, sed=1)]}}
    )
    paths = {one.path.removeprefix("evaluation.heldOutCases[0].") for one in found.warnings}
    assert paths == {"sed", "dimensions.d.treshold"}


def test_the_precheck_looks_at_files_and_workers() -> None:
    top = manifest(cases=[case(scorer="ghost")], sourceDocs=["gone.md"], slug="other")
    found = precheck(project(top, {"agents/owner.md": FileProblem.ESCAPES}))
    assert {(one.code, one.path) for one in found.errors} == {
        ("SQUAD_MISMATCH", "slug"),
        ("EXECUTOR_FILE", "executors[0].file"),
        ("WORKER_NOT_FOUND", "evaluation.heldOutCases[0].scorer"),
    }
    assert [(one.code, one.path) for one in found.warnings] == [("SOURCE_DOC", "sourceDocs[0]")]


def test_broken_workers_say_why() -> None:
    squad = passing()
    squad.workers["judge"] = BrokenWorker("WORKER_LINK", "leaves its folder")  # type: ignore[index]
    assert [one.code for one in precheck(squad).errors] == ["WORKER_LINK"]
    assert precheck(squad).status is Status.FAIL


def test_what_a_runner_must_read() -> None:
    top = manifest(
        cases=[case(artifact="./out//a.md", baselineRun="base")],
        criteria=[
            {"kind": "scope", "source": "docs\\s.md", "artifact": "out/a.md"},
            {"kind": "scope", "source": "manifest.goal", "artifact": "/etc/passwd"},
        ],
        sourceDocs=["docs/s.md", "../x"],
    )
    assert referenced_paths(top) == ("docs/s.md", "agents/owner.md", "out/a.md")
    assert worker_names(top) == ("base", "prod", "judge")


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("a", "a"),
        ("./a", "a"),
        ("././a", "a"),
        ("a/./b//c", "a/b/c"),
        ("a\\b", "a/b"),
        ("a/../b", "b"),
        ("../a", None),
        ("a/../../b", None),
        ("/a", None),
        ("\\a", None),
        ("C:\\a", None),
        ("", None),
        (".", None),
        ("a/..", None),
        ("a\n", None),
        ("a\0b", None),
        ("x" * 1025, None),
    ],
)
def test_paths(raw: str, normal: str | None) -> None:
    assert normal_path(raw) == normal


@pytest.mark.parametrize(
    "reference",
    [
        *("manifest", "manifest.", "manifest.a ", " manifest.a", "manifest.a.b.c"),
        *("manifest.a[-1]", "manifest.a[1]", "manifest.a[x]", "manifest.a.0", "manifest.a['0']"),
        *("manifest.__proto__", "Manifest.a", "manifest.a[0].length", "manifest.a\n"),
        *("manifest..a", "manifest.t[0]"),
    ],
)
def test_references_that_name_nothing(reference: str) -> None:
    assert manifest_reference({"a": ["x"], "t": "text"}, reference) is None


def test_references() -> None:
    top: Any = {"a": [{"b-c": [1, 2]}], "0": "zero", "constructor": "own"}
    assert manifest_reference(top, "manifest.a[0].b-c[1]") == 2
    assert manifest_reference(top, "manifest.0") == "zero"
    assert manifest_reference(top, "manifest.constructor") == "own"


def test_names_and_slugs() -> None:
    assert all(map(is_name, ["a", "A.b:c_d-e", "0", "x" * 64]))
    assert not any(map(is_name, ["", "-a", ".a", "_a", "a b", "x" * 65, "a\n", "é", None, 5]))
    assert all(map(is_slug, ["a", "a-b", "9", "a-"]))
    assert not any(map(is_slug, ["", "-a", "A", "a.b", "a\n", "é", None]))


def test_folding() -> None:
    for one, other in (("Straße", "STRASSE"), ("ΟΔΟΣ", "οδος"), ("é", "e\u0301"), ("ﬁ", "FI")):
        assert fold(one) == fold(other)
    assert fold("\u0131") != fold("i")
    assert not any(map(is_visible, ["", " \t\n", "\u200b\u00ad\ufeff", "\u3164", "\u0301"]))
    assert all(map(is_visible, ["x", ".", "+", "\u200bx", "字"]))


def test_runs_of_combining_marks_take_no_time() -> None:
    marks = "\u0301" * 40_000 + "\u0323" * 40_000
    criterion: Any = {"kind": "scope", "artifact": "out.md", "source": "manifest.goal"}
    top = manifest(
        cases=[case()], criteria=[{**criterion, "expectedTerms": ["x", f"a{marks[:99]}"]}]
    )
    report = gate(project(top, {"out.md": f"x{marks}"}), GOOD)
    assert report.criteria[0].reason == "ARTIFACT_NOT_TEXT"
    where = "evaluation.criteria[0].expectedTerms[1]"
    assert ("NOT_TEXT", where) in {(one.code, one.path) for one in report.precheck.errors}


def test_all_terms_together_are_bounded() -> None:
    criterion: Any = {"kind": "scope", "expectedTerms": ["x"] * 200}
    found = {path for code, path in errors(criteria=[criterion] * 11) if code == "TOO_MANY"}
    assert found == {"evaluation.criteria[10].expectedTerms"}


def test_many_managed_blocks_take_linear_time() -> None:
    block = f"{BEGIN}x{END}\n"
    bare = remove_managed_blocks(f"a\n{block * 50_000}b")
    assert (bare.text, bare.effects, bare.intact) == ("a\n\nb\n", True, True)


@pytest.mark.parametrize(
    ("text", "effects", "intact"),
    [
        ("plain", False, True),
        (f"{BEGIN} \n{END}", False, True),
        (f"{BEGIN}{BEGIN}{END}", False, True),
        (f"{BEGIN}x", False, False),
        (f"{END}{BEGIN}x{END}", True, False),
        (f"{BEGIN}x{END}{BEGIN}", True, False),
    ],
)
def test_what_managed_blocks_leave(text: str, effects: bool, intact: bool) -> None:
    bare = remove_managed_blocks(text)
    assert (bare.effects, bare.intact) == (effects, intact)


@pytest.mark.parametrize(
    ("expected", "found", "paths"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": True}, {"a": 1}, ["a"]),
        ({"a": 0}, {"a": False}, ["a"]),
        ({"a": None}, {}, ["a"]),
        ({}, {"b": None}, ["b"]),
        ([1, 2], [1], ["[1]"]),
        ([{"id": "x", "v": 1}, {"id": "y"}], [{"id": "y"}, {"id": "x", "v": 2}], ["[1].v", ""]),
        ({"l": [{"id": "x"}]}, {"l": [{"id": "x"}, {"id": "x"}]}, ["l[1]"]),
        ([{"path": "a", "hash": "1"}], [{"path": "a", "hash": "2"}], ['["a"].hash']),
        ({"a": {"b": [1]}}, {"a": {"b": {}}}, ["a.b"]),
    ],
)
def test_differences(expected: Any, found: Any, paths: list[str]) -> None:
    assert [one.path for one in differences(expected, found)] == paths


@pytest.mark.parametrize("value", ["\ud800", float("nan"), 2**53, float("inf")])
def test_manifests_that_canonical_json_cannot_hold_are_refused(value: Any) -> None:
    squad = passing()
    top: Any = dict(squad.manifest)  # type: ignore[arg-type]
    top["goal"] = value
    other = replace(squad, manifest=top)
    report = document(squad, GOOD)
    for refuse in (
        lambda: precheck(other),
        lambda: judge(Evidence(other, (), PROVENANCE)),
        lambda: verify(report, other, now=NOW),
    ):
        with pytest.raises(InvalidInputError):
            refuse()
