"""A whole gate of 50 cases with workers that do nothing, beside what their processes alone cost.

Each case runs its producer and its scorer twice (the second run proves that they repeat), so a gate
of 50 cases starts 200 processes. The peer starts as many of the same interpreter, one after the
other and two at a time, and does nothing else: no hashing, no judging, no report.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from steelyard.files import Folder
from steelyard.runner import SquadFolder, run_gate

CASES = 50
PROCESSES = CASES * 4
GROUP = f"gate of {CASES} cases with no-op workers, per case"
SCORER = """
import json, sys
dimensions = json.loads(sys.argv[1])["_aioson_eval"]["dimensions"]
scores = {name: {"candidate": 1, "evidence": "ran"} for name in dimensions}
print(json.dumps({"dimensions": scores}))
"""


@pytest.fixture(scope="module")
def squad(tmp_path_factory: pytest.TempPathFactory) -> SquadFolder:
    """A squad that passes: 50 cases of 5 dimensions."""
    root = tmp_path_factory.mktemp("project")
    folder = root / ".aioson" / "squads" / "bench"
    for name, code in (("producer", "print(1)"), ("scorer", SCORER)):
        worker = folder / "workers" / name
        worker.mkdir(parents=True)
        (worker / "worker.json").write_text(json.dumps({"slug": name}))
        (worker / "run.py").write_text(code)
    (root / "prompt.md").write_text("Do it.\n")
    (root / "source.md").write_text("Do what is asked.\n")
    criterion = {
        "id": "asked",
        "kind": "grounding",
        "source": "source.md",
        "artifact": "prompt.md",
        "expectedTerms": ["do it"],
    }
    dimensions = {f"dimension-{number}": {"critical": True} for number in range(5)}
    cases = [
        {
            "id": f"case-{number}",
            "task": f"Do task {number}.",
            "deterministic": True,
            "worker": "producer",
            "input": {"number": number},
            "scorer": "scorer",
            "dimensions": dimensions,
        }
        for number in range(CASES)
    ]
    manifest = {
        "slug": "bench",
        "executors": [],
        "evaluation": {"criteria": [criterion], "heldOutCases": cases},
    }
    (folder / "squad.manifest.json").write_text(json.dumps(manifest))
    return SquadFolder.open(Folder.open(root), "bench")


@pytest.mark.parametrize("jobs", [1, 2])
def test_whole_gate(measure: Callable[..., Any], squad: SquadFolder, jobs: int) -> None:
    def gate() -> object:
        run_id = str(uuid.uuid4())
        run = run_gate(squad, jobs=jobs, clock=lambda: datetime.now(UTC), run_id=run_id)
        return run.report["verdict"]

    assert measure(GROUP, f"steelyard gate --jobs {jobs}", CASES, gate) == "PASS"


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_alone(measure: Callable[..., Any], jobs: int) -> None:
    def start(_: int) -> int:
        command = [sys.executable, "-B", "-s", "-c", "import json"]
        return subprocess.run(command, check=True).returncode

    def start_all() -> int:
        with ThreadPoolExecutor(jobs) as pool:
            return sum(pool.map(start, range(PROCESSES)))

    assert measure(GROUP, f"{PROCESSES} bare interpreters, {jobs} at a time", CASES, start_all) == 0
