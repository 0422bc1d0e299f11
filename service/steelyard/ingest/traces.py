"""Where a failure happened, read from the stack trace or failure text of a test runner."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["compared", "frames", "jvm_frame"]

_END = 8 * 1024
"""Bytes of a trace looked at, from its head and from its tail."""

_FILE_MARKS = frozenset("./\\")
_NUMBER = r"(\d{1,9})"
# Deepest frame last: Python's own traceback, and pytest's `path:line: Error` after each entry.
_INNERMOST_LAST = re.compile(
    rf'^E?[ ]{{0,8}}File "([^"\n]{{1,1024}})", line {_NUMBER}'
    rf"|^((?:[A-Za-z]:)?[^\s:][^:\n]{{0,1024}}+):{_NUMBER}:(?: (?:in )?[\w.<>]|[ ]*$)",
    re.MULTILINE,
)
# Deepest frame first: JavaScript, Rust, Go, .NET, and `path:line:column` alone on a line.
_PATH = r"((?:file://|[A-Za-z]:(?=[\\/]))?[^\s():\"'<>|]{1,1024}+)"
_INNERMOST_FIRST = re.compile(
    rf"\(((?:file://|[A-Za-z]:(?=[\\/]))?+[^():\n]{{1,1024}}+):{_NUMBER}:{_NUMBER}\)"
    rf"|(?:\bat |\u276f (?:[^\n/]{{1,200}} )?|\bpanicked at (?:'[^\n']{{0,500}}', )?|^\s{{0,32}})"
    rf"{_PATH}:{_NUMBER}(?::{_NUMBER})?(?=[:\s]|$)"
    rf"|\bin ((?:[A-Za-z]:)?+[^\n:]{{1,256}}+):line {_NUMBER}",
    re.MULTILINE,
)


def frames(trace: str) -> Iterator[tuple[str, int, int | None]]:
    """Places named by `trace` as (path, line, column), the innermost first."""
    if len(trace) > 2 * _END:
        trace = trace[:_END] + "\n" + trace[-_END:]
    python = [
        (found[1] or found[3], int(found[2] or found[4]), None)
        for found in _INNERMOST_LAST.finditer(trace)
    ]
    yield from (frame for frame in reversed(python) if _is_file(frame[0]))
    for found in _INNERMOST_FIRST.finditer(trace):
        path = found[1] or found[4] or found[7]
        column = found[3] or found[6]
        if _is_file(path):
            yield path, int(found[2] or found[5] or found[8]), int(column) if column else None


def _is_file(path: str) -> bool:
    """Whether it looks like a file: a time of day or a ratio does not."""
    return not _FILE_MARKS.isdisjoint(path)


_JVM_FRAME = re.compile(
    r"\bat (?!(?:java|jdk|sun|org\.(?:junit|testng|hamcrest|assertj)|kotlin|scala)\.)"
    r"([\w.$]{1,500}+\([\w$]{1,200}+\.(?:java|kt|scala|groovy):\d{1,9}\))"
)


def jvm_frame(trace: str) -> str | None:
    """The innermost frame of a JVM stack that is not the runtime's or the test library's, as text.

    It names a class and the base name of a file: not enough for a path in the repository.
    """
    found = _JVM_FRAME.search(trace[: 2 * _END])
    return found[1] if found else None


_LABELLED = re.compile(
    r"\s{0,20}(Expected|Received|left|right)(?: [a-z ]{1,30})?: {1,4}(\S.{0,399})"
)
_SIDES = {"Expected": 0, "right": 0, "Received": 1, "left": 1}
# How assertion libraries word both sides on one line: what stands before them, what between them,
# and whether the received side comes first.
_WORDINGS = (
    ("expected: <", re.compile(r"> but was: <"), False),
    ("expected:<", re.compile(r"> but was:<"), False),
    ("expected ", re.compile(r" to (?:be|equal|(?:deeply|strictly) equal|match|contain) "), True),
    ("got ", re.compile(r"[,;] want(?:ed)? "), True),
    (" = ", re.compile(r"[,;] want "), True),
    ("assert ", re.compile(r" == "), True),
)


def compared(message: str) -> tuple[str | None, str | None]:
    """What a failed assertion (expected, received), None where its wording is not a known one.

    Known are Jest, Playwright, Chai, Vitest, JUnit, Rust, Go's `got, want`, and pytest, where the
    left side of `==` is taken for what the code gave.
    """
    labelled: list[str | None] = [None, None]
    for line in message[:2_000].splitlines()[:40]:
        if label := _LABELLED.match(line):
            labelled[_SIDES[label[1]]] = label[2].rstrip()
        for before, between, received_first in _WORDINGS:
            start = line.find(before)
            rest = line[start + len(before) :]
            if start < 0 or not (found := between.search(rest)):
                continue
            first, second = rest[: found.start()], rest[found.end() :].partition(" // ")[0]
            second = second[:-1] if before[-1] == "<" and second.endswith(">") else second
            return (second, first) if received_first else (first, second)
    expected, received = labelled
    return (expected, received) if expected and received else (None, None)
