"""Schema versions: the migrations shipped in the package, applied through Alembic."""

from __future__ import annotations

import logging
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from steelyard.errors import PreconditionError
from steelyard.records.engine import is_embedded, storage_errors, writing

__all__ = ["check_current", "current", "head", "upgrade"]

# Alembic tells at INFO that it looked at the schema, at each start of a server.
logging.getLogger("alembic").setLevel(logging.WARNING)

# Any fixed number: the advisory lock that upgrades of one PostgreSQL database share.
_UPGRADE_LOCK = 0x57EE1A4D


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def head() -> str:
    """The schema version that this release works with."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    assert revision is not None  # noqa: S101  the package always ships at least one version
    return revision


def current(engine: Engine) -> str | None:
    """The schema version of the store, None before the first upgrade."""
    with storage_errors(), engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def upgrade(engine: Engine) -> str:
    """Brings the store to `head()` in one transaction and returns it; nothing to do is fine.

    Servers that start at the same moment wait for each other. Raises PreconditionError when the
    store is newer than this release, UnavailableError or LimitError when it cannot be reached or
    written.
    """
    with storage_errors(), writing(engine).begin() as connection:
        if not is_embedded(engine):
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
        _refuse_newer(MigrationContext.configure(connection).get_current_revision())
        command.upgrade(_config(connection), "head")
    return head()


def check_current(engine: Engine) -> None:
    """Raises PreconditionError unless the store has exactly the schema of this release."""
    revision = current(engine)
    _refuse_newer(revision)
    if revision != head():
        raise PreconditionError(
            "SCHEMA_OUT_OF_DATE",
            f"the store has schema {revision or 'none'}, this release needs {head()}: "
            "run `steelyard db upgrade`",
        )


def _refuse_newer(revision: str | None) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision is not None and revision not in known:
        raise PreconditionError(
            "SCHEMA_TOO_NEW",
            f"the store has schema {revision}, which this release does not know",
        )
