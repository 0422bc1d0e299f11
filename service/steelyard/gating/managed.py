"""Managed genome blocks in an executor's prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BEGIN", "END", "Unmanaged", "remove_managed_blocks"]

BEGIN: Final = "<!-- AIOSON:GENOME-COMPILED:BEGIN -->"
END: Final = "<!-- AIOSON:GENOME-COMPILED:END -->"

# White space and line ends of ECMAScript: what the tools that write the blocks trim.
_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


@dataclass(frozen=True, slots=True)
class Unmanaged:
    """A prompt without its managed blocks.

    effects: some removed block held more than white space and markers.
    intact: no marker is left over, so what remains is free of the genome.
    """

    text: str
    effects: bool
    intact: bool


def remove_managed_blocks(text: str) -> Unmanaged:
    """`text` without any managed block: each from a BEGIN to the next END.

    Where a block was, what stands before and after is joined by one empty line and the text ends in
    one line end; text without a block is returned as it is.
    """
    outside: list[str] = []
    effects = False
    start = 0
    while (begin := text.find(BEGIN, start)) >= 0 and (end := text.find(END, begin)) >= 0:
        effects = effects or bool(text[begin:end].replace(BEGIN, "").strip(_SPACE))
        outside.append(text[start:begin])
        start = end + len(END)
    if outside:
        outside.append(text[start:])
        parts = [outside[0].rstrip(_SPACE), *(part.strip(_SPACE) for part in outside[1:])]
        joined = "\n\n".join(part for part in parts if part)
        text = f"{joined}\n" if joined else ""
    return Unmanaged(text, effects, BEGIN not in text and END not in text)
