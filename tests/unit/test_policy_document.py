"""Policy documents and digests: recomputable by anybody."""

from __future__ import annotations

import hashlib
import json

import rfc8785

from steelyard import reference
from steelyard.scoring.policy import TASK_EVALUATION, load_policies
from tests.conftest import POLICIES


def test_the_digest_is_the_hash_of_the_canonical_document() -> None:
    for policy in (TASK_EVALUATION, *load_policies(POLICIES)):
        document = json.loads(policy.document)
        assert rfc8785.dumps(document) == policy.document.encode()
        assert hashlib.sha256(policy.document.encode()).hexdigest() == policy.digest


def test_the_reference_states_the_built_in_policy() -> None:
    assert reference.Policy.from_document(TASK_EVALUATION.document) == reference.TASK_EVALUATION


def test_the_document_says_all_that_scoring_depends_on() -> None:
    exact = load_policies(POLICIES)[1]
    document = json.loads(exact.document)
    assert document["arithmetic"] == "decimal" == exact.arithmetic
    assert document["blend"] == {"deterministic": 5000, "ai": 5000}
    assert document["categories"] == [
        {"floor": 50, "name": "correctness", "weight": 6667},
        {"name": "style", "weight": 3333},
    ]
    assert [band["name"] for band in document["bands"]] == [name for name, _, _ in exact.bands]
