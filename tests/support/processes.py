"""Processes that die or race on purpose, forked from a clean interpreter.

A test process may hold threads and a gRPC runtime, and must not fork. So tests start this module as
a program, `python -m tests.support.processes ...`, and read what it saw as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.files import Folder, write_atomic
from steelyard.playbook import PlaybookStore
from steelyard.runner.reports import write_report

# Every way in which a writer enters the system.
CALLS = ("open", "fsync", "fchmod", "write", "close", "replace", "rename", "mkdir")
FILLER = 200_000


def report(number: int, generated_at: str = "2026-01-02T03:04:05.678Z") -> dict[str, Any]:
    """A report document, as far as its files are concerned."""
    return {
        "squad": "demo",
        "verdict": "PASS",
        "generated_at": generated_at,
        "reproduction": {"run_id": f"run {number}"},
        "filler": "x" * FILLER,
    }


def killed_writes(
    prepare: Callable[[], None], write: Callable[[], None], look: Callable[[], Any]
) -> list[Any]:
    """What `look` sees after `write` was killed at its first, second, ... call, and at last not."""
    seen = []
    for step in range(1, 500):
        prepare()
        child = os.fork()
        if child == 0:
            _die_at(step)
            write()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        seen.append(look())
        if status == 0:
            return seen
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            raise RuntimeError(f"the writer ended by itself: {status}")
    raise RuntimeError("the writer never got through")


def _die_at(step: int) -> None:
    calls = 0
    for name in CALLS:
        real = getattr(os, name)

        def counted(*args: object, _real: Any = real, **options: object) -> object:
            nonlocal calls
            calls += 1
            if calls == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return _real(*args, **options)

        setattr(os, name, counted)


def killed_file_writes(folder: Path) -> list[str]:
    """Content of a file after each death of a writer: `old`, `new` or something broken."""
    target = folder / "file"
    old, new = b"old", b"new" * FILLER
    names = {old: "old", new: "new"}
    seen = killed_writes(
        lambda: _write(target, old),
        lambda: write_atomic(target, new),
        lambda: names.get(target.read_bytes(), "broken"),
    )
    write_atomic(target, old)
    return [*seen, *sorted(path.name for path in folder.iterdir())]


def _write(target: Path, data: bytes) -> None:
    target.write_bytes(data)


def killed_report_writes(folder: Path) -> list[dict[str, Any]]:
    """State of a squad's report files after each death of a writer, and after the next writer."""
    squad = folder / "squad"

    def prepare() -> None:
        shutil.rmtree(squad, ignore_errors=True)
        squad.mkdir()
        write_report(Folder.open(squad), report(1))

    def look() -> dict[str, Any]:
        evals = sorted((squad / "evals").glob("eval-*.json"))
        state = {
            "latest": json.loads((squad / "evals" / "latest.json").read_text()),
            "kept": [json.loads(path.read_text()) for path in evals],
            "page": (squad / "docs" / "EVAL-2026-01-02.md").read_text(),
        }
        whole = all(one in (report(1), report(2)) for one in (state["latest"], *state["kept"]))
        write_report(Folder.open(squad), report(3))
        return {
            "whole": whole and state["page"].endswith(".json) |\n\n"),
            "latest": state["latest"]["reproduction"]["run_id"],
            "kept": len(state["kept"]),
            "left": sorted(path.name for path in (squad / "evals").iterdir()),
        }

    return killed_writes(prepare, lambda: _write_report(squad), look)


def _write_report(squad: Path) -> None:
    write_report(Folder.open(squad), report(2))


def parallel_captures(folder: Path, number: int) -> list[int]:
    """Exit codes of `number` processes that capture one lesson each, at the same time."""
    start, go = os.pipe()
    children = []
    for index in range(number):
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(start, 1)  # until every process is there
            rule = "Shared rule" if index % 2 else f"Rule {index}"
            store = PlaybookStore(Folder.open(folder), "demo")
            store.capture(rule, "Same lesson", f"run {index}", [], datetime.now(UTC))
            os._exit(0)
        children.append(child)
    os.close(start)
    os.close(go)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def _main(what: str, folder: str, *rest: str) -> None:
    path = Path(folder)
    answers: dict[str, Callable[[], Any]] = {
        "file": lambda: killed_file_writes(path),
        "report": lambda: killed_report_writes(path),
        "captures": lambda: parallel_captures(path, int(rest[0])),
    }
    print(json.dumps(answers[what]()))


if __name__ == "__main__":
    _main(*sys.argv[1:])
