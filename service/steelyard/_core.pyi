"""The Rust core. Types and rules are documented where Python wraps them."""

from collections.abc import Callable, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

__all__ = [
    "ENGINE_DIGEST",
    "ENGINE_VERSION",
    "ERROR_CODES",
    "Engine",
    "Members",
    "Policy",
    "canonical_json",
    "canonical_record",
    "canonicalize",
    "hash_contexts",
    "hash_contexts_packed",
    "hash_json",
    "hash_object",
    "kernel_paths",
    "score_arrays",
    "sha256_hex",
    "stats_clopper_pearson",
    "stats_holm",
    "stats_mcnemar",
    "stats_mcnemar_detectable",
    "stats_mcnemar_pairs",
    "stats_mcnemar_power",
    "stats_sign_flip",
    "stats_sign_flip_detectable",
    "stats_sign_flip_pairs",
    "stats_sign_flip_power",
    "stats_wilson",
]

ENGINE_VERSION: str
ENGINE_DIGEST: str
ERROR_CODES: list[str]

@final
class Policy:
    @staticmethod
    def task_evaluation() -> Policy: ...
    @staticmethod
    def from_toml(text: str) -> Policy: ...
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def digest(self) -> str: ...
    @property
    def document(self) -> str: ...
    @property
    def arithmetic(self) -> str: ...
    @property
    def blend_weights(self) -> tuple[int, int]: ...
    @property
    def categories(self) -> tuple[str, ...]: ...
    @property
    def weights(self) -> tuple[int, ...]: ...
    @property
    def floors(self) -> tuple[int | None, ...]: ...
    @property
    def bands(self) -> tuple[tuple[str, int, int], ...]: ...
    def blend(self, deterministic: int, ai: int) -> int: ...
    def blend_samples(
        self, deterministic: int, samples: bytes
    ) -> tuple[int, int, int, int, float]: ...
    def overall(self, finals: bytes) -> int: ...
    def band(self, score: int) -> int: ...
    def band_name(self, score: int) -> str: ...

@final
class Engine:
    def __new__(cls, policies: list[Policy], max_tasks: int) -> Engine: ...
    @property
    def policies(self) -> list[Policy]: ...
    def policy(self, name: str = "", version: int = 0) -> Policy: ...
    def score(self, request: bytes) -> bytes: ...

def score_arrays(
    policy: Policy,
    by_column: bool,
    deterministic: NDArray[np.uint8],
    ai: NDArray[np.uint8],
    final_scores: NDArray[np.uint8],
    bands: NDArray[np.uint8],
    overall_scores: NDArray[np.uint8],
    overall_bands: NDArray[np.uint8],
    below_floors: NDArray[np.uint8] | None = None,
    path: str | None = None,
) -> None: ...
def kernel_paths() -> list[str]: ...

# Canonical JSON (RFC 8785) and hashes.
#
# Refused with InvalidInputError, never silently altered: DUPLICATE_KEY, LONE_SURROGATE,
# INTEGER_OUT_OF_RANGE (an integer beyond 2^53 - 1 in magnitude), NUMBER_OUT_OF_RANGE (1e999),
# NOT_FINITE, TOO_DEEP (more than 1,000 levels), TOO_LARGE (4 GiB), INVALID_JSON, INVALID_UTF8,
# UNSUPPORTED_TYPE. Refusals of values in memory carry the path of the element
# (`$.cases[3].seed`), those of text name the byte offset.

def canonical_json(value: Any, /) -> bytes:
    """Canonical JSON of a value made of None, bool, int, float, str, list, tuple and dict with str
    keys, or subclasses of these."""

@final
class Members:
    """What `canonical_record` writes of the objects of a type."""

    def __new__(cls, members: Sequence[tuple[str, str]], /) -> Self:
        """From pairs of attribute name and JSON key. Raises InvalidInputError DUPLICATE_KEY."""

def canonical_record(value: Any, members_of: Callable[[Any], Members | None], /) -> bytes:
    """Canonical JSON of a value that also has mappings and objects of any type in it.

    `members_of(type)` gives what is written of an object of that type, None for a mapping.
    """

def canonicalize(json: Buffer, /) -> bytes:
    """Canonical form of a JSON text in UTF-8.

    Canonical text is its own canonical form, with one exception: a float literal from 2^53 up to
    1e21 is written as plain digits, and an integer that long is refused when read back.
    """

def hash_object(value: Any, /) -> str:
    """Lower-case hexadecimal SHA-256 of `canonical_json(value)`."""

def hash_json(json: Buffer, /) -> str:
    """Lower-case hexadecimal SHA-256 of `canonicalize(json)`."""

def sha256_hex(data: Buffer, /) -> str:
    """Lower-case hexadecimal SHA-256 of bytes."""

def hash_contexts(contexts: Sequence[Buffer], /) -> list[str]:
    """`sha256_hex` of each context, in order."""

def hash_contexts_packed(contexts: Sequence[Buffer], /) -> bytes:
    """SHA-256 of each context, 32 raw bytes each, in order."""

# Statistics of paired evaluations.
#
# A pair is one case answered by a baseline and by a candidate. Counts are at most 2^20. P-values
# are named after what a small one shows: `two_sided` a difference, `worse` a regression of the
# candidate, `non_inferior` that the candidate is not worse by the margin or more. A decision on
# non-inferiority compares `non_inferior` with alpha. Results are the same bits on every machine and
# for every number of threads.
#
# Errors: SAMPLE_EMPTY, LENGTH_MISMATCH, PARAMETER_OUT_OF_RANGE (InvalidInputError),
# SAMPLE_TOO_LARGE, RESAMPLING_TOO_LARGE (LimitError); the path is the argument, such as
# `candidate[3]`.

def stats_wilson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Wilson score interval of a proportion, (low, high); alpha between 0 and 1."""

def stats_clopper_pearson(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Exact interval of a proportion, (low, high); its coverage is at least 1 - alpha."""

def stats_holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for being several (Holm 1979), in the order given."""

def stats_mcnemar(
    losses: int, wins: int, pairs: int, margin: float = 0.0
) -> tuple[float, float, float]:
    """Exact McNemar test of outcomes of 0 and 1: (two_sided, worse, non_inferior).

    `losses` pairs are passed by the baseline only, `wins` by the candidate only. With a margin, 0
    up to 1, `non_inferior` is exact whatever the share of discordant pairs (Berger and Boos 1994).
    """

def stats_mcnemar_power(pairs: int, discordance: float, effect: float, alpha: float) -> float:
    """Power of the one-sided test (Connor 1987, continuity-corrected).

    `discordance` is the share of pairs that differ, above 0 and at most 1. `effect`, above 0 and at
    most the discordance, is the loss rate minus the win rate to be detected; for `non_inferior`
    between equals, it is the margin.
    """

def stats_mcnemar_detectable(
    pairs: int, discordance: float, alpha: float, power: float
) -> float | None:
    """Least effect detected with that power, 0.5 up to 1; None where even the greatest is not."""

def stats_mcnemar_pairs(
    discordance: float, effect: float, alpha: float, power: float
) -> int | None:
    """Least number of pairs that detects the effect; None above 2^20."""

def stats_sign_flip(
    baseline: Sequence[float] | NDArray[np.float64],
    candidate: Sequence[float] | NDArray[np.float64],
    *,
    seed: int,
    margin: float = 0.0,
    flips: int = 10_000,
    threads: int = 1,
) -> tuple[float, float, float, float, int, bool]:
    """Paired permutation test of scores:
    (mean of candidate - baseline, two_sided, worse, non_inferior, patterns, exact).

    Up to 20 differences other than zero (with a margin: up to 20 pairs), all sign patterns are
    tried; otherwise `flips` random ones, 1 to 2^24, that are a function of the seed (64 bits,
    signed). With a margin, the differences must be symmetric about -margin at the margin; for
    outcomes of 0 and 1 use `stats_mcnemar`.
    """

def stats_sign_flip_power(pairs: int, deviation: float, effect: float, alpha: float) -> float:
    """Power of the one-sided test (paired t, Guenther 1981).

    `deviation` is the standard deviation of candidate - baseline, `effect` the mean difference to
    be detected; for `non_inferior` between equals, it is the margin.
    """

def stats_sign_flip_detectable(
    pairs: int, deviation: float, alpha: float, power: float
) -> float | None:
    """Least effect detected with that power, 0.5 up to 1; None for a sample that cannot reject."""

def stats_sign_flip_pairs(
    deviation: float, effect: float, alpha: float, power: float
) -> int | None:
    """Least number of pairs that detects the effect; None above 2^20."""
