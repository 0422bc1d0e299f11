"""What a scorer says: read as it stands, judged elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from steelyard.gating.names import GUARDS, is_name
from steelyard.gating.text import is_visible
from steelyard.strictjson import JsonValue

__all__ = ["NOTHING_SCORED", "Scored", "scorer_evidence_complete", "scorer_outputs"]

MAX_SCORED: Final = 400


@dataclass(frozen=True, slots=True)
class Scored:
    """Values per dimension as the scorer wrote them; a name it did not write is no key.

    refused: names that no dimension may have, and everything beyond 400 dimensions.
    """

    baseline: Mapping[str, JsonValue]
    candidate: Mapping[str, JsonValue]
    evidence: Mapping[str, JsonValue]
    refused: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset({*self.baseline, *self.candidate, *self.evidence})


NOTHING_SCORED: Final = Scored({}, {}, {})


def scorer_outputs(output: JsonValue) -> Scored:
    """The `dimensions` of a scorer's output, `{name: {baseline, candidate, evidence}}`.

    A bare value is the candidate's. `score` stands for a candidate that is absent or null. Anything
    that is no object where an object belongs holds nothing.
    """
    dimensions = output.get("dimensions") if isinstance(output, dict) else None
    if not isinstance(dimensions, dict):
        return NOTHING_SCORED
    baseline: dict[str, JsonValue] = {}
    candidate: dict[str, JsonValue] = {}
    evidence: dict[str, JsonValue] = {}
    refused: list[str] = []
    for index, (name, entry) in enumerate(sorted(dimensions.items())):
        if not is_name(name) or name in GUARDS or index >= MAX_SCORED:
            refused.append(name)
        elif isinstance(entry, dict):
            # `score` is the older name of `candidate`.
            key = "score" if entry.get("candidate") is None and "score" in entry else "candidate"
            arms = ((baseline, "baseline"), (candidate, key), (evidence, "evidence"))
            for values, written in arms:
                if written in entry:
                    values[name] = entry[written]
        elif not isinstance(entry, list):
            candidate[name] = entry
    return Scored(baseline, candidate, evidence, tuple(refused))


def scorer_evidence_complete(evidence: Mapping[str, JsonValue], names: Iterable[str]) -> bool:
    """True when there is a dimension and every one has evidence that shows something."""
    texts = [evidence.get(name) for name in names]
    return bool(texts) and all(isinstance(text, str) and is_visible(text) for text in texts)
