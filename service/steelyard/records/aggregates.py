"""Means, band histogram and daily trend over a set of results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import ColumnElement, Connection, func, select

from steelyard.records.model import (
    Aggregates,
    CategoryMean,
    DayTrend,
    ResultFilter,
    ResultStatus,
)
from steelyard.records.numbering import NUMBERS_PER_DAY, number_at, number_to_moment
from steelyard.records.schema import result_categories, results

__all__ = ["aggregate", "from_json", "matching", "to_json"]

_MAX_DAYS = 366


def matching(where: ResultFilter) -> list[ColumnElement[bool]]:
    """The conditions of a filter. Times are ranges of record numbers, served by the primary key."""
    conditions: list[ColumnElement[bool]] = []
    for column, text in (
        (results.c.task_id, where.task_id),
        (results.c.run_id, where.run_id),
        (results.c.band, where.band),
    ):
        if text:
            conditions.append(column == text)
    if where.status is not None:
        conditions.append(results.c.status == where.status.value)
    if where.min_score is not None:
        conditions.append(results.c.overall_score >= where.min_score)
    if where.max_score is not None:
        conditions.append(results.c.overall_score <= where.max_score)
    if where.since is not None:
        conditions.append(results.c.number >= number_at(where.since))
    if where.until is not None:
        conditions.append(results.c.number < number_at(where.until))
    return conditions


def aggregate(connection: Connection, where: ResultFilter, *, days: bool = False) -> Aggregates:
    """Aggregates of the results that match; the newest 366 days of the trend when `days`."""
    conditions = matching(where)
    rows = connection.execute(
        select(results.c.status, func.count()).where(*conditions).group_by(results.c.status)
    )
    counts: dict[str, int] = dict(map(tuple, rows))
    scored = (results.c.status == ResultStatus.SCORED.value, *conditions)
    bands = connection.execute(
        select(results.c.band, func.count())
        .where(*scored)
        .group_by(results.c.band)
        .order_by(func.min(results.c.overall_score), results.c.band)
    )
    means = connection.execute(
        select(
            result_categories.c.category, func.count(), func.sum(result_categories.c.final_score)
        )
        .join(results, results.c.number == result_categories.c.number)
        .where(*scored)
        .group_by(result_categories.c.category)
        .order_by(func.min(result_categories.c.position), result_categories.c.category)
    )
    total = connection.execute(
        select(func.sum(results.c.overall_score)).where(*scored)
    ).scalar_one()
    count = counts.get(ResultStatus.SCORED.value, 0)
    return Aggregates(
        scored=count,
        skipped=counts.get(ResultStatus.SKIPPED.value, 0),
        errors=counts.get(ResultStatus.ERROR.value, 0),
        mean_overall=int(total) / count if count else None,
        categories=tuple(CategoryMean(name, int(total) / n, n) for name, n, total in means),
        bands=tuple((name, n) for name, n in bands),
        days=_trend(connection, scored) if days else (),
    )


def _trend(connection: Connection, scored: Sequence[ColumnElement[bool]]) -> tuple[DayTrend, ...]:
    day = (results.c.number // NUMBERS_PER_DAY).label("day")
    rows = connection.execute(
        select(day, func.count(), func.sum(results.c.overall_score))
        .where(*scored)
        .group_by(day)
        .order_by(day.desc())
        .limit(_MAX_DAYS)
    ).all()
    return tuple(
        DayTrend(number_to_moment(index * NUMBERS_PER_DAY).date().isoformat(), n, int(total) / n)
        for index, n, total in reversed(rows)
    )


def to_json(found: Aggregates) -> str:
    """How a finished run keeps its aggregates: without the trend, which spans runs."""
    kept = asdict(found)
    del kept["days"]
    return json.dumps(kept, separators=(",", ":"))


def from_json(text: str) -> Aggregates:
    """The inverse of `to_json`."""
    kept = json.loads(text)
    return Aggregates(
        scored=kept["scored"],
        skipped=kept["skipped"],
        errors=kept["errors"],
        mean_overall=kept["mean_overall"],
        categories=tuple(CategoryMean(**each) for each in kept["categories"]),
        bands=tuple((name, n) for name, n in kept["bands"]),
    )
