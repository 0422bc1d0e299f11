"""The tables, the same on SQLite and PostgreSQL.

Times are BIGINT microseconds since 1970, `number` columns are record numbers (see `numbering`),
JSON documents are TEXT: the stores then agree to the byte, and a document comes back as it was
stored. Everything that lists filter or order by is a column of its own. Wide documents of results
stand in their own table, so that aggregates scan narrow rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from steelyard.records.model import EventType, ResultStatus, RunStatus, Trigger
from steelyard.scoring.followups import SuggestionState

__all__ = [
    "board_tasks",
    "evaluations",
    "follow_ups",
    "gate_reports",
    "idempotency_keys",
    "metadata",
    "outbox",
    "playbook_entries",
    "result_categories",
    "result_documents",
    "results",
    "run_events",
    "runs",
    "store_settings",
]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# A SQLite INTEGER primary key is the row id itself: no second index.
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")
_ID = String(200)
_WORD = String(40)


def _one_of(column: str, words: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{word.value}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def _number() -> Column[int]:
    return Column("number", _NUMBER, primary_key=True, autoincrement=False)


def _newest_first(*names: str) -> Iterable[Index]:
    """Indexes that serve a list filtered by one column, newest first."""
    return (Index(None, name, "number") for name in names)


runs = Table(
    "eval_runs",
    metadata,
    _number(),
    Column("run_id", _ID, nullable=False, unique=True),
    Column("trigger", _WORD, nullable=False),
    Column("status", _WORD, nullable=False),
    Column("summary", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("scored", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("errors", Integer, nullable=False),
    Column("event_count", Integer, nullable=False),
    Column("lease_seconds", Integer, nullable=False),
    Column("lease_expires_at", BigInteger),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    # The tick of a scheduled run: one run per tick, whichever server comes first.
    Column("schedule_tick", BigInteger, unique=True),
    Column("window_start", BigInteger),
    Column("window_end", BigInteger),
    Column("aggregates", Text),
    _one_of("status", RunStatus),
    _one_of("trigger", Trigger),
    *_newest_first("status", "trigger"),
    # What the lease keeper asks every few seconds.
    Index(
        "ix_eval_runs_leases",
        "lease_expires_at",
        sqlite_where=text("status = 'running'"),
        postgresql_where=text("status = 'running'"),
    ),
)

results = Table(
    "eval_task_results",
    metadata,
    _number(),
    Column("run_id", _ID, ForeignKey("eval_runs.run_id"), nullable=False),
    Column("task_id", _ID, nullable=False),
    Column("status", _WORD, nullable=False),
    Column("overall_score", Integer),
    Column("band", _WORD, nullable=False),
    Column("policy_name", _ID, nullable=False),
    Column("policy_version", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    UniqueConstraint("run_id", "task_id"),
    _one_of("status", ResultStatus),
    CheckConstraint("overall_score BETWEEN 0 AND 100", name="overall_in_range"),
    CheckConstraint(
        "(status = 'scored') = (overall_score IS NOT NULL)", name="overall_when_scored"
    ),
    *_newest_first("run_id", "task_id", "band"),
)

result_documents = Table(
    "eval_result_documents",
    metadata,
    Column(
        "number",
        _NUMBER,
        ForeignKey("eval_task_results.number"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("document", Text, nullable=False),
)

result_categories = Table(
    "eval_result_categories",
    metadata,
    Column(
        "number",
        _NUMBER,
        ForeignKey("eval_task_results.number"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("category", _ID, nullable=False),
    Column("deterministic_score", Integer, nullable=False),
    Column("ai_score", Integer, nullable=False),
    Column("final_score", Integer, nullable=False),
    CheckConstraint("final_score BETWEEN 0 AND 100", name="final_in_range"),
    sqlite_with_rowid=False,
)

run_events = Table(
    "eval_run_events",
    metadata,
    Column("run_id", _ID, ForeignKey("eval_runs.run_id"), primary_key=True),
    Column("sequence", Integer, primary_key=True, autoincrement=False),
    Column("type", _WORD, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("task_id", _ID, nullable=False),
    Column("message", Text, nullable=False),
    _one_of("type", EventType),
    sqlite_with_rowid=False,
)

_ACTIVE_SUGGESTION = text("state IN ('suggested', 'created')")

follow_ups = Table(
    "eval_follow_ups",
    metadata,
    _number(),
    Column("run_id", _ID, nullable=False),
    Column("task_id", _ID, nullable=False),
    Column("suggestion_id", _ID, nullable=False),
    Column("state", _WORD, nullable=False),
    Column("suppressed_reason", _WORD, nullable=False),
    Column("matched_task_id", _ID, nullable=False),
    Column("matched_suggestion_id", _ID, nullable=False),
    Column("created_task_id", _ID, nullable=False),
    Column("note", Text, nullable=False),
    # The suggestion without its fate, which the columns have.
    Column("document", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    _one_of("state", SuggestionState),
    *_newest_first("run_id", "task_id", "state"),
    # A suggestion is open or created once, whatever two servers do at the same moment.
    Index(
        "uq_eval_follow_ups_active",
        "suggestion_id",
        unique=True,
        sqlite_where=_ACTIVE_SUGGESTION,
        postgresql_where=_ACTIVE_SUGGESTION,
    ),
)

board_tasks = Table(
    "board_tasks",
    metadata,
    _number(),
    Column("task_id", _ID, nullable=False, unique=True),
    Column("suggestion_id", _ID, nullable=False, unique=True),
    Column("board_column", _WORD, nullable=False),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("source_parent_task_id", _ID, nullable=False),
    Column("source_metadata", Text, nullable=False),
    *_newest_first("source_parent_task_id"),
)

outbox = Table(
    "outbox",
    metadata,
    _number(),
    Column("suggestion_id", _ID, nullable=False, unique=True),
    Column("task", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    # Until when a drained item is with one drainer; 0 when it is with none.
    Column("held_until", BigInteger, nullable=False),
    Column("acknowledged_at", BigInteger),
    Column("external_task_id", _ID, nullable=False),
    Index(
        "ix_outbox_pending",
        "number",
        sqlite_where=text("acknowledged_at IS NULL"),
        postgresql_where=text("acknowledged_at IS NULL"),
    ),
)

evaluations = Table(
    "evaluations",
    metadata,
    _number(),
    Column("eval_id", _ID, nullable=False, unique=True),
    Column("contract_id", _ID, nullable=False),
    Column("spec_id", _ID, nullable=False),
    Column("iteration", Integer, nullable=False),
    Column("overall_result", _WORD, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("document", Text, nullable=False),
    *_newest_first("contract_id", "overall_result"),
)

gate_reports = Table(
    "gate_reports",
    metadata,
    _number(),
    Column("report_id", _ID, nullable=False, unique=True),
    Column("squad", _ID, nullable=False),
    Column("verdict", _WORD, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("document", Text, nullable=False),
    *_newest_first("squad", "verdict"),
)

playbook_entries = Table(
    "playbook_entries",
    metadata,
    _number(),
    Column("squad", _ID, nullable=False),
    Column("entry_id", _ID, nullable=False),
    Column("status", _WORD, nullable=False),
    Column("document", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    UniqueConstraint("squad", "entry_id"),
    *_newest_first("squad", "status"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("scope", _WORD, primary_key=True),
    Column("key", _ID, primary_key=True),
    Column("content_hash", String(64), nullable=False),
    # What the first call made: a JSON list of the ids that name it.
    Column("made", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

store_settings = Table(
    "store_settings",
    metadata,
    Column("name", _WORD, primary_key=True),
    Column("value", Text, nullable=False),
)
