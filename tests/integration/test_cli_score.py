"""`steelyard score`, `policy` and `version` as a person runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

import steelyard
from steelyard.cli import main
from tests.conftest import POLICIES

DOCS = Path(__file__).parents[2] / "docs" / "task-evaluations.md"
CATEGORIES = steelyard.TASK_EVALUATION.categories


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def tasks() -> pa.Table:
    rng = np.random.default_rng(9)
    columns: dict[str, Any] = {"task_id": [f"t{i}" for i in range(120)]}
    for side in ("deterministic", "ai"):
        for category in CATEGORIES:
            columns[f"{side}.{category}"] = rng.integers(0, 101, 120)
    return pa.table(columns)


def write(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        lines = []
        for row in table.to_pylist():
            nested: dict[str, Any] = {"task_id": row["task_id"], "deterministic": {}, "ai": {}}
            for side in ("deterministic", "ai"):
                nested[side] = {name: row[f"{side}.{name}"] for name in CATEGORIES}
            lines.append(json.dumps(nested))
        path.write_text("\n".join(lines) + "\n")
    return path


def expected(table: pa.Table) -> steelyard.ScoreBatch:
    sides = [
        np.column_stack([table.column(f"{side}.{name}").to_numpy() for name in CATEGORIES])
        for side in ("deterministic", "ai")
    ]
    return steelyard.score(*sides)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("where", ["here", "server"])
def test_every_format_in_and_out(
    tasks: pa.Table, tmp_path: Path, kind: str, where: str, server_address: str
) -> None:
    source = write(tasks, tmp_path / f"tasks.{kind}")
    target = tmp_path / f"out.{kind}"
    flags = ("--server", server_address) if where == "server" else ()
    result = run("score", source, "--out", target, *flags)
    assert result.exit_code == 0, result.output
    batch = expected(tasks)
    if kind == "jsonl":
        rows = [json.loads(line) for line in target.read_text().splitlines()]
        overall = [row["overall"] for row in rows]
        finals = [[row["final"][name] for name in CATEGORIES] for row in rows]
        bands = [row["overall_band"] for row in rows]
        ids = [row["task_id"] for row in rows]
    else:
        read = pyarrow.csv.read_csv if kind == "csv" else pyarrow.parquet.read_table
        table = read(target)
        overall = table.column("overall").to_pylist()
        names = [f"final.{name}" for name in CATEGORIES]
        finals = np.column_stack([table.column(name).to_numpy() for name in names]).tolist()
        bands = table.column("overall_band").to_pylist()
        ids = table.column("task_id").to_pylist()
    assert overall == batch.overall.tolist()
    assert finals == batch.final.tolist()
    assert bands == [batch.bands[index] for index in batch.overall_band]
    assert ids == tasks.column("task_id").to_pylist()


def test_a_table_for_people(tasks: pa.Table, tmp_path: Path) -> None:
    result = run("score", write(tasks, tmp_path / "tasks.csv"))
    assert result.exit_code == 0
    assert "and 100 more" in result.output
    assert "mean overall" in result.output
    assert "\x1b[" not in result.output


@pytest.mark.parametrize(
    ("cell", "value", "words"),
    [
        ("deterministic.agentPerformance", "101", "row 3"),
        ("ai.processCompliance", "-1", "row 3"),
        ("ai.processCompliance", "1.5", "1.5 is not a score"),
        ("ai.processCompliance", "NaN", "nan is not a score"),
        ("ai.processCompliance", "", "nothing is not a score"),
        ("ai.processCompliance", "high", "'high' is not a score"),
    ],
)
def test_a_bad_cell_is_named(
    tasks: pa.Table, tmp_path: Path, cell: str, value: str, words: str
) -> None:
    lines = write(tasks, tmp_path / "tasks.csv").read_text().splitlines()
    header = [name.strip('"') for name in lines[0].split(",")]
    cells = lines[3].split(",")
    cells[header.index(cell)] = value
    lines[3] = ",".join(cells)
    (tmp_path / "tasks.csv").write_text("\n".join(lines))
    result = run("score", tmp_path / "tasks.csv")
    assert result.exit_code == 2
    assert words in result.stderr
    assert f"{cell}[2]" in result.stderr
    assert "row 3" in result.stderr


def test_files_that_are_no_tasks(tasks: pa.Table, tmp_path: Path) -> None:
    missing = write(tasks.drop_columns(["ai.taskOutcomeQuality"]), tmp_path / "missing.csv")
    extra = write(tasks.append_column("ai.speed", [[1] * 120]), tmp_path / "extra.parquet")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "header.csv").write_text(",".join(tasks.column_names) + "\n")
    for path, reason in [
        (missing, "CATEGORY_MISSING"),
        (extra, "CATEGORY_UNKNOWN"),
        (tmp_path / "empty.csv", "FILE_UNREADABLE"),
        (tmp_path / "broken.parquet", "FILE_UNREADABLE"),
        (tmp_path / "header.csv", "BATCH_EMPTY"),
        (tmp_path / "absent.csv", "FILE_MISSING"),
        (tmp_path / "tasks.xlsx", "FORMAT_UNKNOWN"),
    ]:
        result = run("score", path)
        assert result.exit_code == 2, path
        assert reason in result.stderr
        assert str(path) in result.stderr


def test_a_server_that_is_away_is_exit_3(tasks: pa.Table, tmp_path: Path) -> None:
    source = write(tasks, tmp_path / "tasks.csv")
    result = run("score", source, "--server", "127.0.0.1:1")
    assert result.exit_code == 3
    assert "UNAVAILABLE" in result.stderr


def test_policies_of_a_file(tasks: pa.Table, tmp_path: Path) -> None:
    table = pa.table(
        {
            "deterministic.correctness": [40, 90],
            "deterministic.style": [1, 2],
            "ai.correctness": [41, 91],
            "ai.style": [3, 4],
        }
    )
    source = write(table.append_column("task_id", [["a", "b"]]), tmp_path / "t.csv")
    result = run("score", source, "--policy", POLICIES / "exact.toml", "--format", "jsonl")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["final"]["correctness"] for row in rows] == [41, 91]
    assert [row["below_floor"]["correctness"] for row in rows] == [True, False]


def test_policy_show_and_check(tmp_path: Path) -> None:
    shown = run("policy", "show")
    assert shown.exit_code == 0
    assert "taskOutcomeQuality" in shown.output
    document = json.loads(run("policy", "show", POLICIES / "exact.toml", "--json").output)
    assert document["version"] == 2
    bad = tmp_path / "bad.toml"
    bad.write_text((POLICIES / "exact.toml").read_text().replace("6667", "6666"))
    result = run("policy", "check", POLICIES / "exact.toml", bad)
    assert result.exit_code == 1
    assert "sum to 9999" in result.output
    listed = json.loads(run("policy", "check", POLICIES / "exact.toml", "--json").output)
    assert listed[0]["ok"] is True
    assert run("policy", "show", tmp_path / "none.toml").exit_code == 2


def test_version() -> None:
    document = json.loads(run("version", "--json").output)
    assert document["version"] == steelyard.__version__
    assert document["engineDigest"] == steelyard.ENGINE_DIGEST
    assert document["kernelPaths"][:2] == ["portable", "baseline"]


def test_one_task_in_full(tmp_path: Path) -> None:
    found = re.search(
        r"<!-- example: input -->\n```json\n(.*?)\n```\n", DOCS.read_text(), re.DOTALL
    )
    assert found is not None
    file = tmp_path / "task.json"
    file.write_text(found[1])
    document = json.loads(run("score", "--task", file, "--json").output)
    overall = document["evaluation"]["overallScore"]
    shown = run("score", "--task", file)
    assert shown.exit_code == 0
    assert re.search(rf"│ {overall} +│", shown.output)
    assert run("score", "--task", file, file).exit_code == 2
    assert run("score").exit_code == 2
    file.write_text("{}")
    refused = run("score", "--task", file)
    assert refused.exit_code == 2
    assert "taskId" in refused.stderr
