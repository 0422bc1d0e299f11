"""The commands over records, on a store of their own and on a server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from steelyard.cli import main
from steelyard.records.store import Store
from steelyard.server.app import build
from steelyard.settings import load_settings
from tests.support.evaluations import evaluation


@pytest.fixture
def filled(tmp_path: Path) -> str:
    """A store with two scored results and a follow-up."""
    path = str(tmp_path / "records.db")
    with Store(path) as store:
        first = evaluation("FN-1", score=30, drafts=["Fix the [retry] loop"])
        store.save_evaluation(first, "")
        store.save_evaluation(evaluation("FN-2", score=92), "")
    return path


@pytest.fixture(params=["store", "server"])
def where(request: pytest.FixtureRequest, filled: str) -> Iterator[list[str]]:
    """The options that lead to the filled store: directly, or through a server."""
    if request.param == "store":
        yield ["--store", filled]
        return
    server = build(load_settings({"store": filled, "address": "127.0.0.1:0", "grace_seconds": 0}))
    server.start()
    try:
        yield ["--server", f"127.0.0.1:{server.port}"]
    finally:
        server.stop()


def run(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == code, (done.output, done.stderr, done.exception)
    return done.output if code == 0 else done.stderr


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def test_results(where: list[str]) -> None:
    listed = run_json("results", "list", *where)["results"]
    assert [each["taskId"] for each in listed] == ["FN-2", "FN-1"]
    assert listed[1]["overallScore"] == 30
    page = run_json("results", "list", *where, "--limit", "1")
    rest = run_json("results", "list", *where, "--page-token", page["nextPageToken"])
    assert [each["taskId"] for each in rest["results"]] == ["FN-1"]
    weak = run_json("results", "list", *where, "--max-score", "50", "--since", "2020-01-01")
    assert [each["taskId"] for each in weak["results"]] == ["FN-1"]
    assert run_json("results", "list", *where, "--until", "2020-01-01T00:00Z")["results"] == []
    table = run("results", "list", *where)
    assert "FN-1" in table
    assert "failing" in table
    shown = run("results", "show", listed[1]["runId"], "FN-1", *where)
    for part in ("taskOutcomeQuality", "as the evidence shows", "Fix the [retry] loop", "created"):
        assert part in shown
    full = run_json("results", "show", listed[1]["runId"], "FN-1", *where)
    assert len(full["evaluation"]["categories"]) == 3


def test_runs(where: list[str]) -> None:
    made = run_json("runs", "create", "--id", "r", "--summary", "by hand", *where)["run"]
    assert made["status"] == "RUN_STATUS_RUNNING"
    assert run_json("runs", "list", "--status", "running", *where)["runs"] == [made]
    assert "RUN_FINISHED" not in run("runs", "finish", "r", "--error", "broke", *where)
    assert "broke" in run("runs", "show", "r", *where)
    assert "[RUN_FINISHED]" in run("runs", "cancel", "r", *where, code=2)
    assert "[RUN_NOT_FOUND]" in run("runs", "show", "none", *where, code=2)
    assert "failed" in run("runs", "list", *where)
    assert len(run_json("runs", "list", "--trigger", "api", *where)["runs"]) == 2


def test_follow_ups(where: list[str]) -> None:
    (listed,) = run_json("followups", "list", *where)["followUps"]
    assert listed["suggestion"]["state"] == "SUGGESTION_STATE_CREATED"
    assert "Fix the [retry] loop" in run("followups", "list", "--state", "created", *where)
    assert "triage" in run("followups", "board", *where)
    assert "FOLLOW_UP_DECIDED" in run("followups", "dismiss", listed["number"], *where, code=2)
    accepted = run_json("followups", "accept", listed["number"], *where)["followUp"]
    assert accepted == listed
    assert run_json("followups", "drain", *where)["items"] == []
    assert "OUTBOX_ITEM_NOT_FOUND" in run("followups", "acknowledge", "7", "X-1", *where, code=2)


def test_trend_in_the_terminal(where: list[str]) -> None:
    drawn = run("trend", *where)
    assert "2 scored, mean overall 61.0" in drawn
    assert re.search(r"failing\s+1\s+50\.0%\s+█{50}", drawn)
    assert re.search(r"\d{4}-\d\d-\d\d\s+2\s+61\.0\s+█{30}", drawn)
    assert "no scored results" in run("trend", "--task", "none", *where)
    found = run_json("trend", *where)["aggregates"]
    assert [(each["band"], each["count"]) for each in found["bands"]] == [
        ("failing", 1),
        ("excellent", 1),
    ]


def test_the_trend_page_needs_no_network(filled: str, tmp_path: Path) -> None:
    out = tmp_path / "trend.html"
    run("trend", "--store", filled, "--out", str(out))
    html = out.read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img|iframe|source)\b[^>]*\b(src|href)\s*=", html)
    assert "Plotly.newPlot" in html
    assert len(html) > 1_000_000
    assert "2 scored results" in html
    for word in ("Mean overall by day", "failing", "excellent", "processCompliance"):
        assert word in html


def test_the_schema_of_a_store(tmp_path: Path) -> None:
    store = str(tmp_path / "new.db")
    done = CliRunner().invoke(main, ["db", "current", "--store", store])
    assert done.exit_code == 1
    assert "schema none" in done.output
    assert "none -> " in run("db", "upgrade", "--store", store)
    assert "nothing to do" in run("db", "upgrade", "--store", store)
    found = run_json("db", "current", "--store", store)
    assert found["current"] == found["needed"]


def test_a_task_is_stored_from_its_file(tmp_path: Path) -> None:
    store = str(tmp_path / "records.db")
    given = {
        "taskId": "FN-9",
        "persist": True,
        "idempotencyKey": "once",
        "deterministic": dict.fromkeys(CATEGORIES, 80),
        "ai": {name: {"score": 60, "rationale": "as seen"} for name in CATEGORIES},
    }
    file = tmp_path / "task.json"
    file.write_text(json.dumps(given))
    first = run_json("score", "--task", str(file), "--store", store)
    assert first["persisted"] is True
    again = run_json("score", "--task", str(file), "--store", store)
    assert again["replayed"] is True
    (listed,) = run_json("results", "list", "--store", store)["results"]
    assert listed["runId"] == first["evaluation"]["runId"]
    file.write_text(json.dumps({**given, "persist": False}))
    untouched = tmp_path / "untouched.db"
    run("score", "--task", str(file), "--store", str(untouched))
    assert not untouched.exists()


def test_where_to_look_is_said_once_and_must_work(filled: str, tmp_path: Path) -> None:
    assert "not both" in run("runs", "list", "--store", filled, "--server", "127.0.0.1:1", code=2)
    assert "SETTINGS_INVALID" in run("runs", "list", "--store", "mysql://x/y", code=2)
    assert "STORE_UNAVAILABLE" in run("runs", "list", "--store", str(tmp_path), code=3)
    (tmp_path / "off.toml").write_text("[experimental_features]\nevals_view = false\n")
    off = ["--config", str(tmp_path / "off.toml"), "--store", filled]
    assert "RECORDS_DISABLED" in run("runs", "list", *off, code=2)
    assert "no date or time" in run("results", "list", "--since", "soon", code=2)


CATEGORIES = ("agentPerformance", "taskOutcomeQuality", "processCompliance")
