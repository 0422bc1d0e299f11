"""From what a strategy's tool printed to its result and the causes that keep it from passing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.evaluation.contract import MAX_STRATEGIES, NAME, Contract, Strategy, natural_key
from steelyard.evaluation.fields import require
from steelyard.evaluation.model import Code, Outcome, StrategyResult, shorten
from steelyard.ingest import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_ITEMS,
    Format,
    Severity,
    ToolReport,
    ToolRun,
    Totals,
    read_report,
)

__all__ = ["StrategyOutcome", "StrategyRun", "run_strategies"]


_MAX_ITEMS = 10_000
_MAX_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class StrategyRun:
    """What is known about one run of a strategy's tool.

    required    the run asks for it; the contract's own `required` cannot be loosened by a run
    report      what the tool printed; None when nothing was kept and the exit code alone decides
    format      format of the report; None: the contract's, else detected from the content
    exit_code   of the process; None when unknown: then the report alone decides
    root, cwd   where the tool ran, as text; see `steelyard.ingest.ToolRun`
    skipped     why the strategy was not run at all
    error       how the run itself broke (timeout, crash, rate limit); such a run never passes

    Without report, exit code and error the strategy counts as skipped.
    """

    strategy: str
    required: bool = False
    report: bytes | None = None
    format: Format | None = None
    exit_code: int | None = None
    command: str | None = None
    root: str | None = None
    cwd: str = ""
    skipped: str | None = None
    error: str | None = None
    max_items: int = DEFAULT_MAX_ITEMS
    max_bytes: int = DEFAULT_MAX_BYTES


@dataclass(frozen=True, slots=True)
class StrategyOutcome:
    """A strategy's result with the report behind it; `report` is None when there was none."""

    result: StrategyResult
    report: ToolReport | None
    problems: tuple[tuple[Code, str], ...]
    command: str | None

    @property
    def name(self) -> str:
        return self.result.strategy

    @property
    def blocking(self) -> bool:
        """Required and failed: the evaluation cannot pass before this does."""
        return self.result.required and self.result.result == Outcome.FAIL

    @property
    def complete(self) -> bool:
        """Whether the report lists everything there was: an issue it does not name is gone."""
        return (
            self.report is not None
            and not self.report.dropped
            and not any(code != Code.EXIT_CODE_DISAGREES for code, _ in self.problems)
        )


def run_strategies(contract: Contract, runs: Iterable[StrategyRun]) -> tuple[StrategyOutcome, ...]:
    """Read every run. A strategy of the contract without a run is skipped; one that only a run
    names joins the contract's.

    Raises InvalidInputError for a name that is none, two runs of one name, more than 100 runs, and
    caps out of their range.
    """
    by_name: dict[str, StrategyRun] = {}
    for index, run in enumerate(runs):
        _check(run, f"runs[{index}]")
        message = f"strategy {run.strategy!r} has more than one run"
        require(run.strategy not in by_name, f"runs[{index}].strategy", "REPEATED", message)
        by_name[run.strategy] = run
    message = f"has more than {MAX_STRATEGIES} elements"
    require(len(by_name) <= MAX_STRATEGIES, "runs", "TOO_MANY", message)
    declared = {strategy.name: strategy for strategy in contract.strategies}
    names = sorted(declared.keys() | by_name.keys(), key=natural_key)
    return tuple(
        _outcome(
            declared.get(name) or Strategy(name, required=False),
            by_name.get(name) or StrategyRun(name, skipped="No run of this strategy was given."),
        )
        for name in names
    )


def _check(run: StrategyRun, path: str) -> None:
    valid = bool(NAME.fullmatch(run.strategy))
    require(valid, f"{path}.strategy", "MALFORMED", "must be a name as contracts have it")
    for name, value, high in (
        ("maxItems", run.max_items, _MAX_ITEMS),
        ("maxBytes", run.max_bytes, _MAX_BYTES),
    ):
        require(1 <= value <= high, f"{path}.{name}", "OUT_OF_RANGE", f"must be 1 to {high}")


def _outcome(strategy: Strategy, run: StrategyRun) -> StrategyOutcome:
    required = strategy.required or run.required
    command = run.command or strategy.command
    if run.error is not None:
        detail = run.error.strip() or "The run broke without saying why."
        return StrategyOutcome(
            StrategyResult(
                strategy=strategy.name,
                required=required,
                result=Outcome.FAIL,
                output=detail,
                details=f"{Code.EVALUATOR_ERROR}: {detail}",
                exit_code=run.exit_code,
            ),
            report=None,
            problems=((Code.EVALUATOR_ERROR, detail),),
            command=command,
        )
    if run.skipped is not None or (run.report is None and run.exit_code is None):
        detail = (run.skipped or "").strip() or "Neither a report nor an exit code was given."
        return StrategyOutcome(
            StrategyResult(
                strategy=strategy.name,
                required=required,
                result=Outcome.SKIPPED,
                output="",
                details=detail,
                exit_code=run.exit_code,
            ),
            report=None,
            problems=(),
            command=command,
        )
    report = read_report(
        run.report or b"",
        ToolRun(
            format=Format.TEXT if run.report is None else run.format or strategy.format,
            exit_code=run.exit_code,
            command=command,
            root=run.root,
            cwd=run.cwd,
            allow_zero_tests=strategy.allow_zero_tests,
            max_items=run.max_items,
            max_bytes=run.max_bytes,
        ),
    )
    problems = tuple((Code(problem.reason), problem.detail) for problem in report.problems)
    passed = report.passed and not problems
    return StrategyOutcome(
        StrategyResult(
            strategy=strategy.name,
            required=required,
            result=Outcome.PASS if passed else Outcome.FAIL,
            output=report.excerpt,
            details=_details(report, problems, run.exit_code),
            exit_code=run.exit_code,
            error_count=report.totals.errors,
        ),
        report=report,
        problems=problems,
        command=command,
    )


def _details(
    report: ToolReport, problems: tuple[tuple[Code, str], ...], exit_code: int | None
) -> str:
    counts = _counts(report.totals)
    parts = [f"{code}: {detail.rstrip('.')}." for code, detail in problems]
    if counts:
        parts.append(f"{report.tool} reported {counts}.")
    elif exit_code is not None:
        parts.append(f"Exit code {exit_code}.")
    if report.dropped:
        parts.append(f"{report.dropped} more findings are counted but not listed.")
    worst = next((f for f in report.findings if f.severity == Severity.ERROR), None)
    if worst is not None:
        line = f":{worst.position.line}" if worst.position else ""
        place = f" at {worst.path}{line}" if worst.path else ""
        parts.append(f"First error{place}: {shorten(' '.join(worst.message.split()), 300)}")
    return " ".join(parts) or f"{report.tool} reported nothing."


def _counts(totals: Totals) -> str:
    words = []
    if totals.tests:
        words.append(
            f"{totals.tests} tests: {totals.passed} passed, {totals.failed} failed, "
            f"{totals.skipped} skipped"
        )
    for count, noun in (
        (totals.errors if not totals.tests else 0, "error"),
        (totals.warnings, "warning"),
        (totals.notes, "note"),
        (totals.suppressed, "suppressed finding"),
    ):
        if count:
            words.append(f"{count} {noun}{'s' if count != 1 else ''}")
    return ", ".join(words)
