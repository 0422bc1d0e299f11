"""A small project with one squad, built by tests and judged through the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from steelyard.cli import main

PRODUCER = """
import json, os, sys
payload = json.loads(sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read())
"""

ANSWER = PRODUCER + "print(json.dumps({'answer': payload.get('question')}))"

SCORER = PRODUCER + (
    "print(json.dumps({'dimensions': {name: {'candidate': 0.9, 'baseline': 0.9, 'evidence': 'read'}"
    " for name in payload['_aioson_eval']['dimensions']}}))"
)

GENOME = "\n<!-- AIOSON:GENOME-COMPILED:BEGIN -->\nBe brief.\n<!-- AIOSON:GENOME-COMPILED:END -->\n"

COMMAND = [sys.executable, "-c", "from steelyard.cli import main; main()"]


class SquadProject:
    """A squad `demo` with a producer and a scorer that pass, until a test changes something."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.squad = root / ".aioson" / "squads" / "demo"
        (self.squad / "agents").mkdir(parents=True)
        (root / "style.md").write_text("Always cite your sources.\n")
        self.prompt = self.squad / "agents" / "writer.md"
        self.prompt.write_text("You cite your sources.\n")
        self.worker("producer", ANSWER)
        self.worker("scorer", SCORER)
        self.manifest: dict[str, Any] = {
            "slug": "demo",
            "goal": "Answers that cite their sources.",
            "executors": [{"slug": "writer", "file": ".aioson/squads/demo/agents/writer.md"}],
            "sourceDocs": ["style.md"],
            "evaluation": {
                "contractVersion": "1.0.0",
                "criteria": [
                    {
                        "id": "cites",
                        "kind": "grounding",
                        "statement": "The writer cites.",
                        "source": "style.md",
                        "executor": "writer",
                        "expectedTerms": ["cite your sources"],
                    }
                ],
                "heldOutCases": [self.case("one")],
            },
        }
        self.write()

    @property
    def environment(self) -> dict[str, str]:
        """Keeps the keys that the user of this machine trusts out of the tests."""
        return {"XDG_CONFIG_HOME": str(self.root / "config")}

    @staticmethod
    def case(name: str, **changes: Any) -> dict[str, Any]:
        """A held-out case that passes."""
        return {
            "id": name,
            "task": f"Answer {name}.",
            "deterministic": True,
            "candidateRun": {"worker": "producer", "input": {"question": name}},
            "scorer": "scorer",
            "dimensions": {"grounding": {"threshold": 0.8, "critical": True}},
            **changes,
        }

    @property
    def cases(self) -> list[dict[str, Any]]:
        cases: list[dict[str, Any]] = self.manifest["evaluation"]["heldOutCases"]
        return cases

    def worker(self, name: str, code: str, program: str = "run.py", **description: Any) -> Path:
        """Write the worker `name`; its folder comes back."""
        folder = self.squad / "workers" / name
        folder.mkdir(parents=True, exist_ok=True)
        described = {"slug": name, "timeoutSeconds": 20, **description}
        (folder / "worker.json").write_text(json.dumps(described))
        (folder / program).write_text(code)
        return folder

    def write(self) -> None:
        """Write the manifest as it stands."""
        (self.squad / "squad.manifest.json").write_text(json.dumps(self.manifest, indent=1))

    def bind_genome(self) -> None:
        """Bind a compiled genome and let every case compare with and without it."""
        self.prompt.write_text(self.prompt.read_text() + GENOME)
        self.manifest["genomeBindings"] = [{"slug": "brief", "status": "compiled"}]
        for case in self.cases:
            case["baselineRun"] = case["candidateRun"]
        self.write()

    def run(self, *arguments: str) -> Result:
        """`steelyard gate ROOT --squad demo ...` in this process."""
        given = ["gate", str(self.root), "--squad", "demo", *arguments]
        return CliRunner().invoke(main, given, env=self.environment)

    def start(self, *arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
        """The same in a process of its own."""
        given = [*COMMAND, "gate", str(self.root), "--squad", "demo", *arguments]
        return subprocess.Popen(
            given,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, **self.environment},
        )

    def gate(self, *arguments: str) -> dict[str, Any]:
        """Run the gate; its report comes back, with the exit code as `exit_code`."""
        result = self.run("--json", *arguments)
        assert result.stdout, result.output
        answer: dict[str, Any] = json.loads(result.stdout)
        assert answer["exit_code"] == result.exit_code
        latest = json.loads((self.squad / "evals" / "latest.json").read_text())
        assert answer["report"] == latest
        return {**latest, "exit_code": result.exit_code}


def guards(report: dict[str, Any], case: int = 0) -> dict[str, str]:
    """Status of every dimension of a case by name."""
    return {
        dimension["name"]: dimension["status"]
        for dimension in report["held_out"]["cases"][case]["dimensions"]
    }


def failures(report: dict[str, Any], case: int = 0) -> dict[str, str | None]:
    """Failure of every run of a case by label."""
    return {run["label"]: run["failure"] for run in report["held_out"]["cases"][case]["executions"]}


def run_processes(*arguments: object) -> Any:
    """What `tests.support.processes` saw."""
    command = [sys.executable, "-m", "tests.support.processes", *map(str, arguments)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True, timeout=240)
    return json.loads(done.stdout)
