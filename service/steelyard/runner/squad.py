"""A squad as it lies in its project: manifest, referred files, workers, kept reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from steelyard import strictjson
from steelyard.errors import InvalidInputError, NotFoundError, SteelyardError
from steelyard.files import Folder
from steelyard.gating.manifest import referenced_paths, worker_names
from steelyard.gating.model import (
    BrokenWorker,
    FileProblem,
    FoundFile,
    Project,
    ProjectFile,
)
from steelyard.gating.names import SLUG_PATTERN, is_slug
from steelyard.runner.workers import LoadedWorker, load_worker
from steelyard.strictjson import JsonValue

__all__ = ["LoadedSquad", "SquadFolder"]

SQUADS: Final = ".aioson/squads"
MANIFEST: Final = "squad.manifest.json"

_PROBLEMS: Final[Mapping[str, FileProblem]] = {
    "FILE_NOT_FOUND": FileProblem.NOT_FOUND,
    "FILE_OUTSIDE_PROJECT": FileProblem.ESCAPES,
    "FILE_NOT_REGULAR": FileProblem.NOT_REGULAR,
    "FILE_TOO_LARGE": FileProblem.TOO_LARGE,
    "FILE_UNREADABLE": FileProblem.UNREADABLE,
}


@dataclass(frozen=True, slots=True)
class LoadedSquad:
    """What the judge is told of a squad, and the workers of it that can run."""

    project: Project
    workers: Mapping[str, LoadedWorker]


@dataclass(frozen=True, slots=True)
class SquadFolder:
    """The squad `slug` of `project`. `path` is its folder, relative to the project."""

    project: Folder
    slug: str

    @classmethod
    def open(cls, project: Folder, slug: str) -> SquadFolder:
        """The squad `slug`.

        Raises InvalidInputError (SQUAD_SLUG), NotFoundError (SQUAD_NOT_FOUND).
        """
        if not is_slug(slug):
            raise InvalidInputError.at("squad", "SQUAD_SLUG", f"must match {SLUG_PATTERN}")
        squad = cls(project, slug)
        try:
            found = project.locate(squad.path).is_dir()
        except InvalidInputError:
            found = False
        if not found:
            raise NotFoundError("SQUAD_NOT_FOUND", f"{squad.path}: no such squad in this project")
        return squad

    @property
    def path(self) -> str:
        return f"{SQUADS}/{self.slug}"

    def folder(self) -> Folder:
        """The squad's own folder, for its reports and its playbook."""
        return Folder.open(self.project.locate(self.path))

    def manifest(self) -> JsonValue:
        """The manifest, parsed strictly. Raises InvalidInputError as reading and parsing do."""
        path = f"{self.path}/{MANIFEST}"
        return strictjson.parse(self.project.read(path).data, path)

    def load(self) -> LoadedSquad:
        """Everything that judging needs, read now. Raises as `manifest` does."""
        manifest = self.manifest()
        found = {name: self._worker(name) for name in worker_names(manifest)}
        project = Project(
            squad=self.slug,
            manifest=manifest,
            files=self.files(referenced_paths(manifest)),
            workers={
                name: worker.content if isinstance(worker, LoadedWorker) else worker
                for name, worker in found.items()
            },
        )
        able = {name: one for name, one in found.items() if isinstance(one, LoadedWorker)}
        return LoadedSquad(project, able)

    def files(self, paths: Iterable[str]) -> dict[str, ProjectFile]:
        """What lies at each of `paths` now."""
        return {path: self._file(path) for path in paths}

    def worker(self, name: str) -> LoadedWorker:
        """The worker `name` as it is now; raises as `load_worker` does."""
        return load_worker(self.project, f"{self.path}/workers/{name}")

    def _file(self, path: str) -> ProjectFile:
        try:
            found = self.project.read(path)
        except InvalidInputError as error:
            return _PROBLEMS[error.reason]
        return FoundFile(found.path, found.data)

    def _worker(self, name: str) -> LoadedWorker | BrokenWorker:
        try:
            return self.worker(name)
        except SteelyardError as error:
            return BrokenWorker(error.reason, error.message)
