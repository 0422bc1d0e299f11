"""Canonical JSON and hashes of the core: refusals with their places, buffers, threads."""

from __future__ import annotations

import array
import collections
import enum
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

from steelyard import _core
from steelyard.errors import InvalidInputError


class Level(enum.IntEnum):
    HIGH = 3


class Name(enum.StrEnum):
    A = "a"


@dataclass
class Leaf:
    """A record: `wide_name` is written before `b`, whatever the order of the fields."""

    b: Any
    wide_name: Any = None


def members_of(kind: Any) -> _core.Members | None:
    if issubclass(kind, Mapping):
        return None
    if kind is not Leaf:
        raise TypeError(kind.__name__)
    return _core.Members([("b", "b"), ("wide_name", "aName")])


Pair = collections.namedtuple("Pair", ["x", "y"])
MAX_DEPTH = 1_000


def refusal(function: Any, argument: Any) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        function(argument)
    return caught.value


@pytest.mark.parametrize(
    ("text", "reason", "offset"),
    [
        (b"", "INVALID_JSON", 0),
        (b" ", "INVALID_JSON", 1),
        (b"nul", "INVALID_JSON", 0),
        (b"1 2", "INVALID_JSON", 2),
        (b"[1,]", "INVALID_JSON", 3),
        (b"[1", "INVALID_JSON", 2),
        (b'{"a":1,}', "INVALID_JSON", 7),
        (b'{"a" 1}', "INVALID_JSON", 5),
        (b"{a:1}", "INVALID_JSON", 1),
        (b"[1}", "INVALID_JSON", 2),
        (b"01", "INVALID_JSON", 1),
        (b"-", "INVALID_JSON", 1),
        (b"+1", "INVALID_JSON", 0),
        (b".5", "INVALID_JSON", 0),
        (b"1.", "INVALID_JSON", 2),
        (b"1e+", "INVALID_JSON", 3),
        (b"NaN", "INVALID_JSON", 0),
        (b"-Infinity", "INVALID_JSON", 1),
        (b'"a', "INVALID_JSON", 2),
        (b'"\n"', "INVALID_JSON", 1),
        (b'"\\x"', "INVALID_JSON", 1),
        (b'"\\u12g4"', "INVALID_JSON", 1),
        (b'"\\u+123"', "INVALID_JSON", 1),
        (b"'a'", "INVALID_JSON", 0),
        (b"\xef\xbb\xbf1", "INVALID_JSON", 0),
        (b'"\xff"', "INVALID_UTF8", 1),
        (b'"\xed\xa0\x80"', "INVALID_UTF8", 1),
        (b'"\xc0\xaf"', "INVALID_UTF8", 1),
        (b'{"a":1,"a":1}', "DUPLICATE_KEY", 7),
        (b'{"b":1,"c":1,"a":1,"c":2}', "DUPLICATE_KEY", 19),
        (b'{"a":1,"b":0,"\\u0061":2}', "DUPLICATE_KEY", 13),
        (b'[{"\\/":1,"/":2}]', "DUPLICATE_KEY", 9),
        (b'"\\ud800"', "LONE_SURROGATE", 1),
        (b'"x\\udc00"', "LONE_SURROGATE", 2),
        (b'"\\ud800\\ud800\\udc00"', "LONE_SURROGATE", 1),
        (b'{"\\udfff":1}', "LONE_SURROGATE", 2),
        (b"9007199254740992", "INTEGER_OUT_OF_RANGE", 0),
        (b"[-9007199254740992]", "INTEGER_OUT_OF_RANGE", 1),
        (b"1" * 5_000, "INTEGER_OUT_OF_RANGE", 0),
        (b"[1e309]", "NUMBER_OUT_OF_RANGE", 1),
        (b"-1e999", "NUMBER_OUT_OF_RANGE", 0),
        (b"1" * 400 + b".5", "NUMBER_OUT_OF_RANGE", 0),
        (b"[" * (MAX_DEPTH + 1), "TOO_DEEP", MAX_DEPTH),
        (b'{"a":' * 100_000, "TOO_DEEP", MAX_DEPTH * 5),
    ],
)
def test_text_is_refused_with_its_offset(text: bytes, reason: str, offset: int) -> None:
    for function in (_core.canonicalize, _core.hash_json):
        error = refusal(function, text)
        assert error.reason == reason
        assert error.message.startswith(f"byte {offset}: ")


def cycle() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        ({1, 2}, "UNSUPPORTED_TYPE", "$"),
        ({"a": [0, {"b": b"x"}]}, "UNSUPPORTED_TYPE", "$.a[1].b"),
        ({"a": {1: 2}}, "UNSUPPORTED_TYPE", "$.a"),
        ({"a": ((), (None, object()))}, "UNSUPPORTED_TYPE", "$.a[1][1]"),
        ([float("nan")], "NOT_FINITE", "$[0]"),
        ({"x y": float("-inf")}, "NOT_FINITE", '$["x y"]'),
        ({'"': [2**53]}, "INTEGER_OUT_OF_RANGE", '$["\\""][0]'),
        ([1, 2, -(10**40)], "INTEGER_OUT_OF_RANGE", "$[2]"),
        ({"a": [{}, [], "\udc00"]}, "LONE_SURROGATE", "$.a[2]"),
        ([{"\ud800": 1}], "LONE_SURROGATE", "$[0]"),
    ],
)
def test_value_is_refused_with_its_path(value: Any, reason: str, path: str) -> None:
    for function in (_core.canonical_json, _core.hash_object):
        error = refusal(function, value)
        assert error.reason == reason
        assert [(v.path, v.reason) for v in error.violations] == [(path, reason)]
        assert error.message.startswith(f"{path}: ")


def test_cycle_is_too_deep_and_its_path_is_cut() -> None:
    error = refusal(_core.canonical_json, cycle())
    assert error.reason == "TOO_DEEP"
    assert error.violations[0].path.startswith("$[0][0]")
    assert len(error.violations[0].path) < 300


def test_depth_up_to_the_limit() -> None:
    text = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert _core.canonicalize(text) == text
    nested: Any = {}
    for _ in range(MAX_DEPTH - 1):
        nested = {"b": nested, "a": 1}
    expected = b'{"a":1,"b":' * (MAX_DEPTH - 1) + b"{}" + b"}" * (MAX_DEPTH - 1)
    assert _core.canonical_json(nested) == expected
    assert refusal(_core.canonical_json, [nested]).reason == "TOO_DEEP"


def test_small_thread_stack_is_enough() -> None:
    before = threading.stack_size(64 * 1024)
    results: list[Any] = []
    nested = b'{"b":1,"a":' * (MAX_DEPTH - 1) + b"1" + b"}" * (MAX_DEPTH - 1)
    try:
        thread = threading.Thread(target=lambda: results.append(_core.canonicalize(nested)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert results == [b'{"a":' * (MAX_DEPTH - 1) + b"1" + b',"b":1}' * (MAX_DEPTH - 1)]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (b" \t\r\n[ 1 , 2 ] ", b"[1,2]"),
        (b"[-0, 0.0, -0.0, 0e9, -0E-9, 1e-400]", b"[0,0,0,0,0,0]"),
        (b"[1E2, 1.50, 100.0, 0.1e1]", b"[100,1.5,100,1]"),
        (b"[9007199254740991, -9007199254740991]", b"[9007199254740991,-9007199254740991]"),
        (b"[999999999999999, 1000000000000000]", b"[999999999999999,1000000000000000]"),
        (b"[1e15, 1e20, 1e21, 1e300]", b"[1000000000000000,100000000000000000000,1e+21,1e+300]"),
        (b"[0.000001, 0.0000001, 0.00000123]", b"[0.000001,1e-7,0.00000123]"),
        (b"[0.0000001234567890123456]", b"[1.234567890123456e-7]"),
        (b"[123456789012345.6, 0.80000000000000004]", b"[123456789012345.6,0.8]"),
        (b"[1234567890.1234567]", b"[1234567890.1234567]"),
        (b"[2.2250738585072011e-308]", b"[2.225073858507201e-308]"),
        (b'"\\u0000\\u001f\\u007f\\/"', b'"\\u0000\\u001f\x7f/"'),
        (b'"\\u00e9\\ud83d\\ude00\\u2028"', '"é😀\u2028"'.encode()),
        (b'{"\\n":1,"\\t":2,"\\u0001":3," ":4}', b'{"\\u0001":3,"\\t":2,"\\n":1," ":4}'),
        (b'{"\\\\":1,"[":2,"]":3,"\\"":4,"!":5}', b'{"!":5,"\\"":4,"[":2,"\\\\":1,"]":3}'),
        (b'{"ab":1,"a":2,"a!":3,"a\\"":4,"":5}', b'{"":5,"a":2,"a!":3,"a\\"":4,"ab":1}'),
        (
            '{"\ue000":1,"😀":2,"\ud7ff":3,"\uffff":4,"z":5}'.encode(),
            '{"z":5,"\ud7ff":3,"😀":2,"\ue000":1,"\uffff":4}'.encode(),
        ),
        (
            b'[{"b":{"d":1,"c":[{"f":1,"e":2},{}]},"a":0},{"a":0,"b":{"y":1,"x":2}},{"k":1}]',
            b'[{"a":0,"b":{"c":[{"e":2,"f":1},{}],"d":1}},{"a":0,"b":{"x":2,"y":1}},{"k":1}]',
        ),
    ],
)
def test_canonical_text(text: bytes, canonical: bytes) -> None:
    assert _core.canonicalize(text) == canonical
    assert _core.hash_json(text) == hashlib.sha256(canonical).hexdigest()


def test_types_with_a_json_content_count_as_that_content() -> None:
    value = {Name.A: Level.HIGH, "p": Pair(1, True), "o": collections.OrderedDict(z=1, y=None)}
    assert _core.canonical_json(value) == b'{"a":3,"o":{"y":null,"z":1},"p":[1,true]}'


def test_float_that_prints_as_a_long_integer_is_not_read_back() -> None:
    printed = _core.canonicalize(b"1e20")
    assert printed == b"100000000000000000000" == _core.canonical_json(1e20)
    assert refusal(_core.canonicalize, printed).reason == "INTEGER_OUT_OF_RANGE"


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 1_000, 2_000_000])
def test_sha256_of_every_kind_of_buffer(size: int) -> None:
    data = bytes(i % 251 for i in range(size))
    expected = hashlib.sha256(data).hexdigest()
    buffers = [data, bytearray(data), memoryview(data), array.array("B", data)]
    assert [_core.sha256_hex(buffer) for buffer in buffers] == [expected] * 4
    assert _core.hash_contexts(buffers) == [expected] * 4
    assert _core.hash_contexts_packed(buffers) == hashlib.sha256(data).digest() * 4


def test_strided_view_is_hashed_in_its_own_order() -> None:
    view = memoryview(bytes(range(100)))[::-3]
    assert _core.sha256_hex(view) == hashlib.sha256(view.tobytes()).hexdigest()


def test_contexts_of_mixed_lengths() -> None:
    contexts = [bytes([i % 256]) * (i * 7 % 400) for i in range(5_000)]
    expected = [hashlib.sha256(context).hexdigest() for context in contexts]
    assert _core.hash_contexts(contexts) == expected
    assert _core.hash_contexts(tuple(contexts)) == expected
    assert _core.hash_contexts_packed(contexts).hex() == "".join(expected)
    assert _core.hash_contexts([]) == []


@pytest.mark.parametrize("wrong", ["text", 1, None, [1], array.array("d", [1.0])])
def test_other_types_are_the_callers_error(wrong: Any) -> None:
    for function in (_core.sha256_hex, _core.hash_json, _core.canonicalize):
        with pytest.raises((TypeError, BufferError)):
            function(wrong)
    with pytest.raises((TypeError, BufferError)):
        _core.hash_contexts([b"ok", wrong])


def test_a_buffer_may_change_after_the_call() -> None:
    data = bytearray(b'{"b":1,"a":2}')
    assert _core.canonicalize(data) == b'{"a":2,"b":1}'
    data.clear()


def test_large_text_from_several_threads() -> None:
    value = [{"b": i, "a": str(i), "c": [i / 7, None]} for i in range(20_000)]
    text = json.dumps(value).encode()
    expected = _core.hash_object(value)
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda: results.append(_core.hash_json(text))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


def test_records_and_mappings_are_objects() -> None:
    leaf = Leaf("é", [Leaf(1.0, Name.A), {"z": MappingProxyType({Name.A: 1}), "y": ()}])
    expected = '{"aName":[{"aName":"a","b":1},{"y":[],"z":{"a":1}}],"b":"é"}'
    assert _core.canonical_record(leaf, members_of).decode() == expected
    assert _core.canonical_record([True, None, 3], members_of) == b"[true,null,3]"
    assert _core.canonical_json(json.loads(expected)).decode() == expected


def test_a_long_record_among_keys_that_must_be_sorted() -> None:
    value = {"z": Leaf("x" * 2000, {"b": 1, "a": Leaf(2)}), "a": 1}
    plain = {"z": {"b": "x" * 2000, "aName": {"b": 1, "a": {"b": 2, "aName": None}}}, "a": 1}
    assert _core.canonical_record(value, members_of) == _core.canonical_json(plain)


@pytest.mark.parametrize(
    ("value", "reason", "path"),
    [
        (Leaf("\ud800"), "LONE_SURROGATE", "$.b"),
        (Leaf([Leaf(1, {"k": 2**53})]), "INTEGER_OUT_OF_RANGE", "$.b[0].aName.k"),
        ([Leaf(float("nan"))], "NOT_FINITE", "$[0].b"),
    ],
)
def test_a_record_is_refused_with_its_path(value: Any, reason: str, path: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        _core.canonical_record(value, members_of)
    assert caught.value.reason == reason
    assert caught.value.violations[0].path == path


def test_a_dict_may_change_while_a_record_in_it_is_read() -> None:
    class Restless:
        @property
        def b(self) -> int:
            value["new"] = len(value)
            return 1

    value: dict[str, Any] = {"a": Restless(), "c": 2}
    members = _core.Members([("b", "b")])
    assert _core.canonical_record(value, lambda kind: members) == b'{"a":{"b":1},"c":2}'


def test_a_record_in_itself_is_too_deep() -> None:
    leaf = Leaf(1)
    leaf.wide_name = [leaf]
    with pytest.raises(InvalidInputError) as caught:
        _core.canonical_record(leaf, members_of)
    assert caught.value.reason == "TOO_DEEP"


def test_what_cannot_be_a_record_is_the_callers_error() -> None:
    with pytest.raises(TypeError, match="object"):
        _core.canonical_record(Leaf(object()), members_of)
    with pytest.raises(TypeError):
        _core.canonical_record(Leaf(1), lambda kind: None)
    with pytest.raises(TypeError):
        _core.canonical_record(Leaf(1), lambda kind: kind)  # type: ignore[arg-type, return-value]  # wrong on purpose
    with pytest.raises(AttributeError):
        _core.canonical_record(Leaf(1), lambda kind: _core.Members([("absent", "a")]))
    with pytest.raises(InvalidInputError) as caught:
        _core.Members([("a", "k"), ("b", "k")])
    assert caught.value.reason == "DUPLICATE_KEY"
