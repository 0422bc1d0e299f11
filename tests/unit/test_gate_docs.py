"""Every word that the gate may answer with is explained in its documentation."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "gate.md").read_text()
MODULES = sorted((ROOT / "service" / "steelyard" / "gating").glob("*.py"))
WORD = re.compile(r"[A-Z]+(_[A-Z]+)*")


def words(module: Path) -> set[str]:
    """UPPER_SNAKE texts of a module that are not names that it exports, verdicts or categories."""
    tree = ast.parse(module.read_text())
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    exported = {
        node.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and "__all__" in ast.dump(statement.targets[0])
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Constant)
    }
    found = {text for text in texts if WORD.fullmatch(text) and len(text) > 4}
    return found - exported


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_words_are_documented(module: Path) -> None:
    missing = {word for word in words(module) if not re.search(rf"\b_?{word}\b", DOCS)}
    assert missing == set()


def test_the_check_sees_words() -> None:
    assert sum(len(words(module)) for module in MODULES) > 80
