"""Telling the format of a report from its content."""

from __future__ import annotations

import codecs
import re

from steelyard.ingest.collect import Unreadable
from steelyard.ingest.jsonread import JsonReader, loads, member
from steelyard.ingest.model import Format
from steelyard.ingest.text import strip_ansi

__all__ = ["detect"]

_HEAD = 64 * 1024
_MAX_KEYS = 200
_Utf8Decoder = codecs.getincrementaldecoder("utf-8")

# The first rule whose keys are all there names the format.
_OBJECTS: tuple[tuple[frozenset[str], Format], ...] = (
    (frozenset({"runs", "version"}), Format.SARIF),
    (frozenset({"runs", "$schema"}), Format.SARIF),
    (frozenset({"reportFormat", "results"}), Format.CTRF),
    (frozenset({"numTotalTests", "numRuntimeErrorTestSuites"}), Format.JEST),
    (frozenset({"numTotalTests", "testResults"}), Format.VITEST),
    (frozenset({"suites", "stats", "errors"}), Format.PLAYWRIGHT),
    (frozenset({"generalDiagnostics", "summary"}), Format.PYRIGHT),
    (frozenset({"diagnostics"}), Format.RDJSON),
    (frozenset({"results"}), Format.CTRF),
)
_ITEMS: tuple[tuple[frozenset[str], Format], ...] = (
    (frozenset({"filePath", "messages"}), Format.ESLINT),
    (frozenset({"filename", "location", "code"}), Format.RUFF),
)
_LINES: tuple[tuple[frozenset[str], Format], ...] = (
    (frozenset({"$report_type"}), Format.PYTEST_REPORTLOG),
    (frozenset({"Action"}), Format.GO_TEST),
    (frozenset({"reason"}), Format.CARGO),
    (frozenset({"file", "line", "severity", "message"}), Format.MYPY_JSON),
    (frozenset({"message", "location"}), Format.RDJSONL),
)
_TEXTS: tuple[tuple[re.Pattern[bytes], Format], ...] = (
    (re.compile(rb"^[^\r\n]{0,2000}\berror TS\d{1,6}: ", re.MULTILINE), Format.TSC),
    (
        re.compile(
            rb"^(?:=+ )?(?:test session starts|no tests ran in|\d{1,9} (?:passed|failed|errors?)\b"
            rb"[^\r\n]{0,200} in [\d.]{1,20}s\b)",
            re.MULTILINE,
        ),
        Format.PYTEST,
    ),
    (
        re.compile(
            rb"^(?:Success: no issues found in \d|Found \d{1,9} errors? in \d{1,9} files?\b"
            rb"|[^\r\n:]{1,1000}\.pyi?:\d{1,9}:(?:[\d:]{1,40})? (?:error|note): )",
            re.MULTILINE,
        ),
        Format.MYPY,
    ),
    (
        re.compile(
            rb"^[^\r\n:]{1,1000}\.(?:c|cc|cpp|cxx|h|hh|hpp|hxx|m|mm|S):\d{1,9}:(?:\d{1,9}:)? "
            rb"(?:fatal error|error|warning|note): ",
            re.MULTILINE,
        ),
        Format.GCC,
    ),
)


# What a tool that found nothing prints says too little: the command tells then.
_COMMANDS: dict[bytes, dict[str, Format]] = {
    b"[]": {"eslint": Format.ESLINT, "ruff": Format.RUFF},
    b"": {
        "tsc": Format.TSC,
        "mypy": Format.MYPY,
        **dict.fromkeys(("gcc", "g++", "cc", "clang", "clang++"), Format.GCC),
    },
}


def detect(data: bytes, command: str | None = None) -> Format | None:
    """The format of `data`, None when it cannot be told: never a guess between two.

    The command that printed it is asked only where the content is an empty list or nothing.
    """
    head = data[:_HEAD].lstrip()
    if (by_tool := _COMMANDS.get(head.rstrip())) is not None and len(data) < _HEAD:
        tools = {word.rpartition("/")[2] for word in (command or "").split()}
        named = {by_tool[tool] for tool in tools if tool in by_tool}
        return named.pop() if len(named) == 1 else None
    if head.startswith(b"<"):
        return Format.JUNIT if re.search(rb"<(?:\w{1,40}:)?testsuites?[\s/>]", head) else None
    if head.startswith(b"{"):
        return _first(_line_keys(head), _LINES) or _first(_object_keys(data), _OBJECTS)
    if head.startswith(b"[") and (keys := _item_keys(data)) is not None:
        return _first(keys, _ITEMS)
    edges = strip_ansi(data if len(data) <= 2 * _HEAD else data[:_HEAD] + b"\n" + data[-_HEAD:])
    for pattern, found in _TEXTS:
        if pattern.search(edges):
            return found
    json_line = edges.find(b"\n{")
    if json_line >= 0:  # build tools print a line or two before the first JSON
        return _first(_line_keys(edges[json_line + 1 :]), _LINES)
    return Format.TEXT if edges.strip() and _is_text(head) else None


def _is_text(head: bytes) -> bool:
    """Whether this is UTF-8 without NUL; a character cut at the end is no fault."""
    try:
        return "\x00" not in _Utf8Decoder().decode(head)
    except UnicodeDecodeError:
        return False


def _first(keys: set[str], rules: tuple[tuple[frozenset[str], Format], ...]) -> Format | None:
    return next((found for wanted, found in rules if wanted <= keys), None)


def _line_keys(head: bytes) -> set[str]:
    try:
        line = loads(head.partition(b"\n")[0])
    except Unreadable:
        return set()
    if isinstance(member(line, "Output"), str):
        return {"Action"}
    return set(line) if isinstance(line, dict) else set()


def _object_keys(data: bytes) -> set[str]:
    """The keys of the outermost object, as far as it can be read."""
    keys: set[str] = set()
    try:
        for key in JsonReader(data).members():
            keys.add(key)
            if len(keys) > _MAX_KEYS:
                break
    except Unreadable:
        pass
    return keys


def _item_keys(data: bytes) -> set[str] | None:
    """The keys of the first item of a list, None when the data is no JSON: `[1/9] building`."""
    reader = JsonReader(data)
    try:
        for _ in reader.items():
            if reader.peek() == "{":
                return set(reader.members())
        reader.end()
    except Unreadable:
        return None
    return set()
