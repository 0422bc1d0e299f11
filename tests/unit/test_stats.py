"""Statistics of the core against SciPy, published values and slow, obvious code."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from steelyard import _core
from steelyard.errors import InvalidInputError, LimitError, SteelyardError

# --- intervals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.05, 0.001, 0.5])
@pytest.mark.parametrize(
    ("successes", "trials"),
    [(0, 1), (1, 1), (0, 20), (20, 20), (1, 29), (15, 148), (263, 1_000), (7, 1_000_000)],
)
def test_intervals_agree_with_scipy(successes: int, trials: int, alpha: float) -> None:
    wilson = stats.binomtest(successes, trials).proportion_ci(1 - alpha, method="wilson")
    failures = trials - successes
    exact = (
        stats.beta.ppf(alpha / 2, successes, failures + 1) if successes else 0.0,
        stats.beta.isf(alpha / 2, successes + 1, failures) if failures else 1.0,
    )
    assert _core.stats_wilson(successes, trials, alpha) == pytest.approx(
        (wilson.low, wilson.high), rel=1e-9, abs=1e-15
    )
    assert _core.stats_clopper_pearson(successes, trials, alpha) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("successes", "trials", "wilson", "exact"),
    [
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ],
)
def test_intervals_published_by_newcombe_1998(
    successes: int, trials: int, wilson: tuple[float, float], exact: tuple[float, float]
) -> None:
    found = _core.stats_wilson(successes, trials, 0.05)
    assert tuple(round(end, 4) for end in found) == wilson
    found = _core.stats_clopper_pearson(successes, trials, 0.05)
    assert tuple(round(end, 4) for end in found) == exact


# --- McNemar ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "wins"),
    [
        (0, 0),
        (1, 0),
        (0, 5),
        (5, 1),
        (10, 10),
        (7, 25),
        (150, 86),
        (3_000, 2_800),
        (40_000, 40_500),
    ],
)
def test_mcnemar_agrees_with_scipy(losses: int, wins: int) -> None:
    discordant = losses + wins
    if discordant == 0:
        expected = (1.0, 1.0, 1.0)
    else:
        expected = (
            stats.binomtest(losses, discordant, 0.5).pvalue,
            stats.binomtest(losses, discordant, 0.5, alternative="greater").pvalue,
            stats.binomtest(wins, discordant, 0.5, alternative="greater").pvalue,
        )
    found = _core.stats_mcnemar(losses, wins, max(discordant, 1) + 7)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("losses", "wins", "pairs", "margin"),
    [(0, 0, 10, 0.1), (0, 0, 200, 0.1), (5, 4, 100, 0.1), (30, 12, 400, 0.05), (9, 9, 50, 0.9)],
)
def test_mcnemar_margin_by_its_definition(
    losses: int, wins: int, pairs: int, margin: float
) -> None:
    discordant, error = losses + wins, 1e-4
    bound = stats.beta.ppf(1 - error, discordant + 1, pairs - discordant)
    excess = margin / bound
    tail = 0.0 if excess >= 1 else stats.binom.sf(wins - 1, discordant, (1 - excess) / 2)
    found = _core.stats_mcnemar(losses, wins, pairs, margin)
    assert found[2] == pytest.approx(min(1.0, tail + error), rel=1e-8)
    assert found[:2] == _core.stats_mcnemar(losses, wins, pairs)[:2]


@pytest.mark.parametrize("margin", [0.0, 0.1, 0.3])
def test_mcnemar_non_inferiority_keeps_its_level(margin: float) -> None:
    pairs, alpha = 25, 0.05
    tables = [(b, c) for b in range(pairs + 1) for c in range(pairs + 1 - b)]
    rejected = [t for t in tables if _core.stats_mcnemar(*t, pairs, margin)[2] <= alpha]
    assert rejected
    for win_rate in np.linspace(0.0, (1 - margin) / 2, 41):
        loss_rate = win_rate + margin
        rates = [loss_rate, win_rate, max(0.0, 1 - loss_rate - win_rate)]
        counts = [[b, c, pairs - b - c] for b, c in rejected]
        assert stats.multinomial.pmf(counts, pairs, rates).sum() <= alpha


# --- sign flips ---------------------------------------------------------------------------------


def paired(rng: random.Random, pairs: int, digits: int) -> tuple[list[float], list[float]]:
    baseline = [round(rng.random(), digits) for _ in range(pairs)]
    candidate = [round(min(1.0, max(0.0, b + rng.gauss(0.05, 0.3))), digits) for b in baseline]
    return baseline, candidate


@pytest.mark.parametrize("digits", [1, 2, 6])
@pytest.mark.parametrize("pairs", [2, 5, 9, 12])
def test_enumeration_agrees_with_scipy(pairs: int, digits: int) -> None:
    baseline, candidate = paired(random.Random(pairs * 10 + digits), pairs, digits)  # noqa: S311 - data

    def p(shift: float, alternative: str) -> float:
        return float(
            stats.permutation_test(
                (np.add(candidate, shift), baseline),
                lambda x, y: np.round(np.mean(x - y), 12),
                permutation_type="samples",
                n_resamples=np.inf,
                alternative=alternative,
            ).pvalue
        )

    if any(b != c for b, c in zip(baseline, candidate, strict=True)):
        mean, two_sided, worse, better, _, exact = _core.stats_sign_flip(
            baseline, candidate, seed=1
        )
        assert exact
        assert mean == pytest.approx(np.mean(np.subtract(candidate, baseline)))
        assert worse == pytest.approx(p(0, "less"))
        assert better == pytest.approx(p(0, "greater"))
        # SciPy doubles the smaller tail; by symmetry that is the tail of the absolute mean.
        assert two_sided == pytest.approx(min(1.0, 2 * min(worse, better)))
    found = _core.stats_sign_flip(baseline, candidate, seed=1, margin=0.2)
    assert found[3] == pytest.approx(p(0.2, "greater"))


def exact_p(differences: Sequence[int], margin: int) -> tuple[float, float, float]:
    """P-values from the distribution of all signed sums of integers."""

    def signed_sums(items: Sequence[int]) -> dict[int, int]:
        sums = {0: 1}
        for item in items:
            following: Counter[int] = Counter()
            for value, ways in sums.items():
                following[value + item] += ways
                following[value - item] += ways
            sums = following
        return sums

    def share(items: Sequence[int], extreme: Any) -> float:
        sums = signed_sums(items)
        return sum(ways for value, ways in sums.items() if extreme(value)) / 2 ** len(items)

    total = sum(differences)
    shifted = [d + margin for d in differences]
    return (
        share(differences, lambda value: abs(value) >= abs(total)),
        share(differences, lambda value: value <= total),
        share(shifted, lambda value: value >= sum(shifted)),
    )


@pytest.mark.parametrize(
    ("pairs", "margin"), [(12, 0), (19, 2), (20, 1), (21, 0), (64, 0), (200, 3)]
)
def test_sign_flips_of_tenths_against_all_sums(pairs: int, margin: int) -> None:
    rng = random.Random(pairs)  # noqa: S311 - test data
    differences = [rng.randint(-6, 6) or 1 for _ in range(pairs)]
    baseline = [rng.randint(max(0, -d), 10 - max(0, d)) for d in differences]
    found = _core.stats_sign_flip(
        [b / 10 for b in baseline],
        [(b + d) / 10 for b, d in zip(baseline, differences, strict=True)],
        seed=5,
        margin=margin / 10,
        flips=400_000,
    )
    expected = exact_p(differences, margin)
    if pairs <= 20:
        assert found[1:] == pytest.approx((*expected, 2**pairs, True))
    else:
        assert found[4:] == (400_000, False)
        assert found[1:4] == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 400_000))


def test_random_patterns_are_what_the_description_says() -> None:
    """Signs from the SplitMix64 sequence of the mixed seed, 64 per word, low bit first."""
    mask, gamma = 2**64 - 1, 0x9E3779B97F4A7C15
    pairs, flips, seed = 70, 300, -(2**53) + 1

    def mix(word: int) -> int:
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & mask
        word = (word ^ word >> 27) * 0x94D049BB133111EB & mask
        return word ^ word >> 31

    def word(index: int) -> int:
        return mix(mix(seed & mask) + (index + 1) * gamma & mask)

    rng = random.Random(3)  # noqa: S311 - test data
    differences = [rng.choice([-3, -2, -1, 1, 2, 3]) for _ in range(pairs)]
    total, margin = sum(differences), 1
    counts = [1, 1, 1]
    for flip in range(flips):
        bits = word(2 * flip) | word(2 * flip + 1) << 64
        signs = [1 if bits >> i & 1 else -1 for i in range(pairs)]
        value = sum(s * d for s, d in zip(signs, differences, strict=True))
        shifted = sum(s * (d + margin) for s, d in zip(signs, differences, strict=True))
        counts[0] += abs(value) >= abs(total)
        counts[1] += value <= total
        counts[2] += shifted >= total + margin * pairs
    found = _core.stats_sign_flip(
        [0.0] * pairs, differences, seed=seed, margin=margin, flips=flips, threads=3
    )
    assert found == (total / pairs, *(count / (flips + 1) for count in counts), flips, False)


@pytest.mark.parametrize("pairs", [3, 20, 21, 64, 65, 1_000])
@pytest.mark.parametrize("margin", [0.0, 0.07])
def test_threads_change_nothing(pairs: int, margin: float) -> None:
    baseline, candidate = paired(random.Random(pairs), pairs, 4)  # noqa: S311 - test data
    results = {
        _core.stats_sign_flip(
            baseline, candidate, seed=11, margin=margin, flips=2_003, threads=threads
        )
        for threads in (1, 2, 7, 256)
    }
    assert len(results) == 1


def test_sequences_and_buffers_are_the_same() -> None:
    baseline, candidate = paired(random.Random(8), 40, 3)  # noqa: S311 - test data
    expected = _core.stats_sign_flip(baseline, candidate, seed=0)
    as_arrays = _core.stats_sign_flip(np.array(baseline), np.array(candidate), seed=0)
    strided = np.array([baseline, candidate]).T.copy()
    assert as_arrays == expected
    assert _core.stats_sign_flip(strided[:, 0], strided[:, 1], seed=0) == expected
    assert _core.stats_sign_flip(tuple(baseline), candidate, seed=1) != expected


def test_ties_are_not_broken_by_rounding() -> None:
    # 0.8 - 0.7, 0.3 - 0.2 and 0.1 differ in their last bits, but every pattern sums to a tie.
    found = _core.stats_sign_flip([0.7, 0.2, 0.0, 0.2], [0.8, 0.3, 0.1, 0.0], seed=0)
    assert found[1:4] == pytest.approx(exact_p([1, 1, 1, -2], 0))


def test_no_differences_show_nothing() -> None:
    same = [0.1, 0.5, 0.9] * 20
    assert _core.stats_sign_flip(same, same, seed=0) == (0.0, 1.0, 1.0, 1.0, 1, True)


def test_scale_of_scores_does_not_matter() -> None:
    baseline, candidate = paired(random.Random(2), 30, 3)  # noqa: S311 - test data
    expected = _core.stats_sign_flip(baseline, candidate, seed=4)[1:]
    for scale in (2.0**-900, 2.0**-500, 2.0**900):
        scaled = [[s * scale for s in scores] for scores in (baseline, candidate)]
        assert _core.stats_sign_flip(*scaled, seed=4)[1:] == expected


# --- several tests ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.3], [0.3]),
        ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05, 0.08, 0.09, 0.09, 0.09]),  # p.adjust of R
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([1.0, 0.0, 0.6, 0.6], [1.0, 0.0, 1.0, 1.0]),
    ],
)
def test_holm_published(p_values: list[float], adjusted: list[float]) -> None:
    assert _core.stats_holm(p_values) == pytest.approx(adjusted)


def test_holm_rejects_what_the_procedure_rejects() -> None:
    rng = random.Random(1)  # noqa: S311 - test data
    for _ in range(300):
        p_values = [rng.random() ** 4 for _ in range(rng.randint(1, 12))]
        adjusted = _core.stats_holm(p_values)
        rejected: set[int] = set()
        for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
            if p_values[at] * (len(p_values) - rank) > 0.05:
                break
            rejected.add(at)
        assert {i for i, p in enumerate(adjusted) if p <= 0.05} == rejected


# --- power --------------------------------------------------------------------------------------


def exact_mcnemar_power(pairs: int, discordance: float, effect: float, alpha: float) -> float:
    loss_share = (1 + effect / discordance) / 2
    power = 0.0
    for discordant in range(1, pairs + 1):
        critical = int(stats.binom.isf(alpha, discordant, 0.5)) + 1
        power += stats.binom.pmf(discordant, pairs, discordance) * stats.binom.sf(
            critical - 1, discordant, loss_share
        )
    return power


def test_power_published_by_obrien_2002() -> None:
    # Discordance 0.4, odds ratio 0.25, 50 pairs, one-sided 0.05: exact power 0.8393.
    assert exact_mcnemar_power(50, 0.4, 0.24, 0.05) == pytest.approx(0.8393, abs=1e-4)
    assert _core.stats_mcnemar_power(50, 0.4, 0.24, 0.05) == pytest.approx(0.839, abs=0.03)


@pytest.mark.parametrize("discordance", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("pairs", [50, 200, 1_000])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_mcnemar_power_is_near_the_exact_one_and_hardly_above(
    pairs: int, discordance: float, alpha: float
) -> None:
    for share in (0.2, 0.5, 0.8):
        exact = exact_mcnemar_power(pairs, discordance, share * discordance, alpha)
        found = _core.stats_mcnemar_power(pairs, discordance, share * discordance, alpha)
        assert exact - 0.12 < found < exact + 0.06


def test_mcnemar_pairs_published_by_chow_shao_and_wang() -> None:
    # 58.6, so 59, pairs without continuity correction, which adds 2 / effect.
    pairs = _core.stats_mcnemar_pairs(0.7, 0.3, 0.025, 0.8)
    assert pairs == math.ceil(58.6 + 2 / 0.3)
    assert exact_mcnemar_power(pairs, 0.7, 0.3, 0.025) > 0.8


@pytest.mark.parametrize("pairs", [10, 34, 200])
@pytest.mark.parametrize("effect", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.05, 0.025])
def test_sign_flip_power_agrees_with_the_t_test(pairs: int, effect: float, alpha: float) -> None:
    critical = stats.t.isf(alpha, pairs - 1)
    exact = stats.nct.sf(critical, pairs - 1, effect * math.sqrt(pairs))
    assert _core.stats_sign_flip_power(pairs, 2.0, 2 * effect, alpha) == pytest.approx(
        exact, abs=0.02
    )


def test_sign_flip_pairs_published() -> None:
    # The usual example of paired t-tests: standardised effect 0.5, two-sided 0.05, power 0.8.
    assert _core.stats_sign_flip_pairs(1.0, 0.5, 0.025, 0.8) == 34


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_pairs_and_detectable_are_the_least(alpha: float, power: float) -> None:
    for kind, spread, effect in itertools.product(
        ("mcnemar", "sign_flip"), (0.1, 0.6), (0.02, 0.09)
    ):
        power_of = getattr(_core, f"stats_{kind}_power")
        pairs = getattr(_core, f"stats_{kind}_pairs")(spread, effect, alpha, power)
        assert power_of(pairs, spread, effect, alpha) >= power
        assert power_of(pairs - 1, spread, effect, alpha) < power
        least = getattr(_core, f"stats_{kind}_detectable")(pairs, spread, alpha, power)
        assert least <= effect
        assert power_of(pairs, spread, least, alpha) >= power
        assert power_of(pairs, spread, math.nextafter(least, 0), alpha) < power


def test_what_no_sample_can_show() -> None:
    assert _core.stats_mcnemar_pairs(0.5, 1e-6, 0.05, 0.8) is None
    assert _core.stats_sign_flip_pairs(1.0, 1e-6, 0.05, 0.8) is None
    # Four pairs: the most extreme outcome has probability 1/16.
    for kind in ("mcnemar", "sign_flip"):
        assert getattr(_core, f"stats_{kind}_power")(4, 0.5, 0.5, 0.05) == 0
        assert getattr(_core, f"stats_{kind}_detectable")(4, 0.5, 0.05, 0.8) is None
        assert getattr(_core, f"stats_{kind}_pairs")(0.5, 0.5, 0.05, 0.8) >= 5


# --- refusals -----------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
HUGE = 2**20 + 1


@pytest.mark.parametrize(
    ("function", "arguments", "reason", "path"),
    [
        ("wilson", (0, 0, 0.05), "SAMPLE_EMPTY", "trials"),
        ("wilson", (2, 1, 0.05), "PARAMETER_OUT_OF_RANGE", "successes"),
        ("wilson", (-1, 1, 0.05), "PARAMETER_OUT_OF_RANGE", "successes"),
        ("wilson", (1, -1, 0.05), "PARAMETER_OUT_OF_RANGE", "trials"),
        ("wilson", (1, HUGE, 0.05), "SAMPLE_TOO_LARGE", "trials"),
        ("wilson", (1, 2, 0.0), "PARAMETER_OUT_OF_RANGE", "alpha"),
        ("clopper_pearson", (1, 2, 1.0), "PARAMETER_OUT_OF_RANGE", "alpha"),
        ("clopper_pearson", (1, 2, NAN), "PARAMETER_OUT_OF_RANGE", "alpha"),
        ("holm", ([0.5, 1.1],), "PARAMETER_OUT_OF_RANGE", "p_values[1]"),
        ("holm", ([NAN],), "PARAMETER_OUT_OF_RANGE", "p_values[0]"),
        ("mcnemar", (0, 0, 0), "SAMPLE_EMPTY", "pairs"),
        ("mcnemar", (3, 3, 5), "PARAMETER_OUT_OF_RANGE", "wins"),
        ("mcnemar", (9, 0, 5), "PARAMETER_OUT_OF_RANGE", "losses"),
        ("mcnemar", (2**62, 2**62, 5), "PARAMETER_OUT_OF_RANGE", "losses"),
        ("mcnemar", (0, 0, HUGE), "SAMPLE_TOO_LARGE", "pairs"),
        ("mcnemar", (0, 0, 5, 1.0), "PARAMETER_OUT_OF_RANGE", "margin"),
        ("mcnemar", (0, 0, 5, -0.1), "PARAMETER_OUT_OF_RANGE", "margin"),
        ("mcnemar", (0, 0, 5, NAN), "PARAMETER_OUT_OF_RANGE", "margin"),
        ("mcnemar_power", (0, 0.5, 0.1, 0.05), "SAMPLE_EMPTY", "pairs"),
        ("mcnemar_power", (9, 0.0, 0.1, 0.05), "PARAMETER_OUT_OF_RANGE", "discordance"),
        ("mcnemar_power", (9, 1.1, 0.1, 0.05), "PARAMETER_OUT_OF_RANGE", "discordance"),
        ("mcnemar_power", (9, 0.5, 0.6, 0.05), "PARAMETER_OUT_OF_RANGE", "effect"),
        ("mcnemar_power", (9, 0.5, 0.0, 0.05), "PARAMETER_OUT_OF_RANGE", "effect"),
        ("mcnemar_detectable", (9, 0.5, 0.05, 0.4), "PARAMETER_OUT_OF_RANGE", "power"),
        ("mcnemar_pairs", (0.5, 0.1, 2.0, 0.8), "PARAMETER_OUT_OF_RANGE", "alpha"),
        ("sign_flip_power", (9, 0.0, 0.1, 0.05), "PARAMETER_OUT_OF_RANGE", "deviation"),
        ("sign_flip_power", (9, INF, 0.1, 0.05), "PARAMETER_OUT_OF_RANGE", "deviation"),
        ("sign_flip_detectable", (9, 1.0, 0.05, 1.0), "PARAMETER_OUT_OF_RANGE", "power"),
        ("sign_flip_pairs", (1.0, NAN, 0.05, 0.8), "PARAMETER_OUT_OF_RANGE", "effect"),
    ],
)
def test_refusals(function: str, arguments: tuple[Any, ...], reason: str, path: str) -> None:
    with pytest.raises(SteelyardError) as caught:
        getattr(_core, f"stats_{function}")(*arguments)
    assert caught.value.reason == reason
    assert [violation.path for violation in caught.value.violations] == [path]
    assert isinstance(caught.value, LimitError if "LARGE" in reason else InvalidInputError)


@pytest.mark.parametrize(
    ("baseline", "candidate", "options", "reason", "path"),
    [
        ([], [], {}, "SAMPLE_EMPTY", "baseline"),
        ([1.0], [], {}, "LENGTH_MISMATCH", "candidate"),
        ([1.0, NAN], [1.0, 1.0], {}, "PARAMETER_OUT_OF_RANGE", "baseline[1]"),
        ([1.0], [-INF], {}, "PARAMETER_OUT_OF_RANGE", "candidate[0]"),
        ([1.0], [1e301], {}, "PARAMETER_OUT_OF_RANGE", "candidate[0]"),
        ([1.0], [1.0], {"margin": -0.1}, "PARAMETER_OUT_OF_RANGE", "margin"),
        ([1.0], [1.0], {"margin": NAN}, "PARAMETER_OUT_OF_RANGE", "margin"),
        ([1.0], [1.0], {"flips": 0}, "PARAMETER_OUT_OF_RANGE", "flips"),
        ([1.0], [1.0], {"flips": 2**24 + 1}, "PARAMETER_OUT_OF_RANGE", "flips"),
        ([1.0], [1.0], {"threads": 0}, "PARAMETER_OUT_OF_RANGE", "threads"),
        ([1.0], [1.0], {"threads": 2**40}, "PARAMETER_OUT_OF_RANGE", "threads"),
        ([1.0] * HUGE, [0.0] * HUGE, {}, "SAMPLE_TOO_LARGE", "baseline"),
        ([1.0] * 2_000, [0.0] * 2_000, {"flips": 2**24}, "RESAMPLING_TOO_LARGE", "flips"),
    ],
)
def test_sign_flip_refusals(
    baseline: list[float], candidate: list[float], options: dict[str, Any], reason: str, path: str
) -> None:
    with pytest.raises(SteelyardError) as caught:
        _core.stats_sign_flip(baseline, candidate, seed=0, **options)
    assert caught.value.reason == reason
    assert [violation.path for violation in caught.value.violations] == [path]
