"""Places and values read from failure texts."""

from __future__ import annotations

import pytest

from steelyard.ingest.traces import compared, frames, jvm_frame


@pytest.mark.parametrize(
    ("trace", "first"),
    [
        ('  File "/r/a.py", line 3, in f\n  File "/r/b.py", line 9, in g\n', ("/r/b.py", 9, None)),
        ("a.py:3: in f\nb.py:9: ValueError\n", ("b.py", 9, None)),
        ("C:\\r\\b.py:9: ValueError\n", ("C:\\r\\b.py", 9, None)),
        ('E     File "/r/b.py", line 9\n', ("/r/b.py", 9, None)),
        ("Error: x\n    at f (/r/a.ts:3:5)\n    at /r/b.ts:9:1\n", ("/r/a.ts", 3, 5)),
        ("Error: x\n    at file:///r/a.mjs:3:5\n", ("file:///r/a.mjs", 3, 5)),
        ("    at async f (/r/my dir/a.ts:3:5)\n", ("/r/my dir/a.ts", 3, 5)),
        ("    at f (C:\\r\\a.ts:3:5)\n", ("C:\\r\\a.ts", 3, 5)),
        (
            " \N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} f src/a.ts:3:5\n",
            ("src/a.ts", 3, 5),
        ),
        ("thread 't' panicked at src/a.rs:3:5:\nno\n", ("src/a.rs", 3, 5)),
        ("thread 't' panicked at 'no', src/a.rs:3:5\n", ("src/a.rs", 3, 5)),
        ("    a_test.go:3: wrong\n", ("a_test.go", 3, None)),
        ("   at N.T.M() in /r/T.cs:line 3\n", ("/r/T.cs", 3, None)),
        ("   at N.T.M() in C:\\r\\T.cs:line 3\n", ("C:\\r\\T.cs", 3, None)),
    ],
)
def test_innermost_frame(trace: str, first: tuple[str, int, int | None]) -> None:
    assert next(frames(trace)) == first


def test_no_frame() -> None:
    assert list(frames("12:30:59 nothing happened\nratio 3:4\n")) == []


def test_jvm_frames_of_the_runtime_and_the_test_library_do_not_count() -> None:
    trace = "\tat org.junit.Assert.fail(Assert.java:89)\n\tat shop.B.adds(B.java:12)\n"
    assert jvm_frame(trace) == "shop.B.adds(B.java:12)"
    assert jvm_frame("nothing") is None


@pytest.mark.parametrize(
    ("message", "sides"),
    [
        ("expected 3 to be 4 // Object.is equality", ("4", "3")),
        ("AssertionError: expected [] to deeply equal [ 1 ]", ("[ 1 ]", "[]")),
        ("Expected: 4\nReceived: 3", ("4", "3")),
        ('Expected string: "a"\nReceived string: "b"', ('"a"', '"b"')),
        ("expected: <4> but was: <3>", ("4", "3")),
        ("expected:<4> but was:<3>", ("4", "3")),
        ("assertion failed\n  left: 3\n right: 4", ("4", "3")),
        ("got 3, want 4", ("4", "3")),
        ("Sum() = 3; want 4", ("4", "3")),
        ("assert 3 == 4", ("4", "3")),
        ("expected something else", (None, None)),
        ("left: 3", (None, None)),
    ],
)
def test_compared(message: str, sides: tuple[str | None, str | None]) -> None:
    assert compared(message) == sides
