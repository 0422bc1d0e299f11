"""References into the manifest: `manifest.goal`, `manifest.workflows[0].name`."""

from __future__ import annotations

import re
from typing import Final

from steelyard.strictjson import JsonValue

__all__ = ["manifest_reference"]

_REFERENCE: Final = re.compile(r"manifest(?:\.[A-Za-z0-9_-]{1,64}|\[[0-9]{1,6}\]){1,16}")
_STEP: Final = re.compile(r"\.([A-Za-z0-9_-]+)|\[([0-9]+)\]")


def manifest_reference(manifest: JsonValue, reference: str) -> JsonValue:
    """The value that `reference` names, None when it is no reference or names nothing.

    `.key` reads a member of an object, `[n]` an item of an array; nothing else is reached: no
    characters of a string, no lengths, no items by `.0`. The whole text must be a reference.
    """
    if _REFERENCE.fullmatch(reference) is None:
        return None
    value = manifest
    for key, index in _STEP.findall(reference):
        if key and isinstance(value, dict):
            value = value.get(key)
        elif index and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        else:
            return None
    return value
