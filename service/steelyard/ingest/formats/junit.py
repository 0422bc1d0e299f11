"""JUnit XML in its many dialects: pytest, Vitest, Surefire, Gradle, gotestsum, PHPUnit, gtest.

It is streamed through defusedxml's parser, which refuses DTDs and entities. junitparser builds the
whole tree first, nine times the size of the report, so it cannot hold the memory bound here.

The failing line comes from the failure text: the `line` of a test case is where the test begins,
0-based in pytest's xunit1 family. Errors and failures that belong to a suite rather than to a case
count as failures, and so do failures that a suite counts but does not list.
"""

from __future__ import annotations

from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.model import Kind, Severity

__all__ = ["parse"]

_CHUNK = 64 * 1024
_MAX_TOKEN = 1024 * 1024
"""Bytes of one tag, comment or attribute; the parser would have to hold it whole."""
_MAX_DEPTH = 1_000
_MAX_NAMES = 1_000
"""Different element and attribute names: the parser remembers each for good."""
_MAX_TEXT = 64 * 1024
_COLLECTION = frozenset({"collection failure", "collection error"})
_RESULTS = frozenset({"failure", "error", "skipped"})


def parse(data: bytes, out: Collector) -> None:
    """Read JUnit XML."""
    target = _Target(out)
    try:
        parser = DefusedXMLParser(target=target, forbid_dtd=True)
        for start in range(0, len(data), _CHUNK):
            parser.feed(data[start : start + _CHUNK])
            if start + _CHUNK - parser.parser.CurrentByteIndex > _MAX_TOKEN + _CHUNK:
                raise Unreadable(f"one XML token is longer than {_MAX_TOKEN} bytes")
        parser.close()
    except DefusedXmlException as error:
        kind = type(error).__name__
        raise Unreadable(f"the XML holds a DTD or an entity, which is refused ({kind})") from None
    except (ParseError, LookupError, ValueError) as error:
        raise Unreadable(f"not well-formed XML: {error}") from None
    out.declared_failures(target.declared)


class _Target:
    """Receives the events of the XML parser."""

    def __init__(self, out: Collector) -> None:
        self.declared = 0
        self._out = out
        self._names: set[str] = set()
        self._depth = 0
        self._suites: list[str] = []
        self._counted_at = 0
        self._case: dict[str, str] | None = None
        self._failed = self._skipped = False
        self._result: dict[str, str] | None = None
        self._text: list[str] = []
        self._size = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self._depth += 1
        self._names.add(tag)
        self._names.update(attributes)
        if self._depth > _MAX_DEPTH or len(self._names) > _MAX_NAMES:
            raise Unreadable("the XML nests too deep or has too many different names")
        name = tag.rpartition("}")[2]
        if self._depth == 1 and name not in ("testsuites", "testsuite"):
            raise Unreadable(f"the root element is '{name[:80]}', not 'testsuites'")
        if name == "testcase":
            self._case = attributes
            self._failed = self._skipped = False
        elif name in _RESULTS:
            self._result = attributes
            self._text, self._size = [], 0
        elif name in ("testsuite", "testsuites"):
            self._suites.append(attributes.get("name", ""))
            self._count(attributes)

    def data(self, text: str) -> None:
        """Character data, CDATA included."""
        if self._result is not None and self._size < _MAX_TEXT:
            self._text.append(text[:_MAX_TEXT])
            self._size += len(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        self._depth -= 1
        name = tag.rpartition("}")[2]
        if name == "testcase":
            self._end_case()
        elif name in _RESULTS and self._result is not None:
            self._end_result(name, self._result, "".join(self._text).strip())
            self._result = None
        elif name in ("testsuite", "testsuites"):
            self._suites.pop()
            if self._depth < self._counted_at:
                self._counted_at = 0

    def close(self) -> None:
        """The document ends."""

    def _count(self, attributes: dict[str, str]) -> None:
        """Add what the outermost element that counts says: the ones inside are part of it."""
        if self._counted_at or not {"failures", "errors"} & attributes.keys():
            return
        self._counted_at = self._depth
        for key in ("failures", "errors"):
            number = attributes.get(key, "")
            if number.isascii() and number.isdigit() and len(number) < 10:
                self.declared += int(number)

    def _end_case(self) -> None:
        case, self._case = self._case, None
        if case is None:
            return
        not_run = case.get("status") in ("notrun", "disabled") or case.get("result") == "skipped"
        if self._failed:
            self._out.failed += 1
        elif self._skipped or not_run:
            self._out.skipped += 1
        else:
            self._out.test_passed(_full_name(case))

    def _end_result(self, name: str, result: dict[str, str], text: str) -> None:
        if name == "skipped":
            self._skipped = True
            return
        case = self._case
        self._failed = True
        message = result.get("message") or text or result.get("type", "")
        if case is None:
            self._out.red = True
            suite = " > ".join(filter(None, self._suites))
            self._out.add(
                Kind.COLLECTION, Severity.ERROR, message, trace=text or message, test=suite or None
            )
            return
        class_name, test = case.get("classname", ""), case.get("name", "")
        # pytest words it so; Vitest names the one case after the file that could not be loaded
        unloaded = message in _COLLECTION or (class_name == test and bool(test))
        if message in _COLLECTION:
            message = text or message
        self._out.add(
            Kind.COLLECTION if unloaded else Kind.TEST,
            Severity.ERROR,
            message,
            file=case.get("file"),
            trace=text or message,
            test=_full_name(case),
        )


def _full_name(case: dict[str, str]) -> str | None:
    class_name, test = case.get("classname", ""), case.get("name", "")
    if class_name and class_name != test:
        return f"{class_name}{' > ' if '/' in class_name else '.'}{test}"
    return test or class_name or None
