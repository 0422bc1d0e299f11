"""Stores to test: SQLite in a folder of the test, PostgreSQL in a private cluster."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from steelyard.records import migrate
from steelyard.records.engine import open_engine, store_url
from steelyard.records.schema import metadata
from steelyard.records.store import Store
from tests.support.postgres import Cluster, find_binaries

_TEMPLATE = "steelyard_template"
_names = itertools.count(1)
_databases: set[str] = set()
_EMPTY = "TRUNCATE " + ", ".join(set(metadata.tables) - {"store_settings"})

NewUrl = Callable[[], str]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    binaries = find_binaries()
    if binaries is None:
        if os.environ.get("CI") == "true":
            pytest.fail("PostgreSQL's server is missing: run `make postgres`")
        pytest.skip("PostgreSQL's server is not installed (initdb not found)")
    started = Cluster(binaries, fsync=False)
    try:
        started.execute(f"CREATE DATABASE {_TEMPLATE}")
        engine = open_engine(store_url(started.url(_TEMPLATE)))
        migrate.upgrade(engine)
        engine.dispose()
        yield started
    finally:
        started.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> NewUrl:
    """Makes URLs of empty stores with the present schema."""
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"records-{next(_names)}.db")
    private: Cluster = request.getfixturevalue("cluster")
    numbers = itertools.count(1)

    def make() -> str:
        # Emptying a database is far cheaper than making and removing one for each test.
        name = f"records_{next(numbers)}"
        if name in _databases:
            private.execute(_EMPTY, name)
        else:
            private.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE}")
            _databases.add(name)
        return private.url(name)

    return make


@pytest.fixture
def url(new_url: NewUrl) -> str:
    """The URL of one empty store."""
    return new_url()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """One open store."""
    with Store(url) as opened:
        yield opened
