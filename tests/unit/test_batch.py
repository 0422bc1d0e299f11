"""`steelyard.score` and `score_task`: shapes, layouts, and every kind of wrong input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard
from steelyard import reference
from steelyard.errors import InvalidInputError
from tests.conftest import POLICIES

CATEGORIES = steelyard.TASK_EVALUATION.categories
RNG = np.random.default_rng(5)


def some(n: int, c: int = 3) -> np.ndarray[Any, Any]:
    return RNG.integers(0, 101, (n, c), np.uint8)


def test_all_layouts_give_the_reference_numbers() -> None:
    det, ai = some(200), some(200)
    policy = reference.TASK_EVALUATION
    finals = [
        [reference.blend(policy, d, a) for d, a in zip(*sides, strict=True)]
        for sides in zip(det.tolist(), ai.tolist(), strict=True)
    ]
    overalls = [reference.overall(policy, row) for row in finals]
    wide = np.zeros((400, 6), np.uint8)
    wide[::2, ::2] = det
    for left, right in [
        (det, ai),
        (np.asfortranarray(det), np.asfortranarray(ai)),
        (np.asfortranarray(det), ai),
        (wide[::2, ::2], ai),
        (det.astype(np.int64), ai.astype(np.uint16)),
        (det.tolist(), ai.tolist()),
        (det.tobytes(), bytearray(ai.tobytes())),
        (memoryview(det), memoryview(ai.tobytes())),
    ]:
        batch = steelyard.score(left, right)
        assert batch.final.tolist() == finals
        assert batch.overall.tolist() == overalls
        names = [[batch.bands[band] for band in row] for row in batch.band]
        assert names == [[reference.band(policy, score) for score in row] for row in finals]
        assert [batch.bands[band] for band in batch.overall_band] == [
            reference.band(policy, score) for score in overalls
        ]
        assert len(batch) == 200
        assert batch.final.shape == batch.band.shape == (200, 3)
        assert batch.below_floor is None


def test_every_score_has_the_band_of_the_reference() -> None:
    policy = steelyard.TASK_EVALUATION
    for score in range(101):
        name = policy.band_name(score)
        assert name == policy.bands[policy.band(score)][0]
        assert name == reference.band(reference.TASK_EVALUATION, score)
    for method in (policy.band, policy.band_name):
        with pytest.raises(ValueError, match="101 is not a score"):
            method(101)


def test_a_batch_is_frozen() -> None:
    batch = steelyard.score(some(2), some(2))
    for array in (batch.final, batch.band, batch.overall, batch.overall_band):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        batch.final = batch.band  # type: ignore[misc]  # that is the point


def test_floors_mark_and_change_nothing() -> None:
    policy = steelyard.load_policy(POLICIES / "exact.toml")
    det = np.array([[49, 0], [50, 0], [100, 100]], np.uint8)
    batch = steelyard.score(det, det, policy)
    assert batch.below_floor is not None
    assert batch.below_floor.tolist() == [[1, 0], [0, 0], [0, 0]]
    assert batch.final.tolist() == det.tolist()
    task = steelyard.score_task(
        {"correctness": 49, "style": 0}, {"correctness": 49, "style": 0}, policy
    )
    assert [entry.below_floor for entry in task.categories] == [True, False]


def test_provenance_names_policy_and_engine() -> None:
    origin = steelyard.score(some(1), some(1)).provenance
    assert (origin.policy_name, origin.policy_version) == ("task-evaluation", 1)
    assert origin.policy_digest == steelyard.TASK_EVALUATION.digest
    assert origin.engine_version == steelyard.__version__
    assert len(origin.engine_digest) == 64


@pytest.mark.parametrize(
    ("det", "ai", "reason", "path"),
    [
        ([[1, 2, 101]], [[1, 2, 3]], "SCORE_OUT_OF_RANGE", "deterministic[0].processCompliance"),
        ([[1, 2, 3]], [[1, -1, 3]], "SCORE_OUT_OF_RANGE", "ai[0].taskOutcomeQuality"),
        (
            [[1, 2, 3], [1.5, 2, 3]],
            [[1, 2, 3]] * 2,
            "SCORE_OUT_OF_RANGE",
            "deterministic[0].agentPerformance",
        ),
        ([[1, 2, 3]], [[1, 2, float("nan")]], "SCORE_OUT_OF_RANGE", "ai[0].agentPerformance"),
        ([[1, 2, None]], [[1, 2, 3]], "SCORE_OUT_OF_RANGE", "deterministic[0].processCompliance"),
        (
            [[True, False, True]],
            [[1, 2, 3]],
            "SCORE_OUT_OF_RANGE",
            "deterministic[0].agentPerformance",
        ),
        ([["1", "2", "3"]], [[1, 2, 3]], "SCORE_OUT_OF_RANGE", "deterministic[0].agentPerformance"),
        ([], [], "BATCH_EMPTY", "deterministic"),
        (b"", b"", "BATCH_EMPTY", "deterministic"),
        (b"1234", b"1234", "LENGTH_MISMATCH", "deterministic"),
        ([[1, 2]], [[1, 2]], "LENGTH_MISMATCH", "deterministic"),
        ([1, 2, 3], [1, 2, 3], "LENGTH_MISMATCH", "deterministic"),
        ([[1, 2, 3]], [[1, 2, 3]] * 2, "LENGTH_MISMATCH", "ai"),
    ],
)
def test_wrong_batches_name_the_place(det: Any, ai: Any, reason: str, path: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        steelyard.score(det, ai)
    assert caught.value.reason == reason
    assert [violation.path for violation in caught.value.violations] == [path]


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_bad_byte_is_named_deterministic_first(order: Any) -> None:
    det, ai = np.array(some(5_000), order=order), np.array(some(5_000), order=order)
    ai[0, 0] = 255
    det[4_321, 2] = 101
    with pytest.raises(InvalidInputError, match=r"deterministic\[4321\].processCompliance: 101"):
        steelyard.score(det, ai)
    det[4_321, 2] = 100
    with pytest.raises(InvalidInputError, match=r"ai\[0\].agentPerformance: 255"):
        steelyard.score(det, ai)


def all_at(value: Any) -> dict[str, Any]:
    return dict.fromkeys(CATEGORIES, value)


@pytest.mark.parametrize(
    ("det", "ai", "reason", "path"),
    [
        (
            all_at(50) | {"agentPerformance": 101},
            all_at(300),
            "SCORE_OUT_OF_RANGE",
            "deterministic.agentPerformance",
        ),
        (
            all_at(50),
            all_at(50) | {"processCompliance": -1},
            "SCORE_OUT_OF_RANGE",
            "ai.processCompliance",
        ),
        (all_at(1.5), all_at(50), "SCORE_OUT_OF_RANGE", "deterministic.agentPerformance"),
        (all_at(float("nan")), all_at(50), "SCORE_OUT_OF_RANGE", "deterministic.agentPerformance"),
        (all_at(True), all_at(50), "SCORE_OUT_OF_RANGE", "deterministic.agentPerformance"),
        (all_at("50"), all_at(50), "SCORE_OUT_OF_RANGE", "deterministic.agentPerformance"),
        (all_at(50), all_at("50"), "SCORE_OUT_OF_RANGE", "ai.agentPerformance"),
        (all_at(50), all_at([50, 101]), "SCORE_OUT_OF_RANGE", "ai.agentPerformance[1]"),
        (all_at(50), all_at([]), "SCORE_MISSING", "ai.agentPerformance"),
        (all_at(50), all_at([50] * 1_025), "SAMPLES_TOO_MANY", "ai.agentPerformance"),
        (all_at(50) | {"speed": 1}, all_at(50), "CATEGORY_UNKNOWN", "deterministic.speed"),
        (all_at(50), {"agentPerformance": 50}, "CATEGORY_MISSING", "ai"),
        ({}, all_at(50), "CATEGORY_MISSING", "deterministic"),
    ],
)
def test_wrong_tasks_name_the_place(det: Any, ai: Any, reason: str, path: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        steelyard.score_task(det, ai)
    assert caught.value.reason == reason
    assert [violation.path for violation in caught.value.violations] == [path]


def test_samples_blend_their_half_up_mean_and_tell_their_spread() -> None:
    # Mean of 70 and 75 is 72.5, rounded up to 73: 80 * 0.7 + 73 * 0.3 = 77.9.
    task = steelyard.score_task(all_at(80), all_at([70, 75]))
    entry = task.categories[0]
    assert (entry.final_score, entry.band) == (78, "strong")
    assert entry.spread == steelyard.SampleSpread(77, 79, 2, 1.0)
    # 0 and 100 around a band's edge: blends 56 and 86, reported 71.
    entry = steelyard.score_task(all_at(80), all_at([0, 100, 50, 51])).categories[0]
    assert (entry.final_score, entry.band) == (71, "acceptable")
    assert entry.spread == steelyard.SampleSpread(56, 86, 4, 0.5)
    assert steelyard.score_task(all_at(80), all_at(70)).categories[0].spread is None


def test_policy_files_that_do_not_load(tmp_path: Path) -> None:
    good = (POLICIES / "exact.toml").read_text()
    for change, line, path, words in [
        (("weight = 6667", "weight = 6666"), 8, "categories", "sum to 9999"),
        (("weight = 6667", "weight = 0"), 7, "categories[0].weight", "basis points"),
        (("ai = 5000", "ai = 4999"), 5, "blend", "sum to 10000"),
        (("max = 49", "max = 48"), 21, "bands[1].min", "must start at 49"),
        (("max = 100", "max = 99"), 16, "bands", "end at 99"),
        (('"style"', '"correctness"'), 12, "categories[1].name", "twice"),
        (('"amber"', '"red"'), 21, "bands[1].name", "twice"),
        (('"style"', '"a b"'), 12, "categories[1].name", "ASCII"),
        (("floor = 50", "floor = 101"), 7, "categories[0].floor", "1..100"),
        (("version = 2", "version = 0"), 3, "version", "1..2147483647"),
    ]:
        file = tmp_path / "policy.toml"
        text = good.replace(*change)
        assert text != good
        file.write_text(text)
        with pytest.raises(InvalidInputError) as caught:
            steelyard.load_policy(file)
        error = caught.value
        assert error.reason == "POLICY_INVALID", change
        assert error.violations[0].path == path
        assert str(file) in error.message
        assert words in error.message
        at = int(error.message.split("line ")[1].split(":")[0])
        assert abs(at - line) <= 1, error.message
    for text, words in [
        ("name = ", "line 1"),
        (good.replace("[[bands]]", "[[band]]"), "unknown field"),
        (good.replace('arithmetic = "decimal"', 'arithmetic = "float"'), "line 4"),
        (good.replace("version = 2\n", ""), "missing field"),
    ]:
        file.write_text(text)
        with pytest.raises(InvalidInputError, match=words) as caught:
            steelyard.load_policy(file)
        assert caught.value.reason == "POLICY_SYNTAX"
    file.write_bytes(b'name = "p"\nversion = "\xff"')
    with pytest.raises(InvalidInputError, match="line 2: not UTF-8"):
        steelyard.load_policy(file)


def test_folders_of_policies(tmp_path: Path) -> None:
    assert [policy.version for policy in steelyard.load_policies(POLICIES)] == [1, 2]
    text = (POLICIES / "exact.toml").read_text()
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(text)
    with pytest.raises(
        InvalidInputError, match=r"b.toml: policy exact@2 is already defined by .*a"
    ):
        steelyard.load_policies(tmp_path)
    (tmp_path / "b.toml").write_text(
        text.replace('"exact"', '"task-evaluation"').replace("= 2", "= 1")
    )
    with pytest.raises(InvalidInputError, match="built-in"):
        steelyard.load_policies(tmp_path)
