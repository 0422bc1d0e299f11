"""A report checked against its project and against the keys one trusts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from steelyard.errors import InvalidInputError, SteelyardError
from steelyard.files import Folder
from steelyard.gating.manifest import read_manifest
from steelyard.gating.model import Mismatch, Project, Record, Squad, Verification
from steelyard.gating.report import evidence_hash
from steelyard.gating.verify import verify
from steelyard.runner.reports import kept_records
from steelyard.runner.squad import SquadFolder
from steelyard.signing import SignatureCheck, TrustedKeys, check_signature
from steelyard.strictjson import JsonValue, as_object
from steelyard.timestamps import timestamp

__all__ = ["CheckedReport", "check_report"]


@dataclass(frozen=True, slots=True)
class CheckedReport:
    """What checking found. `squad` is the squad as it is now, None without its project."""

    verdict: str
    verification: Verification
    signature: SignatureCheck
    squad: Squad | None

    @property
    def valid(self) -> bool:
        return self.verification.valid

    @property
    def deferred(self) -> str | None:
        """Why the squad may go on without a proven pass, or None when it may not.

        An ephemeral squad that is not regulated may say in its manifest why its evaluation waits.
        That excuses evidence that is missing, never evidence that failed.
        """
        squad = self.squad
        if squad is None or not squad.ephemeral or squad.regulated or self.verdict == "FAIL":
            return None
        return squad.defer_reason

    @property
    def ready(self) -> bool:
        """PASS, verified against the project as it is now, or deferred."""
        proven = self.verdict == "PASS" and self.valid and self.squad is not None
        return proven or self.deferred is not None


def check_report(
    report: JsonValue, folder: Folder | None, trusted: TrustedKeys | None, now: datetime
) -> CheckedReport:
    """Check `report` against the project in `folder` (None: what it carries alone). Total.

    With `trusted` keys, a report that none of them signed is a mismatch at `signature`; without, an
    envelope that is broken is one. A report without a trusted signature must be one of those that
    the squad's folder keeps; a trusted one speaks for itself wherever it comes from.
    """
    document = as_object(report)
    signature = _signature(document, trusted)
    project: Project | None = None
    records: tuple[Record, ...] | None = None
    found: list[Mismatch] = []
    if folder is not None:
        name = document.get("squad")
        try:
            squad = SquadFolder.open(folder, name if isinstance(name, str) else "")
            project = squad.load().project
            if signature.state != "trusted":
                records = kept_records(squad.folder())
        except SteelyardError as error:
            found.append(Mismatch(error.reason, "squad", error.message, name))
    checked = verify(report, project, now=timestamp(now), records=records)
    wanted = {"trusted"} if trusted else {"trusted", "unsigned", "unknown_key"}
    if signature.state not in wanted:
        code = f"SIGNATURE_{signature.state.upper()}"
        found.append(Mismatch(code, "signature", "a signature of a trusted key", signature.message))
    looked_at = set() if signature.state == "unknown_key" and not trusted else {"SIGNATURE"}
    looked_at |= {"RECORDS"} if signature.state == "trusted" else set()
    return CheckedReport(
        str(document.get("verdict")),
        Verification(
            (*checked.mismatches, *found),
            tuple(word for word in checked.unchecked if word not in looked_at),
        ),
        signature,
        read_manifest(project.manifest)[0] if project else None,
    )


def _signature(document: dict[str, JsonValue], trusted: TrustedKeys | None) -> SignatureCheck:
    try:
        return check_signature(document, evidence_hash(document), trusted)
    except InvalidInputError as error:
        return SignatureCheck("invalid", error.message)
