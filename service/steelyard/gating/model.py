"""The words of the gate: what the judge is told, and what it answers.

Everything here is frozen data. The judge is told facts only: the manifest, the bytes of the files
it refers to, the hashes of the workers' files and what each run of a worker returned. It derives
all the rest (hashes, contexts, payloads, statuses, the verdict) by itself, so that nothing derived
can be handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from steelyard.strictjson import JsonValue

__all__ = [
    "BrokenWorker",
    "CaseResult",
    "Comparison",
    "Completed",
    "Contexts",
    "Criterion",
    "CriterionResult",
    "DimensionResult",
    "DimensionSpec",
    "Evidence",
    "Execution",
    "ExecutionResult",
    "Executor",
    "Failed",
    "FileHash",
    "FileProblem",
    "Finding",
    "FoundFile",
    "GenomeBinding",
    "HeldOutCase",
    "JsonObject",
    "Kind",
    "Mismatch",
    "Precheck",
    "Project",
    "ProjectFile",
    "Prompts",
    "Provenance",
    "Reason",
    "Record",
    "Report",
    "RunLabel",
    "RunSpec",
    "Squad",
    "Status",
    "Verification",
    "Worker",
]

JsonObject: TypeAlias = "dict[str, JsonValue]"


class Status(StrEnum):
    """State of one judged thing, best first. A verdict is the same word in upper case."""

    PASS = "pass"  # noqa: S105 - a status, not a password
    NOT_APPLICABLE = "not-applicable"
    WARN = "warn"
    UNVERIFIED = "unverified"
    FAIL = "fail"


class Kind(StrEnum):
    """Kind of a criterion. Depth and grounding are always critical."""

    RESPONSIBILITY = "responsibility"
    DEPTH = "depth"
    GROUNDING = "grounding"
    HANDOFF = "handoff"
    ANTI_PATTERN = "anti_pattern"
    SCOPE = "scope"


class RunLabel(StrEnum):
    """Which run of a case, in the order in which they run."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"
    SCORER = "scorer"


# --- what the judge is told -------------------------------------------------------------------


class FileProblem(StrEnum):
    """Why a path has no content."""

    NOT_FOUND = "NOT_FOUND"
    ESCAPES = "ESCAPES"  # leaves the project, lexically or through a symlink
    NOT_REGULAR = "NOT_REGULAR"  # a folder, a device, a socket
    TOO_LARGE = "TOO_LARGE"
    UNREADABLE = "UNREADABLE"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the project.

    `path` is where it really is, relative to the project root, POSIX, after symlinks; it differs
    from the path that was asked for when a link stood in between.
    """

    path: str
    content: bytes


ProjectFile: TypeAlias = FoundFile | FileProblem


@dataclass(frozen=True, slots=True)
class FileHash:
    """A path and the lower-case hexadecimal SHA-256 of the file's bytes."""

    path: str
    hash: str


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker by content: EVERY file of its folder, lock files too.

    Paths are relative to the worker's own folder, so that a copy under another name is recognised.
    Order does not matter.
    """

    files: tuple[FileHash, ...]


@dataclass(frozen=True, slots=True)
class BrokenWorker:
    """Why a named worker cannot run: an UPPER_SNAKE reason and a sentence for people."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Project:
    """A squad as it lies in its project.

    squad: the slug it is asked for by.
    manifest: squad.manifest.json, read by `steelyard.strictjson.parse`.
    files: what lies at each path that `referenced_paths(manifest)` lists; a path that is not a key
        counts as NOT_FOUND.
    workers: what lies at each name that `worker_names(manifest)` lists; a name that is not a key
        counts as missing.
    """

    squad: str
    manifest: JsonValue
    files: Mapping[str, ProjectFile] = field(default_factory=dict)
    workers: Mapping[str, Worker | BrokenWorker] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Completed:
    """A run that returned JSON.

    `repeat_output_hash` is the object hash of what the same run returned when it was run once more,
    None when it was not run again or the second run failed.
    """

    output: JsonValue
    repeat_output_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that returned nothing usable.

    reason: an UPPER_SNAKE word (`TIMEOUT`, `EXIT_STATUS`, ...). The judge itself adds `NOT_RUN` for
    a run nobody reports, `PAYLOAD_MISMATCH` for a run that was given something else than the
    contract says, and `OUTPUT_NOT_CANONICAL` for output that canonical JSON cannot hold.
    detail: for people, without anything secret.
    """

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of one case.

    payload_hash: object hash of the payload that the worker was really given, None when none was.
    duration_ms: wall time, 0 or more. attempt: 1; there are no hidden retries.
    """

    case: str
    label: RunLabel
    outcome: Completed | Failed
    payload_hash: str | None = None
    duration_ms: int = 0
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a report comes from.

    generated_at: RFC 3339, UTC, milliseconds, `2026-01-02T03:04:05.678Z`.
    run_id: a UUID. command: what to type to run it again.
    """

    generated_at: str
    run_id: str
    command: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the judge is told. At most one execution per case and label."""

    project: Project
    executions: tuple[Execution, ...]
    provenance: Provenance


# --- the manifest, read -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Executor:
    """An agent of the squad; `file` is its prompt, a normal project path, None when not named."""

    slug: str
    file: str | None


@dataclass(frozen=True, slots=True)
class GenomeBinding:
    """A genome bound to the squad; only status `compiled` takes part in a comparison."""

    slug: str
    status: str
    compilation_id: str | None
    source_hash: str | None
    priority: float

    @property
    def compiled(self) -> bool:
        return self.status == "compiled"


@dataclass(frozen=True, slots=True)
class Criterion:
    """One atomic statement that an artifact must bear out, and the source that asks for it."""

    id: str
    kind: Kind
    statement: str
    source: str | None
    executor: str | None
    artifact: str | None
    expected: tuple[str, ...]
    critical: bool


@dataclass(frozen=True, slots=True)
class DimensionSpec:
    """One dimension of a case.

    threshold: 0 to 1; None when the manifest holds something else (the precheck fails then).
    margin: non-inferiority margin for sampled scores, 0 up to but not 1.
    declared: False for a dimension that only the scorer brought.
    """

    name: str
    threshold: float | None = 0.8
    critical: bool = False
    margin: float = 0.0
    declared: bool = True


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Which worker to run on which input. `worker` is None when no valid name is given."""

    worker: str | None
    input: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HeldOutCase:
    """One task that the squad was not built on, and how to check it."""

    id: str
    task: str
    executor: str | None
    baseline: RunSpec | None
    candidate: RunSpec | None
    scorer: RunSpec | None
    artifact: str | None
    expected_contains: tuple[str, ...]
    expected_not_contains: tuple[str, ...]
    deterministic: bool
    seed: int | None
    dimensions: tuple[DimensionSpec, ...]


@dataclass(frozen=True, slots=True)
class Squad:
    """The parts of a manifest that the gate reads."""

    slug: str | None
    executors: tuple[Executor, ...]
    source_docs: tuple[str, ...]
    bindings: tuple[GenomeBinding, ...]
    criteria: tuple[Criterion, ...]
    cases: tuple[HeldOutCase, ...]
    max_age_days: int
    ephemeral: bool
    regulated: bool
    defer_reason: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a manifest, and where in it: `evaluation.criteria[2].id`."""

    code: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Precheck:
    """What the strict check found before any worker ran. One error is enough for FAIL."""

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = ()

    @property
    def status(self) -> Status:
        return Status.FAIL if self.errors else Status.PASS


# --- what the project shows --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contexts:
    """The executors' prompts as one variant sees them.

    hash: object hash of [{executor, path, hash}].
    effects_present: the genome shows in at least one prompt.
    intact: every prompt is text without a stray marker, so genome off is really off.
    entries: what the worker is shown, [{executor, path, hash, content}]; None when the prompts
        themselves are not at hand.
    """

    hash: str
    effects_present: bool
    intact: bool
    entries: tuple[JsonObject, ...] | None


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts without (baseline) and with (candidate) their managed genome blocks."""

    genome_off: Contexts
    genome_on: Contexts


# --- verification -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Record:
    """A report that the squad's folder keeps: its run id and its recomputed evidence hash."""

    run_id: str
    evidence_hash: str


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One way in which a report differs from what it must be.

    code is an UPPER_SNAKE word, path leads to the element in the report
    (`held_out.cases[0].dimensions[1].status`, empty for the whole report). `expected` and `found`
    are JSON; None stands for null and for what is not there.
    """

    code: str
    path: str
    expected: JsonValue
    found: JsonValue


@dataclass(frozen=True, slots=True)
class Verification:
    """What verification found, and what it could not look at with what it was given.

    unchecked: PROJECT_FILES (no project: the files, the terms in them, the prompts and the payloads
    that carry prompts), RECORDS (nobody looked at what the squad keeps), SIGNATURE (the report has
    a member of that name, which is not looked at here).
    """

    mismatches: tuple[Mismatch, ...]
    unchecked: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.mismatches


# --- what the judge answers -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """A judged criterion.

    artifact: the path that was searched. missing: expected terms that are not there; for an
    anti_pattern criterion, expected terms that ARE there. reason: an UPPER_SNAKE word. The problems
    say why a source or an artifact proves nothing, None when it can be used.
    """

    criterion: Criterion
    status: Status
    reason: str
    artifact: str | None = None
    source_hash: str | None = None
    source_problem: str | None = None
    artifact_hash: str | None = None
    artifact_problem: str | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DimensionResult:
    """A judged dimension, or a guard (its name is reserved then).

    baseline, candidate, threshold: 0 to 1. delta_exact: candidate - baseline, binary64.
    statistics: what a sampled comparison found, as the report shows it.
    """

    name: str
    status: Status
    critical: bool
    reason: str
    baseline: float | None = None
    candidate: float | None = None
    delta_exact: float | None = None
    threshold: float | None = 1.0
    evidence: str | None = None
    statistics: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """A run with everything that the judge derived of it. None stands for what has no meaning."""

    label: RunLabel
    worker: str | None
    ok: bool
    failure: str | None
    detail: str
    attempt: int
    duration_ms: int
    seed: int | None
    genome_enabled: bool | None
    genome_effects_present: bool | None
    genome_context_hash: str | None
    worker_hash: str | None
    worker_sources: tuple[FileHash, ...]
    input_hash: str | None
    payload_hash: str | None
    output_hash: str | None
    repeat_output_hash: str | None
    output: JsonValue


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A judged case. `dimensions` ends with the guards that did not hold, in their fixed order."""

    case: HeldOutCase
    status: Status
    artifact: str | None
    artifact_hash: str | None
    artifact_problem: str | None
    missing: tuple[str, ...]
    forbidden: tuple[str, ...]
    scorer_independent: bool
    scorer_evidence_complete: bool
    ab_controlled: bool
    reproducible: bool
    dimensions: tuple[DimensionResult, ...]
    executions: tuple[ExecutionResult, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Genome off against genome on. `dimensions` pairs each compared dimension with its case id."""

    status: Status
    reason: str
    bindings: tuple[GenomeBinding, ...]
    dimensions: tuple[tuple[str, DimensionResult], ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the verdict is not PASS: one item, where it is in the report, and what it is worth.

    `status` is what the item alone would make of the verdict.
    """

    status: Status
    code: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """The judge's answer. `steelyard.gating.report.report_json` gives the published document.

    verdict: PASS, WARN, UNVERIFIED or FAIL, never NOT_APPLICABLE.
    reasons: every item that keeps the verdict from PASS, worst first, then in report order.
    required_changes: paths of the smallest set of items that would have to change for PASS.
    """

    squad: str
    provenance: Provenance
    engine_hash: str
    manifest: JsonValue
    manifest_hash: str
    sources: tuple[tuple[str, str | None], ...]
    artifacts: tuple[tuple[str, str | None], ...]
    prompts: Prompts
    verdict: Status
    precheck: Precheck
    source_rubric: Status
    criteria: tuple[CriterionResult, ...]
    held_out: Status
    cases: tuple[CaseResult, ...]
    comparison: Comparison
    reasons: tuple[Reason, ...]
    required_changes: tuple[str, ...]
