"""Text matching that no locale and no way of typing changes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = ["fold", "is_visible", "terms_absent", "terms_present"]

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


def terms_absent(terms: Iterable[str], text: str) -> tuple[str, ...]:
    """The terms that do not occur in `text`, in order."""
    haystack = fold(text)
    return tuple(term for term in terms if fold(term) not in haystack)


def terms_present(terms: Iterable[str], text: str) -> tuple[str, ...]:
    """The terms that occur in `text`, in order."""
    haystack = fold(text)
    return tuple(term for term in terms if fold(term) in haystack)
