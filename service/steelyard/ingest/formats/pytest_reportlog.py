"""pytest-reportlog: one JSON object a line, from `SessionStart` to `SessionFinish`.

The failing line is the crash of the report, or the innermost frame in the repository when the
crash lies in a library; `location` is only where the test begins.
"""

from __future__ import annotations

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.jsonread import integer, json_lines, member, objects, string
from steelyard.ingest.model import Kind, Severity

__all__ = ["parse"]

_NO_TESTS = 5


def parse(data: bytes, out: Collector) -> None:
    """Read a report log."""
    exit_status: int | None = None
    for line, report in json_lines(data):
        kind = string(report, "$report_type")
        if kind is None:
            raise Unreadable(f"not a line of a pytest report log: {line[:80]!r}")
        if kind == "CollectReport":
            _collected(report, out)
        elif kind == "SessionFinish":
            exit_status = integer(report, "exitstatus")
        elif string(report, "when") is not None:
            _tested(report, out)
    if exit_status is None:
        raise Unreadable("the report log does not reach its 'SessionFinish'")
    if exit_status not in (0, _NO_TESTS) and not out.errors:
        out.add(Kind.RUNTIME, Severity.ERROR, f"pytest ended with exit status {exit_status}.")


def _collected(report: object, out: Collector) -> None:
    outcome = string(report, "outcome")
    if outcome == "skipped":
        out.skipped += 1
    elif outcome == "failed":
        out.failed += 1
        _add(Kind.COLLECTION, report, out)


def _tested(report: object, out: Collector) -> None:
    outcome = string(report, "outcome")
    if outcome == "failed":
        out.failed += 1
        _add(Kind.TEST, report, out)
    elif outcome == "skipped":
        out.skipped += 1
    elif outcome == "passed" and string(report, "when") == "call":
        out.test_passed(string(report, "nodeid"))


def _add(kind: Kind, report: object, out: Collector) -> None:
    error = member(report, "longrepr")
    text = error if isinstance(error, str) else string(error, "longrepr")
    crash = member(error, "reprcrash")
    begins = next(iter(objects(report, "location")), None)
    entries = objects(error, "reprtraceback", "reprentries")
    places = [
        f"{string(place, 'path')}:{integer(place, 'lineno')}: {string(place, 'message') or ''}"
        for entry in entries[-50:]
        if isinstance(place := member(entry, "data", "reprfileloc"), dict)
    ]
    out.add(
        kind,
        Severity.ERROR,
        string(crash, "message") or text or "failed",
        file=string(crash, "path") or (begins if isinstance(begins, str) else None),
        line=integer(crash, "lineno"),
        trace=text or "\n".join(places),
        test=string(report, "nodeid"),
    )
