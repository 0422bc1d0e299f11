"""The error enum of the core: every variant is produced, listed and documented."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard
from steelyard import _core
from steelyard.errors import SteelyardError
from steelyard.v1 import score_pb2
from tests.conftest import POLICIES

DOCS = Path(__file__).parents[2] / "docs" / "errors.md"
ENGINE = _core.Engine([], 2)
POLICY = (POLICIES / "exact.toml").read_text()


def rows(*entries: dict[str, Any]) -> None:
    """One task whose categories are given; raises what the row's own error says."""
    task = score_pb2.TaskRow(categories=[score_pb2.CategoryInput(**entry) for entry in entries])
    request = score_pb2.ScoreRequest(rows=score_pb2.TaskRows(tasks=[task]))
    answer = score_pb2.ScoreResponse.FromString(ENGINE.score(request.SerializeToString()))
    error = answer.rows.results[0].error
    raise SteelyardError.at(error.field, error.reason, error.message)


def columns(det: bytes, ai: bytes) -> bytes:
    request = score_pb2.ScoreRequest(columns=score_pb2.TaskColumns(deterministic=det, ai=ai))
    return ENGINE.score(request.SerializeToString())


def entry(**change: Any) -> dict[str, Any]:
    return {"category": "agentPerformance", "deterministic_score": 1, "ai_score": 1} | change


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


PRODUCERS: dict[str, Callable[[], object]] = {
    "POLICY_SYNTAX": lambda: steelyard.Policy.from_toml("name ="),
    "POLICY_INVALID": lambda: steelyard.Policy.from_toml(POLICY.replace("6667", "6666")),
    "POLICY_DUPLICATE": lambda: _core.Engine([steelyard.TASK_EVALUATION], 1),
    "POLICY_NOT_FOUND": lambda: ENGINE.policy("nobody"),
    "MALFORMED_MESSAGE": lambda: ENGINE.score(b"\xff"),
    "INPUT_MISSING": lambda: ENGINE.score(b""),
    "BATCH_EMPTY": lambda: columns(b"", b""),
    "BATCH_TOO_LARGE": lambda: columns(bytes(9), bytes(9)),
    "LENGTH_MISMATCH": lambda: columns(bytes(3), bytes(6)),
    "SCORE_OUT_OF_RANGE": lambda: columns(b"\x65\0\0", bytes(3)),
    "SCORE_MISSING": lambda: rows({"category": "agentPerformance", "ai_score": 3}),
    "SCORE_AMBIGUOUS": lambda: rows(entry(ai_samples=[1])),
    "SAMPLES_TOO_MANY": lambda: rows(
        {"category": "agentPerformance", "deterministic_score": 1, "ai_samples": [1] * 1_025}
    ),
    "CATEGORY_UNKNOWN": lambda: rows(entry(category="speed")),
    "CATEGORY_DUPLICATE": lambda: rows(entry(), entry()),
    "CATEGORY_MISSING": lambda: rows(entry()),
    "INVALID_JSON": lambda: steelyard.canonicalize(b"{"),
    "INVALID_UTF8": lambda: steelyard.canonicalize(b'"\xff"'),
    "DUPLICATE_KEY": lambda: steelyard.canonicalize(b'{"a":1,"a":1}'),
    "LONE_SURROGATE": lambda: steelyard.canonicalize(rb'"\ud800"'),
    "INTEGER_OUT_OF_RANGE": lambda: steelyard.canonicalize(b"9007199254740993"),
    "NUMBER_OUT_OF_RANGE": lambda: steelyard.canonicalize(b"1e999"),
    "NOT_FINITE": lambda: steelyard.canonical_json(float("nan")),
    "TOO_DEEP": lambda: steelyard.canonical_json(nested(1_001)),
    "UNSUPPORTED_TYPE": lambda: steelyard.canonical_json({1: 2}),
    "SAMPLE_EMPTY": lambda: _core.stats_wilson(0, 0, 0.05),
    "SAMPLE_TOO_LARGE": lambda: _core.stats_wilson(0, 2**20 + 1, 0.05),
    "PARAMETER_OUT_OF_RANGE": lambda: _core.stats_wilson(0, 1, 0.0),
    "RESAMPLING_TOO_LARGE": lambda: _core.stats_sign_flip(
        [0.0] * 1_000, [1.0] * 1_000, seed=0, flips=2**24
    ),
}
# A text of 4 GiB: the limit is tested in the core, without one.
NOT_PRODUCED_HERE = {"TOO_LARGE"}


def test_every_code_has_a_producer() -> None:
    assert set(PRODUCERS) | NOT_PRODUCED_HERE == set(_core.ERROR_CODES)


@pytest.mark.parametrize("code", PRODUCERS)
def test_every_code_is_produced(code: str) -> None:
    with pytest.raises(SteelyardError) as caught:
        PRODUCERS[code]()
    error = caught.value
    assert error.reason == code
    assert error.message
    assert len(error.violations) == 1
    assert error.violations[0].reason == code
    assert error.violations[0].message in error.message


def test_every_code_is_documented() -> None:
    documented = set(re.findall(r"^\| `([A-Z0-9_]+)` \|", DOCS.read_text(), re.MULTILINE))
    assert set(_core.ERROR_CODES) <= documented
