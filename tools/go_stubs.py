"""Generates the Go stubs of proto/ into the gen/ folder of a Go module.

`python tools/go_stubs.py FOLDER`. The plugins of protoc are built from the versions that the
module's go.mod pins as its tools; protoc itself is the one that grpcio-tools brings.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = "github.com/steelyard/steelyard/gen/go"
PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc",
)


def main() -> int:
    """Builds the plugins, runs protoc."""
    folder = Path(sys.argv[1]).resolve()
    (folder / "gen").mkdir(exist_ok=True)
    subprocess.run(["go", "build", "-o", "build/", *PLUGINS], cwd=folder, check=True)  # noqa: S603, S607  # fixed arguments, no shell
    options = []
    for plugin in ("go", "go-grpc"):
        options += [f"--{plugin}_out={folder / 'gen'}", f"--{plugin}_opt=module={PACKAGES}"]
    protos = sorted((ROOT / "proto" / "steelyard" / "v1").glob("*.proto"))
    path = f"{folder / 'build'}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(  # noqa: S603  # fixed arguments, no shell
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={ROOT / 'proto'}",
            *options,
            *map(str, protos),
        ],
        check=True,
        env={**os.environ, "PATH": path},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
