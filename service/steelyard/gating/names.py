"""Names: what may be one, and which are taken."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["GUARDS", "NAME_PATTERN", "SLUG_PATTERN", "is_name", "is_reason", "is_slug"]

NAME_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}"
SLUG_PATTERN: Final = r"[a-z0-9][a-z0-9-]{0,63}"

_NAME = re.compile(NAME_PATTERN)
_SLUG = re.compile(SLUG_PATTERN)
_REASON = re.compile(r"[A-Z][A-Z0-9_]{0,63}")

# In the order in which they are appended to a case's dimensions. No dimension may be called so.
GUARDS: Final = (
    "baseline-execution",
    "candidate-execution",
    "scorer-execution",
    "independent-evaluation",
    "scorer-evidence",
    "genome-ab-control",
    "task-output",
    "reproducibility",
)


def is_name(value: object) -> bool:
    """True for the name of a case, criterion, dimension or worker: 1 to 64 ASCII characters."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def is_slug(value: object) -> bool:
    """True for the name of a squad or genome: 1 to 64 of `a-z`, `0-9` and `-`, no `-` in front."""
    return isinstance(value, str) and _SLUG.fullmatch(value) is not None


def is_reason(text: str) -> bool:
    """True for an UPPER_SNAKE word of at most 64 characters."""
    return _REASON.fullmatch(text) is not None
