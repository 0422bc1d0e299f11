"""Text of a report cannot act in its page."""

from __future__ import annotations

from typing import Any

import pytest
from markdown_it import MarkdownIt

from steelyard.runner.markdown import KeptReport, escape, render

HOSTILE = [
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "![x](http://example.com/x.png)",
    "http://example.com and www.example.com and me@example.com",
    "a | b | c",
    "# heading",
    "**bold** _it_ `code` ~~gone~~",
    "line\n\n# next\n- item\r\n| t |",
    "&lt;b&gt; &#60;",
    "\\| \\",
    "```\nfence",
    "---",
    "\N{RIGHT-TO-LEFT OVERRIDE}abc",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_shows_its_letters_and_nothing_else(text: str) -> None:
    page = f"| head |\n| --- |\n| {escape(text)} |\n"
    html = MarkdownIt("gfm-like", {"linkify": False}).render(page)
    shown = MarkdownIt("commonmark").renderInline(escape(text))
    for tag in ("<script", "<a ", "<img", "<strong", "<em", "<code", "<h1", "<s>", "<pre", "<li"):
        assert tag not in html
        assert tag not in shown
    assert html.count("<td") == 1
    assert html.count("<tr") == 2


def test_words_survive() -> None:
    assert escape("plain words, 0.95 (5 of 6).") == "plain words, 0.95 (5 of 6)."
    assert (escape(None), escape(True), escape(0.5), escape("")) == ("-", "yes", "0.5", "-")
    assert len(escape("x" * 1000)) == 500


@pytest.mark.parametrize(
    "report", [{}, {"held_out": []}, {"held_out": {"cases": [5, {"dimensions": "x"}]}}]
)
def test_a_page_of_any_report_is_rendered(report: dict[str, Any]) -> None:
    kept = [KeptReport("eval-20260102T030405678Z.json", "2026", "PASS", "run")]
    page = render(report, kept)
    assert "../evals/eval-20260102T030405678Z.json" in page


def test_hostile_text_everywhere_stays_text() -> None:
    text = "</td><script>x</script> | [a](b) ![i](j)\n# h"
    item = dict.fromkeys(("id", "name", "status", "code", "message", "worker", "task"), text)
    report: Any = {
        "squad": text,
        "verdict": text,
        "generated_at": text,
        "reasons": [item],
        "required_changes": [text],
        "source_rubric": {"status": text, "criteria": [{**item, "missing": [text]}]},
        "held_out": {"cases": [{**item, "dimensions": [item], "executions": [item]}]},
        "genome_comparison": {"status": text, "dimensions": [item]},
        "reproduction": dict.fromkeys(("run_id", "command", "engine_hash"), text),
    }
    html = MarkdownIt("gfm-like", {"linkify": False}).render(render(report, []))
    for tag in ("<script", "<a ", "<img"):
        assert tag not in html
    assert html.count("<h1") == 1
