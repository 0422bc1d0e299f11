"""Markdown for people: verdict, tables of strategies and criteria, and the feedback in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from steelyard.evaluation.model import (
    EvalResult,
    FeedbackItem,
    Known,
    Location,
    Progress,
    Regression,
)

__all__ = ["to_markdown"]

# What has a meaning anywhere (emphasis, code, links, HTML, tables, entities, mathematics), and what
# has one at the start of a line (headings, lists, rules).
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&$]|^(?:[#+=-]|\d{1,9}(?=[.)]))")
_BACKTICKS = re.compile(r"`+")


def to_markdown(result: EvalResult) -> bytes:
    """The result as a Markdown document. Text from outside is escaped, so it stays text."""
    return ("\n".join(_lines(result)).rstrip() + "\n").encode()


def _lines(result: EvalResult) -> Iterator[str]:
    yield f"# {_inline(result.eval_id)}: {result.overall_result.upper()}"
    yield ""
    yield _inline(result.summary)
    if result.reasons:
        yield from ("", "## Reasons", "")
        for reason in result.reasons:
            yield f"- `{reason.code}` {_inline(reason.message)}"
    if result.strategy_results:
        yield from ("", "## Strategies", "")
        yield from _table(
            ("Strategy", "Required", "Result", "Exit", "Details"),
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
    if result.criteria_results:
        yield from ("", "## Criteria", "")
        yield from _table(
            ("Criterion", "Required", "Result", "Description", "Evidence"),
            (
                (c.criterion_id, _yes(c.required), c.result, c.description, c.evidence)
                for c in result.criteria_results
            ),
        )
    if result.regressions:
        yield from ("", "## Regressions", "")
        yield from map(_regression, result.regressions)
    if result.generator_feedback:
        yield from ("", "## Feedback")
        for number, item in enumerate(result.generator_feedback, 1):
            yield from _item(number, item)
    yield from _progress(result.progress)


def _item(number: int, item: FeedbackItem) -> Iterator[str]:
    where = f" {_code(_at(item.location))}" if item.location else ""
    about = " ".join(
        _code(word) for word in (item.rule_id, item.criterion_id, *item.sources) if word
    )
    yield ""
    yield f"### {number}. {item.priority} {item.category}{where}"
    yield ""
    yield from _block(item.description)
    if item.expected:
        yield ""
        yield from _block(item.expected, "**Expected:** ")
    if item.reproduction:
        yield ""
        yield from _block(item.reproduction, "**Reproduction:** ")
    if item.locations:
        yield ""
        yield f"**Also at:** {', '.join(_code(_at(place)) for place in item.locations)}"
    yield ""
    yield f"{item.state} {about} {_code(item.fingerprint)}".replace("  ", " ")


def _progress(progress: Progress) -> Iterator[str]:
    if progress.previous_eval_id is None:
        return
    yield from ("", f"## Since {_inline(progress.previous_eval_id)}", "")
    if progress.oscillating:
        yield "- The loop oscillates: these are the failures of two rounds ago."
    if progress.same_failure_rounds > 1:
        word = "stalled, " if progress.stalled else ""
        yield f"- The loop is {word}{progress.same_failure_rounds} rounds at the same failures."
    for title, issues in (("Fixed", progress.fixed), ("Not looked for", progress.unchecked)):
        for issue in issues:
            yield f"- {title}: {_known(issue)}"
    yield f"- {len(progress.fixed)} fixed, {len(progress.unchecked)} not looked for."


def _regression(regression: Regression) -> str:
    files = "".join(f" {_code(file)}" for file in regression.affected_files)
    evidence = f" {_inline(regression.evidence)}" if regression.evidence.strip() else ""
    return f"- **{regression.severity}** {_inline(regression.description)}.{evidence}{files}"


def _known(issue: Known) -> str:
    return (
        f"{_code(issue.file)} {_inline(issue.description)}"
        if issue.file
        else _inline(issue.description)
    )


def _at(place: Location) -> str:
    parts = [place.file, *(str(n) for n in (place.line, place.column) if n is not None)]
    end = f"-{place.end_line}" if place.end_line not in (None, place.line) else ""
    return ":".join(parts[:2]) + end if end else ":".join(parts)


def _yes(required: bool) -> str:
    return "yes" if required else "no"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(_inline(cell) for cell in row)} |"


def _inline(text: str) -> str:
    """Text on one line with everything that Markdown or HTML could read escaped."""
    return _SPECIAL.sub(_escaped, " ".join(text.split()))


def _escaped(match: re.Match[str]) -> str:
    found = match.group()
    return f"&#{ord(found[0])};{found[1:]}" if found[0].isdigit() else f"\\{found}"


def _block(text: str, lead: str = "") -> Iterator[str]:
    """Text with its line breaks kept."""
    lines = [_inline(line) for line in text.splitlines() if line.strip()] or [""]
    yield lead + "  \n".join(lines)


def _code(text: str) -> str:
    """A code span, with a fence longer than any run of backticks in it."""
    line = " ".join(text.split())
    fence = "`" * (max(map(len, _BACKTICKS.findall(line)), default=0) + 1)
    pad = " " if line[:1] == "`" or line[-1:] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"
