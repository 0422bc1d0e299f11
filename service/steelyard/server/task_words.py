"""The words of JSON documents and the values of the proto enums that stand for them."""

from __future__ import annotations

from steelyard.scoring.evidence import Group, Severity, StepStatus
from steelyard.scoring.followups import (
    FollowUpSetting,
    PolicyMode,
    Priority,
    SuggestionState,
    SuppressedReason,
)
from steelyard.server.words import WordTable
from steelyard.v1 import task_pb2

__all__ = [
    "GROUP",
    "MODE",
    "PRIORITY",
    "SETTING",
    "SEVERITY",
    "STATE",
    "STEP_STATUS",
    "SUPPRESSED_REASON",
]

STEP_STATUS = WordTable(
    {
        StepStatus.PASSED: task_pb2.STEP_STATUS_PASSED,
        StepStatus.FAILED: task_pb2.STEP_STATUS_FAILED,
        StepStatus.ADVISORY_FAILURE: task_pb2.STEP_STATUS_ADVISORY_FAILURE,
        StepStatus.SKIPPED: task_pb2.STEP_STATUS_SKIPPED,
        StepStatus.PENDING: task_pb2.STEP_STATUS_PENDING,
    }
)
SEVERITY = WordTable(
    {
        Severity.DEBUG: task_pb2.LOG_SEVERITY_DEBUG,
        Severity.INFO: task_pb2.LOG_SEVERITY_INFO,
        Severity.WARNING: task_pb2.LOG_SEVERITY_WARNING,
        Severity.ERROR: task_pb2.LOG_SEVERITY_ERROR,
    }
)
MODE = WordTable(
    {
        PolicyMode.PERSIST_ONLY: task_pb2.SUGGESTION_MODE_PERSIST_ONLY,
        PolicyMode.AUTO_CREATE_QUALIFIED: task_pb2.SUGGESTION_MODE_AUTO_CREATE_QUALIFIED,
        PolicyMode.CREATE_ALL_NON_DUPLICATES: task_pb2.SUGGESTION_MODE_CREATE_ALL_NON_DUPLICATES,
    }
)
PRIORITY = WordTable(
    {
        Priority.LOW: task_pb2.SUGGESTION_PRIORITY_LOW,
        Priority.NORMAL: task_pb2.SUGGESTION_PRIORITY_NORMAL,
        Priority.HIGH: task_pb2.SUGGESTION_PRIORITY_HIGH,
        Priority.URGENT: task_pb2.SUGGESTION_PRIORITY_URGENT,
    }
)
STATE = WordTable(
    {
        SuggestionState.SUGGESTED: task_pb2.SUGGESTION_STATE_SUGGESTED,
        SuggestionState.SUPPRESSED: task_pb2.SUGGESTION_STATE_SUPPRESSED,
        SuggestionState.CREATED: task_pb2.SUGGESTION_STATE_CREATED,
    }
)
SUPPRESSED_REASON = WordTable(
    {
        SuppressedReason.EMPTY_OR_GENERIC: task_pb2.SUPPRESSED_REASON_EMPTY_OR_GENERIC,
        SuppressedReason.INSUFFICIENT_SIGNAL: task_pb2.SUPPRESSED_REASON_INSUFFICIENT_SIGNAL,
        SuppressedReason.DUPLICATE_OPEN_TASK: task_pb2.SUPPRESSED_REASON_DUPLICATE_OPEN_TASK,
        SuppressedReason.DUPLICATE_PRIOR_SUGGESTION: (
            task_pb2.SUPPRESSED_REASON_DUPLICATE_PRIOR_SUGGESTION
        ),
        SuppressedReason.POLICY_FILTERED: task_pb2.SUPPRESSED_REASON_POLICY_FILTERED,
    }
)
GROUP = WordTable(
    {
        Group.TASK_METADATA: task_pb2.EVIDENCE_GROUP_TASK_METADATA,
        Group.COMMITS: task_pb2.EVIDENCE_GROUP_COMMITS,
        Group.WORKFLOW: task_pb2.EVIDENCE_GROUP_WORKFLOW,
        Group.REVIEWS: task_pb2.EVIDENCE_GROUP_REVIEWS,
        Group.DOCUMENTS: task_pb2.EVIDENCE_GROUP_DOCUMENTS,
        Group.TASK_ACTIVITY: task_pb2.EVIDENCE_GROUP_TASK_ACTIVITY,
        Group.AGENT_LOGS: task_pb2.EVIDENCE_GROUP_AGENT_LOGS,
        Group.RUN_AUDIT: task_pb2.EVIDENCE_GROUP_RUN_AUDIT,
    }
)
SETTING = WordTable(
    {
        FollowUpSetting.OFF: task_pb2.SUGGESTION_SETTING_OFF,
        FollowUpSetting.SUGGEST: task_pb2.SUGGESTION_SETTING_SUGGEST,
        FollowUpSetting.CREATE: task_pb2.SUGGESTION_SETTING_CREATE,
    }
)
