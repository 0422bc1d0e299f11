"""Five languages, the same vectors, the same answers; and each notices a wrong one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from suite import CHECKS, VECTORS, Language, Restartable, run_client

# Building the Rust client from nothing takes minutes.
pytestmark = pytest.mark.timeout(1_800)


def cases(vectors: Path) -> list[dict[str, Any]]:
    files = [json.loads(path.read_text()) for path in sorted((vectors / "wire").glob("*.json"))]
    return [case for file in files for case in file["cases"]]


def test_client(client: Language, address: str, restartable: Restartable) -> None:
    outcome = run_client(client, address, restartable)
    assert (outcome.exit_code, outcome.summary[1]) == (0, 0), outcome.output
    # As many as there are: a client that leaves cases out does not agree with them.
    refused = sum(case["status"]["code"] != 0 for case in cases(VECTORS))
    assert outcome.counts["errors"] == (refused, 0)
    assert outcome.counts["vectors"] == (len(cases(VECTORS)) - refused, 0)
    hashes = json.loads((VECTORS / "hashes.json").read_text())["cases"]
    assert outcome.counts["hashes"] == (len(hashes), 0)
    assert [name for name in CHECKS if outcome.counts[name][0]] == list(CHECKS)


def altered(vectors: Path, name: str, alter: Callable[[Any], None]) -> None:
    path = vectors / name
    document = json.loads(path.read_text())
    alter(document)
    path.write_text(json.dumps(document))


def test_wrong_expectations_fail(
    client: Language, address: str, restartable: Restartable, tmp_path: Path
) -> None:
    vectors = tmp_path / "vectors"
    shutil.copytree(VECTORS / "wire", vectors / "wire")
    shutil.copy(VECTORS / "hashes.json", vectors)

    def one_more(file: Any) -> None:
        score = file["cases"][0]["responses"][0]["json"]["rows"]["results"][0]["score"]
        score["overallScore"] += 1

    def other_byte(file: Any) -> None:
        # The binary of an answer, not its JSON.
        file["cases"][0]["responses"][0]["binary"] = file["cases"][1]["responses"][0]["binary"]

    def other_field(file: Any) -> None:
        file["cases"][0]["status"]["violations"][0]["field"] += "s"

    def other_code(file: Any) -> None:
        file["cases"][0]["status"]["code"] = 5

    def other_event(file: Any) -> None:
        # The last of a stream.
        file["cases"][0]["responses"][-1]["json"]["event"]["taskId"] = "FN-1"

    def other_time(file: Any) -> None:
        # Of a type that only records have; no mask covers it here.
        file["cases"][0]["responses"][0]["json"]["run"]["createdAt"] = "2024-01-15T09:00:01Z"

    def other_reason(file: Any) -> None:
        (token,) = (case for case in file["cases"] if case["name"] == "token_altered")
        token["status"]["reason"] = "PAGE_TOKEN_OTHER_LIST"

    def other_hash(file: Any) -> None:
        file["cases"][0]["sha256"] = "0" * 64

    altered(vectors, "wire/score_rows.json", one_more)
    altered(vectors, "wire/score_columns.json", other_byte)
    altered(vectors, "wire/score_errors.json", other_field)
    altered(vectors, "wire/unknown_method.json", other_code)
    altered(vectors, "wire/records_watch_run.json", other_event)
    altered(vectors, "wire/records_get_run.json", other_time)
    altered(vectors, "wire/records_list_results.json", other_reason)
    altered(vectors, "hashes.json", other_hash)
    outcome = run_client(client, address, restartable, ("vectors", "errors", "hashes"), vectors)
    assert outcome.exit_code == 1, outcome.output
    failed = {name: count[1] for name, count in outcome.counts.items()}
    assert failed == {"vectors": 4, "errors": 3, "hashes": 1}, outcome.output
