"""The text of GCC, Clang and linkers: `file:line:column: error: message [-Wflag]`."""

from __future__ import annotations

import re

from steelyard.ingest.collect import Collector
from steelyard.ingest.model import Kind, Severity
from steelyard.ingest.text import decode, strip_ansi

__all__ = ["parse"]

_DIAGNOSTIC = re.compile(
    rb"^((?:[A-Za-z]:(?=[\\/]))?[^\s:][^\r\n:]{0,4095}):(?:(\d{1,9}):(?:(\d{1,9}):)?)? "
    rb"(fatal error|error|warning|note): ([^\r\n]*)"
    rb"|^([^\r\n(]{0,4095}?):(?:\([^\r\n)]{0,200}\):)? "
    rb"((?:undefined reference to|multiple definition of) [^\r\n]*)",
    re.MULTILINE,
)
_FLAG = re.compile(r"\s*\[(-W[\w+=-]{1,80}(?:,-W[\w+=-]{1,80}){0,4})\]$")


def parse(data: bytes, out: Collector) -> None:
    """Read what a C or C++ compiler printed. Notes are counted, not listed."""
    for match in _DIAGNOSTIC.finditer(strip_ansi(data)):
        file, line, column, severity, text, linker, unresolved = match.groups()
        if severity == b"note":
            out.note()
            continue
        if unresolved is not None:
            out.add(Kind.BUILD, Severity.ERROR, decode(unresolved), file=decode(linker))
            continue
        message = decode(text)
        flag = _FLAG.search(message[-500:])
        name = decode(file)
        out.add(
            Kind.BUILD,
            Severity.WARNING if severity == b"warning" else Severity.ERROR,
            # without a line the part before the colon is a program: `collect2`, `cc1`
            _FLAG.sub("", message) if line else f"{name}: {message}",
            rule=flag[1].split(",")[-1] if flag else None,
            file=name if line else None,
            line=int(line) if line else None,
            column=int(column) if column else None,
        )
