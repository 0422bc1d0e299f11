"""Times as documents write them."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["timestamp"]


def timestamp(moment: datetime) -> str:
    """RFC 3339, UTC, milliseconds: `2026-01-31T08:15:00.000Z`. The moment must have an offset."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
