"""Verification: a report, derived again and compared, field by field."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.gating.model import Project, Record, Verification
from steelyard.strictjson import JsonValue

__all__ = ["evidence_hash", "verify"]


def evidence_hash(report: JsonValue) -> str:
    """Object hash of the whole report without `reproduction.evidence_hash` and `signature`.

    Raises InvalidInputError for JSON that is no object or that canonical JSON cannot hold.
    """
    raise NotImplementedError


def verify(
    report: JsonValue,
    project: Project | None,
    *,
    now: str,
    records: Sequence[Record] | None = None,
) -> Verification:
    """Derive the report again and list every difference. Total: any JSON gives a result.

    report: the document. project: the squad as it lies in its project now; None checks what the
        report itself carries (the manifest is in it, the files are not) and says what it left out.
    now: RFC 3339 in UTC; a report from the future, or older than the manifest's maxAgeDays, is a
        mismatch.
    records: the reports that the squad's folder keeps, None when nobody looked. The report must be
        one of them: what a run returned and when cannot be derived from the files, so an unsigned
        report is compared with what the folder kept of that run.
    """
    raise NotImplementedError
