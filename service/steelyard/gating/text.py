"""Text matching that no locale and no way of typing changes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Final

__all__ = ["fold", "is_foldable", "is_visible", "terms_absent", "terms_present"]

# Letters and symbols by category that render as nothing.
_BLANKS: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def fold(text: str) -> str:
    """NFKC with full Unicode case folding: equal results are equal to a reader who ignores case."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def is_visible(text: str) -> bool:
    """True when `text` shows at least one letter, digit, mark of punctuation or symbol."""
    return any(
        unicodedata.category(character)[0] in "LNPS" and character not in _BLANKS
        for character in text
    )


def is_foldable(text: str) -> bool:
    """False when more than 30 combining marks follow each other.

    No language needs so many (UAX #15, Stream-Safe Text Format), and normalising a long run takes
    time that grows with its square.
    """
    return text.isascii() or _long_run().search(text) is None


def terms_absent(terms: Iterable[str], folded: str) -> tuple[str, ...]:
    """The terms that do not occur in a text that was folded, in order."""
    return tuple(term for term in terms if fold(term) not in folded)


def terms_present(terms: Iterable[str], folded: str) -> tuple[str, ...]:
    """The terms that occur in a text that was folded, in order."""
    return tuple(term for term in terms if fold(term) in folded)


@cache
def _long_run() -> re.Pattern[str]:
    marks = filter(unicodedata.combining, map(chr, range(0x300, 0x1F000)))
    return re.compile(f"[{''.join(marks)}]{{31}}")
