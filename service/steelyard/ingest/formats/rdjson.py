"""rdjson and rdjsonl, the Reviewdog Diagnostic Format: one document, or one diagnostic a line.

A diagnostic without a severity takes the document's, and without either counts as an error.
"""

from __future__ import annotations

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.formats.rules import is_syntax_rule, kind_of_rule
from steelyard.ingest.jsonread import JsonReader, integer, json_lines, member, string
from steelyard.ingest.model import Severity

__all__ = ["parse", "parse_lines"]

_SEVERITIES = {
    "ERROR": Severity.ERROR,
    "WARNING": Severity.WARNING,
    "INFO": Severity.NOTE,
    1: Severity.ERROR,
    2: Severity.WARNING,
    3: Severity.NOTE,
}


def parse(data: bytes, out: Collector) -> None:
    """Read one rdjson document."""
    reader = JsonReader(data)
    kept, mark = reader.outline(frozenset({"source", "severity"}), later="diagnostics")
    reader.end()
    if mark is None:
        raise Unreadable("no 'diagnostics' in the rdjson document")
    out.tool = string(kept, "source", "name") or out.tool
    default = member(kept, "severity")
    reader.rewind(mark)
    for diagnostic in reader.values():
        _add(diagnostic, default, out)


def parse_lines(data: bytes, out: Collector) -> None:
    """Read rdjsonl."""
    for line, diagnostic in json_lines(data):
        if not string(diagnostic, "message"):
            raise Unreadable(f"not a line of rdjsonl: {line[:80]!r}")
        _add(diagnostic, None, out)


def _add(diagnostic: object, default: object, out: Collector) -> None:
    first = out.tool
    out.tool = string(diagnostic, "source", "name") or first
    severity = member(diagnostic, "severity") or default
    gravity = _SEVERITIES.get(severity) if isinstance(severity, str | int) else None
    rule = string(diagnostic, "code", "value")
    file = string(diagnostic, "location", "path")
    place = member(diagnostic, "location", "range")
    broken = is_syntax_rule(rule)
    out.add(
        kind_of_rule(out.tool, rule),
        Severity.ERROR if broken or gravity is None else gravity,
        string(diagnostic, "message") or "",
        rule=rule,
        file=file,
        line=integer(place, "start", "line"),
        column=integer(place, "start", "column"),
        end_line=integer(place, "end", "line"),
        end_column=integer(place, "end", "column"),
        root=f"syntax {file}" if broken else None,
    )
    out.tool = first
