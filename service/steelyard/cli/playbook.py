"""`steelyard playbook`: capture lessons of a squad, list them, promote those that proved true."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from steelyard.cli.run import print_json, print_table
from steelyard.cli.trusted import trusted_keys_option
from steelyard.files import Folder
from steelyard.playbook import Entry, NotProvenError
from steelyard.runner.proof import capture_lesson, playbook_of, promote_lesson
from steelyard.runner.reports import read_report
from steelyard.runner.squad import SquadFolder
from steelyard.signing import TrustedKeys
from steelyard.strictjson import JsonValue

__all__ = ["playbook"]

_directory = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
_squad = click.option("--squad", "slug", required=True, help="The squad, by its slug.")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@click.group()
def playbook() -> None:
    """Lessons of a squad: candidates until a later gate proves them on an unseen case."""


@playbook.command("capture")
@_directory
@_squad
@click.option("--rule", required=True, help="What to do or to avoid, up to 280 characters.")
@click.option("--lesson", required=True, help="What taught it, up to 280 characters.")
@click.option("--from", "source", required=True, help="Where it was seen, up to 160 characters.")
@_as_json
def capture(directory: Path, slug: str, rule: str, lesson: str, source: str, as_json: bool) -> None:
    """Note one observation of a lesson; the same lesson again adds to its count."""
    squad = SquadFolder.open(Folder.open(directory), slug)
    entry = capture_lesson(squad, rule, lesson, source, datetime.now(UTC))
    _print([entry], as_json)


@playbook.command("list")
@_directory
@_squad
@_as_json
def list_(directory: Path, slug: str, as_json: bool) -> None:
    """Show all lessons in the order in which they were first captured."""
    squad = SquadFolder.open(Folder.open(directory), slug)
    entries = playbook_of(squad).read().entries
    _print(entries, as_json)


@playbook.command("promote")
@_directory
@_squad
@click.argument("entry_id", metavar="ID")
@click.option(
    "--report",
    "report_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The gate report that proves it. Default: the squad's latest.",
)
@trusted_keys_option
@_as_json
def promote(
    directory: Path,
    slug: str,
    entry_id: str,
    report_path: Path | None,
    trusted: Callable[[], TrustedKeys | None],
    as_json: bool,
) -> None:
    """Promote the lesson ID on a verified PASS that is later and has a case unseen before.

    Exit code 1 when the report does not prove it, with the reason.
    """
    squad = SquadFolder.open(Folder.open(directory), slug)
    path = report_path or squad.folder().root / "evals" / "latest.json"
    report = read_report(path)
    try:
        entry = promote_lesson(squad, entry_id, report, trusted(), datetime.now(UTC))
    except NotProvenError as error:
        click.echo(f"not promoted: {error.message} [{error.reason}]", err=True)
        raise click.exceptions.Exit(1) from error
    _print([entry], as_json)


def _print(entries: list[Entry] | tuple[Entry, ...], as_json: bool) -> None:
    if as_json:
        print_json([_json(entry) for entry in entries])
        return
    table = Table("Id", "Status", "Count", "Rule", "Lesson", "Last from")
    for entry in entries:
        last = entry.observations[-1]
        texts = (entry.rule, entry.lesson, last.source)
        count = str(len(entry.observations))
        table.add_row(entry.id, entry.status, count, *(Text(text) for text in texts))
    print_table(table)


def _json(entry: Entry) -> dict[str, JsonValue]:
    promotion = entry.promotion
    return {
        "id": entry.id,
        "status": entry.status,
        "count": len(entry.observations),
        "rule": entry.rule,
        "lesson": entry.lesson,
        "observations": [
            {"from": one.source, "at": one.at.isoformat()} for one in entry.observations
        ],
        "promotion": None
        if promotion is None
        else {
            "at": promotion.at.isoformat(),
            "run_id": promotion.run_id,
            "evidence_hash": promotion.evidence_hash,
            "generated_at": promotion.generated_at.isoformat(),
            "unseen_cases": list(promotion.unseen_cases),
        },
    }
