"""Generates the Python messages of proto/, or checks that those in the package are current.

Only messages: the service needs no generated servicers, the handler table does their work.
"""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("steelyard/v1")


def generate(target: Path) -> None:
    """Writes the modules and their stubs below a folder."""
    protos = sorted((ROOT / "proto" / PACKAGE).glob("*.proto"))
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    subprocess.run(  # noqa: S603  # fixed arguments, no shell
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={ROOT / 'proto'}",
            f"--python_out={target}",
            f"--mypy_out=quiet:{target}",
            *map(str, protos),
        ],
        check=True,
        env=environment,
    )


def main() -> int:
    """Generates; with --check compares and names the files that differ."""
    package = ROOT / "service" / PACKAGE
    if "--check" not in sys.argv[1:]:
        generate(ROOT / "service")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        fresh = {path.name for path in (Path(scratch) / PACKAGE).iterdir()}
        kept = {path.name for path in package.glob("*_pb2.py*")}
        _, changed, missing = filecmp.cmpfiles(
            Path(scratch) / PACKAGE, package, sorted(fresh), shallow=False
        )
        stale = sorted({*changed, *missing, *(kept - fresh)})
    if stale:
        sys.stderr.write(f"run make proto: {', '.join(stale)} differ from proto/\n")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
