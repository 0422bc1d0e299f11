"""mypy's text, plain and `--pretty`, and its `--output json` lines.

Notes that follow an error at the same line join its message. Success is a line that says so, or
silence under `--no-error-summary`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.jsonread import integer, json_lines, string
from steelyard.ingest.model import Kind, Severity
from steelyard.ingest.text import decode, strip_ansi

__all__ = ["parse", "parse_lines"]

_PATH = rb"(?:[A-Za-z]:(?=[\\/]))?[^\r\n:]{1,4096}"
_DIAGNOSTIC = re.compile(
    rb"^(" + _PATH + rb"):(?:(\d{1,9}):(?:(\d{1,9}):(?:(\d{1,9}):(\d{1,9}):)?)?)? "
    rb"(error|warning|note): ([^\r\n]*)",
    re.MULTILINE,
)
_CODE = re.compile(r"  \[([a-z0-9-]{1,60})\]$")
_MAX_WRAPPED = 10
_FOUND = re.compile(rb"^Found (\d{1,9}) errors? in \d", re.MULTILINE)
_SUCCESS = re.compile(rb"^Success: no issues found in [1-9]", re.MULTILINE)


@dataclass(slots=True)
class _Error:
    """An error or warning, and the notes that followed it."""

    match: re.Match[bytes]
    lines: list[str]

    def add_to(self, out: Collector) -> None:
        match = self.match
        message = "\n".join(self.lines)
        code = _CODE.search(self.lines[0])
        file, line = decode(match[1]), match[2]
        end_column = int(match[5]) + 1 if match[5] else None  # mypy's is the last character
        rule = code[1] if code else None
        out.add(
            # without a line it is mypy's own complaint: a bad option, a file it cannot read
            _kind(rule) if line else Kind.RUNTIME,
            Severity.WARNING if match[6] == b"warning" else Severity.ERROR,
            message.replace(code[0], "", 1) if code else message,
            rule=rule,
            file=file if line or "/" in file or "\\" in file else None,
            line=int(line) if line else None,
            column=int(match[3]) if match[3] else None,
            end_line=int(match[4]) if match[4] else None,
            end_column=end_column,
            root=f"syntax {file}" if rule == "syntax" else None,
        )


def _kind(rule: str | None) -> Kind:
    return Kind.BUILD if rule == "syntax" else Kind.TYPECHECK


def parse(data: bytes, out: Collector) -> None:
    """Read mypy's text."""
    data = strip_ansi(data)
    last: _Error | None = None
    for match in _DIAGNOSTIC.finditer(data):
        if match[6] == b"note":
            out.note()
            if last and last.match.group(1, 2) == match.group(1, 2) and len(last.lines) < 20:
                last.lines.append(f"note: {decode(match[7])}")
            continue
        if last:
            last.add_to(out)
        last = _Error(match, [_unwrapped(match, data)])
    if last:
        last.add_to(out)
    if found := _FOUND.search(data):
        out.declared_failures(int(found[1]))
    out.green = _SUCCESS.search(data) is not None


def _unwrapped(match: re.Match[bytes], data: bytes) -> str:
    """The message; `--pretty` wraps it over lines of which the last one ends in the code."""
    message = decode(match[7])
    if _CODE.search(message):
        return message
    wrapped = message
    for line in decode(data[match.end() : match.end() + 2_000]).splitlines()[1 : _MAX_WRAPPED + 1]:
        if line.startswith(" ") or not line:
            break
        wrapped += " " + line
        if _CODE.search(line):
            return wrapped
    return message


def parse_lines(data: bytes, out: Collector) -> None:
    """Read `mypy --output json`: 0-based columns, 1-based lines."""
    for line, found in json_lines(data):
        if string(found, "file") is None or string(found, "severity") is None:
            raise Unreadable(f"not a line of mypy's JSON: {line[:80]!r}")
        severity = string(found, "severity")
        if severity == "note":
            out.note()
            continue
        rule = string(found, "code")
        file = string(found, "file")
        column, end_column = integer(found, "column"), integer(found, "end_column")
        hint = string(found, "hint")
        out.add(
            _kind(rule),
            Severity.WARNING if severity == "warning" else Severity.ERROR,
            (string(found, "message") or "") + (f"\nnote: {hint}" if hint else ""),
            rule=rule,
            file=file,
            line=integer(found, "line"),
            column=None if column is None else column + 1,
            end_line=integer(found, "end_line"),
            end_column=None if end_column is None else end_column + 1,
            root=f"syntax {file}" if rule == "syntax" else None,
        )
