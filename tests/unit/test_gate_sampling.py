"""Sampled dimensions: what paired samples prove, disprove, or leave open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from scipy import stats

from steelyard._core import ENGINE_DIGEST
from steelyard.gating.model import DimensionResult, DimensionSpec, Status
from steelyard.gating.sampling import judge_dimensions
from steelyard.gating.scores import scorer_outputs
from steelyard.gating.verify import verify
from tests.support.gate_world import (
    COMPILED,
    GENOME_OWNER,
    NOW,
    case,
    document,
    manifest,
    project,
    table,
)


def arm(values: Sequence[float]) -> list[Any]:
    return [{"id": f"q{index}", "score": value} for index, value in enumerate(values)]


def judged(
    baseline: Any, candidate: Any, margin: float = 0.0, others: int = 0, seed: int = 7
) -> DimensionResult:
    entry = {"baseline": baseline, "candidate": candidate, "evidence": "ev"}
    names = ["d", *(f"other{index}" for index in range(others))]
    scored = scorer_outputs({"dimensions": dict.fromkeys(names, entry)})
    results = judge_dimensions(
        [DimensionSpec(name, threshold=0.0, margin=margin) for name in names],
        scored,
        baseline_ran=True,
        refusal=None,
        seed=seed,
        engine_hash=ENGINE_DIGEST,
    )
    return results[0]


def outcome(result: DimensionResult) -> tuple[Status, str]:
    return result.status, result.reason


def numbers(result: DimensionResult) -> Any:
    assert result.statistics is not None
    return result.statistics


def test_binary_regression() -> None:
    baseline, candidate = [1.0] * 20, [1.0] * 12 + [0.0] * 8
    result = judged(arm(baseline), arm(candidate))
    assert outcome(result) == (Status.FAIL, "REGRESSED")
    assert (result.baseline, result.candidate) == (1.0, 0.6)
    found = numbers(result)
    assert (found["test"], found["losses"], found["wins"]) == ("mcnemar", 8, 0)
    assert found["p_worse"] == pytest.approx(stats.binomtest(8, 8, alternative="greater").pvalue)
    wilson = stats.binomtest(12, 20).proportion_ci(0.95, method="wilson")
    assert (found["candidate"]["low"], found["candidate"]["high"]) == pytest.approx(wilson)


def test_graded_regression() -> None:
    baseline = [0.9, 0.8, 0.85, 0.95, 0.9, 0.7, 0.75, 0.8]
    candidate = [value - 0.05 - 0.01 * index for index, value in enumerate(baseline)]
    result = judged(arm(baseline), arm(candidate))
    assert outcome(result) == (Status.FAIL, "REGRESSED")
    assert numbers(result)["test"] == "sign_flip"
    exact = stats.permutation_test(
        ([c - b for b, c in zip(baseline, candidate, strict=True)],),
        lambda sample, axis: sample.mean(axis=axis),
        permutation_type="samples",
        alternative="less",
        n_resamples=10_000,
        vectorized=True,
    )
    assert numbers(result)["p_worse"] == pytest.approx(exact.pvalue)


@pytest.mark.parametrize(("count", "passes"), [(4, False), (5, True), (40, True)])
def test_equal_samples_need_enough_pairs(count: int, passes: bool) -> None:
    result = judged(arm([1.0] * count), arm([1.0] * count))
    if passes:
        assert outcome(result) == (Status.PASS, "NOT_WORSE")
    else:
        assert outcome(result) == (Status.UNVERIFIED, "INSUFFICIENT_POWER")
        assert numbers(result)["samples_needed"] == 5


def test_better_samples_pass() -> None:
    assert outcome(judged(arm([0.0] * 8), arm([1.0] * 8))) == (Status.PASS, "NOT_WORSE")


def test_noise_is_open_and_says_how_many_samples_would_settle_it() -> None:
    baseline = [1.0, 0.0] * 10
    candidate = [0.0, 1.0, 0.0, 1.0, 0.0, *baseline[5:]]
    result = judged(arm(baseline), arm(candidate))
    assert outcome(result) == (Status.UNVERIFIED, "INSUFFICIENT_POWER")
    assert numbers(result)["samples_needed"] > 20


def test_margin_tolerates_what_it_allows() -> None:
    baseline = [0.8] * 60
    candidate = [0.79, 0.81, 0.795] * 20
    assert outcome(judged(arm(baseline), arm(candidate), margin=0.05)) == (Status.PASS, "NOT_WORSE")
    worse = [0.7] * 60
    assert outcome(judged(arm(baseline), arm(worse), margin=0.05)) == (Status.FAIL, "REGRESSED")


def test_holm_across_the_dimensions_of_a_case() -> None:
    lost = arm([1.0] * 5), arm([0.0] * 5)
    assert outcome(judged(*lost)) == (Status.FAIL, "REGRESSED")
    among = judged(*lost, others=3)
    assert outcome(among) == (Status.UNVERIFIED, "INSUFFICIENT_POWER")
    assert numbers(among)["p_worse_adjusted"] == pytest.approx(4 * 0.5**5)


@pytest.mark.parametrize(
    ("baseline", "candidate", "reasons"),
    [
        (arm([1.0] * 5), arm([1.0] * 6), ["COUNT_DIFFERS"]),
        (arm([1.0] * 5), [*arm([1.0] * 4), {"id": "z", "score": 1.0}], ["ITEMS_DIFFER"]),
        (arm([1.0] * 5), {"samples": arm([1.0] * 5), "seed": 8}, ["SEED_DIFFERS"]),
        (arm([1.0] * 5), {"samples": arm([1.0] * 5), "engine": "x"}, ["ENGINE_DIFFERS"]),
        (
            arm([1.0] * 5),
            {"samples": arm([1.0]), "engine": "x", "seed": 8},
            ["COUNT_DIFFERS", "SEED_DIFFERS", "ENGINE_DIFFERS"],
        ),
    ],
)
def test_arms_that_cannot_be_compared(baseline: Any, candidate: Any, reasons: list[str]) -> None:
    result = judged(baseline, candidate)
    assert outcome(result) == (Status.UNVERIFIED, "NOT_COMPARABLE")
    assert numbers(result)["mismatches"] == reasons


def test_arms_that_say_under_what_they_were_taken() -> None:
    told = {"samples": arm([1.0] * 5), "seed": 7, "engine": ENGINE_DIGEST}
    assert outcome(judged(arm([1.0] * 5), told)) == (Status.PASS, "NOT_WORSE")


@pytest.mark.parametrize(
    "samples",
    [
        [],
        [1.0],
        [{"id": "a"}],
        [{"id": 1, "score": 1}],
        [{"id": "a", "score": 87}],
        [{"id": "a", "score": True}],
        [{"id": "a", "score": 1}, {"id": "a", "score": 1}],
        {"samples": 5},
        {"samples": [{"id": "a", "score": 1}], "seed": "7"},
        {"samples": [{"id": "a", "score": 1}], "engine": 7},
    ],
)
def test_samples_that_are_no_samples(samples: Any) -> None:
    assert outcome(judged(samples, samples)) == (Status.UNVERIFIED, "SCORE_INVALID")
    assert outcome(judged(samples, arm([1.0] * 5)))[0] is Status.UNVERIFIED


def test_samples_against_one_value() -> None:
    assert outcome(judged(0.5, arm([1.0] * 5)))[1] == "NOT_COMPARABLE"
    assert outcome(judged(arm([1.0] * 5), 0.5))[1] == "NOT_COMPARABLE"


def test_resampling_is_a_function_of_the_seed() -> None:
    baseline = [0.5 + 0.01 * (index % 7) for index in range(40)]
    candidate = [value + 0.02 * ((index % 5) - 2) for index, value in enumerate(baseline)]
    first, again = judged(arm(baseline), arm(candidate)), judged(arm(baseline), arm(candidate))
    assert numbers(first) == numbers(again)
    assert not numbers(first)["exact"]
    other = judged(arm(baseline), arm(candidate), seed=8)
    assert numbers(other)["p_worse"] != numbers(first)["p_worse"]


def test_order_of_samples_does_not_matter() -> None:
    baseline, candidate = arm([1.0, 0.0, 0.5] * 9), arm([0.5, 0.5, 0.5] * 9)
    assert judged(baseline, candidate) == judged(baseline[::-1], candidate)


def test_samples_in_a_whole_report() -> None:
    entry = {"baseline": arm([0.8] * 9), "candidate": arm([0.9] * 9), "evidence": "ev"}
    answers = table(
        {"prod": {"baseline": 1, "candidate": 2}, "judge": {"dimensions": {"grounding": entry}}}
    )
    held_out = case(worker=None, baselineRun="prod", candidateRun="prod")
    squad = project(manifest(cases=[held_out], bindings=[COMPILED]), GENOME_OWNER)
    report: Any = document(squad, answers)
    assert report["verdict"] == "PASS"
    assert report["genome_comparison"]["dimensions"][0]["statistics"]["samples"] == 9
    assert verify(report, squad, now=NOW).valid
    report["held_out"]["cases"][0]["dimensions"][0]["statistics"]["p_worse"] = 0.5
    assert not verify(report, squad, now=NOW).valid
