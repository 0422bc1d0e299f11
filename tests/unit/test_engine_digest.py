"""The engine digest: anybody can recompute it from the sources."""

from __future__ import annotations

import hashlib
from pathlib import Path

import steelyard

ROOT = Path(__file__).parents[2]
SOURCES = {
    "Cargo.lock": (".lock",),
    "proto/steelyard": (".proto",),
    "rust_core": (".rs", ".toml"),
    "service/steelyard": (".py", ".json"),
}


def test_the_digest_is_that_of_the_sources() -> None:
    files = []
    for source, endings in SOURCES.items():
        path = ROOT / source
        found = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
        files += [file for file in found if file.suffix in endings]
    digest = hashlib.sha256()
    for name in sorted(file.relative_to(ROOT).as_posix() for file in files):
        content = (ROOT / name).read_bytes()
        for part in (name.encode(), content):
            digest.update(len(part).to_bytes(8, "big") + part)
    assert digest.hexdigest() == steelyard.ENGINE_DIGEST, "run make build"
