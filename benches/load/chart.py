"""The results as an SVG: server CPU per task, one panel for each scenario."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from measure import Result

__all__ = ["chart"]

WIDTH, BAR, GAP, LABEL, VALUE = 760, 16, 6, 110, 120
COLOURS = {"steelyard": "#1f6feb", "empty": "#8b949e"}
OTHER = "#c9a227"


def chart(results: Sequence[Result]) -> str:
    """One bar for each server, its length the CPU of a task, each panel on its own scale."""
    parts: list[str] = []
    y = 34
    for scenario in dict.fromkeys(result.scenario for result in results):
        panel = [result for result in results if result.scenario == scenario]
        most = max(_cost(result) for result in panel) or 1.0
        parts.append(f'<text x="10" y="{y + 12}" font-weight="bold">{escape(scenario)}</text>')
        y += BAR + GAP
        for result in panel:
            length = max(1.0, _cost(result) / most * (WIDTH - LABEL - VALUE))
            colour = COLOURS.get(result.server, OTHER)
            parts.append(f'<text x="20" y="{y + 12}">{escape(result.server)}</text>')
            parts.append(
                f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>'
            )
            text = f"{_cost(result):,.3g} us"
            parts.append(f'<text x="{LABEL + length + 6:.1f}" y="{y + 12}">{text}</text>')
            y += BAR + GAP
        y += 2 * GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
        f'viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="12">'
    )
    title = '<text x="10" y="20" font-size="14">Server CPU per task (less is better)</text>'
    ground = f'<rect width="{WIDTH}" height="{y}" fill="white"/>'
    return "\n".join([head, ground, title, *parts, "</svg>", ""])


def _cost(result: Result) -> float:
    return result.median("cpu_microseconds") / result.tasks
