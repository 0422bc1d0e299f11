"""Schema versions."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, create_engine, inspect, text

from steelyard.errors import InvalidInputError, PreconditionError, UnavailableError
from steelyard.records import migrate
from steelyard.records.engine import default_store, open_engine, store_url
from steelyard.records.model import PageRequest, ResultFilter
from steelyard.records.schema import metadata
from steelyard.records.store import Store
from tests.support.evaluations import evaluation
from tests.support.postgres import Cluster


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without any schema."""
    if request.param == "sqlite":
        return str(tmp_path / "deep" / "folder" / "records.db")
    private: Cluster = request.getfixturevalue("cluster")
    private.execute("DROP DATABASE IF EXISTS empty")
    private.execute("CREATE DATABASE empty")
    return private.url("empty")


def test_upgrade_brings_an_empty_database_to_the_newest_schema(empty_url: str) -> None:
    engine = open_engine(store_url(empty_url))
    assert migrate.current(engine) is None
    assert migrate.upgrade(engine) == migrate.head()
    assert migrate.current(engine) == migrate.head()
    tables = set(inspect(engine).get_table_names())
    assert tables == {*metadata.tables, "alembic_version"}
    assert migrate.upgrade(engine) == migrate.head()
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_a_store_that_is_not_upgraded_is_refused_or_upgraded(empty_url: str) -> None:
    if empty_url.startswith("postgresql"):
        with pytest.raises(PreconditionError) as caught:
            Store(empty_url)
        assert caught.value.reason == "SCHEMA_OUT_OF_DATE"
        engine = open_engine(store_url(empty_url))
        migrate.upgrade(engine)
        engine.dispose()
    with Store(empty_url) as store:
        store.save_evaluation(evaluation("t"), "")
        assert len(store.list_results(ResultFilter(), PageRequest()).items) == 1


def _upgrade(url: str) -> None:
    migrate.upgrade(open_engine(store_url(url)))


def test_servers_that_start_together_upgrade_once(empty_url: str) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_upgrade, args=(empty_url,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    engine = open_engine(store_url(empty_url))
    assert migrate.current(engine) == migrate.head()
    engine.dispose()


def test_a_store_of_a_newer_release_is_left_alone(url: str) -> None:
    engine = create_engine(store_url(url))
    if not url.startswith("postgresql"):
        migrate.upgrade(engine)
    try:
        _set_version(engine, "9999")
        with pytest.raises(PreconditionError) as caught:
            Store(url)
        assert caught.value.reason == "SCHEMA_TOO_NEW"
    finally:
        _set_version(engine, migrate.head())
        engine.dispose()


def _set_version(engine: Engine, version: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": version})


@pytest.mark.parametrize(
    "store", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "://", "postgresql+asyncpg://x/y"]
)
def test_urls_that_cannot_hold_records_are_refused(store: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        store_url(store)
    assert caught.value.reason == "STORE_URL_INVALID"


def test_the_embedded_store_is_a_file_of_the_user() -> None:
    assert store_url("").database == str(default_store())
    assert default_store().name == "records.db"
    assert store_url("~/x.db").database == str(Path("~/x.db").expanduser())
    assert store_url("postgres://h/d").drivername == "postgresql+psycopg"


def test_a_file_that_cannot_be_opened_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path, tmp_path / "file" / "records.db"):
        with pytest.raises(UnavailableError) as caught:
            Store(str(path))
        assert caught.value.reason == "STORE_UNAVAILABLE"


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "records.db").write_bytes(b"not a database at all " * 500)
    with pytest.raises(UnavailableError):
        Store(str(tmp_path / "records.db"))
