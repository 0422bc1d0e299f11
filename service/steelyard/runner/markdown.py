"""A gate report for people, as Markdown in which no text of the report can act."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from steelyard.strictjson import JsonValue, as_object, as_objects

__all__ = ["KeptReport", "escape", "render"]

TEXT_LIMIT: Final = 500
# Punctuation that can start a construct inside a line. `:` and `@` stop bare addresses from
# becoming links; `&` and `<` stop entities and HTML.
_ACTIVE: Final = re.compile(r"[\\`*_{}\[\]<>#|~&!@:+=^$]")


@dataclass(frozen=True, slots=True)
class KeptReport:
    """One line in the list of a day's reports."""

    file: str
    generated_at: str
    verdict: str
    run_id: str


def escape(value: JsonValue) -> str:
    """`value` as one line of plain Markdown text, cut to 500 characters."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else str(value)
    plain = "".join(one if one.isprintable() else " " for one in text)
    line = " ".join(plain.split())
    if len(line) > TEXT_LIMIT:
        line = line[: TEXT_LIMIT - 1] + "…"
    return _ACTIVE.sub(r"\\\g<0>", line).replace("www.", "www\\.")


def render(report: dict[str, JsonValue], kept: Sequence[KeptReport]) -> str:
    """The page of a day: its newest `report` in full, then all that were `kept` on it."""
    return "\n".join([*_head(report), *_reasons(report), *_criteria(report), *_cases(report),
                      *_comparison(report), *_kept(kept)]) + "\n"  # fmt: skip  # one list, one page


def _head(report: dict[str, JsonValue]) -> Iterator[str]:
    reproduction = as_object(report.get("reproduction"))
    yield f"# Gate of {escape(report.get('squad'))}: {escape(report.get('verdict'))}"
    yield ""
    yield from _table(
        ("Item", "Value"),
        [
            ("Verdict", f"**{escape(report.get('verdict'))}**"),
            ("Generated", escape(report.get("generated_at"))),
            ("Run", escape(reproduction.get("run_id"))),
            ("Precheck", _status(report.get("precheck"))),
            ("Source criteria", _status(report.get("source_rubric"))),
            ("Held-out cases", _status(report.get("held_out"))),
            ("Genome comparison", _status(report.get("genome_comparison"))),
            ("Critical failures", escape(report.get("critical_failures"))),
            ("Signed", "yes" if report.get("signature") else "no"),
            ("Evidence hash", escape(reproduction.get("evidence_hash"))),
            ("Engine hash", escape(reproduction.get("engine_hash"))),
            ("To run it again", escape(reproduction.get("command"))),
        ],
    )


def _reasons(report: dict[str, JsonValue]) -> Iterator[str]:
    reasons = as_objects(report.get("reasons"))
    if reasons:
        yield "## What keeps it from PASS"
        yield ""
        yield from _table(
            ("Status", "Code", "Where", "Why"),
            [_cells(reason, "status", "code", "path", "message") for reason in reasons],
        )
    changes = report.get("required_changes")
    if isinstance(changes, list) and changes:
        yield "The smallest set of items that would have to change:"
        yield ""
        yield from (f"* Item {escape(change)}" for change in changes)
        yield ""


def _criteria(report: dict[str, JsonValue]) -> Iterator[str]:
    yield "## Criteria"
    yield ""
    yield from _table(
        ("Criterion", "Kind", "Critical", "Status", "Source", "Artifact", "Missing"),
        [
            (
                *_cells(criterion, "id", "kind", "critical", "status", "source", "artifact"),
                _list(criterion.get("missing")),
            )
            for criterion in as_objects(as_object(report.get("source_rubric")).get("criteria"))
        ],
    )


def _cases(report: dict[str, JsonValue]) -> Iterator[str]:
    yield "## Held-out cases"
    yield ""
    for case in as_objects(as_object(report.get("held_out")).get("cases")):
        yield f"### Case {escape(case.get('id'))}: {escape(case.get('status'))}"
        yield ""
        yield f"Task: {escape(case.get('task'))}"
        yield ""
        names = ("name", "status", "critical", "baseline", "candidate", "delta", "threshold")
        yield from _table(
            (*(name.capitalize() for name in names), "Evidence"),
            [
                _cells(dimension, *names, "evidence")
                for dimension in as_objects(case.get("dimensions"))
            ],
        )
        yield from _table(
            ("Run", "Worker", "Ok", "Failure", "Detail", "ms"),
            [
                _cells(run, "label", "worker", "ok", "failure", "detail", "duration_ms")
                for run in as_objects(case.get("executions"))
            ],
        )


def _comparison(report: dict[str, JsonValue]) -> Iterator[str]:
    comparison = as_object(report.get("genome_comparison"))
    dimensions = as_objects(comparison.get("dimensions"))
    if dimensions:
        yield "## Genome comparison"
        yield ""
        names = ("case", "name", "status", "baseline", "candidate", "delta")
        yield from _table(
            tuple(name.capitalize() for name in names),
            [_cells(dimension, *names) for dimension in dimensions],
        )


def _kept(kept: Sequence[KeptReport]) -> Iterator[str]:
    yield "## Reports of this day"
    yield ""
    yield from _table(
        ("Generated", "Verdict", "Run", "File"),
        [
            (
                escape(one.generated_at),
                escape(one.verdict),
                escape(one.run_id),
                f"[{escape(one.file)}](../evals/{one.file})",
            )
            for one in kept
        ],
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    yield from map(_row, rows)
    yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(item: dict[str, JsonValue], *names: str) -> tuple[str, ...]:
    return tuple(escape(item.get(name)) for name in names)


def _status(part: JsonValue) -> str:
    return escape(as_object(part).get("status"))


def _list(value: JsonValue) -> str:
    return ", ".join(map(escape, value)) if isinstance(value, list) and value else "-"
