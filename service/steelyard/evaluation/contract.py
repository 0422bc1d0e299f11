"""The sprint contract: what was promised, and how each promise is checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.evaluation.fields import Field, require
from steelyard.ingest import Format

__all__ = [
    "IDENTITY",
    "MAX_STRATEGIES",
    "NAME",
    "Contract",
    "Criterion",
    "Strategy",
    "natural_key",
    "parse_contract",
]

IDENTITY = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""Ids become file names and URLs: letters, digits, `.`, `_`, `-`, never `/` and never `..`."""

_IDENTITY_HINT = "must be 1 to 200 of A-Z a-z 0-9 . _ -, first a letter or digit, and without '..'"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+ -]{0,199}")
"""What criteria and strategies are called."""

_NAME_HINT = "must be 1 to 200 of A-Z a-z 0-9 space . _ : / @ + -, first a letter or digit"

MAX_CRITERIA = 1_000
MAX_STRATEGIES = 100
MAX_CLAUSES = 1_000


@dataclass(frozen=True, slots=True)
class Criterion:
    """One success criterion. `method` is the contract's word for how it is checked, "" if none."""

    criterion_id: str
    description: str
    method: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Strategy:
    """A tool run that the contract asks for.

    command           for people and hints; never executed
    format            format of its report; None: detected from the content
    allow_zero_tests  a run without a single test may pass
    """

    name: str
    required: bool = True
    command: str | None = None
    format: Format | None = None
    allow_zero_tests: bool = False


@dataclass(frozen=True, slots=True)
class Contract:
    """A sprint contract. Raises InvalidInputError when an id is malformed or used twice."""

    contract_id: str
    spec_id: str
    title: str = ""
    criteria: tuple[Criterion, ...] = ()
    strategies: tuple[Strategy, ...] = ()
    non_goals: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    stop_conditions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for path, value in (("contractId", self.contract_id), ("specId", self.spec_id)):
            require(bool(IDENTITY.fullmatch(value)), path, "MALFORMED", _IDENTITY_HINT)
        _refuse_repeats("successCriteria", (c.criterion_id for c in self.criteria))
        _refuse_repeats("strategies", (s.name for s in self.strategies))


def parse_contract(value: object, path: str = "") -> Contract:
    """Read a contract from its JSON value.

    `id` is accepted for `contractId` and `criterionId`, `feature` for `title`, `verify` for
    `verificationMethod`, and a criterion or strategy that does not say so is required. Members that
    play no part in an evaluation are ignored.

    Raises InvalidInputError with the path of the first element that breaks the contract's schema.
    """
    field = Field(value, path).object()
    criteria = field["successCriteria"]
    require(criteria.given, criteria.path, "MISSING", "is missing, must be a list")
    parsed_criteria = tuple(map(_criterion, criteria.items(MAX_CRITERIA)))
    parsed_strategies = tuple(map(_strategy, field["strategies"].items(MAX_STRATEGIES)))
    _refuse_repeats(criteria.path, (c.criterion_id for c in parsed_criteria))
    _refuse_repeats(field["strategies"].path, (s.name for s in parsed_strategies))
    return Contract(
        contract_id=field.first("contractId", "id").matching(IDENTITY, _IDENTITY_HINT),
        spec_id=field["specId"].matching(IDENTITY, _IDENTITY_HINT),
        title=field.first("title", "feature").optional_text() or "",
        criteria=parsed_criteria,
        strategies=parsed_strategies,
        non_goals=_clauses(field["nonGoals"]),
        out_of_scope=_clauses(field["outOfScope"]),
        stop_conditions=_clauses(field["stopConditions"]),
    )


def natural_key(text: str) -> tuple[tuple[bool, int, str], ...]:
    """Sort key under which `sc-1-10` follows `sc-1-2`. Total: equal only for equal text."""
    parts = re.split(r"([0-9]{1,18})", text)
    return tuple(
        (part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts if part
    )


def _criterion(field: Field) -> Criterion:
    return Criterion(
        criterion_id=field.first("criterionId", "id").matching(NAME, _NAME_HINT),
        description=field["description"].words(),
        method=field.first("verificationMethod", "verify").optional_text() or "",
        required=field["required"].boolean(default=True),
    )


def _strategy(field: Field) -> Strategy:
    declared = field["format"]
    return Strategy(
        name=field.first("strategy", "name", "type").matching(NAME, _NAME_HINT),
        required=field["required"].boolean(default=True),
        command=field["command"].optional_text(),
        format=declared.choice(Format) if declared.given else None,
        allow_zero_tests=field["allowZeroTests"].boolean(default=False),
    )


def _clauses(field: Field) -> tuple[str, ...]:
    return tuple(element.words() for element in field.items(MAX_CLAUSES))


def _refuse_repeats(path: str, names: Iterable[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    message = f"names {repeated[0]!r} more than once" if repeated else ""
    require(not repeated, path, "REPEATED", message)
