"""Files of task scores: CSV, JSON lines and Parquet, in and out.

A task is one row with the columns `deterministic.<category>` and `ai.<category>` for each category
of the policy and, if you like, `task_id`; in JSON lines these are nested objects. Results have the
columns `task_id`, `final.<category>`, `band.<category>`, `overall` and `overall_band`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from steelyard.errors import InvalidInputError, NotFoundError
from steelyard.scoring.batch import ScoreBatch, Scores

__all__ = ["FORMATS", "Tasks", "format_of", "read_tasks", "result_table", "write_results"]

FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
LINES_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Tasks:
    """A file's tasks: two (n, C) arrays with contiguous columns, and the ids if there are any."""

    deterministic: Scores
    ai: Scores
    task_ids: pa.ChunkedArray | None


def format_of(path: Path) -> str:
    """The format that a file's name stands for; raises InvalidInputError for another ending."""
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        endings = ", ".join(sorted(FORMATS))
        raise InvalidInputError(
            "FORMAT_UNKNOWN", f"{path}: the name must end in one of {endings}"
        ) from None


def read_tasks(path: Path, categories: Sequence[str]) -> Tasks:
    """Reads a file. Raises NotFoundError, or InvalidInputError naming row and column."""
    kind = format_of(path)
    try:
        if kind == "csv":
            # Only an empty cell is no value: what else a cell says is shown to whoever wrote it.
            options = pyarrow.csv.ConvertOptions(null_values=[""])
            table = pyarrow.csv.read_csv(path, convert_options=options)
        elif kind == "jsonl":
            table = pyarrow.json.read_json(path).flatten()
        else:
            table = pyarrow.parquet.read_table(path)
    except FileNotFoundError:
        raise NotFoundError("FILE_MISSING", f"{path}: no such file") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InvalidInputError("FILE_UNREADABLE", f"{path}: {error}") from None
    if table.num_rows == 0:
        raise InvalidInputError("BATCH_EMPTY", f"{path}: no tasks")
    deterministic = _scores(path, table, "deterministic", categories)
    ai = _scores(path, table, "ai", categories)
    known = {f"{side}.{name}" for side in ("deterministic", "ai") for name in categories}
    for name in table.column_names:
        if name.split(".")[0] in ("deterministic", "ai") and name not in known:
            raise InvalidInputError.at(
                name, "CATEGORY_UNKNOWN", f"{path}: the policy has no such category"
            )
    task_ids = table.column("task_id") if "task_id" in table.column_names else None
    return Tasks(deterministic, ai, task_ids)


def _scores(path: Path, table: pa.Table, side: str, categories: Sequence[str]) -> Scores:
    scores = np.empty((table.num_rows, len(categories)), np.uint8, order="F")
    for index, category in enumerate(categories):
        name = f"{side}.{category}"
        found = table.column_names.count(name)
        if found != 1:
            reason = "CATEGORY_DUPLICATE" if found else "CATEGORY_MISSING"
            text = "stands twice" if found else "is missing"
            raise InvalidInputError.at(name, reason, f"{path}: the column {text}")
        column = table.column(name)
        if column.null_count == 0 and pa.types.is_integer(column.type):
            values = column.to_numpy()
            if values.min() >= 0 and values.max() <= 100:
                scores[:, index] = values
                continue
        cells = column.to_pylist()
        # One bad cell turns a whole CSV column into floats or text: name that one, not its victims.
        row = next((row for row, cell in enumerate(cells) if not _reads_as_score(cell)), 0)
        value = cells[row]
        shown = "nothing" if value is None else repr(value)
        raise InvalidInputError.at(
            f"{name}[{row}]",
            "SCORE_OUT_OF_RANGE",
            f"{path}: row {row + 1}: {shown} is not a score; a score is an integer from 0 to 100",
        )
    return scores


def _reads_as_score(cell: object) -> bool:
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return False
    try:
        number = float(cell)
    except ValueError:
        return False
    return number.is_integer() and 0 <= number <= 100


def result_table(tasks: Tasks, batch: ScoreBatch) -> pa.Table:
    """The results as an Arrow table."""
    names = pa.array(batch.bands)

    def bands(indexes: Scores) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(indexes.astype(np.int8)), names)

    columns: dict[str, Any] = {} if tasks.task_ids is None else {"task_id": tasks.task_ids}
    for index, category in enumerate(batch.categories):
        columns[f"final.{category}"] = pa.array(batch.final[:, index])
        columns[f"band.{category}"] = bands(batch.band[:, index])
        if batch.below_floor is not None:
            columns[f"below_floor.{category}"] = pa.array(batch.below_floor[:, index].astype(bool))
    columns["overall"] = pa.array(batch.overall)
    columns["overall_band"] = bands(batch.overall_band)
    return pa.table(columns)


def write_results(table: pa.Table, kind: str, target: BinaryIO) -> None:
    """Writes results as csv, jsonl or parquet."""
    if kind == "parquet":
        pyarrow.parquet.write_table(table, target)
    elif kind == "csv":
        decoded = [
            pc.cast(column, pa.string()) if pa.types.is_dictionary(column.type) else column
            for column in table.columns
        ]
        plain = pa.table(decoded, names=table.column_names)
        options = pyarrow.csv.WriteOptions(quoting_style="needed", quoting_header="none")
        pyarrow.csv.write_csv(plain, target, options)
    else:
        target.writelines(_lines(table))


def _lines(table: pa.Table) -> Iterator[bytes]:
    for part in table.to_batches(max_chunksize=LINES_AT_ONCE):
        for row in part.to_pylist():
            nested: dict[str, Any] = {}
            for name, value in row.items():
                group, _, category = name.partition(".")
                if category:
                    nested.setdefault(group, {})[category] = value
                else:
                    nested[name] = value
            yield json.dumps(nested, ensure_ascii=False).encode() + b"\n"
