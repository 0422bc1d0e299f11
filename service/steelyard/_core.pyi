"""The Rust core. Types and rules are documented where Python wraps them."""

from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ENGINE_DIGEST",
    "ENGINE_VERSION",
    "Engine",
    "Policy",
    "kernel_paths",
    "score_arrays",
]

ENGINE_VERSION: str
ENGINE_DIGEST: str

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
