"""`steelyard evaluate CONTRACT`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from steelyard import timestamps
from steelyard.cli.files import MAX_REPORT, printable, read_bytes, read_document
from steelyard.cli.run import print_table, stdout
from steelyard.errors import InvalidInputError
from steelyard.evaluation import (
    Evaluation,
    FeedbackItem,
    Judgements,
    LintMode,
    OutputFormat,
    Previous,
    StrategyRun,
    Verdict,
    parse_contract,
    parse_judgements,
    parse_previous,
    render,
)
from steelyard.evaluation import evaluate as evaluate_sprint
from steelyard.ingest import Format

__all__ = ["evaluate"]

FAILED = 1

_STYLES = {
    "pass": "green",
    "fail": "bold red",
    "skipped": "yellow",
    "critical": "bold red",
    "high": "red",
    "medium": "yellow",
    "low": "dim",
}
_STRATEGY = re.compile(r"(?P<name>[^=]+?)(?P<required>:required)?(?:=(?P<file>.+))?", re.DOTALL)
_EXIT_CODE = re.compile(r"(?P<name>[^=]+)=(?P<code>-?[0-9]{1,9})")


@click.command()
@click.argument("contract", type=click.Path(path_type=Path))
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    metavar="NAME[:required]=FILE[@FORMAT]",
    help="A strategy's report. FORMAT: "
    + ", ".join(Format)
    + ". [default: the contract's, else detected] Without =FILE its exit code alone decides.",
)
@click.option(
    "--exit-code",
    "exit_codes",
    multiple=True,
    metavar="NAME=N",
    help="Exit code of a strategy's process. It has to agree with the report.",
)
@click.option(
    "--judgements",
    "judgements_file",
    type=click.Path(path_type=Path),
    help="JSON of what judges ruled: judgements, regressions, nonGoals, feedback.",
)
@click.option(
    "--previous",
    "previous_file",
    type=click.Path(path_type=Path),
    help="Result of an earlier iteration, for states, regressions and progress.",
)
@click.option(
    "--iteration",
    type=click.IntRange(1),
    help="The attempt. [default: the one after --previous, else 1]",
)
@click.option("--timestamp", metavar="RFC3339", help="Time of the evaluation. [default: now]")
@click.option(
    "--root",
    metavar="DIR",
    help="Repository root as the tools saw it, for absolute paths in reports. "
    "[default: the working directory]",
)
@click.option(
    "--lint",
    type=click.Choice([str(mode) for mode in LintMode]),
    default=str(LintMode.REPORT),
    show_default=True,
    help="What happens to judgements below the standard of evidence and feedback.",
)
@click.option(
    "--out",
    type=click.Choice([str(name) for name in OutputFormat]),
    help="Print the result in this format. [default: a table for people]",
)
def evaluate(
    contract: Path,
    strategies: tuple[str, ...],
    exit_codes: tuple[str, ...],
    judgements_file: Path | None,
    previous_file: Path | None,
    iteration: int | None,
    timestamp: str | None,
    root: str | None,
    lint: str,
    out: str | None,
) -> None:
    """Evaluate one iteration of the sprint CONTRACT (a JSON file).

    Exit codes: 0 pass, 1 fail, 2 usage or unreadable input.
    """
    previous = (
        parse_previous(read_document(previous_file), "previous")
        if previous_file is not None
        else None
    )
    evaluation = evaluate_sprint(
        parse_contract(read_document(contract)),
        iteration=iteration or _following(previous),
        timestamp=timestamp or timestamps.timestamp(datetime.now(UTC)),
        runs=_runs(strategies, _codes(exit_codes), root or str(Path.cwd())),
        judgements=(
            parse_judgements(read_document(judgements_file))
            if judgements_file is not None
            else Judgements()
        ),
        previous=previous,
        lint=LintMode(lint),
    )
    if out is None:
        _print(evaluation)
    else:
        click.echo(render(evaluation.result, OutputFormat(out)), nl=False)
        for violation in evaluation.violations:
            line = f"{violation.path}: {violation.reason} {violation.message}"
            click.echo(f"steelyard: {printable(line)}", err=True)
    if evaluation.result.overall_result != Verdict.PASS:
        click.get_current_context().exit(FAILED)


def _following(previous: Previous | None) -> int:
    return previous.iteration + 1 if previous else 1


def _codes(options: Sequence[str]) -> dict[str, int]:
    codes: dict[str, int] = {}
    for option in options:
        match = _EXIT_CODE.fullmatch(option)
        if match is None:
            raise click.BadParameter(f"{option!r} is not NAME=N", param_hint="--exit-code")
        if match["name"] in codes:
            message = f"{match['name']!r} has more than one exit code"
            raise click.BadParameter(message, param_hint="--exit-code")
        codes[match["name"]] = int(match["code"])
    return codes


def _runs(options: Sequence[str], codes: Mapping[str, int], root: str) -> list[StrategyRun]:
    runs = []
    for option in options:
        match = _STRATEGY.fullmatch(option)
        if match is None:
            message = f"{option!r} is not NAME[:required]=FILE[@FORMAT]"
            raise click.BadParameter(message, param_hint="--strategy")
        file, form = _file(match["file"]) if match["file"] else (None, None)
        runs.append(
            StrategyRun(
                strategy=match["name"],
                required=match["required"] is not None,
                report=read_bytes(file, MAX_REPORT) if file is not None else None,
                format=form,
                exit_code=codes.get(match["name"]),
                root=root,
            )
        )
    named = {run.strategy for run in runs}
    runs += [
        StrategyRun(strategy=name, exit_code=code, root=root)
        for name, code in codes.items()
        if name not in named
    ]
    return runs


def _file(text: str) -> tuple[Path, Format | None]:
    """A file name and the format after its last `@`, where that is the name of a format."""
    name, _, word = text.rpartition("@")
    if name and word in set(Format):
        return Path(name), Format(word)
    if name and not Path(text).exists():
        message = f"{word!r} is no format: use one of {', '.join(Format)}"
        raise InvalidInputError("UNKNOWN_FORMAT", f"--strategy ...={text}: {message}")
    return Path(text), None


# For people -------------------------------------------------------------------------------------


def _print(evaluation: Evaluation) -> None:
    result = evaluation.result
    console = stdout()
    title = Text.assemble(
        f"{result.eval_id}: ",
        (result.overall_result.upper(), _STYLES[result.overall_result]),
    )
    console.print(title)
    console.print(Text(printable(result.summary)))
    if result.reasons:
        reasons = ((str(reason.code), reason.message) for reason in result.reasons)
        print_table(_table("Reasons", ("code", "message"), reasons))
    if result.strategy_results:
        print_table(
            _table(
                "Strategies",
                ("strategy", "required", "result", "exit", "details"),
                (
                    (
                        s.strategy,
                        _yes(s.required),
                        s.result,
                        "" if s.exit_code is None else str(s.exit_code),
                        s.details,
                    )
                    for s in result.strategy_results
                ),
            )
        )
    if result.criteria_results:
        print_table(
            _table(
                "Criteria",
                ("criterion", "required", "result", "evidence"),
                (
                    (c.criterion_id, _yes(c.required), c.result, c.evidence)
                    for c in result.criteria_results
                ),
            )
        )
    if result.generator_feedback:
        columns = ("priority", "category", "where", "issue", "state")
        print_table(_table("Feedback", columns, map(_feedback, result.generator_feedback)))
    progress = result.progress
    if progress.previous_eval_id is not None:
        parts = [f"{len(progress.fixed)} fixed", f"{len(progress.unchecked)} not looked for"]
        if progress.stalled:
            parts.append(f"stalled for {progress.same_failure_rounds} rounds")
        if progress.oscillating:
            parts.append("oscillating")
        console.print(f"Since {progress.previous_eval_id}: {', '.join(parts)}")
    if evaluation.violations:
        faults = ((v.reason, f"{v.path} {v.message}") for v in evaluation.violations)
        print_table(_table("Judgements below the standard", ("kind", "field"), faults))


def _feedback(item: FeedbackItem) -> tuple[str, ...]:
    place = item.location
    line = f":{place.line}" if place and place.line else ""
    where = f"{place.file}{line}" if place else ""
    return item.priority, item.category, where, item.description, item.state


def _yes(required: bool) -> str:
    return "yes" if required else "no"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        # Only the verdict words have a style; text of others is never markup.
        table.add_row(*(Text(printable(cell), style=_STYLES.get(cell, "")) for cell in row))
    return table
