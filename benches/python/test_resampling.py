"""Sign flips of paired scores beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from steelyard import _core

FLIPS, PAIRS = 10_000, 1_000
BASELINE = np.random.default_rng(7).random(PAIRS)
CANDIDATE = BASELINE + np.random.default_rng(8).normal(0.003, 0.1, PAIRS)
GROUP = f"{FLIPS:,} sign flips of {PAIRS:,} pairs"


@pytest.mark.parametrize("threads", [1, 2])
def test_sign_flip(measure: Any, threads: int) -> None:
    result = measure(
        GROUP,
        f"steelyard, {threads} threads",
        FLIPS * PAIRS,
        lambda: _core.stats_sign_flip(BASELINE, CANDIDATE, seed=1, flips=FLIPS, threads=threads),
    )
    assert result[4:] == (FLIPS, False)


def test_sign_flip_by_numpy(measure: Any) -> None:
    differences = CANDIDATE - BASELINE

    def flips() -> float:
        signs = np.random.default_rng(1).integers(0, 2, (FLIPS, PAIRS), dtype=np.int8) * 2 - 1
        return float((np.abs(signs @ differences) >= abs(differences.sum())).mean())

    p = measure(GROUP, "numpy", FLIPS * PAIRS, flips)
    assert p == pytest.approx(_core.stats_sign_flip(BASELINE, CANDIDATE, seed=1)[1], abs=0.03)
