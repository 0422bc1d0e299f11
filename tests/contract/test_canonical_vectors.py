"""Canonical JSON and SHA-256 against recorded vectors."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from steelyard import _core
from steelyard.errors import InvalidInputError

VECTORS = Path(__file__).parents[1] / "vectors" / "canonical.json"
CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]

NO_LOSS = "input that canonical JSON cannot hold without loss is refused, never silently altered"
UNDEFINED = "a hash is over a value; a value of no JSON type has none"
BYTES_ONLY = "a hash is over bytes: other types are an error of the caller, not the empty text"

# Every recorded case that we answer differently: the reason we give and the rule that asks for it.
DEVIATIONS: dict[str, tuple[str, str]] = {
    "canonical_json-019": ("NUMBER_OUT_OF_RANGE", NO_LOSS),
    "canonical_json-020": ("NUMBER_OUT_OF_RANGE", NO_LOSS),
    "canonical_json-021": ("INTEGER_OUT_OF_RANGE", NO_LOSS),
    "canonical_json-035": ("LONE_SURROGATE", NO_LOSS),
    "canonical_json-036": ("LONE_SURROGATE", NO_LOSS),
    "canonical_json-063": ("UNSUPPORTED_TYPE", UNDEFINED),
    "canonical_json-064": ("NOT_FINITE", NO_LOSS),
    "canonical_json-065": ("NOT_FINITE", NO_LOSS),
    "canonical_json-067": ("UNSUPPORTED_TYPE", UNDEFINED),
    "canonical_json-069": ("UNSUPPORTED_TYPE", UNDEFINED),
    "canonical_json-070": ("NOT_FINITE", NO_LOSS),
    "canonical_json-071": ("UNSUPPORTED_TYPE", UNDEFINED),
    "sha256_text-006": ("surrogates not allowed", NO_LOSS),
    "sha256_text-011": ("TypeError", BYTES_ONLY),
    "sha256_text-012": ("TypeError", BYTES_ONLY),
}
# JavaScript's undefined has no counterpart; any object of no JSON type stands for it.
JS_VALUES = {"NaN": float("nan"), "Infinity": float("inf"), "undefined": object()}


def in_memory(value: Any) -> Any:
    """The value with the JavaScript values that JSON cannot hold put back."""
    if isinstance(value, dict):
        if set(value) == {"$js"}:
            return JS_VALUES[value["$js"]]
        return {key: in_memory(item) for key, item in value.items()}
    return [in_memory(item) for item in value] if isinstance(value, list) else value


def conforming(kind: str) -> list[Any]:
    return [
        pytest.param(case, id=case["id"])
        for case in CASES
        if case["kind"] == kind and case["id"] not in DEVIATIONS
    ]


@pytest.mark.parametrize("case", conforming("canonical_json"))
def test_canonical_json(case: dict[str, Any]) -> None:
    text = case["input"]["json_text"].encode()
    value = json.loads(text)
    canonical, digest = case["output"]["canonical"].encode(), case["output"]["sha256"]
    assert _core.canonicalize(text) == canonical
    assert _core.canonical_json(value) == canonical
    assert _core.hash_json(text) == _core.hash_object(value) == digest


@pytest.mark.parametrize("case", conforming("sha256_text"))
def test_sha256_text(case: dict[str, Any]) -> None:
    data = case["input"]["value"].encode()
    assert _core.sha256_hex(data) == case["output"]["sha256"] == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(("case_id", "reason"), [(k, v[0]) for k, v in DEVIATIONS.items()])
def test_deviation(case_id: str, reason: str) -> None:
    (case,) = (case for case in CASES if case["id"] == case_id)
    given = case["input"]
    if case["kind"] == "sha256_text":
        value = given["value"]
        with pytest.raises((TypeError, UnicodeEncodeError)) as caught:
            _core.sha256_hex(value.encode() if isinstance(value, str) else value)
        assert reason in f"{caught.type.__name__}: {caught.value}"
        return
    function, argument = (
        (_core.canonicalize, given["json_text"].encode())
        if "json_text" in given
        else (_core.canonical_json, in_memory(given["value"]))
    )
    with pytest.raises(InvalidInputError) as refused:
        function(argument)
    assert refused.value.reason == reason
