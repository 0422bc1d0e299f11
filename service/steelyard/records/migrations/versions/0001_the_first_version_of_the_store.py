"""The first version of the store."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "board_tasks",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("task_id", sa.String(length=200), nullable=False),
        sa.Column("suggestion_id", sa.String(length=200), nullable=False),
        sa.Column("board_column", sa.String(length=40), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("source_parent_task_id", sa.String(length=200), nullable=False),
        sa.Column("source_metadata", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_board_tasks"),
        sa.UniqueConstraint("suggestion_id", name="uq_board_tasks_suggestion_id"),
        sa.UniqueConstraint("task_id", name="uq_board_tasks_task_id"),
    )
    op.create_index(
        "ix_board_tasks_source_parent_task_id_number",
        "board_tasks",
        ["source_parent_task_id", "number"],
        unique=False,
    )
    op.create_table(
        "eval_follow_ups",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("run_id", sa.String(length=200), nullable=False),
        sa.Column("task_id", sa.String(length=200), nullable=False),
        sa.Column("suggestion_id", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("suppressed_reason", sa.String(length=40), nullable=False),
        sa.Column("matched_task_id", sa.String(length=200), nullable=False),
        sa.Column("matched_suggestion_id", sa.String(length=200), nullable=False),
        sa.Column("created_task_id", sa.String(length=200), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "state IN ('suggested', 'suppressed', 'created')", name="ck_eval_follow_ups_state_known"
        ),
        sa.PrimaryKeyConstraint("number", name="pk_eval_follow_ups"),
    )
    op.create_index(
        "ix_eval_follow_ups_run_id_number", "eval_follow_ups", ["run_id", "number"], unique=False
    )
    op.create_index(
        "ix_eval_follow_ups_state_number", "eval_follow_ups", ["state", "number"], unique=False
    )
    op.create_index(
        "ix_eval_follow_ups_task_id_number", "eval_follow_ups", ["task_id", "number"], unique=False
    )
    op.create_index(
        "uq_eval_follow_ups_active",
        "eval_follow_ups",
        ["suggestion_id"],
        unique=True,
        sqlite_where=sa.text("state IN ('suggested', 'created')"),
        postgresql_where=sa.text("state IN ('suggested', 'created')"),
    )
    op.create_table(
        "eval_runs",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("run_id", sa.String(length=200), nullable=False),
        sa.Column("trigger", sa.String(length=40), nullable=False),
        sa.Column("status", sa.String(length=40), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("scored", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("errors", sa.Integer(), nullable=False),
        sa.Column("event_count", sa.Integer(), nullable=False),
        sa.Column("lease_seconds", sa.Integer(), nullable=False),
        sa.Column("lease_expires_at", sa.BigInteger(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("schedule_tick", sa.BigInteger(), nullable=True),
        sa.Column("window_start", sa.BigInteger(), nullable=True),
        sa.Column("window_end", sa.BigInteger(), nullable=True),
        sa.Column("aggregates", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'running', 'completed', 'failed', 'cancelled')",
            name="ck_eval_runs_status_known",
        ),
        sa.CheckConstraint(
            "trigger IN ('manual', 'schedule', 'api', 'task_completion')",
            name="ck_eval_runs_trigger_known",
        ),
        sa.PrimaryKeyConstraint("number", name="pk_eval_runs"),
        sa.UniqueConstraint("run_id", name="uq_eval_runs_run_id"),
        sa.UniqueConstraint("schedule_tick", name="uq_eval_runs_schedule_tick"),
    )
    op.create_index(
        "ix_eval_runs_leases",
        "eval_runs",
        ["lease_expires_at"],
        unique=False,
        sqlite_where=sa.text("status = 'running'"),
        postgresql_where=sa.text("status = 'running'"),
    )
    op.create_index("ix_eval_runs_status_number", "eval_runs", ["status", "number"], unique=False)
    op.create_index("ix_eval_runs_trigger_number", "eval_runs", ["trigger", "number"], unique=False)
    op.create_table(
        "evaluations",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("eval_id", sa.String(length=200), nullable=False),
        sa.Column("contract_id", sa.String(length=200), nullable=False),
        sa.Column("spec_id", sa.String(length=200), nullable=False),
        sa.Column("iteration", sa.Integer(), nullable=False),
        sa.Column("overall_result", sa.String(length=40), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_evaluations"),
        sa.UniqueConstraint("eval_id", name="uq_evaluations_eval_id"),
    )
    op.create_index(
        "ix_evaluations_contract_id_number", "evaluations", ["contract_id", "number"], unique=False
    )
    op.create_index(
        "ix_evaluations_overall_result_number",
        "evaluations",
        ["overall_result", "number"],
        unique=False,
    )
    op.create_table(
        "gate_reports",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("report_id", sa.String(length=200), nullable=False),
        sa.Column("squad", sa.String(length=200), nullable=False),
        sa.Column("verdict", sa.String(length=40), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_gate_reports"),
        sa.UniqueConstraint("report_id", name="uq_gate_reports_report_id"),
    )
    op.create_index(
        "ix_gate_reports_squad_number", "gate_reports", ["squad", "number"], unique=False
    )
    op.create_index(
        "ix_gate_reports_verdict_number", "gate_reports", ["verdict", "number"], unique=False
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("made", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "key", name="pk_idempotency_keys"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outbox",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("suggestion_id", sa.String(length=200), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        sa.Column("acknowledged_at", sa.BigInteger(), nullable=True),
        sa.Column("external_task_id", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_outbox"),
        sa.UniqueConstraint("suggestion_id", name="uq_outbox_suggestion_id"),
    )
    op.create_index(
        "ix_outbox_pending",
        "outbox",
        ["number"],
        unique=False,
        sqlite_where=sa.text("acknowledged_at IS NULL"),
        postgresql_where=sa.text("acknowledged_at IS NULL"),
    )
    op.create_table(
        "playbook_entries",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("squad", sa.String(length=200), nullable=False),
        sa.Column("entry_id", sa.String(length=200), nullable=False),
        sa.Column("status", sa.String(length=40), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_playbook_entries"),
        sa.UniqueConstraint("squad", "entry_id", name="uq_playbook_entries_squad_entry_id"),
    )
    op.create_index(
        "ix_playbook_entries_squad_number", "playbook_entries", ["squad", "number"], unique=False
    )
    op.create_index(
        "ix_playbook_entries_status_number", "playbook_entries", ["status", "number"], unique=False
    )
    settings = op.create_table(
        "store_settings",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_store_settings"),
    )
    # The key that page tokens of this store are checked with; see steelyard.records.paging.
    op.bulk_insert(settings, [{"name": "page_token_key", "value": secrets.token_hex(32)}])
    op.create_table(
        "eval_run_events",
        sa.Column("run_id", sa.String(length=200), nullable=False),
        sa.Column("sequence", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.String(length=200), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "type IN ('run_created', 'run_started', 'result_stored', "
            "'run_completed', 'run_failed', 'run_cancelled')",
            name="ck_eval_run_events_type_known",
        ),
        sa.ForeignKeyConstraint(["run_id"], ["eval_runs.run_id"], name="fk_eval_run_events_run_id"),
        sa.PrimaryKeyConstraint("run_id", "sequence", name="pk_eval_run_events"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "eval_task_results",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("run_id", sa.String(length=200), nullable=False),
        sa.Column("task_id", sa.String(length=200), nullable=False),
        sa.Column("status", sa.String(length=40), nullable=False),
        sa.Column("overall_score", sa.Integer(), nullable=True),
        sa.Column("band", sa.String(length=40), nullable=False),
        sa.Column("policy_name", sa.String(length=200), nullable=False),
        sa.Column("policy_version", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "(status = 'scored') = (overall_score IS NOT NULL)",
            name="ck_eval_task_results_overall_when_scored",
        ),
        sa.CheckConstraint(
            "status IN ('scored', 'skipped', 'error')", name="ck_eval_task_results_status_known"
        ),
        sa.CheckConstraint(
            "overall_score BETWEEN 0 AND 100", name="ck_eval_task_results_overall_in_range"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["eval_runs.run_id"], name="fk_eval_task_results_run_id"
        ),
        sa.PrimaryKeyConstraint("number", name="pk_eval_task_results"),
        sa.UniqueConstraint("run_id", "task_id", name="uq_eval_task_results_run_id_task_id"),
    )
    op.create_index(
        "ix_eval_task_results_band_number", "eval_task_results", ["band", "number"], unique=False
    )
    op.create_index(
        "ix_eval_task_results_run_id_number",
        "eval_task_results",
        ["run_id", "number"],
        unique=False,
    )
    op.create_index(
        "ix_eval_task_results_task_id_number",
        "eval_task_results",
        ["task_id", "number"],
        unique=False,
    )
    op.create_table(
        "eval_result_categories",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("category", sa.String(length=200), nullable=False),
        sa.Column("deterministic_score", sa.Integer(), nullable=False),
        sa.Column("ai_score", sa.Integer(), nullable=False),
        sa.Column("final_score", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "final_score BETWEEN 0 AND 100", name="ck_eval_result_categories_final_in_range"
        ),
        sa.ForeignKeyConstraint(
            ["number"], ["eval_task_results.number"], name="fk_eval_result_categories_number"
        ),
        sa.PrimaryKeyConstraint("number", "position", name="pk_eval_result_categories"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "eval_result_documents",
        sa.Column("number", NUMBER, autoincrement=False, nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["number"], ["eval_task_results.number"], name="fk_eval_result_documents_number"
        ),
        sa.PrimaryKeyConstraint("number", name="pk_eval_result_documents"),
    )
