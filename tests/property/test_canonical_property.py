"""Canonical JSON against two independent implementations and on broken text."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard import _core
from steelyard.errors import InvalidInputError

SAFE = 2**53 - 1

# Plain draws rarely hit the places where orders and escapes differ, so those are offered by name.
characters = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from('"\\/\b\f\n\r\t\x00\x1f\x7f !az\ud7ff\ue000\uffff\U00010000\U0010ffff\u2028'),
)
texts = st.text(characters, max_size=12)
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(-1000, 1000, places=4).map(float),
    st.sampled_from([0.1, 1e-6, 1e-7, 1e20, 1e21, 5e-324, 2.0**53, 1.7976931348623157e308]),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-SAFE, SAFE), floats, texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(texts, inner, max_size=8)),
    max_leaves=40,
)
digits = st.text("0123456789", min_size=1, max_size=20)
literals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    st.one_of(st.just("0"), st.from_regex(r"[1-9][0-9]{0,17}", fullmatch=True)),
    st.builds(".{}".format, digits),
    st.one_of(
        st.just(""),
        st.builds("{}{}".format, st.sampled_from(["e", "E-", "e+"]), st.integers(0, 300)),
    ),
).filter(lambda literal: abs(float(literal)) < float("inf"))


def reads_back(value: Any) -> bool:
    """False for a value whose canonical text holds an integer too long to be read without loss."""
    if isinstance(value, dict):
        return all(map(reads_back, value.values()))
    if isinstance(value, list):
        return all(map(reads_back, value))
    return not (isinstance(value, float) and SAFE < abs(value) < 1e21)


@given(values, st.booleans(), st.sampled_from([None, 1, "\t"]))
@settings(max_examples=600, deadline=None)
def test_agrees_with_rfc8785(value: Any, ascii_only: bool, indent: int | str | None) -> None:
    expected = rfc8785.dumps(value)
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert _core.canonical_json(value) == expected
    assert _core.canonicalize(text) == expected
    assert _core.hash_json(text) == _core.hash_object(value) == _core.sha256_hex(expected)
    if reads_back(value):
        assert _core.canonicalize(expected) == expected


@given(st.dictionaries(texts, st.integers(0, 9), max_size=30), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_order_of_members_never_matters(value: dict[str, int], shuffler: random.Random) -> None:
    members = list(value.items())
    shuffler.shuffle(members)
    assert _core.canonical_json(dict(members)) == _core.canonical_json(value)


def tree(rng: random.Random, depth: int) -> Any:
    """A nested value whose objects are out of order and of every size up to some kilobytes."""
    if depth == 0:
        return "x" * rng.choice([0, 3, 200, 900])
    if rng.random() < 0.3:
        return [tree(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    keys = rng.sample(["b", "a", "ab", "", "\ue000", "\U00010000", "\n", "key of some length"], 4)
    return {key: tree(rng, depth - rng.randint(1, depth)) for key in keys}


def test_objects_of_every_size() -> None:
    rng = random.Random(1024)  # noqa: S311 - a repeatable walk over values
    for _ in range(500):
        value = tree(rng, rng.randint(1, 6))
        expected = rfc8785.dumps(value)
        assert _core.canonical_json(value) == expected
        assert _core.canonicalize(json.dumps(value).encode()) == expected


@given(literals)
@settings(max_examples=600, deadline=None)
def test_number_literals(literal: str) -> None:
    expected = rfc8785.dumps(float(literal))
    assert _core.canonicalize(literal.encode()) == expected
    assert _core.canonical_json(float(literal)) == expected


# Own serialiser: objects of JavaScript would move keys like "1" to the front.
NODE_SCRIPT = """
const out = v => Array.isArray(v) ? '[' + v.map(out).join() + ']'
  : v && typeof v === 'object'
    ? '{' + Object.keys(v).sort().map(k => JSON.stringify(k) + ':' + out(v[k])).join() + '}'
    : JSON.stringify(v);
require('readline').createInterface({input: process.stdin})
  .on('line', line => process.stdout.write(out(JSON.parse(line)) + '\\n'));
"""


@pytest.fixture(scope="module")
def node() -> Iterator[subprocess.Popen[bytes]]:
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    with subprocess.Popen(
        [program, "-e", NODE_SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield process
        process.kill()


def ask(node: subprocess.Popen[bytes], text: str) -> bytes:
    assert node.stdin is not None
    assert node.stdout is not None
    node.stdin.write(text.encode() + b"\n")
    node.stdin.flush()
    return node.stdout.readline().removesuffix(b"\n")


@given(value=values)
@settings(max_examples=400, deadline=None)
def test_agrees_with_node(node: subprocess.Popen[bytes], value: Any) -> None:
    text = json.dumps(value)
    assert _core.canonicalize(text.encode()) == ask(node, text)


@given(literal=literals)
@settings(max_examples=300, deadline=None)
def test_numbers_agree_with_node(node: subprocess.Popen[bytes], literal: str) -> None:
    assert _core.canonicalize(literal.encode()) == ask(node, literal)


class RefusedError(Exception):
    """The oracle's verdict on a text."""


def oracle(text: bytes) -> bytes:
    """The canonical form by the standard library and rfc8785, with our refusals added."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise RefusedError("duplicate key")
        return dict(pairs)

    def constant(name: str) -> Any:
        raise RefusedError(name)

    try:
        value = json.loads(text.decode(), object_pairs_hook=members, parse_constant=constant)
        return rfc8785.dumps(value)
    except (ValueError, RefusedError, rfc8785.CanonicalizationError) as error:
        raise RefusedError from error


SEEDS = [
    b'{"b":[1,2.5,-0,1e2,null],"a":{"d":true,"c":false}}',
    b'[{"id":"x1","score":0.80,"n":9007199254740991},{"id":"\\u00e9\\n","score":1e-7}]',
    '{"\\ud83d\\ude00":1,"\ue000":"é😀","":{"":[[]]}}'.encode(),
    b' [ "a\\\\b\\/\\"" , { "k" : [ ] , "j" : { } } ,\n\t-1.5E+3 ] ',
    b'{"a":1,"b":2,"c":{"z":1,"y":{"x":[1,{"w":0,"v":1}]}}}',
]
TOKENS = [
    *(b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n", b"0", b"1", b"9", b"-", b"+"),
    *(b".", b"e", b"E", b"1e999", b"NaN", b"null", b"true", b"\\u0041", b"\\ud800", b"\\udc00"),
    *(b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\x00", b"\x1f", b"\x7f", b'"a":1,', b'"a"', b"01"),
    *(
        b"9007199254740992",
        b"123456789012345678.5",
        b"0.00000012",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
    ),
]


def mutate(rng: random.Random, text: bytes) -> bytes:
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(text))
        to = min(len(text), at + rng.randint(0, 6))
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + text[to:]
        elif kind == 1:
            text = text[:at] + rng.choice(TOKENS) + text[at:]
        elif kind == 2:
            text = text[:at] + rng.choice(TOKENS) + text[to:]
        else:
            text = text[:at] + text[at:to] + text[at:]
    return text


def test_same_verdict_on_mutated_text() -> None:
    rng = random.Random(8785)  # noqa: S311 - a repeatable walk over texts
    accepted = 0
    for _ in range(50_000):
        text = mutate(rng, rng.choice(SEEDS))
        try:
            expected = oracle(text)
        except RefusedError:
            with pytest.raises(InvalidInputError):
                _core.canonicalize(text)
            continue
        accepted += 1
        assert _core.canonicalize(text) == expected, text
        if reads_back(json.loads(text)):
            assert _core.canonicalize(expected) == expected, text
    assert 2_000 < accepted < 48_000
