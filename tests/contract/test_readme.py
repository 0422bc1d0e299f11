"""Python in the README and in docs/embedding.md runs as it is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def blocks(name: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "index"),
    [
        (page, index)
        for page in ("README.md", "docs/embedding.md")
        for index in range(len(blocks(page)))
    ],
)
def test_printed_python_runs(page: str, index: int, server_address: str) -> None:
    code = blocks(page)[index].replace("127.0.0.1:50051", server_address)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_there_is_python_to_run() -> None:
    assert len(blocks("README.md")) >= 2
    assert len(blocks("docs/embedding.md")) >= 1
