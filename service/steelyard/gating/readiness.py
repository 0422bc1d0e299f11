"""Readiness: may this squad be used now?"""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.gating.manifest import read_manifest
from steelyard.gating.model import Verification
from steelyard.strictjson import JsonValue

__all__ = ["Readiness", "readiness"]


@dataclass(frozen=True, slots=True)
class Readiness:
    """ready: it may be used. deferred: on its word instead of on a report.

    reasons: UPPER_SNAKE words that say why it is not ready: NO_REPORT, NOT_PASS, NOT_VERIFIED,
    PROJECT_NOT_CHECKED, NOT_SIGNED.
    """

    ready: bool
    deferred: bool
    reasons: tuple[str, ...]


def readiness(
    manifest: JsonValue,
    report: JsonValue,
    verification: Verification | None,
    *,
    signed: bool | None,
) -> Readiness:
    """Ready is a PASS that verification against the project found valid and current.

    report and verification: None when there is no report. signed: whether a trusted key signed it,
    None when no keys are configured. An ephemeral squad that is not regulated may defer instead:
    its manifest gives `evaluation.deferReason`, at least 8 characters.
    """
    reasons: list[str] = []
    if report is None or verification is None:
        reasons.append("NO_REPORT")
    else:
        verdict = report.get("verdict") if isinstance(report, dict) else None
        reasons += ["NOT_PASS"] if verdict != "PASS" else []
        reasons += ["NOT_VERIFIED"] if not verification.valid else []
        reasons += ["PROJECT_NOT_CHECKED"] if "PROJECT_FILES" in verification.unchecked else []
    reasons += ["NOT_SIGNED"] if signed is False else []
    if not reasons:
        return Readiness(ready=True, deferred=False, reasons=())
    squad, _ = read_manifest(manifest)
    deferred = squad.ephemeral and not squad.regulated and squad.defer_reason is not None
    return Readiness(ready=deferred, deferred=deferred, reasons=tuple(reasons))
