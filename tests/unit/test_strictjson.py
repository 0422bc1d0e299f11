"""JSON that two readers could understand differently is refused."""

from __future__ import annotations

import pytest

from steelyard import strictjson
from steelyard.errors import InvalidInputError


def nested(depth: int) -> bytes:
    return b'{"a":[' * (depth // 2) + b"1" + b"]}" * (depth // 2)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "INVALID_JSON"),
        (b"{}x", "INVALID_JSON"),
        (b"\xff", "INVALID_UTF8"),
        (b'{"a":1,"a":2}', "DUPLICATE_KEY"),
        (b"NaN", "INVALID_JSON"),
        (b"1e400", "NUMBER_OUT_OF_RANGE"),
        (b"9007199254740993", "INTEGER_OUT_OF_RANGE"),
        (b'"\\ud800"', "LONE_SURROGATE"),
        (nested(66), "TOO_DEEP"),
        (nested(1_000), "TOO_DEEP"),
        (b"[" * 5_000_000, "TOO_DEEP"),
    ],
)
def test_refused(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        strictjson.parse(data, "it")
    assert caught.value.reason == reason


def test_the_depth_cap_is_inclusive() -> None:
    value = strictjson.parse(nested(64), "it")
    assert isinstance(value, dict)


def test_an_object_is_asked_for() -> None:
    assert strictjson.parse_object(b'{"a": [1, null]}', "it") == {"a": [1, None]}
    with pytest.raises(InvalidInputError) as caught:
        strictjson.parse_object(b"[]", "it")
    assert caught.value.reason == "NOT_AN_OBJECT"
