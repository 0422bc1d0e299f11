"""One gate, from a squad's folder to its report files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from steelyard._core import hash_object
from steelyard.errors import SteelyardError
from steelyard.gating.judge import judge
from steelyard.gating.manifest import read_manifest
from steelyard.gating.model import Evidence, Execution, Failed, Project, Provenance
from steelyard.gating.precheck import precheck
from steelyard.gating.report import evidence_hash, report_json
from steelyard.runner.execute import Progress, run_cases
from steelyard.runner.reports import WrittenReport, write_report
from steelyard.runner.squad import SquadFolder
from steelyard.signing import sign_report
from steelyard.signing.keys import Signer
from steelyard.strictjson import JsonValue
from steelyard.timestamps import timestamp

__all__ = ["GateRun", "Judge", "judge_here", "run_gate"]

Judge = Callable[[Evidence], dict[str, JsonValue]]


@dataclass(frozen=True, slots=True)
class GateRun:
    """A finished gate: the report document as it was written, and where it went."""

    report: dict[str, JsonValue]
    files: WrittenReport
    precheck_failed: bool


def judge_here(evidence: Evidence) -> dict[str, JsonValue]:
    """The judge of this process."""
    return report_json(judge(evidence))


def run_gate(
    squad: SquadFolder,
    *,
    jobs: int,
    clock: Callable[[], datetime],
    run_id: str,
    judge: Judge = judge_here,
    signer: Signer | None = None,
    progress: Progress = lambda _: None,
) -> GateRun:
    """Check `squad`, run its workers, have the evidence judged, sign the report and keep it.

    No worker runs when the precheck finds an error; the report then says FAIL. What workers do or
    fail to do is in the report. Raises SteelyardError only for what leaves nothing to judge or no
    place to write: an unreadable manifest, a full or locked folder, a judge out of reach.
    """
    loaded = squad.load()
    failed = bool(precheck(loaded.project).errors)
    executions: tuple[Execution, ...] = ()
    if not failed:
        parsed, _ = read_manifest(loaded.project.manifest)
        executions = run_cases(squad, parsed, loaded.project.files, loaded.workers, jobs, progress)
    project = replace(loaded.project, files=squad.files(loaded.project.files))
    if not _same_manifest(squad, project):
        executions = tuple(replace(run, outcome=_MANIFEST_CHANGED) for run in executions)
    provenance = Provenance(timestamp(clock()), run_id, f"steelyard gate . --squad {squad.slug}")
    report = judge(Evidence(project, executions, provenance))
    if signer is not None:
        report["signature"] = sign_report(report, evidence_hash(report), signer)
    return GateRun(report, write_report(squad.folder(), report), failed)


_MANIFEST_CHANGED = Failed("MANIFEST_CHANGED", "the manifest was changed while workers ran")


def _same_manifest(squad: SquadFolder, project: Project) -> bool:
    try:
        return hash_object(squad.manifest()) == hash_object(project.manifest)
    except SteelyardError:
        return False
