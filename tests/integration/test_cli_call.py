"""`steelyard call`: JSON in and out over reflection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from steelyard.cli import main

WIRE = Path(__file__).parents[1] / "vectors" / "wire"
CASE = json.loads((WIRE / "score_rows.json").read_text())["cases"][0]
REQUEST = CASE["requests"][0]["json"]
ROWS = CASE["responses"][0]["json"]["rows"]
STREAM = json.loads((WIRE / "score_stream.json").read_text())["cases"][0]


def call(address: str, *arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["call", *arguments, "--server", address], input=stdin)


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    "method",
    ["Score", "steelyard.v1.SteelyardService/Score", "/steelyard.v1.SteelyardService/Score"],
)
def test_names_of_a_method(server_address: str, method: str) -> None:
    done = call(server_address, method, "--data", json.dumps(REQUEST))
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == ROWS


def test_file_and_standard_input(server_address: str, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(REQUEST))
    from_file = call(server_address, "Score", "--json", "--data", f"@{file}")
    from_input = call(server_address, "Score", "--json", "--data", "-", stdin=file.read_text())
    assert from_file.stdout == from_input.stdout
    assert [answer["rows"] for answer in lines(from_file.stdout)] == [ROWS]


def test_stream(server_address: str) -> None:
    requests = [item["json"] for item in STREAM["requests"]]
    done = call(server_address, "ScoreStream", "--json", "--data", json.dumps(requests))
    assert done.exit_code == 0, done.output
    kept = [answer.get("rows") or answer["columns"] for answer in lines(done.stdout)]
    expected = [item["json"] for item in STREAM["responses"]]
    assert kept == [answer.get("rows") or answer["columns"] for answer in expected]


def test_refused_for_machines(server_address: str) -> None:
    done = call(server_address, "Score", "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    (status,) = lines(done.stderr)
    assert (status["code"], status["reason"]) == ("INVALID_ARGUMENT", "INPUT_MISSING")
    assert [entry["field"] for entry in status["violations"]] == ["input"]


def test_refused_for_people(server_address: str) -> None:
    request = {"policy": {"name": "none"}, "rows": {}}
    done = call(server_address, "Score", "--data", json.dumps(request))
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        "steelyard: NOT_FOUND: policy: none@0 is not loaded [POLICY_NOT_FOUND]",
        "  policy: none@0 is not loaded [POLICY_NOT_FOUND]",
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("Score", "--data", "{"), "--data: byte 1: invalid JSON"),
        (("Score", "--data", '{"rows": {}, "rows": {}}'), "DUPLICATE_KEY"),
        (("Score", "--data", "[]"), "Score takes one object"),
        (("ScoreStream",), "ScoreStream takes an array of objects"),
        (("ScoreStream", "--data", "[1]"), "ScoreStream takes an array of objects"),
        (("Score", "--data", "null"), "Score takes one object"),
        (("Score", "--data", '{"rowz": {}}'), 'no field named "rowz"'),
        (("Score", "--data", '{"rows": {"tasks": [{"taskId": 3}]}}'), "--data"),
        (("Score", "--data", "@/nowhere.json"), "/nowhere.json: No such file"),
        (("NoSuchMethod",), "steelyard.v1.SteelyardService/ScoreStream"),
    ],
)
def test_refused_before_it_is_sent(
    server_address: str, arguments: tuple[str, ...], text: str
) -> None:
    done = call(server_address, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert text in done.stderr


def test_no_server() -> None:
    done = call("127.0.0.1:1", "Score")
    assert done.exit_code == 3
    assert "UNAVAILABLE" in done.stderr


def test_deadline(server_address: str) -> None:
    done = call(server_address, "grpc.health.v1.Health/Watch", "--json", "--timeout", "2")
    assert done.exit_code == 3
    assert lines(done.stdout) == [{"status": "SERVING"}]
    assert lines(done.stderr)[0]["code"] == "DEADLINE_EXCEEDED"
