"""Recorded cases of paths, slugs and the playbook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.files import path_contained
from steelyard.gating.manifest import genome_bindings
from steelyard.gating.names import is_slug
from steelyard.gating.paths import shown_path
from steelyard.playbook import entry_key, sanitize
from steelyard.playbook.model import entry_id

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "gate_runner.json").read_text()
)

# Where the contract asks for something else than was recorded, the rule that asks for it.
DEVIATIONS = {
    "normalize_relative-004": "reports show the normal form of a path",
    "normalize_relative-009": "reports show the normal form of a path",
    "normalize_relative-008": "a path that is no text is an error of the precheck",
    "playbook_sanitize-013": "limits count code points; a text is never cut inside a character",
    "playbook_key-001": "the id is taken over length-prefixed fields",
    "playbook_key-002": "the id is taken over length-prefixed fields",
}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    match case["kind"]:
        case "slug":
            return {"valid": is_slug(given["slug"])}
        case "normalize_relative":
            path = given["path"]
            return {"path": shown_path(path) if isinstance(path, str) else None}
        case "genome_bindings":
            value = None if given["value"] == {"$js": "undefined"} else given["value"]
            bindings, _ = genome_bindings(value)
            return {
                "flattened": [
                    {
                        "slug": one.slug,
                        "status": one.status,
                        "compilationId": one.compilation_id,
                        "sourceHash": one.source_hash,
                        "priority": one.priority,
                    }
                    for one in bindings
                ]
            }
        case "path_contained":
            return {"contained": path_contained(given["root"], given["candidate"])}
        case "playbook_sanitize":
            return {"text": sanitize(given["text"], given["max"])}
        case "playbook_key":
            return {"key": entry_key(**given), "id": entry_id(**given)}
    raise AssertionError(f"nothing answers {case['kind']}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_recorded(case: dict[str, Any]) -> None:
    assert (answer(case) == case["output"]) == (case["id"] not in DEVIATIONS)


def test_the_key_itself_does_not_deviate() -> None:
    keys = [case for case in CASES if case["kind"] == "playbook_key"]
    assert [answer(case)["key"] for case in keys] == [case["output"]["key"] for case in keys]
    assert len(keys) == 2
