"""Fingerprints: what makes an issue the same issue next round, when its line and its words moved.

An issue is identified by what it is about (a test, a criterion, a file and a rule) and by the
skeleton of its message: the names quoted or spelled like code in it, in order. Line numbers and
prose leave no trace; issues that agree in all of that are told apart by their order in the file.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from steelyard._core import hash_object

__all__ = ["fingerprints", "pack_tests", "packed_test", "skeleton"]

_LENGTH = 32
"""Hexadecimal digits kept of each SHA-256: 128 bits."""

_MAX_MESSAGE = 1_024
_PLACE = re.compile(r"(?<=\w):\d+(?::\d+)?\b|\(\d+,\d+\)")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*[A-Za-z_])")
_NAMES = re.compile(
    r"""
      (?<!\w)'([^'\n]{1,200})'(?!\w)       # 'quoted', where an apostrophe inside a word is no quote
    | "([^"\n]{1,200})" | `([^`\n]{1,200})`
    | [\u201c\u2018]([^\u201d\u2019\n]{1,200})[\u201d\u2019]               # curly quotes
    | (\b[A-Za-z_$][\w$]*(?:(?:[./]|::)[\w$]+)*[(][)]                       # call()
      | \b[A-Za-z_$][\w$-]*(?:[./][\w$-]+)+                                # dotted.name, path/to.ts
      | \b[A-Za-z]*[a-z][A-Z]\w* | \b[A-Za-z]\w*_\w+    # camelCase, snake_case
      | \b[A-Z]{1,8}\d{2,}                              # E501
      )
    """,
    re.VERBOSE,
)
_NOT_NAMES = frozenset({"e.g", "i.e", "and/or", "either/or", "n/a", "N/A", "vs", "etc"})


def skeleton(message: str, *, identified: bool) -> str:
    """The part of a message that stays when it is reworded or its line moves.

    The names in it; without any, nothing if the issue is `identified` by a rule or criterion, else
    the whole message with numbers, case and spacing levelled.
    """
    text = _PLACE.sub("", message[:_MAX_MESSAGE])
    found = (next(group for group in match.groups() if group) for match in _NAMES.finditer(text))
    names = [_NUMBER.sub("#", name) for name in found if name not in _NOT_NAMES]
    if names:
        return "\n".join(names)
    return "" if identified else " ".join(_NUMBER.sub("#", text).casefold().split())


def fingerprints(keys: Sequence[tuple[Sequence[str], tuple[object, ...]]]) -> list[str]:
    """One fingerprint per (identity, order): equal identities are numbered by their order.

    The result does not depend on the order of `keys`, as long as equal identities differ in order.
    """
    by_identity = sorted(range(len(keys)), key=lambda index: (list(keys[index][0]), keys[index][1]))
    result = [""] * len(keys)
    for identity, group in groupby(by_identity, key=lambda index: list(keys[index][0])):
        for number, index in enumerate(group):
            parts = [*identity, number] if number else identity
            result[index] = hash_object(parts)[:_LENGTH]
    return result


_DIGEST = 6
"""Bytes kept per test name: 10,000 names collide with one given name once in 28 billion."""

_MAX_TESTS = 10_000


def pack_tests(names: Iterable[str], *, carried: str = "", without: Iterable[str] = ()) -> str:
    """A set of test names as opaque text of 8 characters per test, at most 10,000 of them.

    Those of the packed set `carried` are added, except the names in `without`.
    """
    digests = _unpacked(carried).difference(map(_digest, without)).union(map(_digest, names))
    return base64.b64encode(b"".join(sorted(digests)[:_MAX_TESTS])).decode("ascii")


def packed_test(packed: str) -> Callable[[str], bool]:
    """Whether a name is in a packed set of tests. Text that is no such set holds nothing."""
    digests = _unpacked(packed)
    return lambda name: _digest(name) in digests


def _unpacked(packed: str) -> frozenset[bytes]:
    try:
        data = base64.b64decode(packed, validate=True)
    except ValueError:
        return frozenset()
    starts = range(0, len(data) - _DIGEST + 1, _DIGEST)
    return frozenset(data[start : start + _DIGEST] for start in starts)


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:_DIGEST]
