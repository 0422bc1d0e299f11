"""Gathers what a format module reads, within fixed bounds.

However many findings a report holds, at most a few thousand are ever built: equal ones collapse
into one with a count as they arrive, and each severity keeps only so many different ones. Paths are
resolved, and texts cleaned, for those alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from steelyard.ingest.model import (
    Finding,
    Kind,
    Place,
    Position,
    Problem,
    Reason,
    Severity,
    ToolRun,
    Totals,
)
from steelyard.ingest.paths import Locator, is_vendored
from steelyard.ingest.text import clean, one_line
from steelyard.ingest.traces import compared, frames, jvm_frame

__all__ = ["Collector", "Group", "Unreadable"]

SPREAD = 10
"""Equal findings at more places than this are one cascade; up to it each stands for itself."""

_KEY = 400
"""Characters of a message that decide whether two findings are equal."""

_MAX_LINE = 2**31 - 1
_MAX_PASSED_TESTS = 10_000
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,16}")


class Unreadable(Exception):  # noqa: N818 - names a state of the report, and never leaves ingest
    """The report is not what its format says, or is not whole. The message says what was seen."""


@dataclass(slots=True)
class Group:
    """Equal findings: each place once, and how many came beyond `SPREAD` places."""

    findings: dict[tuple[object, ...], tuple[int, Finding]] = field(default_factory=dict)
    counts: dict[tuple[object, ...], int] = field(default_factory=dict)
    overflow: int = 0

    def settle(self) -> list[tuple[int, Finding]]:
        """One finding per place, or a single one when there were too many places."""
        if not self.overflow:
            return [
                (sequence, replace(finding, count=self.counts[place]))
                for place, (sequence, finding) in self.findings.items()
            ]
        (sequence, first), *others = self.findings.values()
        places = tuple(Place(f.path, f.position) for _, f in others if f.path is not None)
        total = sum(self.counts.values()) + self.overflow
        return [(sequence, replace(first, count=total, also_at=places))]


class Collector:
    """What one report said so far. A format module adds to it; `read` turns it into a report."""

    def __init__(self, run: ToolRun, tool: str) -> None:
        self.run = run
        self.tool = tool
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.suppressed = 0
        self.red = False
        """The report calls itself failed, whatever it lists."""
        self.green = False
        """The report says in words that all is well; silence does not set this."""
        self.runs_tests = False
        """Tests are expected in this output."""
        self._locator = Locator(run.root, run.cwd)
        self._groups: dict[tuple[object, ...], Group] = {}
        self._free = dict.fromkeys(Severity, run.max_items)
        self._seen = dict.fromkeys(Severity, 0)
        self._sequence = 0
        self._problems: dict[Reason, str] = {}
        self._passed_tests: set[str] = set()

    @property
    def errors(self) -> int:
        """Findings of severity error so far, kept or not."""
        return self._seen[Severity.ERROR]

    @property
    def warnings(self) -> int:
        """Findings of severity warning so far, kept or not."""
        return self._seen[Severity.WARNING]

    @property
    def tests(self) -> int:
        """Tests the report lists, skipped ones included."""
        return self.passed + self.failed + self.skipped

    def test_passed(self, name: str | None) -> None:
        """Count a test that passed, and keep its name while there is room."""
        self.passed += 1
        self.name_passed(name)

    def name_passed(self, name: str | None) -> None:
        """Keep the name of a test that passed and is counted elsewhere."""
        if name and len(self._passed_tests) < _MAX_PASSED_TESTS:
            self._passed_tests.add(name)

    def passed_tests(self) -> tuple[str, ...]:
        """The names kept, as they would stand in a finding, sorted."""
        return tuple(sorted({one_line(name) for name in self._passed_tests}))

    def problem(self, reason: Reason, detail: str) -> None:
        """Record why this run cannot pass; the first detail of a reason stays."""
        self._problems.setdefault(reason, one_line(detail))

    def note(self, count: int = 1) -> None:
        """Count remarks of the tool that are no finding of their own."""
        self._seen[Severity.NOTE] += count

    def declared_failures(self, count: int | None) -> None:
        """Check what the report counts itself: more failures than it lists make it red."""
        listed = max(self.failed, self.errors)
        if count is not None and count > listed:
            self.red = True
            self.add(
                Kind.RUNTIME,
                Severity.ERROR,
                f"The report counts {count} failures but lists {listed}.",
            )

    def add(
        self,
        kind: Kind,
        severity: Severity,
        message: str,
        *,
        rule: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        end_line: int | None = None,
        end_column: int | None = None,
        uri: bool = False,
        trace: str | None = None,
        test: str | None = None,
        root: str | None = None,
    ) -> None:
        """Add one finding as the tool reported it: `count` it, and `keep` it if need be."""
        group = self.count(kind, severity, message, rule, root)
        if group is not None:
            self.keep(
                group,
                kind,
                severity,
                message,
                rule=rule,
                file=file,
                line=line,
                column=column,
                end_line=end_line,
                end_column=end_column,
                uri=uri,
                trace=trace,
                test=test,
            )

    def count(
        self,
        kind: Kind,
        severity: Severity,
        message: str,
        rule: str | None = None,
        root: str | None = None,
    ) -> Group | None:
        """Count one finding; None when nothing more about it is needed.

        `root` names the cause of a cascade whose findings differ in wording: equal causes collapse.
        """
        self._seen[severity] += 1
        text = message[:_KEY] if root is None else root
        if "0x" in text:
            text = _ADDRESS.sub("0x", text)
        key = (kind, severity, rule, text, self.tool)
        group = self._groups.get(key)
        if group is None:
            if self._free[severity] <= 0:
                return None
            self._free[severity] -= 1
            group = self._groups[key] = Group()
        elif len(group.findings) >= SPREAD:
            group.overflow += 1
            return None
        return group

    def keep(
        self,
        group: Group,
        kind: Kind,
        severity: Severity,
        message: str,
        *,
        rule: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        end_line: int | None = None,
        end_column: int | None = None,
        uri: bool = False,
        trace: str | None = None,
        test: str | None = None,
    ) -> None:
        """Build a finding that was counted into `group`.

        `file` may be any path or URI; lines and columns count from 1 and are ignored otherwise.
        `trace` is searched for the failing line when `file` and `line` do not give one.
        """
        place = (file, line, column, test)
        if place in group.counts:
            group.counts[place] += 1
            return
        group.counts[place] = 1
        path, position, raw = self._place(file, line, column, end_line, end_column, uri, trace)
        cleaned = clean(message) or "(no message)"
        is_test = kind in (Kind.TEST, Kind.COLLECTION)
        expected, received = compared(cleaned) if is_test else (None, None)
        finding = Finding(
            tool=one_line(self.tool, 200),
            kind=kind,
            severity=severity,
            message=cleaned,
            rule_id=one_line(rule, 200) if rule else None,
            path=path,
            position=position,
            raw_location=raw,
            test_name=one_line(test) if test else None,
            expected=expected,
            received=received,
        )
        group.findings[place] = (self._sequence, finding)
        self._sequence += 1

    def _place(
        self,
        file: str | None,
        line: int | None,
        column: int | None,
        end_line: int | None,
        end_column: int | None,
        uri: bool,
        trace: str | None,
    ) -> tuple[str | None, Position | None, str | None]:
        """The given location, else the innermost frame in the repository's own code."""
        path = self._locator.inside(file, uri=uri) if file else None
        position = _position(line, column, end_line, end_column)
        if path is not None and position is not None and not (trace and is_vendored(path)):
            return path, position, None
        raw = _as_text(file, line, column) if file and path is None else None
        for frame, frame_line, frame_column in frames(trace) if trace else ():
            inside = self._locator.inside(frame)
            found = _position(frame_line, frame_column, None, None)
            if inside is not None and found is not None and not is_vendored(inside):
                return inside, found, None
            raw = raw or _as_text(frame, frame_line, frame_column)
        if path is not None:
            return path, position, None
        return None, None, raw or (jvm_frame(trace) if trace else None)

    def findings(self) -> tuple[tuple[Finding, ...], int]:
        """The findings kept, in the order of the report, and how many are in none of them."""
        settled = [item for group in self._groups.values() for item in group.settle()]
        gravity = list(Severity)
        settled.sort(key=lambda item: (gravity.index(item[1].severity), item[0]))
        kept = sorted(settled[: self.run.max_items], key=lambda item: item[0])
        findings = tuple(finding for _, finding in kept)
        seen = self._seen[Severity.ERROR] + self._seen[Severity.WARNING]
        listed = sum(f.count for f in findings if f.severity is not Severity.NOTE)
        return findings, seen - listed

    def totals(self) -> Totals:
        """Counts over the whole report."""
        return Totals(
            tests=self.tests,
            passed=self.passed,
            failed=self.failed,
            skipped=self.skipped,
            errors=self.errors,
            warnings=self.warnings,
            notes=self._seen[Severity.NOTE],
            suppressed=self.suppressed,
        )

    def problems(self) -> tuple[Problem, ...]:
        """The problems, in the order of the reasons."""
        return tuple(Problem(r, self._problems[r]) for r in Reason if r in self._problems)


def _position(
    line: int | None, column: int | None, end_line: int | None, end_column: int | None
) -> Position | None:
    if line is None or not 1 <= line <= _MAX_LINE:
        return None
    end = end_line if end_line is not None and line <= end_line <= _MAX_LINE else None
    return Position(
        line,
        column if column is not None and 1 <= column <= _MAX_LINE else None,
        end,
        end_column if end and end_column is not None and 1 <= end_column <= _MAX_LINE else None,
    )


def _as_text(file: str, line: int | None, column: int | None) -> str:
    numbers = "".join(f":{n}" for n in (line, column) if n is not None and n >= 1)
    return one_line(file) + numbers
