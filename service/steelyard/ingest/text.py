"""Text that came from outside: without ANSI sequences, control characters and excess length."""

from __future__ import annotations

import re

__all__ = ["MAX_MESSAGE", "clean", "decode", "excerpt", "one_line", "strip_ansi", "unwrap"]

MAX_MESSAGE = 4_000
"""Characters kept of one message: its head and its tail."""

EXCERPT_BYTES = 4_096
"""Bytes kept of what a tool printed: half from its head, half from its tail."""

_CHUNK = 256 * 1024
_LONGEST_SEQUENCE = 256
# CSI, OSC and the two-character escapes of ECMA-48. Every repetition is bounded, so that a run of
# unfinished sequences costs no more than its length.
_ANSI = rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\^_])"
_ANSI_BYTES = re.compile(_ANSI)
_ANSI_TEXT = re.compile(_ANSI.decode("ascii"))
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_SPACES = re.compile(r"\s+")


def strip_ansi(data: bytes) -> bytes:
    """`data` without ANSI sequences, in pieces so that millions of them cost no memory."""
    if b"\x1b" not in data:
        return data
    pieces = bytearray()
    start = 0
    while start < len(data):
        stop = min(start + _CHUNK, len(data))
        if stop < len(data):
            pending = data.rfind(b"\x1b", stop - _LONGEST_SEQUENCE, stop)
            stop = pending if pending > start else stop
        pieces += _ANSI_BYTES.sub(b"", data[start:stop])
        start = stop
    return bytes(pieces)


def unwrap(data: bytes) -> bytes:
    """`data` as UTF-8 without a byte order mark; UTF-16 with a mark (PowerShell) is converted."""
    if data.startswith(b"\xef\xbb\xbf"):
        return data[3:]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16").encode()
        except UnicodeDecodeError:
            return data
    return data


def decode(data: bytes) -> str:
    """Bytes of a tool as text; what is not UTF-8 becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def clean(text: str, limit: int = MAX_MESSAGE) -> str:
    """Text for people: no ANSI, no control characters but tab and newline, at most `limit` long."""
    if len(text) > 4 * limit:
        text = text[: 2 * limit] + text[-2 * limit :]
    if "\x1b" in text:
        text = _ANSI_TEXT.sub("", text)
    text = text.replace("\r\n", "\n")
    if not text.isprintable():
        text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
    text = text.strip()
    if len(text) > limit:
        half = limit // 2 - 8
        text = f"{text[:half]}\n[...]\n{text[-half:]}"
    return text


def one_line(text: str, limit: int = 500) -> str:
    """`text` cleaned, on one line."""
    return _SPACES.sub(" ", clean(text, limit))


def excerpt(data: bytes) -> tuple[str, int]:
    """Head and tail of what a tool printed, and how many bytes between them were left out."""
    if len(data) <= EXCERPT_BYTES:
        return clean(decode(strip_ansi(data)), EXCERPT_BYTES), 0
    half = EXCERPT_BYTES // 2
    head = clean(decode(strip_ansi(data[:half])), half)
    tail = clean(decode(strip_ansi(data[-half:])), half)
    dropped = len(data) - 2 * half
    return f"{head}\n[... {dropped} bytes left out ...]\n{tail}", dropped
