"""A model's reply read as judgements of categories. Nothing in it is trusted.

The reply is one object:

    {"categories": {"<category>": {"score": 0..100, "rationale": "...", "evidence": [...]}, ...},
     "overallRationale": "...", "followUpDrafts": [...]}

Each item of `evidence` is an evidence id, or an object that names one under `evidenceId`, `id` or
`label`. The categories are exactly the policy's. Keys that the contract does not know are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

from steelyard.errors import InvalidInputError, LimitError
from steelyard.scoring.evidence import Group
from steelyard.scoring.reply_json import find_object
from steelyard.scoring.text import clean, cut, is_blank, shorten

__all__ = [
    "ID_UNITS",
    "MAX_CITATIONS",
    "MAX_DRAFTS",
    "RATIONALE_UNITS",
    "AiReply",
    "Citation",
    "EvidenceRef",
    "Judgement",
    "cited_id",
    "parse_reply",
    "split_citations",
]

RATIONALE_UNITS = 4_000
ID_UNITS = 160
MAX_CITATIONS = 100
MAX_DRAFTS = 100


@dataclass(frozen=True, slots=True)
class Citation:
    """An evidence id as it was cited, and the field that cites it."""

    path: str
    evidence_id: str


@dataclass(frozen=True, slots=True)
class EvidenceRef:
    """A citation that was found in the bundle, and the group it was found in."""

    evidence_id: str
    source: Group


@dataclass(frozen=True, slots=True)
class Judgement:
    """A model's opinion of one category."""

    category: str
    score: int
    rationale: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class AiReply:
    """A reply that keeps the contract: one judgement a category, in policy order.

    `drafts` are the follow-up drafts as the model wrote them; whether each is well-formed is
    decided where they are read.
    """

    judgements: tuple[Judgement, ...]
    overall_rationale: str
    drafts: tuple[object, ...]


def parse_reply(text: str, categories: Sequence[str], path: str = "ai_reply") -> AiReply:
    """Read a raw reply.

    Errors, each at the path of the field: those of `find_object`; InvalidInputError with
    CATEGORY_MISSING, CATEGORY_UNKNOWN, SCORE_INVALID (not an integer), SCORE_OUT_OF_RANGE,
    RATIONALE_BLANK, EVIDENCE_EMPTY, EVIDENCE_INVALID or TYPE_INVALID; LimitError TOO_MANY_ENTRIES.
    """
    reply = find_object(text, path)
    at = f"{path}.categories"
    given = reply.get("categories")
    if not isinstance(given, dict):
        _refuse_type(at, "an object with one member for each category")
    for name in given:
        if name not in categories:
            shown = cut(clean(str(name)), ID_UNITS)
            raise InvalidInputError.at(
                f"{at}.{shown}", "CATEGORY_UNKNOWN", "is no category of the policy"
            )
    judgements = tuple(_judgement(given, name, f"{at}.{name}") for name in categories)
    overall = reply.get("overallRationale")
    drafts = reply.get("followUpDrafts")
    if overall is not None and not isinstance(overall, str):
        _refuse_type(f"{path}.overallRationale", "a string")
    if drafts is not None and not isinstance(drafts, list):
        _refuse_type(f"{path}.followUpDrafts", "a list")
    if drafts and len(drafts) > MAX_DRAFTS:
        raise LimitError.at(
            f"{path}.followUpDrafts", "TOO_MANY_ENTRIES", f"has more than {MAX_DRAFTS} drafts"
        )
    return AiReply(
        judgements, shorten(clean(overall or ""), RATIONALE_UNITS)[0], tuple(drafts or ())
    )


def cited_id(value: object) -> str | None:
    """The evidence id that an item of a citation list names, None when it names none."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("evidenceId", "id", "label") if key in value), None)
    if not isinstance(value, str) or is_blank(value):
        return None
    return cut(clean(value.strip()), ID_UNITS)


def split_citations(
    citations: Sequence[Citation], sources: Mapping[str, Group]
) -> tuple[tuple[EvidenceRef, ...], tuple[Citation, ...]]:
    """The citations found in a bundle, each id once, and those that are not in it."""
    known: dict[str, EvidenceRef] = {}
    unknown: list[Citation] = []
    for citation in citations:
        source = sources.get(citation.evidence_id)
        if source is None:
            unknown.append(citation)
        else:
            known.setdefault(citation.evidence_id, EvidenceRef(citation.evidence_id, source))
    return tuple(known.values()), tuple(unknown)


def _judgement(given: Mapping[str, object], name: str, path: str) -> Judgement:
    if name not in given:
        raise InvalidInputError.at(path, "CATEGORY_MISSING", "is missing")
    value = given[name]
    if not isinstance(value, dict):
        _refuse_type(path, "an object")
    score = _score(value.get("score"), f"{path}.score")
    rationale = value.get("rationale")
    if not isinstance(rationale, str) or is_blank(rationale):
        raise InvalidInputError.at(f"{path}.rationale", "RATIONALE_BLANK", "is required")
    evidence = value.get("evidence")
    at = f"{path}.evidence"
    if not isinstance(evidence, list) or not evidence:
        raise InvalidInputError.at(at, "EVIDENCE_EMPTY", "must cite at least one evidence id")
    if len(evidence) > MAX_CITATIONS:
        raise LimitError.at(at, "TOO_MANY_ENTRIES", f"cites more than {MAX_CITATIONS} ids")
    return Judgement(
        category=name,
        score=score,
        rationale=shorten(clean(rationale), RATIONALE_UNITS)[0],
        citations=tuple(_citation(item, f"{at}[{index}]") for index, item in enumerate(evidence)),
    )


def _score(value: object, path: str) -> int:
    """An integer 0..100 however JSON spells it: 80, 80.0 and 8e1 are one number."""
    if not isinstance(value, Decimal):
        raise InvalidInputError.at(path, "SCORE_INVALID", "must be an integer between 0 and 100")
    if not value.is_nan() and not 0 <= value <= 100:
        raise InvalidInputError.at(path, "SCORE_OUT_OF_RANGE", "must be between 0 and 100")
    if value.is_nan() or value != int(value):
        raise InvalidInputError.at(path, "SCORE_INVALID", "must be an integer between 0 and 100")
    return int(value)


def _citation(value: object, path: str) -> Citation:
    evidence_id = cited_id(value)
    if evidence_id is None:
        raise InvalidInputError.at(path, "EVIDENCE_INVALID", "must name an evidence id")
    return Citation(path, evidence_id)


def _refuse_type(path: str, expected: str) -> NoReturn:
    raise InvalidInputError.at(path, "TYPE_INVALID", f"must be {expected}")
