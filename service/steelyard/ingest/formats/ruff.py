"""Ruff's `--output-format json`: a list of diagnostics with 1-based rows and columns."""

from __future__ import annotations

from steelyard.ingest.collect import Collector
from steelyard.ingest.formats.rules import is_syntax_rule, kind_of_rule
from steelyard.ingest.jsonread import JsonReader, integer, string
from steelyard.ingest.model import Severity

__all__ = ["parse"]

_SEVERITIES = {"warning": Severity.WARNING, "info": Severity.NOTE, "help": Severity.NOTE}


def parse(data: bytes, out: Collector) -> None:
    """Read Ruff's JSON."""
    reader = JsonReader(data)
    for diagnostic in reader.values():
        rule = string(diagnostic, "code")
        file = string(diagnostic, "filename")
        broken = rule is None or is_syntax_rule(rule)  # older versions gave syntax errors no code
        out.add(
            kind_of_rule("ruff", rule or "invalid-syntax"),
            _SEVERITIES.get(string(diagnostic, "severity") or "", Severity.ERROR),
            string(diagnostic, "message") or "",
            rule=rule,
            file=file,
            line=integer(diagnostic, "location", "row"),
            column=integer(diagnostic, "location", "column"),
            end_line=integer(diagnostic, "end_location", "row"),
            end_column=integer(diagnostic, "end_location", "column"),
            root=f"syntax {file}" if broken else None,
        )
    reader.end()
