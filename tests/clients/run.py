"""Builds every client, runs it against one real server and prints one table.

`python tests/clients/run.py [LANGUAGE ...]`. Exit code 1 when a client failed, or, with CI=true in
the environment, when a toolchain is missing.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

from rich.console import Console
from rich.table import Table
from suite import CHECKS, HERE, LANGUAGES, Language, Outcome, Restartable, run_client, serving


def row(language: Language, outcome: Outcome, build_seconds: float) -> list[str]:
    counts = [outcome.counts.get(check) for check in CHECKS]
    cells = ["-" if count is None else f"{count[0]}/{sum(count)}" for count in counts]
    passed, failed = outcome.summary
    good = outcome.exit_code == 0 and failed == 0 and passed > 0
    seconds = [f"{build_seconds:.1f}", f"{outcome.seconds:.1f}"]
    return [language.name, *cells, *seconds, "ok" if good else "FAILED"]


def main() -> int:
    names = sys.argv[1:]
    os.environ.setdefault("STEELYARD_STORE", str(Path(mkdtemp()) / "records.db"))
    table = Table("client", *CHECKS, "build s", "run s", "")
    failed = False
    restartable = Restartable()
    with serving() as address:
        for language in LANGUAGES:
            if names and language.name not in names:
                continue
            if language.missing:
                empty = ["-"] * (len(CHECKS) + 2)
                table.add_row(language.name, *empty, f"no {', '.join(language.missing)}")
                failed |= os.environ.get("CI") == "true"
                continue
            begin = time.monotonic()
            language.build(HERE / language.name)
            built = time.monotonic() - begin
            outcome = run_client(language, address, restartable)
            cells = row(language, outcome, built)
            table.add_row(*cells)
            if cells[-1] != "ok":
                failed = True
                print(f"--- {language.name}, exit code {outcome.exit_code}\n{outcome.output}")
    restartable.stop()
    Console(width=140).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
