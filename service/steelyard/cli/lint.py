"""`steelyard lint RESULT...`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from steelyard import strictjson
from steelyard.cli.files import MAX_DOCUMENT, printable, read_bytes, read_document
from steelyard.cli.run import print_json, print_table, stdout
from steelyard.errors import InvalidInputError, Violation
from steelyard.evaluation import (
    Contract,
    Repair,
    lint_document,
    parse_contract,
    repair_document,
    schema_valid,
)
from steelyard.evaluation.contract import IDENTITY

__all__ = ["lint"]

VIOLATIONS = 1


@dataclass(frozen=True, slots=True)
class _Checked:
    """One document: what is wrong with it, and what a repair did."""

    file: Path
    valid: bool
    violations: tuple[Violation, ...]
    repairs: tuple[Repair, ...] = ()
    repaired: object = None
    valid_after: bool = False
    violations_after: tuple[Violation, ...] = ()


@click.command()
@click.argument(
    "results", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--contracts",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of contracts, one CONTRACT_ID.json each, to check and repair against.",
)
@click.option("--repair", is_flag=True, help="Say what a repair changes, and what is left then.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --repair: write the repaired documents into this folder. RESULT never changes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def lint(
    results: tuple[Path, ...],
    contracts: Path | None,
    repair: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Check EvalResult documents (RESULT..., JSON files) against the schema and the standard.

    Exit codes: 0 no violations (after the repair, with --repair), 1 violations, 2 usage or
    unreadable input. A file that holds no JSON is a violation.
    """
    if output is not None and not repair:
        raise click.UsageError("--output needs --repair")
    checked = [_check(file, contracts, repair=repair) for file in results]
    if output is not None:
        _write(checked, output)
    if as_json:
        print_json(_document(checked, repair=repair))
    else:
        _print(checked, repair=repair)
    if any(one.violations_after if repair else one.violations for one in checked):
        click.get_current_context().exit(VIOLATIONS)


def _check(file: Path, contracts: Path | None, *, repair: bool) -> _Checked:
    data = read_bytes(file, MAX_DOCUMENT)
    try:
        document = strictjson.parse(data, "the file")
    except InvalidInputError as error:
        unreadable = (Violation("", "UNREADABLE_JSON", error.message),)
        return _Checked(file, False, unreadable, violations_after=unreadable)
    contract = _contract(document, contracts)
    checked = _Checked(file, schema_valid(document), lint_document(document, contract))
    if not repair:
        return checked
    repaired, repairs = repair_document(document, contract)
    return _Checked(
        file,
        checked.valid,
        checked.violations,
        repairs,
        repaired,
        schema_valid(repaired),
        lint_document(repaired, contract),
    )


def _contract(document: object, folder: Path | None) -> Contract | None:
    """The contract of a result; None when there is none, or its id could name another file."""
    name = document.get("contractId") if isinstance(document, dict) else None
    if folder is None or not isinstance(name, str) or not IDENTITY.fullmatch(name):
        return None
    file = folder / f"{name}.json"
    return parse_contract(read_document(file)) if file.is_file() else None


def _write(checked: Iterable[_Checked], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    written: set[str] = set()
    for one in checked:
        if one.repaired is None:
            continue
        if one.file.name in written or (folder / one.file.name).exists():
            message = f"{folder / one.file.name}: exists; nothing is overwritten"
            raise InvalidInputError("FILE_EXISTS", message)
        text = json.dumps(one.repaired, ensure_ascii=False, indent=2) + "\n"
        (folder / one.file.name).write_text(text, encoding="utf-8")
        written.add(one.file.name)


# Output -----------------------------------------------------------------------------------------


def _by_kind(lists: Iterable[Sequence[Violation]]) -> dict[str, dict[str, int]]:
    """Violations and documents of each kind, most frequent first."""
    violations: Counter[str] = Counter()
    documents: Counter[str] = Counter()
    for one in lists:
        kinds = [violation.reason for violation in one]
        violations.update(kinds)
        documents.update(set(kinds))
    ordered = sorted(violations, key=lambda kind: (-violations[kind], kind))
    return {k: {"violations": violations[k], "documents": documents[k]} for k in ordered}


def _summary(checked: Sequence[_Checked], *, after: bool) -> dict[str, object]:
    lists = [one.violations_after if after else one.violations for one in checked]
    return {
        "documents": len(checked),
        "schemaValid": sum(one.valid_after if after else one.valid for one in checked),
        "withoutViolations": sum(not violations for violations in lists),
        "byKind": _by_kind(lists),
    }


def _document(checked: Sequence[_Checked], *, repair: bool) -> dict[str, object]:
    def violations(found: Sequence[Violation]) -> list[dict[str, str]]:
        return [{"path": v.path, "reason": v.reason, "message": v.message} for v in found]

    def document(one: _Checked) -> dict[str, object]:
        known: dict[str, object] = {
            "file": str(one.file),
            "schemaValid": one.valid,
            "violations": violations(one.violations),
        }
        if repair:
            known["repairs"] = [{"path": r.path, "message": r.message} for r in one.repairs]
            known["schemaValidAfter"] = one.valid_after
            known["violationsAfter"] = violations(one.violations_after)
        return known

    summary = {"summary": _summary(checked, after=False)}
    if repair:
        summary["summaryAfter"] = _summary(checked, after=True)
    return {"results": [document(one) for one in checked], **summary}


def _print(checked: Sequence[_Checked], *, repair: bool) -> None:
    console = stdout()
    for one in checked:
        for change in one.repairs:
            _line(f"{one.file}: {change.path}", "repaired", change.message)
        for violation in one.violations_after if repair else one.violations:
            _line(f"{one.file}: {violation.path}", violation.reason, violation.message)
    print_table(_kinds(checked, repair=repair))
    before, after = _summary(checked, after=False), _summary(checked, after=True)
    for name, words in (
        ("schemaValid", "satisfy the schema"),
        ("withoutViolations", "have no violation"),
    ):
        then = f", {after[name]} after the repair" if repair else ""
        console.print(f"{before[name]} of {len(checked)} documents {words}{then}")


def _line(place: str, kind: str, message: str) -> None:
    click.echo(f"{printable(place)}: {kind} {printable(message)}")


def _kinds(checked: Sequence[_Checked], *, repair: bool) -> Table:
    before = _by_kind(one.violations for one in checked)
    after = _by_kind(one.violations_after for one in checked)
    columns = ("kind", "violations", "documents", *(("left", "in documents") if repair else ()))
    table = Table(*columns, title="Violations by kind", title_justify="left")
    none = {"violations": 0, "documents": 0}
    for kind in dict.fromkeys([*before, *after]):
        counts = [*before.get(kind, none).values()]
        counts += [*after.get(kind, none).values()] if repair else []
        table.add_row(kind, *(Text(str(count), justify="right") for count in counts))
    return table
