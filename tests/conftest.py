"""Fixtures that more than one kind of test needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.client import Client
from steelyard.server.app import build
from steelyard.settings import load_settings

# The small broken projects there are read by tools, not run by us.
collect_ignore = ["fixtures"]

VECTORS = Path(__file__).parent / "vectors"
POLICIES = VECTORS / "policies"


@pytest.fixture(scope="session", autouse=True)
def default_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Servers and commands of tests keep their records here, never in the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        store = str(tmp_path_factory.mktemp("store") / "records.db")
        patch.setenv("STEELYARD_STORE", store)
        yield store


@pytest.fixture(scope="session")
def score_vectors() -> dict[str, Any]:
    """Every recorded blend, the digests of all overalls and 204 whole tasks."""
    return json.loads((VECTORS / "score.json").read_text())


@pytest.fixture(scope="session")
def server_address() -> Iterator[str]:
    """A real server on a free port of the loopback, with the policies of the vectors."""
    settings = load_settings({"address": "127.0.0.1:0", "policies": POLICIES, "grace_seconds": 1})
    transport = build(settings)
    transport.start()
    yield f"127.0.0.1:{transport.port}"
    transport.stop()


@pytest.fixture(scope="session")
def client(server_address: str) -> Iterator[Client]:
    """A client of that server."""
    with Client(server_address, timeout=60) as connected:
        yield connected
