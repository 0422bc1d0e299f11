"""Verification: a report, derived again and compared, field by field.

A report carries facts and conclusions. The facts that files can show are taken from the project
when it is at hand, the others from the report; from them the judge derives a second report.
Whatever differs is a mismatch, so that no rule of the gate is written twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from steelyard._core import hash_object
from steelyard.errors import InvalidInputError
from steelyard.gating.difference import Difference, Kind, differences
from steelyard.gating.judge import decide, read_time
from steelyard.gating.manifest import read_manifest
from steelyard.gating.model import JsonObject, Mismatch, Project, Record, Squad, Verification
from steelyard.gating.observe import observe
from steelyard.gating.readback import carried_observations, read_report
from steelyard.gating.report import MAX_REPORT_DEPTH, evidence_hash, report_json
from steelyard.strictjson import JsonValue, exceeds_depth

__all__ = ["derived", "verify"]

# The first prefix that fits names the mismatch; "*" stands for any position.
_CODES: Final[Sequence[tuple[tuple[str, ...], str]]] = (
    (("inputs", "manifest"), "STALE_MANIFEST"),
    (("inputs", "manifest_hash"), "STALE_MANIFEST"),
    (("inputs", "sources"), "STALE_SOURCE"),
    (("inputs", "source_hash"), "STALE_SOURCE"),
    (("inputs", "artifacts"), "STALE_ARTIFACT"),
    (("inputs", "contexts"), "STALE_CONTEXT"),
    (("reproduction", "engine_hash"), "STALE_ENGINE"),
    (("reproduction", "evidence_hash"), "EVIDENCE_HASH"),
    (("reproduction",), "PROVENANCE"),
    (("generated_at",), "PROVENANCE"),
    (("squad",), "SQUAD"),
    (("schemaVersion",), "SCHEMA_VERSION"),
    (("precheck",), "PRECHECK"),
    (("source_rubric", "criteria"), "CRITERION"),
    (("source_rubric",), "SECTION"),
    (("held_out", "cases", "*", "executions", "*", "worker_hash"), "STALE_WORKER"),
    (("held_out", "cases", "*", "executions", "*", "worker_sources"), "STALE_WORKER"),
    (("held_out", "cases", "*", "executions"), "EXECUTION"),
    (("held_out", "cases", "*", "dimensions"), "DIMENSION"),
    (("held_out", "cases"), "CASE"),
    (("held_out",), "SECTION"),
    (("genome_comparison",), "COMPARISON"),
    (("dimensions",), "SUMMARY"),
    (("critical_failures",), "SUMMARY"),
    (("reasons",), "REASONS"),
    (("required_changes",), "REASONS"),
    (("verdict",), "VERDICT"),
)


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
    now: RFC 3339 in UTC with milliseconds; a report from the future, or older than the manifest's
        maxAgeDays, is a mismatch.
    records: the reports that the squad's folder keeps, None when nobody looked. The report must be
        one of them: what a run returned, and when, cannot be derived from files, so an unsigned
        report is held against what the folder kept of that run.

    Raises InvalidInputError for a `now` that is no time (INVALID_TIME), and for a project whose
    manifest canonical JSON cannot hold.
    """
    time = read_time(now)
    if time is None:
        message = "must look like 2026-01-02T03:04:05.678Z"
        raise InvalidInputError.at("now", "INVALID_TIME", message)
    unchecked = [
        word
        for word, left_out in (
            ("PROJECT_FILES", project is None),
            ("RECORDS", records is None),
            ("SIGNATURE", isinstance(report, dict) and "signature" in report),
        )
        if left_out
    ]
    return Verification(tuple(_mismatches(report, project, time, records)), tuple(unchecked))


def _mismatches(
    report: JsonValue, project: Project | None, now: datetime, records: Sequence[Record] | None
) -> Iterator[Mismatch]:
    if not isinstance(report, dict):
        yield Mismatch("NOT_A_REPORT", "", "object", type(report).__name__)
        return
    if exceeds_depth(report, MAX_REPORT_DEPTH):
        yield Mismatch("TOO_DEEP", "", MAX_REPORT_DEPTH, None)
        return
    try:
        digest = evidence_hash(report)
    except InvalidInputError as error:
        yield Mismatch("NOT_CANONICAL", "", None, error.reason)
        return
    bare: JsonObject = {key: value for key, value in report.items() if key != "signature"}
    expected, squad = derived(bare, project)
    _object(expected.get("reproduction"))["evidence_hash"] = digest
    for difference in differences(expected, bare):
        code = _code(difference)
        if project is None and code != "STALE_ENGINE":
            code = code.removeprefix("STALE_")
        yield Mismatch(code, difference.path, difference.expected, difference.found)
    yield from _age(bare, squad, now)
    yield from _recorded(bare, digest, records)


def derived(report: JsonObject, project: Project | None) -> tuple[JsonObject, Squad]:
    """The report that follows from the facts in `report` and, where it is given, the project."""
    carried = read_report(report)
    manifest = carried.manifest if project is None else project.manifest
    manifest_hash = hash_object(manifest)
    squad, findings = read_manifest(manifest)
    if project is None:
        seen = carried_observations(report, manifest, squad, findings)
    else:
        seen = observe(project, squad)
    judged = decide(
        slug=carried.squad if project is None else project.squad,
        manifest=manifest,
        manifest_hash=manifest_hash,
        squad=squad,
        findings=findings,
        seen=seen,
        executions=carried.executions,
        provenance=carried.provenance,
    )
    return report_json(judged), squad


def _code(difference: Difference) -> str:
    steps = difference.steps
    extra = difference.kind is Kind.UNEXPECTED and not difference.in_list
    if extra and steps[:2] != ("inputs", "manifest"):
        return "UNEXPECTED_FIELD"
    for prefix, code in _CODES:
        if len(steps) >= len(prefix) and all(
            wanted in ("*", step) for wanted, step in zip(prefix, steps, strict=False)
        ):
            return code
    return "MISSING_FIELD"


def _age(report: JsonObject, squad: Squad, now: datetime) -> Iterator[Mismatch]:
    written = report.get("generated_at")
    time = read_time(written) if isinstance(written, str) else None
    if time is None:
        return  # a mismatch already: it is not what a report's time looks like
    if time > now:
        yield Mismatch("FROM_FUTURE", "generated_at", now.isoformat(), written)
    elif now - time > timedelta(days=squad.max_age_days):
        oldest = now - timedelta(days=squad.max_age_days)
        yield Mismatch("EXPIRED", "generated_at", oldest.isoformat(), written)


def _recorded(
    report: JsonObject, digest: str, records: Sequence[Record] | None
) -> Iterator[Mismatch]:
    if records is None:
        return
    run_id = _object(report.get("reproduction")).get("run_id")
    kept = sorted({record.evidence_hash for record in records if record.run_id == run_id})
    if not kept:
        yield Mismatch("NOT_RECORDED", "reproduction.run_id", None, run_id)
    for other in kept:
        if other != digest:
            yield Mismatch("RECORD_DIFFERS", "reproduction.evidence_hash", other, digest)


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
