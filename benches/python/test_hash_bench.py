"""Canonical JSON, hashes and resampling beside plain Python, in one run.

    PYTHONPATH=service pytest benches/python/test_hash_bench.py --benchmark-group-by=group

`extra_info` holds MB/s of JSON text for documents and nanoseconds per context for contexts.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import rfc8785

from steelyard import _core


def document(megabytes: int) -> bytes:
    """A report-like document: members out of order, escapes, short and long decimals."""
    rng = random.Random(1)  # noqa: S311 - repeatable data

    def case(number: int) -> dict[str, Any]:
        return {
            "id": f"case-{number:05d}",
            "task": "Summarise the report, naming each source: “naïve” é\n"
            + "x" * rng.randrange(60),
            "score": round(rng.random(), 4),
            "exact": rng.random(),
            "seed": rng.randrange(10**9),
            "ok": rng.random() < 0.5,
            "note": None,
            "dimensions": {
                "grounding": {"threshold": 0.8, "critical": True},
                "depth": {"threshold": 0.75, "critical": False},
            },
        }

    one = len(json.dumps(case(0))) + 2
    return json.dumps([case(number) for number in range(megabytes * 10**6 // one)]).encode()


TEXT = document(10)
VALUE = json.loads(TEXT)


def plain_json(text: bytes) -> str:
    return hashlib.sha256(rfc8785.dumps(json.loads(text))).hexdigest()


def plain_value(value: Any) -> str:
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def plain_contexts(contexts: list[bytes]) -> list[str]:
    return [hashlib.sha256(context).hexdigest() for context in contexts]


@pytest.mark.benchmark(group="hash of a 10 MB JSON text")
@pytest.mark.parametrize(
    ("function", "rounds"), [(_core.hash_json, 20), (plain_json, 1)], ids=["core", "plain"]
)
def test_hash_json(benchmark: Any, function: Callable[[bytes], str], rounds: int) -> None:
    digest = benchmark.pedantic(function, args=(TEXT,), rounds=rounds, warmup_rounds=rounds // 10)
    benchmark.extra_info["MB/s"] = round(len(TEXT) / 1e6 / benchmark.stats.stats.min)
    assert digest == _core.hash_object(VALUE)


@pytest.mark.benchmark(group="hash of the same as a Python value")
@pytest.mark.parametrize(
    ("function", "rounds"), [(_core.hash_object, 10), (plain_value, 1)], ids=["core", "plain"]
)
def test_hash_object(benchmark: Any, function: Callable[[Any], str], rounds: int) -> None:
    digest = benchmark.pedantic(function, args=(VALUE,), rounds=rounds, warmup_rounds=rounds // 10)
    benchmark.extra_info["MB/s"] = round(len(TEXT) / 1e6 / benchmark.stats.stats.min)
    assert digest == _core.hash_json(TEXT)


@pytest.mark.benchmark(group="hash of 16,384 contexts")
@pytest.mark.parametrize("size", [64, 1024])
@pytest.mark.parametrize("function", [_core.hash_contexts, plain_contexts], ids=["core", "plain"])
def test_hash_contexts(
    benchmark: Any, function: Callable[[list[bytes]], list[str]], size: int
) -> None:
    rng = random.Random(2)  # noqa: S311 - repeatable data
    contexts = [rng.randbytes(size) for _ in range(16_384)]
    digests = benchmark.pedantic(function, args=(contexts,), rounds=40, warmup_rounds=4)
    benchmark.extra_info["ns per context"] = round(benchmark.stats.stats.min / 16_384 * 1e9)
    assert digests[-1] == hashlib.sha256(contexts[-1]).hexdigest()


@pytest.mark.benchmark(group="10,000 sign flips of 1,000 pairs")
@pytest.mark.parametrize("threads", [1, 2])
def test_sign_flip(benchmark: Any, threads: int) -> None:
    baseline, candidate = scores()
    result = benchmark.pedantic(
        _core.stats_sign_flip,
        args=(baseline, candidate),
        kwargs={"seed": 1, "flips": 10_000, "threads": threads},
        rounds=20,
        warmup_rounds=2,
    )
    assert result[4:] == (10_000, False)


@pytest.mark.benchmark(group="10,000 sign flips of 1,000 pairs")
def test_sign_flip_numpy(benchmark: Any) -> None:
    baseline, candidate = scores()
    differences = candidate - baseline

    def flips() -> float:
        rng = np.random.default_rng(1)
        signs = rng.integers(0, 2, (10_000, 1_000), dtype=np.int8) * 2 - 1
        return float((np.abs(signs @ differences) >= abs(differences.sum())).mean())

    p = benchmark.pedantic(flips, rounds=3)
    two_sided = _core.stats_sign_flip(baseline, candidate, seed=1)[1]
    assert p == pytest.approx(two_sided, abs=0.03)


def scores() -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    rng = np.random.default_rng(7)
    baseline = rng.random(1_000)
    return baseline, baseline + rng.normal(0.003, 0.1, 1_000)
