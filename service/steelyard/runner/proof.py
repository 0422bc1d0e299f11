"""What a playbook may take from a gate report: verified, of this squad, later, on unseen cases."""

from __future__ import annotations

from datetime import datetime

from steelyard.gating.report import evidence_hash
from steelyard.playbook import Entry, Evidence, NotProvenError, PlaybookStore, case_keys
from steelyard.runner.squad import SquadFolder
from steelyard.runner.verifying import check_report
from steelyard.signing import TrustedKeys
from steelyard.strictjson import JsonValue, as_object, as_objects

__all__ = ["capture_lesson", "playbook_of", "promote_lesson"]


def playbook_of(squad: SquadFolder) -> PlaybookStore:
    """The playbook of `squad`."""
    return PlaybookStore(squad.folder(), squad.slug)


def capture_lesson(squad: SquadFolder, rule: str, lesson: str, source: str, now: datetime) -> Entry:
    """Capture a lesson, with the held-out cases that the manifest declares now as the seen ones."""
    return playbook_of(squad).capture(rule, lesson, source, case_keys(squad.manifest()), now)


def promote_lesson(
    squad: SquadFolder,
    entry_id: str,
    report: JsonValue,
    trusted: TrustedKeys | None,
    now: datetime,
) -> Entry:
    """Promote a lesson on the proof of `report`, which must verify against the project as it is.

    Raises as `Playbook.promote` does.
    """
    checked = check_report(report, squad.project, trusted, now)
    document = as_object(report)
    if not checked.valid:
        codes = ", ".join(mismatch.code for mismatch in checked.verification.mismatches)
        raise NotProvenError("EVIDENCE_UNVERIFIED", f"the report does not verify: {codes}")
    evidence = Evidence(
        verified=True,
        squad=str(document["squad"]),
        verdict=checked.verdict,
        generated_at=datetime.fromisoformat(str(document["generated_at"])),
        run_id=str(as_object(document["reproduction"]).get("run_id")),
        evidence_hash=evidence_hash(document),
        passed_cases=_passed_cases(document),
    )
    return playbook_of(squad).promote(entry_id, evidence, case_keys(squad.manifest()), now)


def _passed_cases(document: dict[str, JsonValue]) -> frozenset[str]:
    cases = as_objects(as_object(document.get("held_out")).get("cases"))
    return frozenset(str(case.get("id")) for case in cases if case.get("status") == "pass")
