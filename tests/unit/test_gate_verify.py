"""Forged and stale reports: each is rejected, and the mismatch names what was changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from steelyard._core import canonical_json, hash_object
from steelyard.errors import InvalidInputError
from steelyard.gating.model import FileHash, FoundFile, Project, Record, Verification, Worker
from steelyard.gating.report import evidence_hash
from steelyard.gating.verify import derived, verify
from tests.support.gate_world import (
    COMPILED,
    GENOME_OWNER,
    GOOD,
    GOOD_AB,
    NOW,
    OWNER,
    case,
    document,
    manifest,
    passing,
    passing_ab,
    project,
    table,
    worker,
)

SCHEMAS = Path(__file__).parents[2] / "service" / "steelyard" / "schemas"
Document = Any
Forge = Callable[[Document], None]


def kept(report: Document) -> list[Record]:
    """What the squad's folder keeps after an honest run."""
    return [Record(report["reproduction"]["run_id"], evidence_hash(report))]


def honest() -> tuple[Project, Document]:
    return passing(), document(passing(), GOOD)


def honest_ab() -> tuple[Project, Document]:
    return passing_ab(), document(passing_ab(), GOOD_AB)


def rehashed(report: Document) -> Document:
    report["reproduction"]["evidence_hash"] = evidence_hash(report)
    return report


def recomputed(report: Document) -> Document:
    """What the best forger does: derive every hash and conclusion from the forged facts."""
    forged, _ = derived(report, None)
    return forged


def codes(found: Verification) -> set[str]:
    return {one.code for one in found.mismatches}


def scorer_of(report: Document) -> Document:
    return report["held_out"]["cases"][0]["executions"][-1]


def with_output(report: Document, value: float) -> None:
    scorer = scorer_of(report)
    scorer["output"]["dimensions"]["grounding"]["candidate"] = value
    scorer["repeat_output_hash"] = hash_object(scorer["output"])


def test_honest_reports_verify() -> None:
    for squad, report in (honest(), honest_ab()):
        found = verify(report, squad, now=NOW, records=kept(report))
        assert found.mismatches == ()
        assert found.unchecked == ()
        found = verify(report, None, now=NOW)
        assert found.mismatches == ()
        assert found.unchecked == ("PROJECT_FILES", "RECORDS")


@pytest.mark.parametrize("make", [honest, honest_ab])
def test_order_of_keys_does_not_matter(make: Callable[[], tuple[Project, Document]]) -> None:
    squad, report = make()
    other = json.loads(canonical_json(report))
    assert verify(other, squad, now=NOW, records=kept(report)).valid
    assert verify(other, None, now=NOW).valid


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"prod": {"candidate": {"t": 1}}},
        {"prod": {"candidate": 1}, "judge": {"dimensions": {"grounding": 87, "__proto__": 1}}},
    ],
)
def test_honest_reports_of_failures_verify(answers: Any) -> None:
    for squad in (passing(), passing_ab(), project(manifest(cases=[case(worker="ghost")]), {})):
        report = document(squad, table(answers))
        assert report["verdict"] != "PASS"
        assert verify(report, squad, now=NOW, records=kept(report)).mismatches == ()
        assert verify(report, None, now=NOW).mismatches == ()


# --- forging ------------------------------------------------------------------------------------


def _verdict(report: Document) -> None:
    report["verdict"] = "WARN"


def _scorer_output(report: Document) -> None:
    with_output(report, 0.99)


def _artifact_check(report: Document) -> None:
    report["held_out"]["cases"][0]["artifact_hash"] = "0" * 64


def _comparison(report: Document) -> None:
    report["genome_comparison"]["status"] = "pass"


def _guard(report: Document) -> None:
    report["held_out"]["cases"][0]["dimensions"].pop()


def _execution(report: Document) -> None:
    scorer_of(report)["duration_ms"] = 1


def _precheck(report: Document) -> None:
    report["precheck"]["errors"].append({"code": "X", "path": "", "message": "x"})


def _precheck_status(report: Document) -> None:
    report["precheck"]["status"] = "fail"


def _hash(report: Document) -> None:
    scorer_of(report)["worker_hash"] = "0" * 64


def _payload_hash(report: Document) -> None:
    report["held_out"]["cases"][0]["executions"][0]["payload_hash"] = "0" * 64


def _time(report: Document) -> None:
    report["generated_at"] = "2026-01-02T03:04:05.677Z"


def _run(report: Document) -> None:
    report["reproduction"]["run_id"] = "11111111-1111-4111-8111-111111111111"


def _command(report: Document) -> None:
    report["reproduction"]["command"] = "true"


def _extra_field(report: Document) -> None:
    report["approved_by"] = "me"


def _extra_dimension(report: Document) -> None:
    dimensions = report["held_out"]["cases"][0]["dimensions"]
    dimensions.append({**dimensions[0], "name": "invented"})


def _manifest(report: Document) -> None:
    report["inputs"]["manifest"]["evaluation"]["heldOutCases"][0]["task"] = "easier"


def _evidence(report: Document) -> None:
    scorer_of(report)["output"]["dimensions"]["grounding"]["evidence"] = "better"


FORGERIES: list[tuple[Forge, set[str]]] = [
    (_verdict, {"VERDICT"}),
    (_scorer_output, {"DIMENSION", "EXECUTION"}),
    (_artifact_check, {"CASE"}),
    (_comparison, {"COMPARISON"}),
    (_guard, {"DIMENSION"}),
    (_execution, {"RECORD_DIFFERS"}),
    (_precheck, {"PRECHECK"}),
    (_precheck_status, {"PRECHECK"}),
    (_hash, {"STALE_WORKER"}),
    (_payload_hash, {"EXECUTION"}),
    (_time, {"RECORD_DIFFERS"}),
    (_run, {"NOT_RECORDED"}),
    (_command, {"RECORD_DIFFERS"}),
    (_extra_field, {"UNEXPECTED_FIELD"}),
    (_extra_dimension, {"DIMENSION"}),
    (_manifest, {"STALE_MANIFEST"}),
    (_evidence, {"DIMENSION", "EXECUTION"}),
]


@pytest.mark.parametrize(
    ("forge", "expected"), FORGERIES, ids=lambda one: getattr(one, "__name__", "")
)
def test_forged_and_rehashed(forge: Forge, expected: set[str]) -> None:
    squad, report = honest()
    records = kept(report)
    forge(report)
    found = verify(rehashed(report), squad, now=NOW, records=records)
    assert expected <= codes(found), found.mismatches


# Facts, not conclusions: deriving everything again does not undo these.
FACTS = [_scorer_output, _artifact_check, _execution, _precheck, _payload_hash, _time, _run]
FACTS += [_command, _manifest, _evidence]


@pytest.mark.parametrize("forge", FACTS)
def test_forged_and_everything_derived_again(forge: Forge) -> None:
    squad, report = honest()
    records = kept(report)
    original = copy.deepcopy(report)
    forge(report)
    forged = recomputed(report)
    assert forged != original
    assert not verify(forged, squad, now=NOW, records=records).valid


def test_derived_again_means_consistent() -> None:
    """The forger of these tests is as good as can be: against itself the report is flawless."""
    squad, report = honest()
    records = kept(report)
    with_output(report, 0.99)
    forged = recomputed(report)
    assert forged["held_out"]["cases"][0]["dimensions"][0]["candidate"] == 0.99
    assert forged["verdict"] == "PASS"
    assert verify(forged, None, now=NOW).valid
    found = verify(forged, squad, now=NOW, records=records)
    assert codes(found) == {"RECORD_DIFFERS"}


def test_failure_forged_into_a_pass() -> None:
    squad = passing()
    report = document(squad, table({"prod": {"candidate": {"t": 1}}}))
    records = kept(report)
    assert report["verdict"] == "FAIL"
    output = {"dimensions": {"grounding": {"candidate": 1, "evidence": "ev"}}}
    digest = hash_object(output)
    scorer_of(report).update(ok=True, failure=None, output=output, repeat_output_hash=digest)
    forged = recomputed(report)
    assert forged["verdict"] == "PASS"
    assert codes(verify(forged, squad, now=NOW, records=records)) == {"RECORD_DIFFERS"}


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("genome_comparison", "status"), "not-applicable", "COMPARISON"),
        (("genome_comparison", "dimensions"), [], "COMPARISON"),
        (("genome_comparison", "bindings", 0, "status"), "pending", "COMPARISON"),
        (("genome_comparison", "reason"), "NO_BINDINGS", "COMPARISON"),
        (("held_out", "cases", 0, "ab_controlled"), False, "CASE"),
        (("held_out", "cases", 0, "executions", 0, "genome_enabled"), True, "EXECUTION"),
        (("held_out", "cases", 0, "executions", 1, "genome_context_hash"), "0" * 64, "EXECUTION"),
        (("inputs", "contexts", "genome_off"), "0" * 64, "STALE_CONTEXT"),
        (("inputs", "contexts", "effects_present"), False, "STALE_CONTEXT"),
    ],
)
def test_forged_comparison(path: tuple[Any, ...], value: Any, code: str) -> None:
    squad, report = honest_ab()
    holder = report
    for step in path[:-1]:
        holder = holder[step]
    assert holder[path[-1]] != value
    holder[path[-1]] = value
    assert code in codes(verify(rehashed(report), squad, now=NOW))


def test_precheck_error_forged_away() -> None:
    squad = project(manifest(cases=[case(scorer="ghost")]), OWNER)
    report = document(squad, GOOD)
    assert [one["code"] for one in report["precheck"]["errors"]] == ["WORKER_NOT_FOUND"]
    records = kept(report)
    report["precheck"]["errors"] = []
    forged = recomputed(report)
    assert "PRECHECK" in codes(verify(forged, squad, now=NOW, records=records))


# --- stale --------------------------------------------------------------------------------------


def changed_file(squad: Project, path: str, content: bytes) -> Project:
    return replace(squad, files={**squad.files, path: FoundFile(path, content)})


def stale(squad: Project, report: Document) -> list[tuple[str, str]]:
    found = verify(report, squad, now=NOW, records=kept(report))
    return [(one.code, one.path) for one in found.mismatches]


def test_changed_source_is_named() -> None:
    squad, report = honest()
    changed = changed_file(squad, "agents/owner.md", b"cites every source!")
    assert ("STALE_SOURCE", 'inputs.sources["agents/owner.md"].hash') in stale(changed, report)


def test_changed_artifact_is_named() -> None:
    squad, report = honest()
    changed = changed_file(squad, "out.md", b"Approved, really.")
    assert ("STALE_ARTIFACT", 'inputs.artifacts["out.md"].hash') in stale(changed, report)


def test_changed_helper_file_of_a_worker_is_named() -> None:
    squad, report = honest()
    judge = squad.workers["judge"]
    assert isinstance(judge, Worker)
    files = (*judge.files, FileHash("lib/helper.py", "0" * 64))
    changed = replace(squad, workers={**squad.workers, "judge": Worker(files)})
    where = 'held_out.cases[0].executions[1].worker_sources["lib/helper.py"]'
    assert ("STALE_WORKER", where) in stale(changed, report)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda top: top.update(goal="Every claim."), "inputs.manifest.goal"),
        (lambda top: top.update(note="new"), "inputs.manifest.note"),
        (
            lambda top: top["evaluation"]["heldOutCases"][0].update(seed=8),
            "inputs.manifest.evaluation.heldOutCases[0].seed",
        ),
    ],
)
def test_changed_manifest_key_is_named(change: Callable[[Any], None], path: str) -> None:
    squad, report = honest()
    top: Any = copy.deepcopy(squad.manifest)
    change(top)
    assert ("STALE_MANIFEST", path) in stale(replace(squad, manifest=top), report)


def test_other_engine_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    squad, report = honest()
    monkeypatch.setattr("steelyard.gating.judge.ENGINE_DIGEST", "f" * 64)
    assert stale(squad, report) == [("STALE_ENGINE", "reproduction.engine_hash")]
    assert codes(verify(report, None, now=NOW)) == {"STALE_ENGINE"}


def test_age() -> None:
    squad, report = honest()

    def at(now: str) -> set[str]:
        return codes(verify(report, squad, now=now, records=kept(report)))

    assert at("2026-01-02T03:04:05.677Z") == {"FROM_FUTURE"}
    assert at("2026-02-01T03:04:05.678Z") == set()
    assert at("2026-02-01T03:04:05.679Z") == {"EXPIRED"}
    with pytest.raises(InvalidInputError, match="now"):
        verify(report, None, now="yesterday")


def test_shorter_age_of_the_manifest_counts() -> None:
    top = manifest(cases=[case()])
    top["evaluation"]["maxAgeDays"] = 1  # type: ignore[index,call-overload]
    squad = project(top, OWNER)
    report = document(squad, GOOD)
    assert codes(verify(report, squad, now="2026-01-03T03:04:05.679Z")) == {"EXPIRED"}


# --- the document -------------------------------------------------------------------------------


def test_documents_validate_against_the_published_schemas() -> None:
    schema = json.loads((SCHEMAS / "gate-report.schema.json").read_text())
    evaluation = json.loads((SCHEMAS / "gate-evaluation.schema.json").read_text())
    for squad, answers in (
        (passing(), GOOD),
        (passing_ab(), GOOD_AB),
        (passing(), table({})),
        (project(5, {}), table({})),
        (project(manifest(cases=[case(worker="ghost")], bindings=[COMPILED]), GENOME_OWNER), GOOD),
        (
            project(manifest(cases=[case()], criteria=[]), {}, {"judge": worker("print('prod')")}),
            GOOD,
        ),
    ):
        jsonschema.validate(document(squad, answers), schema)
        if isinstance(squad.manifest, dict):
            jsonschema.validate(squad.manifest["evaluation"], evaluation)


def test_extra_members_break_the_schema_and_verification() -> None:
    schema = json.loads((SCHEMAS / "gate-report.schema.json").read_text())
    squad, report = honest()
    for holder in (report, report["held_out"]["cases"][0], report["reproduction"]):
        holder["extra"] = 1
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(report, schema)
        assert "UNEXPECTED_FIELD" in codes(verify(rehashed(report), squad, now=NOW))
        del holder["extra"]


def test_signature_is_left_to_who_knows_keys() -> None:
    squad, report = honest()
    report["signature"] = {"payload": "..."}
    found = verify(report, squad, now=NOW, records=kept(report))
    assert found.valid
    assert found.unchecked == ("SIGNATURE",)
