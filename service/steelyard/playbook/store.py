"""The playbook of a squad as one file, `playbook.json` in the squad's folder.

Writers take turns under a lock and replace the file whole. A file that breaks its format in any
place is refused and left alone: a playbook that cannot be trusted promotes nothing and swallows
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from steelyard import strictjson
from steelyard.errors import InvalidInputError, LimitError, PreconditionError
from steelyard.files import MAX_FILE_BYTES, Folder, locked, write_atomic
from steelyard.playbook.model import (
    FROM_LIMIT,
    LESSON_LIMIT,
    RULE_LIMIT,
    CaseKey,
    Entry,
    Evidence,
    Observation,
    Playbook,
    Promotion,
    entry_id,
    sanitize,
)

__all__ = ["PlaybookStore"]

FILE_NAME: Final = "playbook.json"
LOCK_NAME: Final = ".playbook.lock"

_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Observation(_Model):
    source: Annotated[str, Field(min_length=1, max_length=FROM_LIMIT)]
    at: AwareDatetime


class _Case(_Model):
    id: str
    content: _Hash


class _Promotion(_Model):
    at: AwareDatetime
    run_id: str
    evidence_hash: _Hash
    generated_at: AwareDatetime
    unseen_cases: Annotated[list[str], Field(min_length=1)]


class _Entry(_Model):
    id: str
    rule: Annotated[str, Field(max_length=RULE_LIMIT)]
    lesson: Annotated[str, Field(max_length=LESSON_LIMIT)]
    status: Literal["candidate", "promoted"]
    count: int
    observations: Annotated[list[_Observation], Field(min_length=1)]
    seen_cases: list[_Case]
    promotion: _Promotion | None

    def entry(self) -> Entry:
        promotion = self.promotion
        return Entry(
            self.id,
            self.rule,
            self.lesson,
            tuple(Observation(one.source, one.at) for one in self.observations),
            tuple(CaseKey(one.id, one.content) for one in self.seen_cases),
            None
            if promotion is None
            else Promotion(
                promotion.at,
                promotion.run_id,
                promotion.evidence_hash,
                promotion.generated_at,
                tuple(promotion.unseen_cases),
            ),
        )

    @classmethod
    def of(cls, entry: Entry) -> _Entry:
        promotion = entry.promotion
        return cls(
            id=entry.id,
            rule=entry.rule,
            lesson=entry.lesson,
            status="candidate" if promotion is None else "promoted",
            count=len(entry.observations),
            observations=[_Observation(source=one.source, at=one.at) for one in entry.observations],
            seen_cases=[_Case(id=one.id, content=one.content) for one in entry.seen],
            promotion=None
            if promotion is None
            else _Promotion(
                at=promotion.at,
                run_id=promotion.run_id,
                evidence_hash=promotion.evidence_hash,
                generated_at=promotion.generated_at,
                unseen_cases=list(promotion.unseen_cases),
            ),
        )


class _File(_Model):
    version: Literal[1]
    squad: str
    entries: list[_Entry]


@dataclass(frozen=True, slots=True)
class PlaybookStore:
    """The playbook in `folder`, which belongs to the squad `squad`."""

    folder: Folder
    squad: str

    def read(self) -> Playbook:
        """What the file holds; an empty playbook without one.

        Raises PreconditionError (PLAYBOOK_CORRUPT) when the file is not exactly what this store
        writes.
        """
        path = self.folder.root / FILE_NAME
        if not path.is_symlink() and not path.exists():
            return Playbook(self.squad)
        data = self.folder.read(FILE_NAME).data
        try:
            strictjson.parse(data, FILE_NAME)
            file = _File.model_validate_json(data)
        except (InvalidInputError, ValidationError) as error:
            raise self._corrupt(str(error)) from error
        entries = tuple(entry.entry() for entry in file.entries)
        if file.squad != self.squad:
            raise self._corrupt(f"it belongs to squad {file.squad}")
        if len({entry.id for entry in entries}) != len(entries):
            raise self._corrupt("an id occurs twice")
        for written, entry in zip(file.entries, entries, strict=True):
            clean = sanitize(entry.rule, RULE_LIMIT), sanitize(entry.lesson, LESSON_LIMIT)
            if (entry.rule, entry.lesson) != clean or entry.id != entry_id(*clean):
                raise self._corrupt(f"{entry.id} is not the id of its texts")
            if written.count != len(entry.observations) or written.status != entry.status:
                raise self._corrupt(f"{entry.id} contradicts itself")
        return Playbook(self.squad, entries)

    def capture(
        self, rule: object, lesson: object, source: object, cases: Sequence[CaseKey], now: datetime
    ) -> Entry:
        """`Playbook.capture`, stored."""
        with locked(self.folder.root / LOCK_NAME):
            playbook, entry = self.read().capture(rule, lesson, source, cases, now)
            self._write(playbook)
        return entry

    def promote(
        self, entry_id: str, evidence: Evidence, cases: Sequence[CaseKey], now: datetime
    ) -> Entry:
        """`Playbook.promote`, stored."""
        with locked(self.folder.root / LOCK_NAME):
            playbook, entry = self.read().promote(entry_id, evidence, cases, now)
            self._write(playbook)
        return entry

    def _write(self, playbook: Playbook) -> None:
        file = _File(
            version=1,
            squad=playbook.squad,
            entries=[_Entry.of(entry) for entry in playbook.entries],
        )
        text = json.dumps(file.model_dump(mode="json"), ensure_ascii=False, indent=2)
        data = (text + "\n").encode("utf-8")
        if len(data) > MAX_FILE_BYTES:
            raise LimitError("PLAYBOOK_FULL", f"{FILE_NAME} would pass {MAX_FILE_BYTES} bytes")
        write_atomic(self.folder.root / FILE_NAME, data)

    def _corrupt(self, message: str) -> PreconditionError:
        path = self.folder.root / FILE_NAME
        return PreconditionError("PLAYBOOK_CORRUPT", f"{path}: {message}; mend or remove it")
