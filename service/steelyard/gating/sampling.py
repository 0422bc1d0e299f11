"""Sampled dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.gating.dimensions import judge_dimension
from steelyard.gating.model import DimensionResult, DimensionSpec
from steelyard.gating.scores import Scored

__all__ = ["judge_dimensions"]


def judge_dimensions(
    specs: Sequence[DimensionSpec],
    scored: Scored,
    *,
    baseline_ran: bool,
    refusal: str | None,
    seed: int,
    engine_hash: str,
) -> tuple[DimensionResult, ...]:
    return tuple(
        judge_dimension(spec, scored, baseline_ran=baseline_ran, refusal=refusal) for spec in specs
    )
