"""Reading JSON piece by piece, so that memory does not grow with the number of findings.

`json.loads` turns 3 MB of `{},{},{}` into 70 MB of dictionaries. `JsonReader` walks the outer
levels of a document and has the C scanner of `json` decode one inner value at a time from a window
of text, so that a report costs its bytes and one finding. The accessors at the end take any decoded
value and never raise.
"""

from __future__ import annotations

import json
import json.scanner
import re
from collections.abc import Callable, Iterator

from steelyard.ingest.collect import Unreadable

__all__ = ["JsonReader", "integer", "json_lines", "loads", "member", "objects", "string"]

_WINDOW = 64 * 1024
MAX_VALUE_BYTES = 1024 * 1024
MAX_VALUE_PARTS = 100_000
"""Braces, brackets and commas in one value that is decoded as a whole."""
MAX_DEPTH = 200
"""Levels walked from outside; a single value may nest as deep as Python's recursion limit."""

_SPACE = re.compile(r"[ \t\r\n]*")
_SEPARATOR = re.compile(r"[ \t\r\n]*([,\]])[ \t\r\n]*")
_scan: Callable[[str, int], tuple[object, int]] = json.scanner.make_scanner(
    json.JSONDecoder(strict=False)  # type: ignore[arg-type]  # typeshed wants a scanner here
)


class JsonReader:
    """A cursor in a JSON document. Every method raises `Unreadable` for what is no JSON."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._base = 0
        self._text = ""
        self._at = 0
        self._stop = 0
        self._done = 0
        self._depth = 0
        self._load(0, _WINDOW)

    def _load(self, start: int, size: int) -> None:
        """Make the window begin at byte `start`."""
        self._base = start
        self._stop = min(start + size, len(self._data))
        # surrogateescape keeps invalid bytes, and a character cut by the window, reversible
        self._text = self._data[start : self._stop].decode("utf-8", "surrogateescape")
        self._at = 0

    @property
    def offset(self) -> int:
        """Byte offset of the cursor."""
        done = self._text[: self._at]
        return self._base + (
            self._at if done.isascii() else len(done.encode("utf-8", "surrogateescape"))
        )

    def rewind(self, offset: int) -> None:
        """Put the cursor back to an `offset` of this reader."""
        self._load(offset, _WINDOW)

    def peek(self) -> str:
        """The next character that is not white space, empty at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._stop >= len(self._data):
                return ""
            self._load(self._stop, _WINDOW)

    def value(self) -> object:
        """Decode the next value as a whole."""
        size = _WINDOW
        while True:
            done, value = self._try_value()
            if done:
                return value
            self._grow(size := size * 2)

    def skip(self) -> None:
        """Pass over the next value, however large."""
        if self._try_value()[0]:
            return
        opening = self.peek()
        if opening == "[":
            for _ in self.items():
                self.skip()
        elif opening == "{":
            for _ in self.members():
                self.skip()
        else:
            self.value()

    def items(self) -> Iterator[None]:
        """Step through the next value, a list; the caller may take each item. null is empty."""
        if self.peek() == "n":
            self.value()
            return
        self._enter("[")
        if self.peek() == "]":
            self._leave()
            return
        while True:
            before = self._done
            yield
            if self._done == before:
                self.skip()
            if self._separator("]"):
                return

    def values(self) -> Iterator[object]:
        """Decode the items of the next value, a list, one by one. null is empty.

        The same as `value` for each of `items`, at a third of the cost.
        """
        if self.peek() == "n":
            self.value()
            return
        self._enter("[")
        if self.peek() == "]":
            self._leave()
            return
        while True:
            value: object
            try:
                value, end = _scan(self._text, self._at)
                found = _SEPARATOR.match(self._text, end)
            except (StopIteration, ValueError, RecursionError):
                found = None
            if found is None or found.end() == len(self._text):
                value = self.value()
                yield value
                if self._separator("]"):
                    return
                continue
            self._at = found.end()
            if found[1] == "]":
                self._at = found.start(1)
                self._leave()
                yield value
                return
            yield value

    def members(self) -> Iterator[str]:
        """Step through the next value, an object, by its keys; the caller may take each value."""
        self._enter("{")
        if self.peek() == "}":
            self._leave()
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise self._broken("a key in double quotes")
            if self.peek() != ":":
                raise self._broken("':'")
            self._at += 1
            before = self._done
            yield key
            if self._done == before:
                self.skip()
            if self._separator("}"):
                return

    def outline(self, keep: frozenset[str], later: str) -> tuple[dict[str, object], int | None]:
        """Decode the members of the next object in `keep` and pass over the rest.

        Returns them, and the offset of the member `later` when there is one: `rewind` to it once
        the others are known.
        """
        kept: dict[str, object] = {}
        mark: int | None = None
        for key in self.members():
            if key == later:
                self.peek()
                mark = self.offset
            elif key in keep:
                kept[key] = self.value()
        return kept, mark

    def ahead(self, *keys: str) -> bool:
        """Whether one of `keys` may still come; a text that merely looks like it counts too."""
        offset = self.offset
        return any(self._data.find(f'"{key}"'.encode(), offset) >= 0 for key in keys)

    def end(self) -> None:
        """Check that nothing follows."""
        if self.peek():
            raise self._broken("the end of the document")

    def _try_value(self) -> tuple[bool, object]:
        """Decode the next value if it lies within the window and something proves its end."""
        if not self.peek():
            raise self._broken("a value")
        last = self._stop >= len(self._data)
        try:
            value, end = _scan(self._text, self._at)
        except RecursionError:
            raise Unreadable(f"nested too deep at byte {self.offset}") from None
        except (StopIteration, ValueError):
            if last:
                raise self._broken("a value") from None
            return False, None
        if end >= len(self._text) and not last:
            return False, None
        self._at = end
        self._done += 1
        return True, value

    def _grow(self, size: int) -> None:
        start = self.offset
        self._load(start, size)
        window = self._data[start : self._stop]
        parts = window.count(b"{") + window.count(b"[") + window.count(b",")
        if size > MAX_VALUE_BYTES or parts > MAX_VALUE_PARTS:
            raise Unreadable(f"malformed, or one value too large, at byte {start}")

    def _enter(self, opening: str) -> None:
        if self.peek() != opening:
            raise self._broken(f"'{opening}'")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unreadable(f"nested too deep at byte {self.offset}")
        self._at += 1

    def _leave(self) -> None:
        self._at += 1
        self._depth -= 1
        self._done += 1

    def _separator(self, closing: str) -> bool:
        """Pass the comma after an item, or the closing bracket: then True."""
        found = self.peek()
        if found == closing:
            self._leave()
            return True
        if found != ",":
            raise self._broken(f"',' or '{closing}'")
        self._at += 1
        self.peek()
        return False

    def _broken(self, expected: str) -> Unreadable:
        where = "it ends" if not self.peek() else "there is something else"
        return Unreadable(f"not JSON: {expected} expected at byte {self.offset}, but {where}")


def loads(line: bytes) -> object:
    """Decode one small document, such as a line of a JSON-lines report."""
    if len(line) > MAX_VALUE_BYTES or line.count(b",") + line.count(b"[") > MAX_VALUE_PARTS:
        raise Unreadable("one line is too large")
    try:
        return json.loads(line.decode("utf-8", "surrogateescape"), strict=False)
    except RecursionError:
        raise Unreadable("nested too deep") from None
    except ValueError:
        raise Unreadable("not JSON") from None


def json_lines(data: bytes) -> Iterator[tuple[bytes, object]]:
    """The lines of `data` that are not blank, each with what it decodes to.

    A line that does not begin like a JSON object comes with None: other programs print in between.
    One that does, and is not whole, raises `Unreadable`.
    """
    start = number = 0
    while start < len(data):
        stop = data.find(b"\n", start)
        stop = len(data) if stop < 0 else stop
        line = data[start:stop].strip()
        start = stop + 1
        number += 1
        if not line:
            continue
        if not line.startswith(b"{"):
            yield line, None
            continue
        try:
            decoded = loads(line)
        except Unreadable as error:
            raise Unreadable(f"line {number}: {error}") from None
        yield line, decoded


def member(value: object, *path: str) -> object:
    """The value at the end of a path of keys, None when there is none."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def string(value: object, *path: str) -> str | None:
    """The text at the end of a path, None for anything else and for an empty text."""
    found = member(value, *path)
    return found if isinstance(found, str) and found else None


def integer(value: object, *path: str) -> int | None:
    """The whole number at the end of a path, None for anything else."""
    found = member(value, *path)
    if isinstance(found, float) and found.is_integer():
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def objects(value: object, *path: str) -> list[object]:
    """The list at the end of a path, empty for anything else."""
    found = member(value, *path)
    return found if isinstance(found, list) else []
