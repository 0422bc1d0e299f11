"""`steelyard trend`: the score trend and the band histogram."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from steelyard.cli.records import Ask, filter_options, records_options, result_filter, show_json
from steelyard.cli.run import BAND_STYLES, stdout
from steelyard.v1 import records_pb2 as pb

__all__ = ["trend"]

BAR_CELLS = 50
SHOWN_DAYS = 31
BAND_COLOURS = {
    "failing": "#c0392b",
    "weak": "#e0a800",
    "acceptable": "#2e86ab",
    "strong": "#3a9d5d",
    "excellent": "#1b6e3a",
}


@click.command()
@filter_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page with charts, FILE.html; it needs no network to be viewed.",
)
@records_options
def trend(ask: Ask, out: Path | None, as_json: bool, **where: Any) -> None:
    """Draw the mean overall by day and the histogram of bands."""
    request = pb.AggregateResultsRequest(filter=result_filter(**where))
    response = ask(request, pb.AggregateResultsResponse)
    if out is not None:
        out.write_text(page(response.aggregates), encoding="utf-8")
        click.echo(f"charts of {response.aggregates.scored_count} results in {out}", err=True)
    if as_json:
        show_json(response)
    elif out is None:
        stdout().print(drawing(response.aggregates))


def drawing(found: pb.ResultAggregates) -> Group:
    """The charts for a terminal: bars of characters."""
    if not found.scored_count:
        return Group("no scored results")
    days = list(found.days)[-SHOWN_DAYS:]
    by_day = _bars("mean overall by day (UTC)", "day", "results", "mean")
    for day in days:
        by_day.add_row(
            day.day,
            str(day.count),
            f"{day.mean_overall:.1f}",
            "█" * round(day.mean_overall / 100 * BAR_CELLS),
        )
    by_band = _bars("overalls by band", "band", "results", "share")
    most = max(each.count for each in found.bands)
    for each in found.bands:
        bar = "█" * max(1, round(each.count / most * BAR_CELLS))
        by_band.add_row(
            escape(each.band),
            str(each.count),
            f"{each.count / found.scored_count:.1%}",
            f"[{BAND_STYLES.get(each.band, 'default')}]{bar}[/]",
        )
    by_category = Table("category", title="mean final by category", title_justify="left", box=None)
    by_category.add_column("mean", justify="right")
    for category in found.categories:
        by_category.add_row(escape(category.category), f"{category.mean:.1f}")
    whole = f"{found.scored_count} scored, mean overall {found.mean_overall:.1f}"
    return Group(whole, "", by_day, "", by_band, "", by_category)


def _bars(title: str, key: str, count: str, value: str) -> Table:
    table = Table(key, title=title, title_justify="left", box=None)
    table.add_column(count, justify="right")
    table.add_column(value, justify="right")
    table.add_column("", no_wrap=True)
    return table


def page(found: pb.ResultAggregates) -> str:
    """The charts as one self-contained HTML page: the plotting library is part of it."""
    # Imported here: it takes a while, and only this needs it.
    from plotly import graph_objects  # type: ignore[import-untyped]  # plotly ships no types
    from plotly.subplots import make_subplots  # type: ignore[import-untyped]  # plotly ships no types

    figure = make_subplots(
        rows=3,
        cols=1,
        subplot_titles=("Mean overall by day (UTC)", "Overalls by band", "Mean final by category"),
        vertical_spacing=0.12,
    )
    figure.add_trace(
        graph_objects.Scatter(
            x=[day.day for day in found.days],
            y=[day.mean_overall for day in found.days],
            customdata=[day.count for day in found.days],
            hovertemplate="%{x}: mean %{y:.1f} of %{customdata} results<extra></extra>",
            mode="lines+markers",
            line={"color": "#2e86ab"},
        ),
        row=1,
        col=1,
    )
    figure.add_trace(
        graph_objects.Bar(
            x=[each.band for each in found.bands],
            y=[each.count for each in found.bands],
            marker_color=[BAND_COLOURS.get(each.band, "#777777") for each in found.bands],
            hovertemplate="%{x}: %{y} results<extra></extra>",
        ),
        row=2,
        col=1,
    )
    figure.add_trace(
        graph_objects.Bar(
            x=[each.category for each in found.categories],
            y=[each.mean for each in found.categories],
            marker_color="#2e86ab",
            hovertemplate="%{x}: mean %{y:.1f}<extra></extra>",
        ),
        row=3,
        col=1,
    )
    figure.update_yaxes(title_text="overall", range=[0, 100], row=1, col=1)
    figure.update_yaxes(title_text="results", row=2, col=1)
    figure.update_yaxes(title_text="final", range=[0, 100], row=3, col=1)
    figure.update_layout(
        title=f"Steelyard: {found.scored_count} scored results",
        showlegend=False,
        height=1100,
        template="plotly_white",
    )
    # Without the tool bar, whose buttons lead to other sites.
    html: str = figure.to_html(include_plotlyjs=True, config={"displayModeBar": False})
    return html
