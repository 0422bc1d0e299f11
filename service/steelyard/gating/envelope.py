"""What a worker is given: its declared input and the envelope that input cannot override."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.gating.model import HeldOutCase, JsonObject, ProjectFile, RunLabel, RunSpec, Squad
from steelyard.strictjson import JsonValue

__all__ = ["case_runs", "payload"]


def case_runs(case: HeldOutCase) -> tuple[tuple[RunLabel, RunSpec], ...]:
    """The runs of a case in their order: baseline and candidate, then the scorer; absent ones left out."""
    raise NotImplementedError


def payload(
    squad: Squad,
    case: HeldOutCase,
    label: RunLabel,
    files: Mapping[str, ProjectFile],
    outputs: Mapping[RunLabel, JsonValue],
) -> JsonObject:
    """The JSON object that the worker of one run is given; its object hash is `payload_hash`.

    It is the run's declared input plus `_aioson_eval`: variant, task, seed, genome_enabled,
    genome_bindings, executor_contexts, genome_context_hash, genome_effects_present. For the scorer
    the envelope also carries `dimensions` (names only: neither thresholds nor declared scores) and
    `outputs`, what the producers returned (`outputs` here; null for a run that failed or is absent).
    """
    raise NotImplementedError
