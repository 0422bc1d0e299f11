"""Observation: what the project itself shows, before anything is judged.

These are the facts that only somebody with the files can establish. A report carries all of them,
so that whoever has no files can still derive everything else from the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard._core import hash_object, sha256_hex
from steelyard.gating.envelope import prompts
from steelyard.gating.model import (
    BrokenWorker,
    Criterion,
    FileHash,
    FileProblem,
    Finding,
    FoundFile,
    HeldOutCase,
    Kind,
    Precheck,
    Project,
    ProjectFile,
    Prompts,
    Squad,
    Worker,
)
from steelyard.gating.names import is_slug
from steelyard.gating.paths import normal_path, shown_path
from steelyard.gating.references import manifest_reference
from steelyard.gating.text import (
    fold,
    is_foldable,
    is_visible,
    terms_absent,
    terms_present,
)
from steelyard.strictjson import JsonValue

__all__ = [
    "CaseFacts",
    "CriterionFacts",
    "Observations",
    "Searched",
    "WorkerFacts",
    "manifest_source",
    "observe",
    "source_inventory",
    "worker_facts",
]


@dataclass(frozen=True, slots=True)
class Searched:
    """A file or value that was looked up.

    path: as the report shows it, None when none was declared. problem: why it proves nothing:
    UNRESOLVED (a source), a FileProblem or NOT_TEXT (an artifact), EMPTY (both: it shows nothing).
    """

    path: str | None
    hash: str | None = None
    problem: str | None = None

    @property
    def readable(self) -> bool:
        return self.path is not None and self.problem in (None, "EMPTY")


@dataclass(frozen=True, slots=True)
class CriterionFacts:
    """missing: expected terms that the artifact lacks; for an anti_pattern, those that it holds."""

    source: Searched
    artifact: Searched
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """missing: asserted terms that the artifact lacks. forbidden: those it holds and must not."""

    artifact: Searched
    missing: tuple[str, ...]
    forbidden: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """A worker's files in path order, their object hash, and that of all but `worker.json`.

    The second hash is what it does rather than what it is called: two workers that differ in their
    description alone are the same program.
    """

    sources: tuple[FileHash, ...]
    hash: str
    program_hash: str


@dataclass(frozen=True, slots=True)
class Observations:
    """Everything the project shows. `criteria` and `cases` run parallel to those of the squad.

    sources: the inventory; artifacts: every other file that was looked at, by path.
    workers: the workers that can run. findings: what the precheck finds beyond the manifest.
    """

    sources: tuple[tuple[str, str | None], ...]
    artifacts: tuple[tuple[str, str | None], ...]
    criteria: tuple[CriterionFacts, ...]
    cases: tuple[CaseFacts, ...]
    workers: Mapping[str, WorkerFacts]
    prompts: Prompts
    findings: Precheck


def observe(project: Project, squad: Squad) -> Observations:
    """Look at everything the squad refers to. Total."""
    shelf = _Shelf(project.files)
    return Observations(
        sources=source_inventory(squad, project.files),
        artifacts=_artifact_inventory(project, squad),
        criteria=tuple(_criterion(one, project, squad, shelf) for one in squad.criteria),
        cases=tuple(_case(case, shelf) for case in squad.cases),
        workers={
            name: worker_facts(worker)
            for name, worker in project.workers.items()
            if isinstance(worker, Worker) and worker.files
        },
        prompts=prompts(squad, project.files),
        findings=_findings(project, squad, shelf),
    )


def source_inventory(
    squad: Squad, files: Mapping[str, ProjectFile]
) -> tuple[tuple[str, str | None], ...]:
    """Path and hash of every source document, then of every executor's prompt, in order.

    A file is listed by where it really is; what cannot be read is listed as written, hash None.
    """
    raw = [*squad.source_docs, *(one.file for one in squad.executors if one.file)]
    return tuple(_inventory_entry(path, files) for path in raw)


def worker_facts(worker: Worker) -> WorkerFacts:
    """What a worker is, by content."""
    sources = tuple(sorted(worker.files, key=lambda one: one.path))
    program = [one for one in sources if one.path != "worker.json"]
    return WorkerFacts(sources, _files_hash(sources), _files_hash(program))


def _files_hash(files: Iterable[FileHash]) -> str:
    return hash_object([{"path": one.path, "hash": one.hash} for one in files])


def _inventory_entry(raw: str, files: Mapping[str, ProjectFile]) -> tuple[str, str | None]:
    found = files.get(normal_path(raw) or "")
    if isinstance(found, FoundFile):
        return found.path, sha256_hex(found.content)
    return shown_path(raw), None


def _artifact_inventory(project: Project, squad: Squad) -> tuple[tuple[str, str | None], ...]:
    raw = [_artifact_path(criterion, squad) for criterion in squad.criteria]
    raw += [
        criterion.source
        for criterion in squad.criteria
        if criterion.source and manifest_reference(project.manifest, criterion.source) is None
    ]
    raw += [case.artifact for case in squad.cases]
    entries = {_inventory_entry(path, project.files) for path in raw if path}
    return tuple(sorted(entries, key=lambda entry: entry[0]))


def _artifact_path(criterion: Criterion, squad: Squad) -> str | None:
    if criterion.artifact is not None:
        return criterion.artifact
    files = (one.file for one in squad.executors if one.slug == criterion.executor)
    return next(files, None)


class _Shelf:
    """The files of a project as the search sees them; each is hashed and folded once."""

    def __init__(self, files: Mapping[str, ProjectFile]) -> None:
        self._files = files
        self._read: dict[str, tuple[Searched, str]] = {}

    def search(self, raw: str | None) -> tuple[Searched, str]:
        """The file behind a declared path and its folded text, empty when it proves nothing."""
        if raw is None:
            return Searched(None), ""
        if raw not in self._read:
            self._read[raw] = self._look_up(raw)
        return self._read[raw]

    def _look_up(self, raw: str) -> tuple[Searched, str]:
        normal = normal_path(raw)
        found: ProjectFile = FileProblem.ESCAPES
        if normal is not None:
            found = self._files.get(normal, FileProblem.NOT_FOUND)
        if isinstance(found, FileProblem):
            return Searched(shown_path(raw), problem=found.value), ""
        digest = sha256_hex(found.content)
        text = _decoded(found.content)
        if text is None or not is_foldable(text):
            return Searched(found.path, digest, problem="NOT_TEXT"), ""
        return Searched(found.path, digest, None if is_visible(text) else "EMPTY"), fold(text)


def _decoded(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _criterion(
    criterion: Criterion, project: Project, squad: Squad, shelf: _Shelf
) -> CriterionFacts:
    artifact, text = shelf.search(_artifact_path(criterion, squad))
    terms = terms_present if criterion.kind is Kind.ANTI_PATTERN else terms_absent
    return CriterionFacts(
        source=manifest_source(criterion.source, project.manifest)
        or _file_source(criterion.source, project.files),
        artifact=artifact,
        missing=terms(criterion.expected, text) if artifact.readable else (),
    )


def manifest_source(source: str | None, manifest: JsonValue) -> Searched | None:
    """A source that the manifest itself holds, None for any other.

    A text is hashed as UTF-8, another value as an object.
    """
    value = manifest_reference(manifest, source) if source is not None else None
    if value is None:
        return None
    if isinstance(value, str):
        digest, empty = sha256_hex(value.encode()), not is_visible(value)
    else:
        digest, empty = hash_object(value), value in ([], {})
    return Searched(source, digest, "EMPTY" if empty else None)


def _file_source(source: str | None, files: Mapping[str, ProjectFile]) -> Searched:
    if source is None:
        return Searched(None)
    found = files.get(normal_path(source) or "")
    if not isinstance(found, FoundFile):
        return Searched(source, problem="UNRESOLVED")
    return Searched(source, sha256_hex(found.content), None if found.content.strip() else "EMPTY")


def _case(case: HeldOutCase, shelf: _Shelf) -> CaseFacts:
    artifact, text = shelf.search(case.artifact)
    if not artifact.readable:
        return CaseFacts(artifact, (), ())
    return CaseFacts(
        artifact,
        terms_absent(case.expected_contains, text),
        terms_present(case.expected_not_contains, text),
    )


def _findings(project: Project, squad: Squad, shelf: _Shelf) -> Precheck:
    errors: list[Finding] = []
    warnings: list[Finding] = []
    if not is_slug(project.squad) or squad.slug not in (None, project.squad):
        message = "the squad asked for is not the squad of the manifest"
        errors.append(Finding("SQUAD_MISMATCH", "slug", message))
    for index, executor in enumerate(squad.executors):
        if executor.file is None:
            continue
        searched, _ = shelf.search(executor.file)
        if searched.problem is not None:
            message = f"{searched.path} is no prompt: {searched.problem}"
            errors.append(Finding("EXECUTOR_FILE", f"executors[{index}].file", message))
    for index, raw in enumerate(squad.source_docs):
        path, digest = _inventory_entry(raw, project.files)
        if digest is None:
            message = f"{path} cannot be read"
            warnings.append(Finding("SOURCE_DOC", f"sourceDocs[{index}]", message))
    for where, name in _named_workers(squad):
        worker = project.workers.get(name)
        if not isinstance(worker, Worker) or not worker.files:
            missing = BrokenWorker("WORKER_NOT_FOUND", "no such worker")
            broken = worker if isinstance(worker, BrokenWorker) else missing
            message = f"{name} cannot run: {broken.message}"
            errors.append(Finding(broken.reason, where, message))
    return Precheck(tuple(errors), tuple(warnings))


def _named_workers(squad: Squad) -> Iterable[tuple[str, str]]:
    for index, case in enumerate(squad.cases):
        for key, run in (
            ("baselineRun", case.baseline),
            ("candidateRun", case.candidate),
            ("scorer", case.scorer),
        ):
            if run is not None and run.worker is not None:
                yield f"evaluation.heldOutCases[{index}].{key}", run.worker
