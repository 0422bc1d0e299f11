"""What the RecordsService and the CLI need of a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from steelyard.records.documents import CheckedDocument
from steelyard.records.followups import FollowUpChange
from steelyard.records.model import (
    Aggregates,
    BoardTask,
    DocumentFilter,
    FinishRequest,
    FollowUpFilter,
    FollowUpRecord,
    GateReport,
    OutboxItem,
    Page,
    PageRequest,
    PlaybookEntry,
    ResultFilter,
    ResultRecord,
    ResultSummary,
    RunDraft,
    RunEvent,
    RunFilter,
    RunRecord,
    RunStatus,
    StoredEvalResult,
    UnscoredResult,
)

__all__ = ["Records"]


class Records(Protocol):
    """See `steelyard.records.store.Store`, which is one."""

    def create_run(self, draft: RunDraft, timeout: float | None = None) -> RunRecord: ...
    def renew_run(
        self, run_id: str, lease_seconds: int = 0, timeout: float | None = None
    ) -> RunRecord: ...
    def finish_run(self, request: FinishRequest, timeout: float | None = None) -> RunRecord: ...
    def get_run(self, run_id: str) -> RunRecord: ...
    def list_runs(self, where: RunFilter, page: PageRequest) -> Page[RunRecord]: ...
    def events_after(
        self, run_id: str, sequence: int, limit: int = 500
    ) -> tuple[RunStatus, list[RunEvent]]: ...
    def save_unscored(self, result: UnscoredResult, timeout: float | None = None) -> bool: ...
    def get_result(self, run_id: str, task_id: str) -> ResultRecord: ...
    def list_results(self, where: ResultFilter, page: PageRequest) -> Page[ResultSummary]: ...
    def aggregate(self, where: ResultFilter, *, days: bool = False) -> Aggregates: ...
    def list_follow_ups(self, where: FollowUpFilter, page: PageRequest) -> Page[FollowUpRecord]: ...
    def change_follow_up(
        self, change: FollowUpChange, timeout: float | None = None
    ) -> FollowUpRecord: ...
    def list_board_tasks(self, page: PageRequest) -> Page[BoardTask]: ...
    def drain_outbox(
        self, limit: int = 0, hold_seconds: int = 0, timeout: float | None = None
    ) -> Sequence[OutboxItem]: ...
    def acknowledge(self, number: int, task_id: str, timeout: float | None = None) -> None: ...
    def save_eval_result(
        self, checked: CheckedDocument, timeout: float | None = None
    ) -> StoredEvalResult: ...
    def get_eval_result(self, eval_id: str) -> StoredEvalResult: ...
    def list_eval_results(
        self, where: DocumentFilter, page: PageRequest
    ) -> Page[StoredEvalResult]: ...
    def save_gate_report(
        self, checked: CheckedDocument, timeout: float | None = None
    ) -> GateReport: ...
    def get_gate_report(self, report_id: str) -> GateReport: ...
    def list_gate_reports(self, where: DocumentFilter, page: PageRequest) -> Page[GateReport]: ...
    def save_playbook_entry(
        self, checked: CheckedDocument, timeout: float | None = None
    ) -> PlaybookEntry: ...
    def list_playbook_entries(
        self, where: DocumentFilter, page: PageRequest
    ) -> Page[PlaybookEntry]: ...
