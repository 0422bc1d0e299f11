"""Score on generated messages: what the wire path of the core must answer, written as people would.

Independent of the core: the protobuf runtime parses, `steelyard.reference` computes.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard import reference
from steelyard.v1 import score_pb2

MAX_SAMPLES = 1_024


class RefusedError(Exception):
    """A refused field: its reason and path."""

    def __init__(self, reason: str, path: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.path, self.message = reason, path, message


def score(
    request: score_pb2.ScoreRequest,
    policies: Mapping[tuple[str, int], reference.Policy],
    provenance: Mapping[tuple[str, int], score_pb2.Provenance],
    max_tasks: int,
) -> score_pb2.ScoreResponse:
    """Answers a request or raises RefusedError."""
    name = request.policy.name or "task-evaluation"
    version = request.policy.version
    versions = [key for key in policies if key[0] == name and version in (0, key[1])]
    if not versions:
        raise RefusedError("POLICY_NOT_FOUND", "policy", f"policy: {name}@{version} is not loaded")
    key = max(versions)
    response = score_pb2.ScoreResponse(provenance=provenance[key])
    form = request.WhichOneof("input")
    if form == "rows":
        tasks = request.rows.tasks
        check_size(len(tasks), "rows.tasks", max_tasks)
        response.rows.results.extend(
            score_row(policies[key], index, task) for index, task in enumerate(tasks)
        )
    elif form == "columns":
        response.columns.CopyFrom(score_columns(policies[key], request.columns, max_tasks))
    else:
        raise RefusedError("INPUT_MISSING", "input", "input: set rows or columns")
    return response


def check_size(tasks: int, path: str, max_tasks: int) -> None:
    """The batch limit."""
    if tasks == 0:
        raise RefusedError("BATCH_EMPTY", path, f"{path}: the batch is empty")
    if tasks > max_tasks:
        text = f"{path}: {tasks} tasks are more than the limit of {max_tasks}"
        raise RefusedError("BATCH_TOO_LARGE", path, text)


def score_row(policy: reference.Policy, index: int, task: score_pb2.TaskRow) -> score_pb2.RowResult:
    """One task, or why it has no score."""
    result = score_pb2.RowResult(task_id=task.task_id)
    try:
        entries = score_categories(policy, index, task)
    except RefusedError as error:
        result.error.reason, result.error.field = error.reason, error.path
        result.error.message = error.message
        return result
    ordered = [entries[category.name] for category in policy.categories]
    result.score.categories.extend(ordered)
    overall = reference.overall(policy, [entry.final_score for entry in ordered])
    result.score.overall_score = overall
    result.score.overall_band = reference.band(policy, overall)
    return result


def score_categories(
    policy: reference.Policy, index: int, task: score_pb2.TaskRow
) -> dict[str, score_pb2.CategoryScore]:
    """The scores of a task's categories by name."""
    known = {category.name: category for category in policy.categories}
    entries: dict[str, score_pb2.CategoryScore] = {}
    for position, given in enumerate(task.categories):
        at = f"rows.tasks[{index}].categories[{position}]"
        name = given.category
        if name not in known:
            raise RefusedError("CATEGORY_UNKNOWN", f"{at}.category", "")
        if name in entries:
            text = f"{at}.category: category {name} is given twice"
            raise RefusedError("CATEGORY_DUPLICATE", f"{at}.category", text)
        if not given.HasField("deterministic_score"):
            raise missing(f"{at}.deterministic_score", name)
        det = valid(given.deterministic_score, f"{at}.deterministic_score")
        entry = score_pb2.CategoryScore(category=name)
        if given.ai_samples:
            if given.HasField("ai_score"):
                text = "has both ai_score and ai_samples; give one of them"
                path = f"{at}.ai_samples"
                raise RefusedError("SCORE_AMBIGUOUS", path, f"{path}: category {name} {text}")
            count = len(given.ai_samples)
            if count > MAX_SAMPLES:
                path = f"{at}.ai_samples"
                text = f"{path}: {count} samples are more than the limit of {MAX_SAMPLES}"
                raise RefusedError("SAMPLES_TOO_MANY", path, text)
            samples = [
                valid(sample, f"{at}.ai_samples[{k}]") for k, sample in enumerate(given.ai_samples)
            ]
            entry.final_score = reference.blend(policy, det, reference.mean(samples))
            blends = [reference.blend(policy, det, sample) for sample in samples]
            entry.spread.min_score, entry.spread.max_score = min(blends), max(blends)
            entry.spread.sample_count = count
            entry.spread.band_stability = reference.band_stability(policy, det, samples)
        elif given.HasField("ai_score"):
            ai = valid(given.ai_score, f"{at}.ai_score")
            entry.final_score = reference.blend(policy, det, ai)
        else:
            raise missing(f"{at}.ai_score", name)
        entry.band = reference.band(policy, entry.final_score)
        floor = known[name].floor
        entry.below_floor = floor is not None and entry.final_score < floor
        entries[name] = entry
    for name in known:
        if name not in entries:
            path = f"rows.tasks[{index}].categories"
            raise RefusedError("CATEGORY_MISSING", path, f"{path}: category {name} is missing")
    return entries


def missing(path: str, category: str) -> RefusedError:
    """A score that is not there."""
    text = f"{path}: the score of category {category} is missing"
    return RefusedError("SCORE_MISSING", path, text)


def valid(score: int, path: str) -> int:
    """The score itself when it is one."""
    if 0 <= score <= 100:
        return score
    text = f"{path}: {score} is not a score; a score is an integer from 0 to 100"
    raise RefusedError("SCORE_OUT_OF_RANGE", path, text)


def score_columns(
    policy: reference.Policy, columns: score_pb2.TaskColumns, max_tasks: int
) -> score_pb2.ColumnResults:
    """A batch by columns."""
    names = [category.name for category in policy.categories]
    count, rest = divmod(len(columns.deterministic), len(names))
    if rest:
        raise RefusedError("LENGTH_MISMATCH", "columns.deterministic", "")
    if len(columns.ai) != len(columns.deterministic):
        raise RefusedError("LENGTH_MISMATCH", "columns.ai", "")
    check_size(count, "columns.deterministic", max_tasks)
    if len(columns.task_ids) not in (0, count):
        raise RefusedError("LENGTH_MISMATCH", "columns.task_ids", "")
    for side in ("deterministic", "ai"):
        data = getattr(columns, side)
        for task in range(count):
            for c, name in enumerate(names):
                valid(data[c * count + task], f"columns.{side}[{task}].{name}")
    bands = [band.name for band in policy.bands]
    finals = bytes(
        reference.blend(policy, det, ai)
        for det, ai in zip(columns.deterministic, columns.ai, strict=True)
    )
    overalls = bytes(
        reference.overall(policy, [finals[c * count + task] for c in range(len(names))])
        for task in range(count)
    )
    floors = [category.floor or 0 for category in policy.categories]
    below = bytes(
        finals[c * count + t] < floors[c] for c in range(len(names)) for t in range(count)
    )
    return score_pb2.ColumnResults(
        task_ids=columns.task_ids,
        final_scores=finals,
        bands=bytes(bands.index(reference.band(policy, value)) for value in finals),
        overall_scores=overalls,
        overall_bands=bytes(bands.index(reference.band(policy, value)) for value in overalls),
        below_floors=below if any(floors) else b"",
        category_names=names,
        band_names=bands,
    )
