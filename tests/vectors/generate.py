"""Writes wire/*.json and hashes.json; with --check only tells which of them are out of date."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rfc8785

# Beside this script lie its parts; the reference answers lie with the support of the tests.
sys.path.append(str(Path(__file__).parents[2]))

import documents_cases
import followups_cases
import recorded_cases
import records_store
import results_cases
import runs_cases
import score_cases
from calls import table_of
from wire_format import Group, dump

HERE = Path(__file__).parent
WIRE = HERE / "wire"


def groups() -> Iterator[Group]:
    """Every vector file of the service's methods."""
    yield from score_cases.groups()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "records.db"
        records_store.fill(path)
        with records_store.opened(path) as store:
            table = table_of(store)
            for cases in (
                recorded_cases,
                runs_cases,
                results_cases,
                followups_cases,
                documents_cases,
            ):
                yield from cases.groups(table)


def hashes() -> str:
    """hashes.json: JSON texts, their canonical forms and object hashes.

    The recorded texts of canonical.json that RFC 8785 can hold, and the policy documents, whose
    hashes are the policy digests of the other vectors.
    """
    recorded = json.loads((HERE / "canonical.json").read_text(encoding="utf-8"))["cases"]
    texts = {case["id"]: case["input"].get("json_text") for case in recorded}
    for policy in score_cases.policies():
        # Not canonical: keys in another order, and spaces.
        document = dict(reversed(json.loads(policy.document).items()))
        texts[f"policy {policy.name}@{policy.version}"] = json.dumps(document)
    lines = []
    for name, text in texts.items():
        canonical = _canonical(text)
        if canonical is not None:
            case = {
                "name": name,
                "json": text,
                "canonical": canonical.decode(),
                "sha256": hashlib.sha256(canonical).hexdigest(),
            }
            lines.append(" " + json.dumps(case))
    description = "Object hash = lower-case hex SHA-256 of the RFC 8785 form of a JSON text."
    return "\n".join(
        [
            "{",
            f'"description": {json.dumps(description)},',
            '"cases": [',
            ",\n".join(lines),
            "]",
            "}",
            "",
        ]
    )


def _canonical(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return rfc8785.dumps(json.loads(text))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        return None  # it has no canonical form: beyond binary64, or half a surrogate pair


def files() -> dict[Path, str]:
    """Every generated file and its text."""
    made: dict[Path, Any] = {WIRE / f"{group.name}.json": dump(group) for group in groups()}
    return {**made, HERE / "hashes.json": hashes()}


def stale() -> list[str]:
    """The names of files that are not what this script would write, too many or too few."""
    made = files()
    wrong = {
        path
        for path, text in made.items()
        if not path.exists() or path.read_text(encoding="ascii") != text
    }
    return sorted(path.name for path in wrong | (set(WIRE.glob("*.json")) - made.keys()))


def main() -> int:
    """Exit code 1 when --check finds a difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    if parser.parse_args().check:
        for name in stale():
            print(f"{name} is out of date: run make vectors")
        return 1 if stale() else 0
    made = files()
    for path in WIRE.glob("*.json"):
        path.unlink()
    for path, text in made.items():
        path.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
