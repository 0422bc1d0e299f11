"""The judge: evidence in, report out."""

from __future__ import annotations

from steelyard.gating.model import Evidence, Report

__all__ = ["judge"]


def judge(evidence: Evidence) -> Report:
    """The report on a squad: criteria, held-out cases, the A/B comparison and the verdict.

    Total for any manifest: what is wrong with it becomes an error of the precheck, hence FAIL.

    Raises InvalidInputError: NOT_CANONICAL (`manifest`: canonical JSON cannot hold it),
    DUPLICATE_EXECUTION (`executions[i]`: two for one case and label), and INVALID_TIME or INVALID_ID
    for a provenance that breaks its format.
    """
    raise NotImplementedError
