"""CTRF, the Common Test Report Format: `results` with a tool, a summary and tests.

A status the format does not know counts as failed; a flaky test that passed in the end passed.
"""

from __future__ import annotations

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.jsonread import JsonReader, integer, string
from steelyard.ingest.model import Kind, Severity

__all__ = ["parse"]

_SKIPPED = frozenset({"skipped", "pending", "other"})


def parse(data: bytes, out: Collector) -> None:
    """Read a CTRF report."""
    reader = JsonReader(data)
    declared: int | None = None
    listed = False
    for key in reader.members():
        if key != "results":
            continue
        kept, mark = reader.outline(frozenset({"tool", "summary"}), later="tests")
        out.tool = string(kept, "tool", "name") or out.tool
        declared = integer(kept, "summary", "failed")
        if mark is not None:
            listed = True
            end = reader.offset
            reader.rewind(mark)
            for test in reader.values():
                _add(test, out)
            reader.rewind(end)
    reader.end()
    if not listed:
        raise Unreadable("no 'results' with 'tests' in the CTRF report")
    out.declared_failures(declared)


def _add(test: object, out: Collector) -> None:
    status = string(test, "status")
    if status == "passed":
        out.test_passed(string(test, "name"))
        return
    if status in _SKIPPED:
        out.skipped += 1
        return
    out.failed += 1
    message = string(test, "message") or f"status {status}"
    trace = string(test, "trace") or message
    out.add(
        Kind.TEST,
        Severity.ERROR,
        message,
        file=string(test, "filePath"),
        trace=trace,
        test=string(test, "name"),
    )
