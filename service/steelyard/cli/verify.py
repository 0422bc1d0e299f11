"""`steelyard verify`: derive a report again and list every difference."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from steelyard.cli.run import print_json, print_table, stdout
from steelyard.cli.trusted import trusted_keys_option
from steelyard.files import Folder
from steelyard.runner.reports import read_report
from steelyard.runner.verifying import CheckedReport, check_report
from steelyard.signing import TrustedKeys
from steelyard.strictjson import JsonValue

__all__ = ["verify"]

UNCHECKED = {
    "PROJECT_FILES": "whether the project still is what was judged (--project)",
    "RECORDS": "whether the squad's folder keeps this report (--project)",
    "SIGNATURE": "who signed it (--trusted-keys)",
}


@click.command()
@click.argument("report_path", metavar="REPORT", type=click.Path(path_type=Path))
@click.option(
    "--project",
    "directory",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The project that was judged. Without it only what the report carries is checked.",
)
@trusted_keys_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def verify(
    report_path: Path,
    directory: Path | None,
    trusted: Callable[[], TrustedKeys | None],
    as_json: bool,
) -> None:
    """Check the gate report REPORT and list every mismatch.

    Exit code: 0 without a mismatch, 1 with one, 2 for wrong usage or a file that cannot be read.
    """
    keys = trusted()
    folder = Folder.open(directory) if directory is not None else None
    checked = check_report(read_report(report_path), folder, keys, datetime.now(UTC))
    if as_json:
        print_json(_json(checked))
    else:
        _print_page(checked)
    sys.exit(0 if checked.valid else 1)


def _json(checked: CheckedReport) -> dict[str, JsonValue]:
    signature = checked.signature
    return {
        "valid": checked.valid,
        "verdict": checked.verdict,
        "ready": checked.ready,
        "deferred": checked.deferred,
        "mismatches": [
            {
                "code": mismatch.code,
                "path": mismatch.path,
                "expected": mismatch.expected,
                "found": mismatch.found,
            }
            for mismatch in checked.verification.mismatches
        ],
        "unchecked": list(checked.verification.unchecked),
        "signature": {
            "state": signature.state,
            "message": signature.message,
            "key_id": signature.key_id,
            "name": signature.name,
        },
    }


def _print_page(checked: CheckedReport) -> None:
    console = stdout()
    state = ("verified", "bold green") if checked.valid else ("NOT VERIFIED", "bold red")
    console.print(Text.assemble(state, f"; the report says {checked.verdict}"), soft_wrap=True)
    console.print(Text(f"signature: {checked.signature.message}"), soft_wrap=True)
    if checked.verification.mismatches:
        table = Table("Code", "Where", "Expected", "Found")
        for mismatch in checked.verification.mismatches:
            table.add_row(
                mismatch.code,
                Text(mismatch.path),
                Text(_short(mismatch.expected)),
                Text(_short(mismatch.found)),
            )
        print_table(table)
    for unchecked in checked.verification.unchecked:
        text = UNCHECKED.get(unchecked, unchecked)
        console.print(Text(f"not checked: {text}"), soft_wrap=True)


def _short(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"
