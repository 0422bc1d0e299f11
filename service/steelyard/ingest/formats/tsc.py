"""The TypeScript compiler's text, plain and `--pretty`, with errors that have no file.

Plain: `src/a.ts(1,25): error TS2307: ...`; pretty: `src/a.ts:1:25 - error TS2307: ...` and a
closing `Found N errors`; global: `error TS18003: ...`. Success is silence.
"""

from __future__ import annotations

import re

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.model import Kind, Severity
from steelyard.ingest.text import decode, strip_ansi

__all__ = ["parse"]

# A path may hold '(' (Next.js route groups) or ':' (drives): the run up to the next one is taken
# whole unless a position follows, so that no character is looked at twice.
_ERROR = re.compile(
    rb"^(?:([^\r\n(]*+(?:\((?!\d{1,9},\d{1,9}\): )[^\r\n(]*+)*+)\((\d{1,9}),(\d{1,9})\): "
    rb"|([^\r\n:]*+(?::(?!\d{1,9}:\d{1,9} - )[^\r\n:]*+)*+):(\d{1,9}):(\d{1,9}) - |)"
    rb"(error|warning|message) (TS\d{1,6}): ([^\r\n]*(?:\r?\n[ ]{2,}\S[^\r\n]*){0,20})",
    re.MULTILINE,
)
_SEVERITIES = {b"error": Severity.ERROR, b"warning": Severity.WARNING, b"message": Severity.NOTE}
_FOUND = re.compile(rb"^Found (\d{1,9}) errors?[ .]", re.MULTILINE)


def parse(data: bytes, out: Collector) -> None:
    """Read what tsc printed."""
    data = strip_ansi(data)
    pretty = False
    for match in _ERROR.finditer(data):
        file, line, column, file2, line2, column2, gravity, code, text = match.groups()
        if file is None and file2 is not None:
            pretty = True
            file, line, column = file2, line2, column2
        rule = code.decode()
        family = rule[2] if len(rule) == 6 else ""  # 1: syntax, 5: options
        kind = Kind.BUILD if file is None or family in ("1", "5") else Kind.TYPECHECK
        severity = _SEVERITIES[gravity]
        message = decode(text)
        root = f"syntax {decode(file)}" if family == "1" and file is not None else None
        group = out.count(kind, severity, message, rule, root)
        if group is not None:
            out.keep(
                group,
                kind,
                severity,
                message,
                rule=rule,
                file=decode(file) if file is not None else None,
                line=int(line) if line else None,
                column=int(column) if column else None,
            )
    found = _FOUND.search(data)
    if pretty and found is None:
        raise Unreadable("tsc's closing line 'Found N errors' is missing")
    if found is not None:
        out.declared_failures(int(found[1]))
