"""ESLint's `--format json`: a list of files with their messages. Suppressed ones are counted."""

from __future__ import annotations

from steelyard.ingest.collect import Collector
from steelyard.ingest.formats.rules import kind_of_rule
from steelyard.ingest.jsonread import JsonReader, integer, member, objects, string
from steelyard.ingest.model import Kind, Severity

__all__ = ["parse"]

_KEEP = frozenset({"filePath", "suppressedMessages", "errorCount"})


def parse(data: bytes, out: Collector) -> None:
    """Read ESLint's JSON."""
    reader = JsonReader(data)
    declared = 0
    for _ in reader.items():
        kept, mark = reader.outline(_KEEP, later="messages")
        out.suppressed += len(objects(kept, "suppressedMessages"))
        declared += integer(kept, "errorCount") or 0
        if mark is not None:
            end = reader.offset
            reader.rewind(mark)
            for message in reader.values():
                _add(message, string(kept, "filePath"), out)
            reader.rewind(end)
    reader.end()
    out.declared_failures(declared)


def _add(message: object, file: str | None, out: Collector) -> None:
    rule = string(message, "ruleId")
    fatal = member(message, "fatal") is True
    kind = Kind.BUILD if fatal else kind_of_rule("eslint", rule)
    mild = integer(message, "severity") == 1 and not fatal
    severity = Severity.WARNING if mild else Severity.ERROR
    text = string(message, "message") or ""
    group = out.count(kind, severity, text, rule)
    if group is None:
        return
    out.keep(
        group,
        kind,
        severity,
        text,
        rule=rule,
        file=file,
        line=integer(message, "line"),
        column=integer(message, "column"),
        end_line=integer(message, "endLine"),
        end_column=integer(message, "endColumn"),
    )
