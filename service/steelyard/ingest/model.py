"""What a tool's output becomes: findings with a place in the repository, totals, and an outcome.

Everything here is a plain frozen value. Reading (`steelyard.ingest.read_report`) fills it in; the
evaluation turns it into strategy results and feedback items.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from steelyard.errors import InvalidInputError

__all__ = [
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_ITEMS",
    "Finding",
    "Format",
    "Kind",
    "Outcome",
    "Place",
    "Position",
    "Problem",
    "Reason",
    "Severity",
    "ToolReport",
    "ToolRun",
    "Totals",
]

DEFAULT_MAX_ITEMS = 200
DEFAULT_MAX_BYTES = 8 * 1024 * 1024


class Format(StrEnum):
    """The formats that can be read. The value is the word a caller writes."""

    SARIF = "sarif"
    JUNIT = "junit"
    CTRF = "ctrf"
    PYTEST_REPORTLOG = "pytest-reportlog"
    PYTEST = "pytest"
    VITEST = "vitest"
    JEST = "jest"
    PLAYWRIGHT = "playwright"
    TSC = "tsc"
    ESLINT = "eslint"
    RUFF = "ruff"
    MYPY = "mypy"
    MYPY_JSON = "mypy-json"
    PYRIGHT = "pyright"
    CARGO = "cargo"
    GO_TEST = "go-test"
    RDJSON = "rdjson"
    RDJSONL = "rdjsonl"
    GCC = "gcc"
    TEXT = "text"
    """Free text: nothing is read from it, the exit code alone decides."""


class Severity(StrEnum):
    """How grave the tool itself calls a finding. Order of declaration is order of gravity."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Kind(StrEnum):
    """What sort of thing a finding is: with `Severity` it decides priority and category."""

    BUILD = "build"
    """Compilation, linking, syntax."""
    TYPECHECK = "typecheck"
    LINT = "lint"
    STYLE = "style"
    """Layout, naming and wording rules that cannot change behaviour."""
    TEST = "test"
    """A test that ran and did not pass."""
    COLLECTION = "collection"
    """A test file or suite that could not be loaded, so its tests never ran."""
    RUNTIME = "runtime"
    """The tool itself failed: a global error, a crash, an interrupted run."""


class Outcome(StrEnum):
    """What the report alone says, before the exit code is looked at."""

    GREEN = "green"
    RED = "red"
    UNKNOWN = "unknown"
    """It says nothing: free text, silence, or a report that could not be read to its end."""


class Reason(StrEnum):
    """Machine-readable causes for which a run of a tool cannot count as passed."""

    REPORT_UNREADABLE = "REPORT_UNREADABLE"
    NO_TESTS_RAN = "NO_TESTS_RAN"
    EXIT_CODE_DISAGREES = "EXIT_CODE_DISAGREES"
    EVALUATOR_ERROR = "EVALUATOR_ERROR"


@dataclass(frozen=True, slots=True)
class Position:
    """A range in a file. Lines and columns count from 1.

    `end_line` is the last line of the range, `end_column` the column after its last character.
    """

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A location inside the repository: POSIX path relative to its root, and where in the file."""

    path: str
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a tool reported, or one cascade of things with a single root.

    `path` is set only for a file inside the root, relative to it, with `/` between its parts;
    whatever lies outside is kept as text in `raw_location`. `count` > 1 says that so many reports
    collapsed into this one, which is their first; `also_at` holds the places of the next few.
    """

    tool: str
    kind: Kind
    severity: Severity
    message: str
    rule_id: str | None = None
    path: str | None = None
    position: Position | None = None
    raw_location: str | None = None
    test_name: str | None = None
    expected: str | None = None
    received: str | None = None
    count: int = 1
    also_at: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over the whole report, dropped items included.

    `tests` = `passed` + `failed` + `skipped`; all four stay 0 for tools that run no tests.
    `errors`, `warnings` and `notes` count findings by severity: a failed test is an error.
    """

    tests: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0
    suppressed: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A cause that keeps the run from passing, and one sentence that says what was seen."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What the caller knows about one run of a tool.

    format           declared format; None means: detect it from the content
    exit_code        of the process; None when unknown
    command          as run, for people and for hints; never executed
    root             repository root as the tool saw it, POSIX (`/repo`) or Windows (`C:\\repo`);
                     text only, never looked up on a disk; None: only relative paths are inside
    cwd              directory the tool ran in, relative to the root, for relative paths in output
    allow_zero_tests a test run without tests may pass
    max_items        findings kept, at least 1
    max_bytes        output read, at least 1; a longer structured report is not read at all
    """

    format: Format | None = None
    exit_code: int | None = None
    command: str | None = None
    root: str | None = None
    cwd: str = ""
    allow_zero_tests: bool = False
    max_items: int = DEFAULT_MAX_ITEMS
    max_bytes: int = DEFAULT_MAX_BYTES

    def __post_init__(self) -> None:
        for name in ("max_items", "max_bytes"):
            if getattr(self, name) < 1:
                raise InvalidInputError.at(name, "OUT_OF_RANGE", "must be at least 1")


@dataclass(frozen=True, slots=True)
class ToolReport:
    """What was read from one run of a tool.

    `findings` keep the order of the report, at most `max_items` of them, errors before warnings
    before notes when not all fit. `dropped` counts the reports that are in no finding's `count`.
    `excerpt` is the head and the tail of what the tool printed, without ANSI sequences.
    `passed_tests` names the tests that passed as `Finding.test_name` would, sorted, at most 10,000:
    what is needed to tell later that a test which fails has passed before.
    """

    format: Format | None
    tool: str
    outcome: Outcome
    passed: bool
    findings: tuple[Finding, ...] = ()
    totals: Totals = field(default_factory=Totals)
    problems: tuple[Problem, ...] = ()
    dropped: int = 0
    excerpt: str = ""
    excerpt_dropped_bytes: int = 0
    passed_tests: tuple[str, ...] = ()
