"""Lessons of a squad: captured as candidates, promoted only by held-out proof."""

from __future__ import annotations

from steelyard.playbook.model import (
    CaseKey,
    Entry,
    Evidence,
    NotProvenError,
    Observation,
    Playbook,
    Promotion,
    case_keys,
    entry_key,
    sanitize,
)
from steelyard.playbook.store import PlaybookStore

__all__ = [
    "CaseKey",
    "Entry",
    "Evidence",
    "NotProvenError",
    "Observation",
    "Playbook",
    "PlaybookStore",
    "Promotion",
    "case_keys",
    "entry_key",
    "sanitize",
]
