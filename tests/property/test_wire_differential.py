"""The wire path of the core against the protobuf runtime and the reference, on mutated messages."""

from __future__ import annotations

import os
import random

import pytest
from google.protobuf.message import DecodeError

from steelyard import _core, reference
from steelyard.errors import SteelyardError
from steelyard.scoring.policy import load_policies
from steelyard.v1 import score_pb2
from tests.conftest import POLICIES
from tests.support import message_score

MUTATIONS = int(os.environ.get("STEELYARD_TEST_MUTATIONS", "100000"))
MAX_TASKS = 6

ENGINE = _core.Engine(list(load_policies(POLICIES)), MAX_TASKS)
KNOWN = {(policy.name, policy.version): policy for policy in ENGINE.policies}
REFERENCE = {key: reference.Policy.from_document(policy.document) for key, policy in KNOWN.items()}
PROVENANCE = {
    key: score_pb2.Provenance(
        policy_name=policy.name,
        policy_version=policy.version,
        policy_digest=policy.digest,
        engine_version=_core.ENGINE_VERSION,
        engine_digest=_core.ENGINE_DIGEST,
    )
    for key, policy in KNOWN.items()
}


def some_score(rng: random.Random) -> int:
    return rng.choice([rng.randint(0, 100), rng.randint(0, 100), rng.randint(-3, 130), 2**31 - 1])


def some_request(rng: random.Random) -> score_pb2.ScoreRequest:
    request = score_pb2.ScoreRequest()
    if rng.random() < 0.6:
        request.policy.name = rng.choice(["", "exact", "task-evaluation", "nothing"])
        request.policy.version = rng.choice([0, 0, 1, 2, 7])
    name, version = request.policy.name or "task-evaluation", request.policy.version
    categories = [c.name for key, p in REFERENCE.items() if key[0] == name for c in p.categories]
    if version == 1 and name == "exact":
        categories = ["correctness"]
    categories = list(dict.fromkeys(categories)) or ["anything"]
    if rng.random() < 0.7:
        for _ in range(rng.randint(0, 3)):
            task = request.rows.tasks.add(task_id=rng.choice(["", "t-1", "späß"]))
            for category in rng.sample(categories, len(categories)):
                entry = task.categories.add(category=category)
                entry.deterministic_score = some_score(rng)
                if rng.random() < 0.3:
                    entry.ai_samples.extend(some_score(rng) for _ in range(rng.randint(1, 4)))
                else:
                    entry.ai_score = some_score(rng)
                if rng.random() < 0.2:
                    entry.rationale = "because é"
                    entry.evidence.append("commit-1")
    elif rng.random() < 0.9:
        count = rng.randint(0, 3)
        cells = count * len(categories)
        pick = [50, 75, 100, *range(102)]
        request.columns.deterministic = bytes(rng.choice(pick) for _ in range(cells))
        request.columns.ai = bytes(rng.choice(pick) for _ in range(cells))
        if rng.random() < 0.3:
            request.columns.task_ids.extend(f"t{i}" for i in range(count))
    return request


def mutate(data: bytes, rng: random.Random) -> bytes:
    mutated = bytearray(data)
    for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 3])):
        at = rng.randint(0, len(mutated))
        kind = rng.randint(0, 7)
        if kind == 0 and mutated:
            mutated[at % len(mutated)] ^= 1 << rng.randint(0, 7)
        elif kind == 1:
            mutated[at:at] = rng.randbytes(rng.randint(1, 3))
        elif kind == 2:
            del mutated[at : at + rng.randint(1, 4)]
        elif kind == 3:
            del mutated[at:]
        elif kind == 4:
            piece = mutated[at : at + rng.randint(1, 12)]
            mutated[at:at] = piece
        elif kind == 5 and mutated:
            mutated[at % len(mutated)] = rng.choice([0, 0x7F, 0x80, 0xFF])
        elif kind == 6:
            # Fields nobody knows: a varint, a fixed64, a fixed32, bytes, groups open and closed.
            mutated[at:at] = rng.choice(
                [
                    b"\x78\x96\x01",
                    b"\x79" + b"\0" * 8,
                    b"\x7d" + b"\0" * 4,
                    b"\x7a\x02hi",
                    b"\x7b\x08\x01\x7c",
                    b"\x7b",
                    b"\x7c",
                    b"\x7b" * 105 + b"\x7c" * 105,
                    b"\x80\x80\x80\x80\x80\x01",
                    b"\x10" + b"\xff" * 9 + b"\x7f",
                ]
            )
        else:
            mutated.extend(some_request(rng).SerializeToString())
    return bytes(mutated)


def answer(data: bytes) -> tuple[str, bytes | tuple[str, str]]:
    try:
        return "ok", ENGINE.score(data)
    except SteelyardError as error:
        return "error", (error.reason, error.violations[0].path)


def expected(data: bytes) -> tuple[str, bytes | tuple[str, str]]:
    try:
        request = score_pb2.ScoreRequest.FromString(data)
    except DecodeError:
        return "error", ("MALFORMED_MESSAGE", "")
    try:
        response = message_score.score(request, REFERENCE, PROVENANCE, MAX_TASKS)
    except message_score.RefusedError as error:
        return "error", (error.reason, error.path)
    return "ok", response.SerializeToString()


def without_texts(data: bytes) -> score_pb2.ScoreResponse:
    """The response without the messages for people where the two sides may differ in wording."""
    response = score_pb2.ScoreResponse.FromString(data)
    for result in response.rows.results:
        if result.error.reason == "CATEGORY_UNKNOWN":
            result.error.message = ""
    return response


@pytest.mark.timeout(600)
def test_mutated_messages_get_the_same_verdict_and_the_same_values() -> None:
    rng = random.Random(20_261_130)  # noqa: S311  # a test's generator
    verdicts: dict[str, int] = {}
    for _ in range(MUTATIONS):
        data = mutate(some_request(rng).SerializeToString(), rng)
        got, want = answer(data), expected(data)
        assert got[0] == want[0], data.hex()
        if got[0] == "ok":
            assert isinstance(got[1], bytes)
            assert isinstance(want[1], bytes)
            if got[1] != want[1]:
                assert without_texts(got[1]) == without_texts(want[1]), data.hex()
        else:
            assert got[1] == want[1], data.hex()
        key = "ok" if got[0] == "ok" else str(got[1][0])
        verdicts[key] = verdicts.get(key, 0) + 1
    # The mutations must reach all of the ground, not one corner of it.
    share = MUTATIONS // 200
    assert verdicts["ok"] > 20 * share
    for reason in (
        "MALFORMED_MESSAGE",
        "POLICY_NOT_FOUND",
        "INPUT_MISSING",
        "BATCH_EMPTY",
        "LENGTH_MISMATCH",
        "SCORE_OUT_OF_RANGE",
    ):
        assert verdicts[reason] > share // 5, verdicts
