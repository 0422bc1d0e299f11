"""The piecewise JSON reader agrees with `json`, refuses what is no JSON, and stays small."""

from __future__ import annotations

import json

import pytest

from steelyard.ingest.collect import Unreadable
from steelyard.ingest.jsonread import JsonReader, integer, json_lines, objects, string

DOCUMENT = {
    "a": [1, 2.5, -3e5, True, None, "x\u00e9\U0001f600\n", [], {}, [[{"b": {}}]]],
    "empty": {},
    "long": ["y" * 1_000] * 300,
    "wide": ["\U0001f600" * 100] * 300,
    "last": {"z": "end"},
}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_walks_and_windows_agree_with_json(indent: int | None, ascii_only: bool) -> None:
    data = json.dumps(DOCUMENT, indent=indent, ensure_ascii=ascii_only).encode()
    reader = JsonReader(data)
    found: dict[str, object] = {}
    for key in reader.members():
        if key in ("a", "long"):
            found[key] = [reader.value() for _ in reader.items()]
        elif key == "wide":
            found[key] = list(reader.values())
        elif key == "last":
            found[key] = {inner: reader.value() for inner in reader.members()}
        elif key == "empty":
            found[key] = dict.fromkeys(reader.members())
    reader.end()
    assert found == DOCUMENT


def test_members_not_taken_are_passed_over() -> None:
    reader = JsonReader(json.dumps(DOCUMENT, ensure_ascii=False).encode())
    assert list(reader.members()) == list(DOCUMENT)
    reader.end()


def test_outline_marks_what_is_read_later() -> None:
    reader = JsonReader(b'[{"later": [1, 2], "now": "\xc3\xa9", "other": {}}, 3]')
    items = reader.items()
    next(items)
    kept, mark = reader.outline(frozenset({"now"}), later="later")
    end = reader.offset
    assert kept == {"now": "\u00e9"}
    assert mark is not None
    reader.rewind(mark)
    assert list(reader.values()) == [1, 2]
    reader.rewind(end)
    next(items)
    assert reader.value() == 3
    assert next(items, "over") == "over"
    reader.end()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[1,",
        b'{"a"',
        b'{"a":',
        b'{"a":1',
        b"[1 2]",
        b"{1:2}",
        b'{"a" 1}',
        b"[1}",
        b"[,]",
        b"[1] 2",
        b'["' + b"x" * 70_000,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" + b"9" * 5_000,
    ],
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    def walk() -> None:
        reader = JsonReader(data)
        reader.skip()
        reader.end()

    with pytest.raises(Unreadable):
        walk()


def test_null_is_an_empty_list() -> None:
    assert list(JsonReader(b"null").values()) == []
    assert list(JsonReader(b" null ").items()) == []


def test_lines() -> None:
    lines = list(json_lines(b'note\n\n{"a": 1}\r\n  {"b": "\xff"}'))
    assert [decoded for _, decoded in lines] == [None, {"a": 1}, {"b": "\udcff"}]
    with pytest.raises(Unreadable, match="line 2: not JSON"):
        list(json_lines(b'{"a": 1}\n{"b":'))


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "x", [], {}, {"k": [1]}])
def test_accessors_take_anything(value: object) -> None:
    for container in (value, {"k": value}):
        assert string(container, "k") in (None, "x")
        assert integer(container, "k") in (None, 1)
        assert isinstance(objects(container, "k", "j"), list)
    assert integer({"k": True}, "k") is None
    assert integer({"k": 3.0}, "k") == 3
