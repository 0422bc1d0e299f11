"""The strict check of a squad, before any worker runs."""

from __future__ import annotations

from steelyard._core import hash_object
from steelyard.gating.manifest import read_manifest
from steelyard.gating.model import Precheck, Project
from steelyard.gating.observe import observe

__all__ = ["joined", "precheck"]


def precheck(project: Project) -> Precheck:
    """Everything that is wrong with the squad before it is judged. One error is FAIL.

    A function of the project alone, so that verification recomputes it: the judge does so by
    itself, and a runner calls it to decide whether any worker may run.

    Raises InvalidInputError for a manifest that canonical JSON cannot hold.
    """
    hash_object(project.manifest)
    squad, findings = read_manifest(project.manifest)
    return joined(findings, observe(project, squad).findings)


def joined(*prechecks: Precheck) -> Precheck:
    """The findings of all, in order."""
    return Precheck(
        tuple(finding for one in prechecks for finding in one.errors),
        tuple(finding for one in prechecks for finding in one.warnings),
    )
