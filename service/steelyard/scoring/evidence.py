"""The evidence bundle: references and bounded excerpts that a task evaluation rests on.

Eight groups in a fixed order, each ordered by time and capped with the newest kept. An id never
depends on order or caps: it holds the entry's place in the list it came from, so a citation stays
valid however the bundle is normalised again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from steelyard.errors import InvalidInputError, LimitError
from steelyard.scoring.instant import UNKNOWN, Instant, parse_instant
from steelyard.scoring.text import clean, cut, is_blank, shorten

__all__ = [
    "CAPS",
    "EXCERPT_UNITS",
    "FIELD_NAMES",
    "SUBJECT_UNITS",
    "Commit",
    "Entry",
    "Evidence",
    "EvidenceBundle",
    "Group",
    "LogEntry",
    "Review",
    "Severity",
    "StepStatus",
    "WorkflowStep",
    "bundle_document",
    "normalise",
    "read_sha",
]

EXCERPT_UNITS = 500
SUBJECT_UNITS = 160

# Bounds on what is accepted before the caps choose what is kept.
MAX_ENTRIES = 10_000
MAX_TEXT = 1_048_576
MAX_DURATION_MS = 2**53 - 1
MAX_DROPPED = 10**9


class Group(StrEnum):
    """The groups of a bundle, in their fixed order."""

    TASK_METADATA = "taskMetadata"
    COMMITS = "commits"
    WORKFLOW = "workflow"
    REVIEWS = "reviews"
    DOCUMENTS = "documents"
    TASK_ACTIVITY = "taskActivity"
    AGENT_LOGS = "agentLogs"
    RUN_AUDIT = "runAudit"


CAPS: Mapping[Group, int] = MappingProxyType(
    {group: 20 if group is Group.COMMITS else 25 for group in Group}
)

_ID_PREFIXES: Mapping[Group, str] = MappingProxyType(
    {
        Group.TASK_METADATA: "task-metadata-",
        Group.COMMITS: "commit-",
        Group.WORKFLOW: "workflow-",
        Group.REVIEWS: "review-",
        Group.DOCUMENTS: "doc-",
        Group.TASK_ACTIVITY: "task-activity-",
        Group.AGENT_LOGS: "agent-log-",
        Group.RUN_AUDIT: "run-audit-",
    }
)

# The field of `Evidence` that holds each group.
FIELD_NAMES: Mapping[Group, str] = MappingProxyType(
    {group: re.sub("([A-Z])", r"_\1", group.value).lower() for group in Group}
)

_INDEX = re.compile("[1-9][0-9]{0,8}")
_SHA = re.compile("[0-9a-f]{7,64}")


class StepStatus(StrEnum):
    """How a workflow step ended. An advisory failure counts as failed, skipped only in total."""

    PASSED = "passed"
    FAILED = "failed"
    ADVISORY_FAILURE = "advisory_failure"
    SKIPPED = "skipped"
    PENDING = "pending"


class Severity(StrEnum):
    """How grave a log entry is, as its writer declared it."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One piece of evidence; metadata and documents need no more than this.

    `label` names it for people (at most 160 UTF-16 units are kept), `timestamp` is RFC 3339 with an
    offset or empty when unknown, `excerpt` is a short quotation (at most 500 units are kept).
    `id` is empty until the bundle is normalised. `truncated` says that the excerpt was cut,
    `repaired` that a NUL or a lone surrogate was replaced by U+FFFD.
    """

    label: str = ""
    timestamp: str = ""
    excerpt: str = ""
    id: str = ""
    truncated: bool = False
    repaired: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Entry):
    """A commit: 7 to 64 hex digits of its sha; 160 units of the subject are kept, unmarked."""

    sha: str
    subject: str = ""
    author_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowStep(Entry):
    """A step of the workflow, with its duration in milliseconds where that was measured."""

    status: StepStatus
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Entry):
    """A review; `status` is the caller's word, of which only "approved" has a meaning here."""

    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry(Entry):
    """An entry of task activity, an agent log or a run audit."""

    severity: Severity = Severity.INFO
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a caller knows about a task: at most 10,000 entries a group, in recorded order.

    `dropped` says how many entries of each group an earlier normalisation left out, at most 10^9.
    """

    task_metadata: tuple[Entry, ...] = ()
    commits: tuple[Commit, ...] = ()
    workflow: tuple[WorkflowStep, ...] = ()
    reviews: tuple[Review, ...] = ()
    documents: tuple[Entry, ...] = ()
    task_activity: tuple[LogEntry, ...] = ()
    agent_logs: tuple[LogEntry, ...] = ()
    run_audit: tuple[LogEntry, ...] = ()
    dropped: Mapping[Group, int] = field(default_factory=dict)

    def entries(self, group: Group) -> tuple[Entry, ...]:
        """The entries of one group."""
        entries: tuple[Entry, ...] = getattr(self, FIELD_NAMES[group])
        return entries


@dataclass(frozen=True, slots=True)
class EvidenceBundle:
    """Normalised evidence and the group of every id in it. Only `normalise` makes one."""

    evidence: Evidence
    sources: Mapping[str, Group]


E = TypeVar("E", bound=Entry)


def normalise(evidence: Evidence, path: str = "evidence") -> EvidenceBundle:
    """Give every entry its id, repair and bound its texts, order each group and apply the caps.

    Normalising the result again changes nothing.

    Errors: InvalidInputError with TIMESTAMP_INVALID, SHA_INVALID, EVIDENCE_ID_INVALID,
    EVIDENCE_ID_DUPLICATE or COUNT_OUT_OF_RANGE; LimitError TOO_MANY_ENTRIES or TEXT_TOO_LONG. Each
    names the field.
    """
    sources: dict[str, Group] = {}
    dropped: dict[Group, int] = {}

    def group(which: Group, entries: Sequence[E]) -> tuple[E, ...]:
        kept, left_out = _normalise_group(which, entries, f"{path}.{FIELD_NAMES[which]}")
        before = evidence.dropped.get(which, 0)
        _check_range(before, MAX_DROPPED, f"{path}.dropped.{FIELD_NAMES[which]}")
        dropped[which] = before + left_out
        sources.update((entry.id, which) for entry in kept)
        return kept

    normal = Evidence(
        task_metadata=group(Group.TASK_METADATA, evidence.task_metadata),
        commits=group(Group.COMMITS, evidence.commits),
        workflow=group(Group.WORKFLOW, evidence.workflow),
        reviews=group(Group.REVIEWS, evidence.reviews),
        documents=group(Group.DOCUMENTS, evidence.documents),
        task_activity=group(Group.TASK_ACTIVITY, evidence.task_activity),
        agent_logs=group(Group.AGENT_LOGS, evidence.agent_logs),
        run_audit=group(Group.RUN_AUDIT, evidence.run_audit),
        dropped=MappingProxyType(dropped),
    )
    return EvidenceBundle(normal, MappingProxyType(sources))


def bundle_document(bundle: EvidenceBundle) -> dict[str, object]:
    """The bundle as JSON: its eight groups in order, then `dropped`. Empty fields are left out."""
    document: dict[str, object] = {
        group.value: [_entry_document(entry) for entry in bundle.evidence.entries(group)]
        for group in Group
    }
    document["dropped"] = {group.value: bundle.evidence.dropped.get(group, 0) for group in Group}
    return document


def read_sha(commit: Commit, path: str) -> str:
    """The sha of a commit in lower case.

    Errors: InvalidInputError SHA_INVALID at `path`.sha.
    """
    sha = commit.sha.lower()
    if not _SHA.fullmatch(sha):
        raise InvalidInputError.at(f"{path}.sha", "SHA_INVALID", "must be 7 to 64 hex digits")
    return sha


def _normalise_group(group: Group, entries: Sequence[E], path: str) -> tuple[tuple[E, ...], int]:
    if len(entries) > MAX_ENTRIES:
        raise LimitError.at(
            path, "TOO_MANY_ENTRIES", f"has {len(entries)} entries, at most {MAX_ENTRIES} are read"
        )
    placed: list[tuple[Instant, int, E]] = []
    seen: set[str] = set()
    for position, raw in enumerate(entries):
        at = f"{path}[{position}]"
        entry = _repair(raw, at)
        when = parse_instant(raw.timestamp, f"{at}.timestamp") if raw.timestamp else UNKNOWN
        index, entry = _identify(group, position + 1, entry, at)
        if entry.id in seen:
            if isinstance(entry, Commit):
                continue
            raise InvalidInputError.at(f"{at}.id", "EVIDENCE_ID_DUPLICATE", f"{entry.id} is taken")
        seen.add(entry.id)
        placed.append((when, index, entry))
    placed.sort(key=lambda item: item[:2])
    kept = placed[-CAPS[group] :]
    return tuple(entry for _, _, entry in kept), len(placed) - len(kept)


def _repair(entry: E, path: str) -> E:
    """The entry with storable, bounded texts, marked when one had to be repaired."""
    names = ["label", "excerpt"]
    if isinstance(entry, Commit):
        names += ["subject", "author_name"]
    elif isinstance(entry, Review):
        names.append("status")
    elif isinstance(entry, WorkflowStep | LogEntry) and entry.duration_ms is not None:
        _check_range(entry.duration_ms, MAX_DURATION_MS, f"{path}.duration_ms")
    texts: dict[str, str] = {}
    repaired = entry.repaired
    truncated = entry.truncated
    for name in names:
        raw: str = getattr(entry, name)
        if len(raw) > MAX_TEXT:
            raise LimitError.at(
                f"{path}.{name}", "TEXT_TOO_LONG", f"is longer than {MAX_TEXT} characters"
            )
        text = clean(raw)
        repaired = repaired or text != raw
        if name == "excerpt":
            texts[name], was_cut = shorten(text, EXCERPT_UNITS)
            truncated = truncated or was_cut
        else:
            texts[name] = cut(text, SUBJECT_UNITS)
    return replace(entry, **texts, repaired=repaired, truncated=truncated)


def _identify(group: Group, position: int, entry: E, path: str) -> tuple[int, E]:
    """The entry's original index and the entry with its id, a commit also with a label."""
    prefix = _ID_PREFIXES[group]
    index = position
    if isinstance(entry, Commit):
        sha = read_sha(entry, path)
        expected = prefix + sha
        label = entry.label
        if is_blank(label):
            label = f"commit {position}" if is_blank(entry.subject) else entry.subject
        entry = replace(entry, sha=sha, label=label)
    else:
        number = entry.id.removeprefix(prefix)
        if entry.id.startswith(prefix) and _INDEX.fullmatch(number):
            index = int(number)
        expected = f"{prefix}{index}"
    if entry.id not in ("", expected):
        raise InvalidInputError.at(
            f"{path}.id", "EVIDENCE_ID_INVALID", f"must be empty or of the form {expected}"
        )
    return index, replace(entry, id=expected)


def _check_range(value: int, limit: int, path: str) -> None:
    if type(value) is not int or not 0 <= value <= limit:
        raise InvalidInputError.at(
            path, "COUNT_OUT_OF_RANGE", f"must be an integer between 0 and {limit}"
        )


def _entry_document(entry: Entry) -> dict[str, object]:
    document: dict[str, object] = {"id": entry.id}
    optional: dict[str, object] = {"label": entry.label, "timestamp": entry.timestamp}
    match entry:
        case Commit():
            optional |= {
                "sha": entry.sha,
                "subject": entry.subject,
                "authorName": entry.author_name,
            }
        case WorkflowStep():
            optional |= {"status": entry.status.value, "durationMs": entry.duration_ms}
        case Review():
            optional["status"] = entry.status
        case LogEntry():
            optional |= {"severity": entry.severity.value, "durationMs": entry.duration_ms}
        case _:
            pass
    optional |= {
        "excerpt": entry.excerpt,
        "truncated": entry.truncated,
        "repaired": entry.repaired,
    }
    # Not by truth value: a duration of 0 ms is a measurement and stays.
    document |= {
        key: value
        for key, value in optional.items()
        if value is not None and value is not False and value != ""
    }
    return document
