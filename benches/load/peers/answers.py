"""The two ways in which Python answers a Score on generated messages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[3]))

from tests.support import message_score

import steelyard
from steelyard import TASK_EVALUATION, reference
from steelyard.v1 import score_pb2

Answer = Callable[[score_pb2.ScoreRequest], score_pb2.ScoreResponse]

MAX_TASKS = 100_000
NAMES = TASK_EVALUATION.categories
BANDS = [name for name, _, _ in TASK_EVALUATION.bands]
PROVENANCE = score_pb2.Provenance(
    policy_name=TASK_EVALUATION.name,
    policy_version=TASK_EVALUATION.version,
    policy_digest=TASK_EVALUATION.digest,
    engine_version=steelyard.ENGINE_VERSION,
    engine_digest=steelyard.ENGINE_DIGEST,
)
KEY = (TASK_EVALUATION.name, TASK_EVALUATION.version)
POLICIES = {KEY: reference.Policy.from_document(TASK_EVALUATION.document)}


def by_reference(request: score_pb2.ScoreRequest) -> score_pb2.ScoreResponse:
    """Pure Python: generated messages, steelyard.reference for the numbers."""
    return message_score.score(request, POLICIES, {KEY: PROVENANCE}, MAX_TASKS)


def by_kernel(request: score_pb2.ScoreRequest) -> score_pb2.ScoreResponse:
    """Generated messages in and out, the Rust kernel for the numbers. Valid input only."""
    response = score_pb2.ScoreResponse(provenance=PROVENANCE)
    if request.WhichOneof("input") == "columns":
        given = request.columns
        shape = (len(NAMES), -1)
        batch = steelyard.score(
            np.frombuffer(given.deterministic, np.uint8).reshape(shape).T,
            np.frombuffer(given.ai, np.uint8).reshape(shape).T,
        )
        response.columns.MergeFrom(
            score_pb2.ColumnResults(
                task_ids=given.task_ids,
                final_scores=batch.final.tobytes(order="F"),
                bands=batch.band.tobytes(order="F"),
                overall_scores=batch.overall.tobytes(),
                overall_bands=batch.overall_band.tobytes(),
                category_names=NAMES,
                band_names=BANDS,
            )
        )
        return response
    deterministic, ai = [], []
    for task in request.rows.tasks:
        entries = {entry.category: entry for entry in task.categories}
        deterministic.append([entries[name].deterministic_score for name in NAMES])
        ai.append([entries[name].ai_score for name in NAMES])
    batch = steelyard.score(np.array(deterministic, np.uint8), np.array(ai, np.uint8))
    finals, bands = batch.final.tolist(), batch.band.tolist()
    overalls, overall_bands = batch.overall.tolist(), batch.overall_band.tolist()
    for index, task in enumerate(request.rows.tasks):
        result = response.rows.results.add(task_id=task.task_id)
        score = result.score
        for name, final, band in zip(NAMES, finals[index], bands[index], strict=True):
            score.categories.add(category=name, final_score=final, band=BANDS[band])
        score.overall_score = overalls[index]
        score.overall_band = BANDS[overall_bands[index]]
    return response


def in_stream(answer: Answer, request: bytes) -> bytes:
    """One message of a ScoreStream: the same fields as those of a Score."""
    return answer(score_pb2.ScoreRequest.FromString(request)).SerializeToString()
