"""Ratios of the Python benchmarks: figures per item, beside their peers of the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

# measure(group, name, items, function): times the function, which works on so many items.
Measure = Callable[[str, str, int, Callable[[], Any]], Any]

_FIGURES: dict[str, dict[str, float]] = {}


@pytest.fixture
def measure(benchmark: Any) -> Iterator[Measure]:
    """Times one function in a few rounds and notes its median per item."""

    def run(group: str, name: str, items: int, function: Callable[[], Any]) -> Any:
        benchmark.group, benchmark.name = group, name
        result = benchmark.pedantic(function, rounds=5, iterations=1, warmup_rounds=1)
        median = benchmark.stats.stats.median
        benchmark.extra_info["ns_per_item"] = median / items * 1e9
        _FIGURES.setdefault(group, {})[name] = median / items * 1e9
        return result

    return run


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints, for each group, nanoseconds per item and how many times ours each peer takes."""
    for group, figures in _FIGURES.items():
        terminalreporter.section(group)
        ours = next(iter(figures.values()))
        for name, figure in figures.items():
            terminalreporter.write_line(
                f"{name:<44} {figure:>12.2f} ns/item {figure / ours:>9.2f} x"
            )
