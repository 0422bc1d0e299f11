"""pytest's own terminal output: sections of failures, the short summary, the closing counts.

A machine-readable report says more; this is for runs that kept only what was printed.
"""

from __future__ import annotations

import re

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.model import Kind, Severity
from steelyard.ingest.text import decode, strip_ansi

__all__ = ["parse"]

_SECTION = re.compile(rb"^_{3,200} ([^\r\n]{1,1000}?) _{3,200}[ \t]*\r?$", re.MULTILINE)
_SECTIONS_END = re.compile(rb"^(?:={5,}|-{5,} generated)", re.MULTILINE)
_SUMMARY = re.compile(
    rb"^(FAILED|ERROR|SUBFAILED\S{0,200}) ([^\r\n]{1,2000}?)(?: - ([^\r\n]{0,4000}))?\r?$",
    re.MULTILINE,
)
_CLOSING = re.compile(
    rb"^(?:=+ )?((?:\d{1,9} [a-z ]{1,30}(?:, )?){1,12}|no tests ran) in [\d.]{1,20}s\b",
    re.MULTILINE,
)
_COUNT = re.compile(rb"(\d{1,9}) ([a-z]{1,20}(?: [a-z]{1,20})?)(?:,|$)")
_TITLE = re.compile(r"^ERROR (?:at (?:setup|teardown) of |collecting )")
_ERROR_LINE = re.compile(r"^E {1,8}(\S.*)$", re.MULTILINE)
_FAILURES = ("failed", "error", "errors", "subtests failed")
_MAX_SECTION = 64 * 1024
_MAX_WAITING = 10_000
"""Lines of the short summary held until their section comes."""

_Waiting = dict[str, list[tuple[str, str]]]


def parse(data: bytes, out: Collector) -> None:
    """Read what pytest printed."""
    data = strip_ansi(data)
    closing = None
    for closing in _CLOSING.finditer(data):  # noqa: B007 - the last one counts
        pass
    if closing is None:
        raise Unreadable("pytest's closing line with the counts is missing")
    counts = {name.decode(): int(number) for number, name in _COUNT.findall(closing[1])}
    out.passed = counts.get("passed", 0) + counts.get("xfailed", 0) + counts.get("xpassed", 0)
    out.failed = sum(counts.get(word, 0) for word in _FAILURES)
    out.skipped = counts.get("skipped", 0)
    waiting = _summary(data, out)
    for match in _SECTION.finditer(data):
        _section(match, data, waiting, out)
    for nodes in waiting.values():
        for node, message in nodes:
            _add(node, message, None, out)
    out.declared_failures(out.failed)
    out.green = not out.failed


def _summary(data: bytes, out: Collector) -> _Waiting:
    """Node ids and messages of the short summary, by the name their section has."""
    waiting: _Waiting = {}
    for number, match in enumerate(_SUMMARY.finditer(data)):
        node, message = decode(match[2]), decode(match[3] or b"") or "failed"
        if number >= _MAX_WAITING:
            _add(node, message, None, out)
            continue
        name = node.partition("::")[2].replace("::", ".") or node
        waiting.setdefault(name, []).append((node, message))
    return waiting


def _section(match: re.Match[bytes], data: bytes, waiting: _Waiting, out: Collector) -> None:
    title = decode(match[1])
    name = _TITLE.sub("", title)
    start, stop = match.end(), min(match.end() + _MAX_SECTION, len(data))
    for end in (_SECTION, _SECTIONS_END):
        if found := end.search(data, start, stop):
            stop = found.start()
    text = decode(data[start:stop])
    nodes = waiting.get(name)
    node, brief = nodes.pop(0) if nodes else (name, "")
    message = "\n".join(_ERROR_LINE.findall(text)[:20]) or brief or text.strip()
    _add(node, message, text, out, collection=title.startswith("ERROR collecting"))


def _add(
    node: str, message: str, text: str | None, out: Collector, *, collection: bool = False
) -> None:
    out.add(
        Kind.COLLECTION if collection or "::" not in node else Kind.TEST,
        Severity.ERROR,
        message,
        file=node.partition("::")[0] if "::" in node or node.endswith(".py") else None,
        trace=text,
        test=node,
    )
