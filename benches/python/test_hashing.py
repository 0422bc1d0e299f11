"""Context hashes beside hashlib; canonical JSON and object hashes beside rfc8785."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785

import steelyard

CONTEXTS = 16_384


@pytest.mark.parametrize("size", [64, 1024])
def test_contexts(measure: Any, size: int) -> None:
    contexts = [hashlib.shake_128(str(index).encode()).digest(size) for index in range(CONTEXTS)]
    group = f"{CONTEXTS:,} contexts of {size} bytes, one thread"
    hashes = measure(
        group, "steelyard.hash_contexts", CONTEXTS, lambda: steelyard.hash_contexts(contexts)
    )
    assert hashes[7] == hashlib.sha256(contexts[7]).hexdigest()


@pytest.mark.parametrize("size", [64, 1024])
def test_contexts_by_hashlib(measure: Any, size: int) -> None:
    contexts = [hashlib.shake_128(str(index).encode()).digest(size) for index in range(CONTEXTS)]
    group = f"{CONTEXTS:,} contexts of {size} bytes, one thread"
    measure(
        group,
        "hashlib loop",
        CONTEXTS,
        lambda: [hashlib.sha256(context).hexdigest() for context in contexts],
    )


def document(cases: int) -> bytes:
    entries = [
        {
            "id": f"case-{index}",
            "task": "Fix the flaky retry and keep the public API as it is",
            "deterministic": index % 2 == 0,
            "seed": index,
            "dimensions": {
                name: {"baseline": index / 7 % 1, "candidate": index / 3 % 1, "evidence": "run é"}
                for name in ("quality", "cost", "accuracy")
            },
        }
        for index in range(cases)
    ]
    return json.dumps({"report": entries, "agent": "planner"}).encode()


@pytest.mark.parametrize("cases", [4, 4_000, 26_000])
@pytest.mark.parametrize("who", ["steelyard.hash_json", "json + rfc8785 + hashlib"])
def test_object_hash_of_json_bytes(measure: Any, cases: int, who: str) -> None:
    data = document(cases)
    peer = lambda: hashlib.sha256(rfc8785.dumps(json.loads(data))).hexdigest()  # noqa: E731  # a local shorthand
    function = (lambda: steelyard.hash_json(data)) if who.startswith("steelyard") else peer
    result = measure(f"object hash of {len(data):,} bytes of JSON", who, len(data), function)
    assert result == peer()
