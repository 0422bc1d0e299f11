"""What judges say: a ruling per criterion, regressions, breached non-goals and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from steelyard.evaluation.fields import Field, require
from steelyard.evaluation.model import Category, Location, Priority, Regression, Severity

__all__ = [
    "MAX_LINE",
    "Judgement",
    "Judgements",
    "NonGoalCheck",
    "Note",
    "Ruling",
    "is_repository_path",
    "parse_judgements",
]

MAX_LINE = 2**31 - 1
_MAX_JUDGEMENTS = 1_000
_MAX_REGRESSIONS = 1_000
_MAX_NOTES = 1_000
_MAX_FILES = 1_000
_MAX_PATH = 4_096


class Ruling(StrEnum):
    """What a judge decided about a criterion; `error` when the judge itself failed."""

    PASS = "pass"  # noqa: S105  a ruling, not a password
    FAIL = "fail"
    SKIPPED = "skipped"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judge's ruling on one criterion.

    evidence      what was seen; for ERROR, what went wrong with the judge
    feedback      what is wrong and what should happen instead, for a fail
    expected      what should happen instead, when given apart from `feedback`
    category      MISSING_FEATURE says that the criterion's feature is absent altogether
    """

    criterion_id: str
    ruling: Ruling
    evidence: str = ""
    feedback: str | None = None
    expected: str | None = None
    reproduction: str | None = None
    category: Category | None = None
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class NonGoalCheck:
    """Whether one non-goal was breached. `non_goal` is its index in the contract or its text."""

    non_goal: int | str
    breached: bool
    evidence: str = ""

    def index_in(self, non_goals: Sequence[str]) -> int | None:
        """Which of the contract's non-goals this is about; None when it is none of them."""
        if isinstance(self.non_goal, int):
            return self.non_goal if 0 <= self.non_goal < len(non_goals) else None
        return non_goals.index(self.non_goal) if self.non_goal in non_goals else None


@dataclass(frozen=True, slots=True)
class Note:
    """A feedback item as a judge writes it; what is absent is filled in by the rules."""

    description: str
    expected: str | None = None
    priority: Priority | None = None
    category: Category | None = None
    location: Location | None = None
    reproduction: str | None = None
    rule_id: str | None = None
    criterion_id: str | None = None
    strategy: str | None = None


@dataclass(frozen=True, slots=True)
class Judgements:
    """Everything that judges contribute to one evaluation."""

    criteria: tuple[Judgement, ...] = ()
    regressions: tuple[Regression, ...] = ()
    non_goals: tuple[NonGoalCheck, ...] = ()
    notes: tuple[Note, ...] = ()


def parse_judgements(value: object, path: str = "") -> Judgements:
    """Read judgements from JSON: an object, or the bare list of its `judgements`.

    Members: `judgements[]` (also spelled `criteriaResults`), `regressions[]`, `nonGoals[]`,
    `feedback[]` (also spelled `generatorFeedback`). A judgement has `result` (pass, fail, skipped,
    error) or `passed` (true or false), never both. One criterion is judged once: members of a panel
    are combined by the caller.

    Raises InvalidInputError with the path of the first element that is not as it should be.
    """
    whole = Field(value, path)
    if isinstance(value, list):
        rulings, rest = Field(value, f"{path}.judgements" if path else "judgements"), None
    else:
        rest = whole.object()
        rulings = rest.first("judgements", "criteriaResults")
    criteria = tuple(map(_judgement, rulings.items(_MAX_JUDGEMENTS)))
    seen: set[str] = set()
    for index, judgement in enumerate(criteria):
        require(
            judgement.criterion_id not in seen,
            f"{rulings.path}[{index}].criterionId",
            "REPEATED",
            f"criterion {judgement.criterion_id!r} is judged more than once",
        )
        seen.add(judgement.criterion_id)
    if rest is None:
        return Judgements(criteria)
    notes = rest.first("feedback", "generatorFeedback")
    return Judgements(
        criteria=criteria,
        regressions=tuple(map(_regression, rest["regressions"].items(_MAX_REGRESSIONS))),
        non_goals=tuple(map(_non_goal, rest["nonGoals"].items(_MAX_REGRESSIONS))),
        notes=tuple(map(_note, notes.items(_MAX_NOTES))),
    )


def is_repository_path(text: str) -> bool:
    """Whether text is a clean POSIX path inside the repository."""
    return not (
        not text
        or text.startswith("/")
        or text[1:2] == ":"
        or any(part in ("", ".", "..") for part in text.split("/"))
        or any(character == "\\" or ord(character) < 0x20 for character in text)
    )


def _judgement(field: Field) -> Judgement:
    result, passed, error = field["result"], field["passed"], field["error"]
    require(
        not (result.given and passed.given),
        passed.path,
        "CONFLICT",
        "give either result or passed, not both",
    )
    ruling = Ruling.SKIPPED
    if passed.given:
        ruling = Ruling.PASS if passed.boolean() else Ruling.FAIL
    elif result.given or not error.given:
        ruling = result.choice(Ruling)
    failure = error.optional_text()
    if failure is not None:
        ruling = Ruling.ERROR
    return Judgement(
        criterion_id=field["criterionId"].words(),
        ruling=ruling,
        evidence=failure or field["evidence"].optional_text() or "",
        feedback=field["feedback"].optional_text(),
        expected=field["expected"].optional_text(),
        reproduction=field["reproduction"].optional_text(),
        category=_category(field["category"]),
        location=_location(field),
    )


def _regression(field: Field) -> Regression:
    return Regression(
        description=field["description"].words(),
        evidence=field["evidence"].optional_text() or "",
        severity=field["severity"].choice(Severity),
        affected_files=tuple(map(_path, field["affectedFiles"].items(_MAX_FILES))),
    )


def _non_goal(field: Field) -> NonGoalCheck:
    named = field["nonGoal"]
    return NonGoalCheck(
        non_goal=named.words() if isinstance(named.value, str) else named.integer(0, 10**6),
        breached=field["breached"].boolean(),
        evidence=field["evidence"].optional_text() or "",
    )


def _note(field: Field) -> Note:
    priority = field["priority"]
    return Note(
        description=field["description"].words(),
        expected=field["expected"].optional_text(),
        priority=priority.choice(Priority) if priority.given else None,
        category=_category(field["category"]),
        location=_location(field),
        reproduction=field["reproduction"].optional_text(),
        rule_id=field["ruleId"].optional_text(),
        criterion_id=field["criterionId"].optional_text(),
        strategy=field["strategy"].optional_text(),
    )


def _category(field: Field) -> Category | None:
    return field.choice(Category) if field.given else None


def _location(field: Field) -> Location | None:
    file, line, end_line = field["file"], field["line"], field["endLine"]
    if not file.given:
        require(not line.given, line.path, "CONFLICT", "a line needs a file")
        return None
    first = line.optional_integer(1, MAX_LINE)
    return Location(
        file=_path(file),
        line=first,
        end_line=end_line.optional_integer(first or 1, MAX_LINE),
        column=field["column"].optional_integer(1, MAX_LINE),
    )


def _path(field: Field) -> str:
    text = field.words(_MAX_PATH)
    require(
        is_repository_path(text),
        field.path,
        "NOT_RELATIVE",
        "must be a path relative to the repository root, with '/' and without '..'",
    )
    return text
