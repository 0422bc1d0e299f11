"""Reports checked against their project and their signature; forgeries are refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from steelyard.cli import main
from steelyard.errors import PreconditionError
from steelyard.files import Folder
from steelyard.gating.report import evidence_hash
from steelyard.runner.verifying import CheckedReport, check_report
from steelyard.signing import TrustedKeys, new_key, read_public_key, trust_key
from tests.support.squad_project import SquadProject

Report = dict[str, Any]


@pytest.fixture
def project(tmp_path: Path) -> SquadProject:
    made = SquadProject(tmp_path / "project")
    made.bind_genome()
    return made


@pytest.fixture
def key(tmp_path: Path) -> Path:
    new_key(tmp_path / "key")
    return tmp_path / "key"


@pytest.fixture
def trusted(tmp_path: Path, key: Path) -> TrustedKeys:
    return trust_key(tmp_path / "trusted.json", read_public_key(key), "ci")


def check(
    report: Any, project: SquadProject | None = None, trusted: TrustedKeys | None = None
) -> CheckedReport:
    folder = Folder.open(project.root) if project else None
    return check_report(report, folder, trusted, datetime.now(UTC))


def codes(checked: CheckedReport) -> list[str]:
    return [mismatch.code for mismatch in checked.verification.mismatches]


def gate(project: SquadProject, *arguments: str) -> Report:
    report = project.gate(*arguments)
    del report["exit_code"]
    return report


def rehash(report: Report) -> Report:
    report["reproduction"]["evidence_hash"] = evidence_hash(report)
    return report


def test_an_honest_report_verifies(project: SquadProject, key: Path, trusted: TrustedKeys) -> None:
    unsigned = gate(project)
    assert (codes(check(unsigned, project)), check(unsigned, project).ready) == ([], True)
    assert check(unsigned).verification.unchecked == ("PROJECT_FILES", "RECORDS")
    assert not check(unsigned).ready
    signed = gate(project, "--sign", str(key))
    for checked in (check(signed, project, trusted), check(signed, None, trusted)):
        assert codes(checked) == []
        assert checked.signature.name == "ci"
    assert check(signed, project).verification.unchecked == ("SIGNATURE",)
    assert check(signed, None, trusted).verification.unchecked == ("PROJECT_FILES",)


def case(report: Report) -> Report:
    found: Report = report["held_out"]["cases"][0]
    return found


FORGERIES: dict[str, Callable[[Report], None]] = {
    "verdict": lambda report: report.update(verdict="WARN"),
    "scorer output": lambda report: case(report)["executions"][-1]["output"]["dimensions"][
        "grounding"
    ].update(candidate=1.0),
    "artifact check": lambda report: case(report).update(missing=["x"]),
    "comparison": lambda report: report["genome_comparison"].update(dimensions=[]),
    "guard": lambda report: case(report)["dimensions"].append(
        {**case(report)["dimensions"][0], "name": "task-output"}
    ),
    "execution": lambda report: case(report)["executions"].pop(0),
    "precheck": lambda report: report["precheck"].update(strict=False),
    "hash": lambda report: report["inputs"].update(manifest_hash="0" * 64),
    "worker hash": lambda report: case(report)["executions"][0].update(worker_hash="0" * 64),
    "time": lambda report: report.update(generated_at="2026-01-02T03:04:05.678Z"),
    "run": lambda report: report["reproduction"].update(run_id="0" * 8),
    "duration": lambda report: case(report)["executions"][0].update(duration_ms=1234567),
    "extra field": lambda report: report.update(extra=1),
    "deep extra field": lambda report: case(report)["dimensions"][0].update(extra=1),
    "reason": lambda report: report.update(reasons=[{"code": "x"}]),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_signed_report_that_was_changed_is_refused_without_the_project(
    project: SquadProject, key: Path, trusted: TrustedKeys, name: str
) -> None:
    honest = gate(project, "--sign", str(key))
    forged = copy.deepcopy(honest)
    FORGERIES[name](forged)
    assert forged != honest
    for report in (forged, rehash(copy.deepcopy(forged))):
        assert "SIGNATURE_INVALID" in codes(check(report, None, trusted))
    # Nor does it help to drop the signature.
    del forged["signature"]
    assert "SIGNATURE_UNSIGNED" in codes(check(rehash(forged), None, trusted))


@pytest.mark.parametrize("name", FORGERIES)
def test_an_unsigned_report_that_was_changed_is_refused_with_the_project(
    project: SquadProject, name: str
) -> None:
    forged = gate(project)
    FORGERIES[name](forged)
    assert codes(check(rehash(forged), project)) != []


def consistent_forgery(project: SquadProject, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A report in which every field follows from outputs that no worker gave."""
    from steelyard.runner import execute

    real = execute.run_process

    def generous(*args: Any, **options: Any) -> Any:
        result = real(*args, **options)
        object.__setattr__(result, "stdout", result.stdout.replace(b"0.9", b"1.0"))
        return result

    with monkeypatch.context() as patched:
        patched.setattr(execute, "run_process", generous)
        forged = gate(project)
    newest = project.squad / "evals"
    for file in newest.iterdir():
        file.unlink()
    return forged


def test_a_report_that_is_all_consistent_but_never_happened_is_refused(
    project: SquadProject,
    key: Path,
    trusted: TrustedKeys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forged = consistent_forgery(project, monkeypatch)
    honest = gate(project, "--sign", str(key))
    assert codes(check(forged)) == []
    assert codes(check(forged, project)) == ["NOT_RECORDED"]
    forged["reproduction"]["run_id"] = honest["reproduction"]["run_id"]
    forged["generated_at"] = honest["generated_at"]
    assert codes(check(rehash(forged), project)) == ["RECORD_DIFFERS"]
    forged["signature"] = honest["signature"]
    assert codes(check(forged, None, trusted)) == ["SIGNATURE_INVALID"]


def test_a_trusted_report_needs_no_record_in_the_folder(
    project: SquadProject, key: Path, trusted: TrustedKeys
) -> None:
    report = gate(project, "--sign", str(key))
    for file in (project.squad / "evals").iterdir():
        file.unlink()
    assert codes(check(report, project, trusted)) == []
    assert codes(check(report, project)) == ["NOT_RECORDED"]


def append(path: Path) -> None:
    path.write_text(path.read_text() + "\n")


@pytest.mark.parametrize(
    ("change", "code", "names"),
    [
        (lambda project: append(project.root / "style.md"), "STALE_SOURCE", "style.md"),
        (lambda project: append(project.prompt), "STALE_ARTIFACT", "writer.md"),
        (
            lambda project: append(project.squad / "workers" / "scorer" / "helper.py"),
            "STALE_WORKER",
            "helper.py",
        ),
        (
            lambda project: (project.squad / "workers" / "producer" / "new.py").write_text(""),
            "STALE_WORKER",
            "new.py",
        ),
        (
            lambda project: project.manifest.update(goal="Another goal.") or project.write(),
            "STALE_MANIFEST",
            "goal",
        ),
    ],
)
def test_what_changed_since_is_named(
    project: SquadProject,
    key: Path,
    trusted: TrustedKeys,
    change: Callable[[SquadProject], object],
    code: str,
    names: str,
) -> None:
    helper = project.squad / "workers" / "scorer" / "helper.py"
    helper.write_text("")
    report = gate(project, "--sign", str(key))
    assert codes(check(report, project, trusted)) == []
    change(project)
    checked = check(report, project, trusted)
    assert code in codes(checked)
    told = json.dumps(
        [
            [mismatch.path, mismatch.expected, mismatch.found]
            for mismatch in checked.verification.mismatches
        ]
    )
    assert names in told or names in told.replace(".", "/")


@pytest.mark.parametrize(
    "report",
    [
        None,
        1,
        [],
        {},
        "x",
        {"squad": "demo"},
        {"squad": "../demo"},
        {"squad": 5, "signature": 5},
        {"verdict": "PASS", "held_out": {"cases": [[]]}, "signature": {}},
    ],
)
def test_checking_is_total(project: SquadProject, trusted: TrustedKeys, report: Any) -> None:
    for checked in (check(report), check(report, project), check(report, project, trusted)):
        assert not checked.valid
        assert not checked.ready


# --- readiness --------------------------------------------------------------------------------


def test_ready_asks_for_a_trusted_signature_when_keys_are_configured(
    project: SquadProject, tmp_path: Path, key: Path, trusted: TrustedKeys
) -> None:
    keys = ["--trusted-keys", str(tmp_path / "trusted.json")]
    assert project.gate("--require-ready")["exit_code"] == 0
    assert project.gate("--require-ready", *keys)["exit_code"] == 2
    assert project.gate("--require-ready", *keys, "--sign", str(key))["exit_code"] == 0
    new_key(tmp_path / "stranger")
    signed = ("--sign", str(tmp_path / "stranger"))
    assert project.gate("--require-ready", *keys, *signed)["exit_code"] == 2


def test_a_warning_is_not_ready(project: SquadProject) -> None:
    project.cases[0]["dimensions"]["grounding"] = {"threshold": 0.99}
    project.write()
    assert project.gate()["exit_code"] == 0
    assert project.gate("--require-ready")["exit_code"] == 2


@pytest.mark.parametrize(
    ("flags", "reason", "code"),
    [
        ({"ephemeral": True}, "waits for the new data set", 0),
        ({"ephemeral": True}, None, 2),
        ({"ephemeral": False}, "waits for the new data set", 2),
        ({"ephemeral": True, "regulated": True}, "waits for the new data set", 2),
    ],
)
def test_only_an_ephemeral_squad_may_defer(
    project: SquadProject, flags: dict[str, bool], reason: str | None, code: int
) -> None:
    project.cases[0]["deterministic"] = False
    project.manifest.update(flags)
    if reason:
        project.manifest["evaluation"]["deferReason"] = reason
    project.write()
    assert project.gate("--require-ready")["exit_code"] == code


def test_a_failure_cannot_be_deferred(project: SquadProject) -> None:
    project.worker("producer", "raise SystemExit(1)")
    project.manifest["ephemeral"] = True
    project.manifest["evaluation"]["deferReason"] = "waits for the new data set"
    project.write()
    assert project.gate("--require-ready")["exit_code"] == 1


# --- the commands -----------------------------------------------------------------------------


def invoke(project: SquadProject, *arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments), env=project.environment)


def test_verify_prints_every_mismatch(project: SquadProject, tmp_path: Path) -> None:
    report = gate(project)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    good = invoke(project, "verify", str(path), "--project", str(project.root))
    assert (good.exit_code, "verified" in good.stdout) == (0, True)
    path.write_text(json.dumps({**report, "verdict": "WARN"}))
    bad = invoke(project, "verify", str(path), "--project", str(project.root))
    assert (bad.exit_code, "VERDICT" in bad.stdout) == (1, True)
    answer = json.loads(invoke(project, "verify", str(path), "--json").stdout)
    assert answer["valid"] is False
    assert {"code": "VERDICT", "path": "verdict", "expected": "PASS", "found": "WARN"} in (
        answer["mismatches"]
    )
    assert answer["signature"]["state"] == "unsigned"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a":1,"a":2}'])
def test_verify_refuses_what_is_no_json(project: SquadProject, tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    assert invoke(project, "verify", str(path)).exit_code == 2
    assert invoke(project, "verify", str(tmp_path / "gone")).exit_code == 2


def test_keys_are_made_shown_trusted_and_used(project: SquadProject, tmp_path: Path) -> None:
    private = tmp_path / "release"
    made = invoke(project, "keys", "new", str(private))
    assert made.exit_code == 0
    assert invoke(project, "keys", "new", str(private)).exit_code == 2
    shown = [invoke(project, "keys", "show", str(path)) for path in (private, f"{private}.pub")]
    assert shown[0].stdout == shown[1].stdout
    assert "BEGIN PUBLIC KEY" in shown[0].stdout
    trusting = invoke(project, "keys", "trust", f"{private}.pub")
    assert trusting.exit_code == 0
    secret = private.read_text().splitlines()[1]
    assert all(secret not in one.output for one in (made, *shown, trusting))
    # The user's own trusted keys count without being named.
    assert project.gate("--require-ready")["exit_code"] == 2
    assert project.gate("--require-ready", "--sign", str(private))["exit_code"] == 0
    for file in project.squad.rglob("*"):
        assert file.is_dir() or secret not in file.read_text(errors="replace")


def test_a_test_result_attestation_on_request(
    project: SquadProject, tmp_path: Path, key: Path
) -> None:
    import base64

    project.cases[0]["deterministic"] = False
    project.write()
    path = tmp_path / "attestation.json"
    report = gate(project, "--sign", str(key), "--attestation", str(path))
    envelope = json.loads(path.read_text())
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert report["verdict"] == "UNVERIFIED"
    assert statement["predicate"]["result"] == "FAILED"
    assert statement["subject"][0]["digest"]["sha256"] == evidence_hash(report)
    assert "case:one" in statement["predicate"]["failedTests"]


# --- the playbook -----------------------------------------------------------------------------


def test_a_lesson_is_promoted_by_a_later_pass_on_a_new_case(project: SquadProject) -> None:
    def playbook(command: str, *arguments: str) -> Any:
        given = ["playbook", command, str(project.root), "--squad", "demo", *arguments]
        return CliRunner().invoke(main, given, env=project.environment)

    lesson = ("--rule", "Cite sources", "--lesson", "Two were wrong", "--from", "run 1", "--json")
    gate(project)
    (entry,) = json.loads(playbook("capture", *lesson).stdout)
    early = playbook("promote", entry["id"])
    assert (early.exit_code, "EVIDENCE_NOT_LATER" in early.output) == (1, True)
    gate(project)
    seen = playbook("promote", entry["id"])
    assert (seen.exit_code, "EVIDENCE_NO_UNSEEN_CASE" in seen.output) == (1, True)
    project.cases.append({**project.cases[0], "id": "renamed"})
    project.write()
    gate(project)
    renamed = playbook("promote", entry["id"])
    assert (renamed.exit_code, "EVIDENCE_NO_UNSEEN_CASE" in renamed.output) == (1, True)
    project.cases.append(project.case("new"))
    project.write()
    stale = playbook("promote", entry["id"])
    assert (stale.exit_code, "EVIDENCE_UNVERIFIED" in stale.output) == (1, True)
    report = gate(project)
    (promoted,) = json.loads(playbook("promote", entry["id"], "--json").stdout)
    assert promoted["status"] == "promoted"
    assert promoted["promotion"]["unseen_cases"] == ["new"]
    assert promoted["promotion"]["run_id"] == report["reproduction"]["run_id"]
    assert json.loads(playbook("list", "--json").stdout) == [promoted]
    assert playbook("promote", "rule-0").exit_code == 2


def test_a_forged_pass_promotes_nothing(project: SquadProject) -> None:
    from steelyard.runner.proof import capture_lesson, promote_lesson
    from steelyard.runner.squad import SquadFolder

    squad = SquadFolder.open(Folder.open(project.root), "demo")
    before = datetime.now(UTC) - timedelta(hours=1)
    entry = capture_lesson(squad, "Cite sources", "Two were wrong", "run 1", before)
    project.cases.append(project.case("new"))
    project.worker("scorer", "raise SystemExit(1)")
    project.write()
    forged = gate(project)
    forged["verdict"] = "PASS"
    for report in (forged, rehash(copy.deepcopy(forged)), {}, None, {"squad": "demo"}):
        with pytest.raises(PreconditionError) as caught:
            promote_lesson(squad, entry.id, report, None, datetime.now(UTC))
        assert caught.value.reason == "EVIDENCE_UNVERIFIED"
