"""`cargo build|check|clippy|test --message-format=json`: compiler messages, then libtest's text.

A span inside a macro of another crate is followed outwards to the call in the repository.
"""

from __future__ import annotations

import re

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.jsonread import integer, json_lines, member, objects, string
from steelyard.ingest.model import Kind, Severity
from steelyard.ingest.text import decode, strip_ansi

__all__ = ["parse"]

_SEVERITIES = {"warning": Severity.WARNING, "note": Severity.NOTE, "help": Severity.NOTE}
_SUMMARY = re.compile(
    r"^aborting due to |^could not compile |^\d+ warnings? emitted|^Some errors have detailed|"
    r"^For more information about"
)
_SECTION = re.compile(rb"^---- (\S[^\r\n]{0,500}?) std(?:out|err) ----\r?$", re.MULTILINE)
_SECTIONS_END = re.compile(rb"^(?:failures:|test result:)", re.MULTILINE)
_RUNNING = re.compile(rb"^running \d{1,9} tests?\r?$", re.MULTILINE)
_RESULT = re.compile(
    rb"^test result: \w{1,10}\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored", re.MULTILINE
)
_FAILED = re.compile(rb"^test (\S[^\r\n]{0,500}?) \.\.\. FAILED\r?$", re.MULTILINE)
_PASSED = re.compile(rb"^test (\S[^\r\n]{0,500}?) \.\.\. ok\r?$", re.MULTILINE)
_BUILD_ONLY = frozenset({"build", "check", "clippy", "--no-run"})
_MAX_SECTION = 64 * 1024
_MAX_NAMES = 10_000


def parse(data: bytes, out: Collector) -> None:
    """Read cargo's JSON and the test output mixed into it."""
    finished: object = None
    binaries = 0
    for line, message in json_lines(data):
        reason = string(message, "reason")
        if reason == "compiler-message":
            _diagnostic(member(message, "message"), out)
        elif reason == "compiler-artifact":
            is_test = member(message, "profile", "test") is True
            binaries += is_test and string(message, "executable") is not None
        elif reason == "build-finished":
            finished = member(message, "success")
            if finished is not True:
                out.red = True
        elif message is not None and reason is None:
            raise Unreadable(f"not a line of cargo's JSON: {line[:80]!r}")
    words = (out.run.command or "").split()
    only_built = not _BUILD_ONLY.isdisjoint(words)
    tests = strip_ansi(data)
    begun = sum(1 for _ in _RUNNING.finditer(tests))
    out.runs_tests = not only_built and bool(binaries or begun or "test" in words)
    ended = 0
    for match in _RESULT.finditer(tests):
        ended += 1
        out.passed += int(match[1])
        out.failed += int(match[2])
        out.skipped += int(match[3])
    for match in _PASSED.finditer(tests):
        out.name_passed(decode(match[1]))
    _failures(tests, out)
    out.declared_failures(out.failed)
    if finished is None and not ended:
        raise Unreadable("cargo's closing 'build-finished' is missing")
    if begun > ended or (ended and not out.failed and not only_built and binaries > ended):
        raise Unreadable(f"of {max(begun, binaries)} test binaries {ended} ended")


def _diagnostic(message: object, out: Collector) -> None:
    level = string(message, "level") or "error"
    text = string(message, "message") or ""
    if level == "failure-note" or _SUMMARY.match(text):
        return
    severity = _SEVERITIES.get(level, Severity.ERROR)
    if severity is Severity.NOTE:
        out.note()
        return
    code = string(message, "code", "code")
    primary = [span for span in objects(message, "spans") if member(span, "is_primary") is True]
    span = _in_repository(primary[0]) if primary else None
    label = string(span, "label")
    helps = [
        f"{string(child, 'level')}: {string(child, 'message')}"
        for child in objects(message, "children")[:5]
        if string(child, "level") in ("help", "note")
    ]
    out.add(
        Kind.LINT if code and code.startswith("clippy::") else Kind.BUILD,
        severity,
        "\n".join([f"{text}: {label}" if label else text, *helps]),
        rule=code,
        file=string(span, "file_name"),
        line=integer(span, "line_start"),
        column=integer(span, "column_start"),
        end_line=integer(span, "line_end"),
        end_column=integer(span, "column_end"),
    )


def _in_repository(span: object) -> object:
    """The span itself, or where the macro it lies in was called, while that is another crate's."""
    for _ in range(20):
        file = string(span, "file_name") or ""
        outer = member(span, "expansion", "span")
        if not isinstance(outer, dict) or not file.startswith(("/", "<")):
            break
        span = outer
    return span


def _failures(data: bytes, out: Collector) -> None:
    names: set[bytes] = set()
    for match in _SECTION.finditer(data):
        start, stop = match.end(), min(match.end() + _MAX_SECTION, len(data))
        for end in (_SECTION, _SECTIONS_END):
            if found := end.search(data, start, stop):
                stop = found.start()
        if len(names) < _MAX_NAMES:
            names.add(match[1])
        _failed(match[1], decode(data[start:stop]).strip(), out)
    for match in _FAILED.finditer(data):
        name = match[1].removesuffix(b" - should panic")
        if name not in names and match[1] not in names and len(names) < _MAX_NAMES:
            _failed(name, "", out)


def _failed(name: bytes, output: str, out: Collector) -> None:
    # `thread 'x' panicked at src/lib.rs:32:9:` comes first, then the message, then a backtrace
    lines = [
        line
        for line in output.partition("stack backtrace:")[0].splitlines()
        if line.strip() and " panicked at " not in line and not line.startswith("note: ")
    ]
    out.add(
        Kind.TEST,
        Severity.ERROR,
        "\n".join(lines[:20]) or "the test failed without a message",
        trace=output,
        test=decode(name),
    )
