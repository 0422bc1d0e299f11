"""Pyright's `--outputjson`: 0-based lines and characters, and a summary."""

from __future__ import annotations

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.jsonread import JsonReader, integer, string
from steelyard.ingest.model import Kind, Severity

__all__ = ["parse"]

_SEVERITIES = {"warning": Severity.WARNING, "information": Severity.NOTE}


def parse(data: bytes, out: Collector) -> None:
    """Read Pyright's JSON."""
    reader = JsonReader(data)
    declared: int | None = None
    found = False
    for key in reader.members():
        if key == "generalDiagnostics":
            found = True
            for diagnostic in reader.values():
                _add(diagnostic, out)
        elif key == "summary":
            declared = integer(reader.value(), "errorCount")
    reader.end()
    if not found or declared is None:
        raise Unreadable("no 'generalDiagnostics' with a 'summary' in Pyright's report")
    out.declared_failures(declared)


def _add(diagnostic: object, out: Collector) -> None:
    rule = string(diagnostic, "rule")
    severity = _SEVERITIES.get(string(diagnostic, "severity") or "", Severity.ERROR)
    file = string(diagnostic, "file")
    # every check has a rule; only what the parser itself says has none
    broken = rule is None and severity is Severity.ERROR
    out.add(
        Kind.BUILD if broken else Kind.TYPECHECK,
        severity,
        string(diagnostic, "message") or "",
        rule=rule,
        file=file,
        line=_one_based(integer(diagnostic, "range", "start", "line")),
        column=_one_based(integer(diagnostic, "range", "start", "character")),
        end_line=_one_based(integer(diagnostic, "range", "end", "line")),
        end_column=_one_based(integer(diagnostic, "range", "end", "character")),
        root=f"syntax {file}" if broken else None,
    )


def _one_based(number: int | None) -> int | None:
    return None if number is None else number + 1
