"""RFC 3339 timestamps as instants."""

from __future__ import annotations

import pytest

from steelyard.errors import InvalidInputError
from steelyard.scoring.instant import parse_instant


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-05-01T10:00:00+09:00", "2026-05-01T01:00:00Z"),
        ("2026-05-01t01:00:00z", "2026-05-01T01:00:00-00:00"),
        ("2026-05-01T02:00:00.500Z", "2026-05-01T02:00:00.5Z"),
        ("2026-05-01T02:00:00.000Z", "2026-05-01T02:00:00Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("2017-01-01T08:59:60+09:00", "2017-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00-23:59", "0001-01-01T23:59:00Z"),
    ],
)
def test_one_instant(one: str, other: str) -> None:
    assert parse_instant(one, "t") == parse_instant(other, "t")


def test_order() -> None:
    ordered = [
        "0001-01-01T00:00:00+23:59",
        "1969-12-31T23:59:59.999999999Z",
        "1970-01-01T00:00:00Z",
        "2026-05-01T02:00:00.05Z",
        "2026-05-01T02:00:00.4999999999999Z",
        "2026-05-01T02:00:00.5Z",
        "9999-12-31T23:59:59-23:59",
    ]
    instants = [parse_instant(text, "t") for text in ordered]
    assert instants == sorted(instants)
    assert len(set(instants)) == len(instants)


@pytest.mark.parametrize(
    "text",
    [
        " ",
        "10",
        "not a date",
        "2026-05-01",
        "2026-05-01T02:00:00",
        "2026-05-01 02:00:00Z",
        "2026-05-01T02:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-05-01T24:00:00Z",
        "2026-05-01T02:60:00Z",
        "2026-05-01T02:00:60Z",
        "2026-05-01T02:00:61Z",
        "2026-05-01T02:00:00+24:00",
        "2026-05-01T02:00:00+09:60",
        "2026-05-01T02:00:00+0900",
        "2026-05-01T02:00:00.Z",
        "2026-05-01T02:00:00Z\n",
        "٢٠٢٦-05-01T02:00:00Z",
        "2026-05-01T02:00:00." + "0" * 100 + "Z",
    ],
)
def test_what_is_no_timestamp(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_instant(text, "evidence.reviews[0].timestamp")
    assert caught.value.violations[0].path == "evidence.reviews[0].timestamp"
    assert caught.value.reason == "TIMESTAMP_INVALID"
