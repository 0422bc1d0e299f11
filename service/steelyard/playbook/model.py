"""The rules of a playbook, without files or clock.

A lesson enters as a candidate. It is promoted when the same squad later passes a gate whose
held-out cases include one that nobody had seen when the lesson was last captured: a rule is proven
on something it was not written for, or it stays a candidate.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from steelyard._core import hash_object, sha256_hex
from steelyard.errors import InvalidInputError, NotFoundError, PreconditionError
from steelyard.strictjson import JsonValue, as_object, as_objects

__all__ = [
    "FROM_LIMIT",
    "LESSON_LIMIT",
    "RULE_LIMIT",
    "CaseKey",
    "Entry",
    "Evidence",
    "NotProvenError",
    "Observation",
    "Playbook",
    "Promotion",
    "case_keys",
    "entry_id",
    "entry_key",
    "sanitize",
]

# In code points, after cleaning.
RULE_LIMIT: Final = 280
LESSON_LIMIT: Final = 280
FROM_LIMIT: Final = 160

# What a model could read as a turn, a role or a tool call: <system>, </x>, <|im_start|>, <!-- -->.
_MARKUP = re.compile(r"<[/!?|]?[^\W\d_|][^<>]*>|<\|[^<>]*>|<!--.*?-->")


def sanitize(value: object, limit: int) -> str:
    """`value` as one clean line of at most `limit` code points.

    Control and format characters and prompt markup go, white space becomes single spaces. Numbers
    are written out; anything that is neither text nor number is empty.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return ""
    text = "".join(map(_plain, value))
    while (shorter := _MARKUP.sub("", text)) != text:
        # What is left may close up into markup again.
        text = shorter
    return " ".join(text.split())[:limit].rstrip()


def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "" if category in {"Cf", "Cs", "Co", "Cn"} else character


def _normalise(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def entry_key(rule: str, lesson: str) -> str:
    """What makes two captures the same lesson, for people to read."""
    return f"{_normalise(rule)} => {_normalise(lesson)}"


def entry_id(rule: str, lesson: str) -> str:
    """`rule-` and 16 hex digits over the normalised fields, each with its length in front.

    The lengths keep `a => b` + `c` and `a` + `b => c` apart, which the key alone would not.
    """
    fields = [_normalise(field).encode("utf-8") for field in (rule, lesson)]
    digest = sha256_hex(b"".join(b"%d:%b" % (len(field), field) for field in fields))
    return f"rule-{digest[:16]}"


@dataclass(frozen=True, slots=True)
class CaseKey:
    """One held-out case: its id, and the hash of all else it declares."""

    id: str
    content: str


def case_keys(manifest: JsonValue) -> tuple[CaseKey, ...]:
    """The held-out cases that a squad manifest declares, without entries that are no objects."""
    evaluation = as_object(as_object(manifest).get("evaluation"))
    return tuple(
        CaseKey(
            str(case.get("id")),
            hash_object({name: value for name, value in case.items() if name != "id"}),
        )
        for case in as_objects(evaluation.get("heldOutCases"))
    )


@dataclass(frozen=True, slots=True)
class Observation:
    """One capture: where the lesson came from and when."""

    source: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Evidence:
    """A verified gate report, as far as promotion looks at it.

    `verified` says that verification found no mismatch, with a trusted signature where keys are
    configured. `passed_cases` are the ids of the held-out cases that passed.
    """

    verified: bool
    squad: str
    verdict: str
    generated_at: datetime
    run_id: str
    evidence_hash: str
    passed_cases: frozenset[str]


class NotProvenError(PreconditionError):
    """The evidence does not prove the lesson."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """Why an entry was promoted: the report, and its passing cases that were new."""

    at: datetime
    run_id: str
    evidence_hash: str
    generated_at: datetime
    unseen_cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One lesson. `observations` are in order of capture; `seen` are all cases known by then."""

    id: str
    rule: str
    lesson: str
    observations: tuple[Observation, ...]
    seen: tuple[CaseKey, ...]
    promotion: Promotion | None

    @property
    def status(self) -> str:
        """`candidate` or `promoted`."""
        return "candidate" if self.promotion is None else "promoted"


@dataclass(frozen=True, slots=True)
class Playbook:
    """The lessons of one squad, in order of first capture, unique by id."""

    squad: str
    entries: tuple[Entry, ...] = ()

    def capture(
        self, rule: object, lesson: object, source: object, cases: Sequence[CaseKey], now: datetime
    ) -> tuple[Playbook, Entry]:
        """This playbook with one more observation, and the entry that has it.

        `cases` are the held-out cases that exist now. Raises InvalidInputError (PLAYBOOK_EMPTY)
        when nothing of a field is left after cleaning.
        """
        fields = {
            "rule": sanitize(rule, RULE_LIMIT),
            "lesson": sanitize(lesson, LESSON_LIMIT),
            "from": sanitize(source, FROM_LIMIT),
        }
        for name, text in fields.items():
            if not text:
                raise InvalidInputError.at(name, "PLAYBOOK_EMPTY", "has no text after cleaning")
        new = Entry(
            entry_id(fields["rule"], fields["lesson"]),
            fields["rule"],
            fields["lesson"],
            (Observation(fields["from"], now),),
            _merged((), cases),
            None,
        )
        old = self._find(new.id)
        if old is None:
            return replace(self, entries=(*self.entries, new)), new
        entry = replace(
            old,
            observations=(*old.observations, *new.observations),
            seen=_merged(old.seen, new.seen),
        )
        return self._with(entry), entry

    def promote(
        self, entry_id: str, evidence: Evidence, cases: Sequence[CaseKey], now: datetime
    ) -> tuple[Playbook, Entry]:
        """This playbook with the entry promoted on `evidence`, and the entry.

        `cases` are the held-out cases of the manifest that the report was verified against. An
        entry that is promoted already comes back as it is. Raises NotFoundError (PLAYBOOK_ENTRY),
        or NotProvenError: EVIDENCE_UNVERIFIED, EVIDENCE_OTHER_SQUAD, EVIDENCE_NOT_PASS,
        EVIDENCE_FUTURE, EVIDENCE_NOT_LATER, EVIDENCE_NO_UNSEEN_CASE.
        """
        entry = self._find(entry_id)
        if entry is None:
            raise NotFoundError("PLAYBOOK_ENTRY", f"{entry_id}: the playbook has no such entry")
        if entry.promotion is not None:
            return self, entry
        unseen = _unseen(entry.seen, cases, evidence.passed_cases)
        refusal = _refusal(self.squad, entry, evidence, unseen, now)
        if refusal is not None:
            raise NotProvenError(*refusal)
        promotion = Promotion(
            now, evidence.run_id, evidence.evidence_hash, evidence.generated_at, unseen
        )
        promoted = replace(entry, promotion=promotion)
        return self._with(promoted), promoted

    def _find(self, entry_id: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.id == entry_id), None)

    def _with(self, entry: Entry) -> Playbook:
        entries = tuple(entry if old.id == entry.id else old for old in self.entries)
        return replace(self, entries=entries)


def _merged(old: Sequence[CaseKey], new: Iterable[CaseKey]) -> tuple[CaseKey, ...]:
    return tuple(dict.fromkeys((*old, *new)))


def _unseen(
    seen: Sequence[CaseKey], cases: Sequence[CaseKey], passed: frozenset[str]
) -> tuple[str, ...]:
    # A seen case under a new name is a seen case; so is a seen name over other content.
    ids = {case.id for case in seen}
    contents = {case.content for case in seen}
    return tuple(
        case.id
        for case in cases
        if case.id in passed and case.id not in ids and case.content not in contents
    )


def _refusal(
    squad: str, entry: Entry, evidence: Evidence, unseen: Sequence[str], now: datetime
) -> tuple[str, str] | None:
    last = max(observation.at for observation in entry.observations)
    if not evidence.verified:
        return "EVIDENCE_UNVERIFIED", "the report does not verify"
    if evidence.squad != squad:
        return "EVIDENCE_OTHER_SQUAD", f"the report is about squad {evidence.squad}, not {squad}"
    if evidence.verdict != "PASS":
        return "EVIDENCE_NOT_PASS", f"the verdict of the report is {evidence.verdict}, not PASS"
    if evidence.generated_at > now:
        return "EVIDENCE_FUTURE", "the report is from the future"
    if evidence.generated_at <= last:
        return "EVIDENCE_NOT_LATER", "the report is not later than the last capture of this lesson"
    if not unseen:
        message = "every held-out case that passed was known when the lesson was captured"
        return "EVIDENCE_NO_UNSEEN_CASE", message
    return None
