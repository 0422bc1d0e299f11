"""Report files of a squad: `evals/eval-<time>.json`, `evals/latest.json`, `docs/EVAL-<date>.md`.

All three are written under one lock, each whole or not at all, and no report replaces another: runs
that end in the same millisecond get names of their own. `latest.json` is a copy of the newest
report by its own time, and the page of a day lists every report of that day.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steelyard import strictjson
from steelyard.errors import InvalidInputError, LimitError
from steelyard.files import Folder, locked, write_atomic
from steelyard.gating.model import Record
from steelyard.gating.report import MAX_REPORT_DEPTH, evidence_hash
from steelyard.runner import markdown
from steelyard.runner.markdown import KeptReport
from steelyard.strictjson import JsonValue, as_object

__all__ = ["REPORT_LIMIT_BYTES", "WrittenReport", "kept_records", "read_report", "write_report"]

# A report holds every worker's output; each of those is capped at 8 MiB.
REPORT_LIMIT_BYTES: Final = 256 * 1024 * 1024
EVALS: Final = "evals"
DOCS: Final = "docs"
LATEST: Final = "latest.json"
_EVAL_NAME: Final = re.compile(r"eval-[0-9]{8}T[0-9]{9}Z(-[0-9]+)?\.json")


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """Where a report went."""

    report: Path
    latest: Path
    page: Path


def read_report(path: Path) -> JsonValue:
    """The report file that a user names, anywhere; raises InvalidInputError (REPORT_UNREADABLE)."""
    try:
        with path.open("rb") as file:
            data = file.read(REPORT_LIMIT_BYTES + 1)
    except OSError as error:
        message = f"{path}: {error.strerror or 'unreadable'}"
        raise InvalidInputError("REPORT_UNREADABLE", message) from None
    if len(data) > REPORT_LIMIT_BYTES:
        message = f"{path}: is larger than {REPORT_LIMIT_BYTES} bytes"
        raise InvalidInputError("REPORT_UNREADABLE", message)
    return strictjson.parse(data, str(path), MAX_REPORT_DEPTH)


def write_report(squad: Folder, report: dict[str, JsonValue]) -> WrittenReport:
    """Keep `report` in the squad's folder.

    Its `generated_at` must be RFC 3339 in UTC with milliseconds. Raises LimitError
    (REPORT_TOO_LARGE), UnavailableError (LOCK_TIMEOUT) and InvalidInputError when `evals` or `docs`
    lead out of the squad's folder.
    """
    data = (json.dumps(report, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
    if len(data) > REPORT_LIMIT_BYTES:
        raise LimitError("REPORT_TOO_LARGE", f"the report would pass {REPORT_LIMIT_BYTES} bytes")
    evals, docs = squad.make(EVALS), squad.make(DOCS)
    generated_at = str(report["generated_at"])
    date, stamp = generated_at[:10], re.sub(r"[-:.]", "", generated_at)
    page = docs / f"EVAL-{date}.md"
    with locked(evals / ".lock"):
        stem = f"eval-{stamp}"
        path = _free_name(evals, stem)
        write_atomic(path, data)
        if all(name[: len(stem)] <= stem for name in _names(squad)):
            write_atomic(evals / LATEST, data)
        write_atomic(page, _page(squad, f"eval-{stamp[:8]}").encode("utf-8"))
    return WrittenReport(path, evals / LATEST, page)


def kept_records(squad: Folder) -> tuple[Record, ...]:
    """Every report that the squad's folder keeps: its run, and the hash of what it says now."""
    return tuple(Record(kept.run_id, evidence_hash(report)) for kept, report in _kept(squad, ""))


def _free_name(evals: Path, stem: str) -> Path:
    path = evals / f"{stem}.json"
    number = 2
    while path.exists():
        path = evals / f"{stem}-{number}.json"
        number += 1
    return path


def _kept(squad: Folder, prefix: str) -> Iterator[tuple[KeptReport, dict[str, JsonValue]]]:
    """The readable reports of the folder whose names start with `prefix`, in order of name."""
    for name in _names(squad):
        report = _read(squad, f"{EVALS}/{name}") if name.startswith(prefix) else None
        if report is not None:
            run_id = as_object(report.get("reproduction")).get("run_id")
            verdict, generated_at = report.get("verdict"), report.get("generated_at")
            yield KeptReport(name, str(generated_at), str(verdict), str(run_id)), report


def _names(squad: Folder) -> list[str]:
    try:
        names = sorted(path.name for path in squad.locate(EVALS).iterdir())
    except (InvalidInputError, OSError):
        return []
    return [name for name in names if _EVAL_NAME.fullmatch(name)]


def _page(squad: Folder, day: str) -> str:
    lines: list[KeptReport] = []
    newest: dict[str, JsonValue] = {}
    for line, report in _kept(squad, day):
        # One report at a time: each may be large.
        if all(line.generated_at >= other.generated_at for other in lines):
            newest = report
        lines.append(line)
    return markdown.render(newest, sorted(lines, key=lambda line: line.generated_at))


def _read(squad: Folder, path: str) -> dict[str, JsonValue] | None:
    try:
        data = squad.read(path, REPORT_LIMIT_BYTES).data
        report = strictjson.parse(data, path, MAX_REPORT_DEPTH)
    except InvalidInputError:
        return None
    return report if isinstance(report, dict) else None
