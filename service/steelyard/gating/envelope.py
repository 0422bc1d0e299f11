"""What a worker is given: its declared input and the envelope that input cannot override."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steelyard._core import hash_object, sha256_hex
from steelyard.gating.managed import remove_managed_blocks
from steelyard.gating.model import (
    Contexts,
    FoundFile,
    HeldOutCase,
    JsonObject,
    ProjectFile,
    Prompts,
    RunLabel,
    RunSpec,
    Squad,
)
from steelyard.gating.paths import normal_path, shown_path
from steelyard.strictjson import JsonValue

__all__ = ["ENVELOPE", "case_runs", "genome_enabled", "payload", "prompts"]

ENVELOPE: Final = "_aioson_eval"


def prompts(squad: Squad, files: Mapping[str, ProjectFile]) -> Prompts:
    """The prompts of all executors that name a file, in the manifest's order."""
    off: list[JsonObject] = []
    on: list[JsonObject] = []
    effects, intact = False, True
    for executor in squad.executors:
        if executor.file is None:
            continue
        found = files.get(normal_path(executor.file) or "")
        content = found.content if isinstance(found, FoundFile) else None
        text = None if content is None else _text(content)
        where: JsonObject = {"executor": executor.slug, "path": shown_path(executor.file)}
        if content is None or text is None:
            intact = False
            digest = None if content is None else sha256_hex(content)
            entry: JsonObject = {**where, "hash": digest, "content": None}
            off.append(entry)
            on.append(entry)
            continue
        bare = remove_managed_blocks(text)
        effects, intact = effects or bare.effects, intact and bare.intact
        bare_hash = sha256_hex(bare.text.encode())
        off.append({**where, "hash": bare_hash, "content": bare.text})
        on.append({**where, "hash": sha256_hex(content), "content": text})
    return Prompts(
        Contexts(_context_hash(off), False, intact, tuple(off)),
        Contexts(_context_hash(on), effects, intact, tuple(on)),
    )


def case_runs(case: HeldOutCase) -> tuple[tuple[RunLabel, RunSpec], ...]:
    """The runs that a case declares, in their order: baseline, candidate, scorer."""
    runs = (
        (RunLabel.BASELINE, case.baseline),
        (RunLabel.CANDIDATE, case.candidate),
        (RunLabel.SCORER, case.scorer),
    )
    return tuple((label, run) for label, run in runs if run is not None)


def genome_enabled(squad: Squad, label: RunLabel) -> bool:
    """Whether a run sees the genome: the candidate does, when a binding is compiled."""
    return label is RunLabel.CANDIDATE and any(binding.compiled for binding in squad.bindings)


def payload(
    squad: Squad,
    case: HeldOutCase,
    label: RunLabel,
    prompts: Prompts,
    outputs: Mapping[RunLabel, JsonValue],
) -> JsonObject | None:
    """The JSON object that the worker of one run is given; its object hash is `payload_hash`.

    It is the run's declared input plus `_aioson_eval`: variant, task, seed, genome_enabled,
    genome_bindings, executor_contexts, genome_context_hash, genome_effects_present. For the scorer
    the envelope also carries `dimensions` (names only: neither thresholds nor declared scores) and
    `outputs`, what the producers returned, null for a run that failed or is not declared.

    None when the case declares no such run, or the prompts are not at hand.
    """
    run = dict(case_runs(case)).get(label)
    if run is None:
        return None
    enabled = genome_enabled(squad, label)
    envelope: JsonObject = {
        "variant": label.value,
        "task": case.task,
        "seed": case.seed,
        "genome_enabled": enabled,
        "genome_bindings": [],
        "executor_contexts": [],
        "genome_context_hash": None,
        "genome_effects_present": False,
    }
    if label is RunLabel.SCORER:
        producers = (RunLabel.BASELINE, RunLabel.CANDIDATE)
        envelope["dimensions"] = [dimension.name for dimension in case.dimensions]
        envelope["outputs"] = {producer.value: outputs.get(producer) for producer in producers}
    else:
        seen = prompts.genome_on if enabled else prompts.genome_off
        if seen.entries is None:
            return None
        envelope["genome_bindings"] = [
            {"slug": one.slug, "compilationId": one.compilation_id, "sourceHash": one.source_hash}
            for one in squad.bindings
            if enabled and one.compiled
        ]
        envelope["executor_contexts"] = list(seen.entries)
        envelope["genome_context_hash"] = seen.hash
        envelope["genome_effects_present"] = seen.effects_present
    return {**run.input, ENVELOPE: envelope}


def _context_hash(entries: list[JsonObject]) -> str:
    keys = ("executor", "path", "hash")
    return hash_object([{key: entry[key] for key in keys} for entry in entries])


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
