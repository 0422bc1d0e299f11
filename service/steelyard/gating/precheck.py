"""The strict check of a manifest, before any worker runs."""

from __future__ import annotations

from steelyard.gating.model import Precheck, Project

__all__ = ["precheck"]


def precheck(project: Project) -> Precheck:
    """Everything that is wrong with the squad before it is judged. One error is FAIL.

    A function of the project alone, so that verification recomputes it: the judge does so by itself,
    and a runner calls it to decide whether any worker may run.
    """
    raise NotImplementedError
