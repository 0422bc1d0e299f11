"""The manifest, read once into types: what is well-formed is kept, the rest is a finding."""

from __future__ import annotations

from steelyard.gating.model import Finding, Squad
from steelyard.strictjson import JsonValue

__all__ = ["read_manifest", "referenced_paths", "worker_names"]


def read_manifest(manifest: JsonValue) -> tuple[Squad, tuple[Finding, ...]]:
    """The parts that the gate reads, and everything that breaks the contract. Total."""
    raise NotImplementedError


def referenced_paths(manifest: JsonValue) -> tuple[str, ...]:
    """Every project path that judging this manifest needs, each once, normal form.

    These are the keys of `Project.files`: source documents, executor prompts, criteria's sources and
    artifacts, cases' artifacts. A path that leaves the project lexically is not among them.
    """
    raise NotImplementedError


def worker_names(manifest: JsonValue) -> tuple[str, ...]:
    """Every worker that the cases name, each once. These are the keys of `Project.workers`."""
    raise NotImplementedError
