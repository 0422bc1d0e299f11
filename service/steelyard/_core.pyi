"""The Rust core. Types and rules are documented where Python wraps them."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

__all__ = [
    "ENGINE_DIGEST",
    "ENGINE_VERSION",
    "ERROR_CODES",
    "Engine",
    "Policy",
    "canonical_json",
    "canonicalize",
    "hash_contexts",
    "hash_contexts_packed",
    "hash_json",
    "hash_object",
    "kernel_paths",
    "score_arrays",
    "sha256_hex",
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
    path: str | None = None,
) -> tuple[
    NDArray[np.uint8],
    NDArray[np.uint8],
    NDArray[np.uint8],
    NDArray[np.uint8],
    NDArray[np.uint8] | None,
]: ...
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
