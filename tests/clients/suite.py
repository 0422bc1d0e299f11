"""Builds the clients of five languages and runs them against real servers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from steelyard.server.app import build as build_server
from steelyard.server.transport import Transport
from steelyard.settings import load_settings

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
VECTORS = ROOT / "tests" / "vectors"
SERVICE_CONFIG = ROOT / "service" / "steelyard" / "service_config.json"
PROTOS = sorted((ROOT / "proto" / "steelyard" / "v1").glob("*.proto"))
CHECKS = ("vectors", "errors", "hashes", "deadline", "restart", "stream", "limit", "concurrent")

BUILD_SECONDS = 1_200
RUN_SECONDS = 240
AWAY_SECONDS = 0.3
"""How long the restarted server stays away after a client has seen that it is."""


@dataclass(frozen=True, slots=True)
class Language:
    """A client: the programs that building it needs, how to build it and how to start it."""

    name: str
    tools: tuple[str, ...]
    build: Callable[[Path], None]
    command: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """The tools that are not on this machine."""
        return [tool for tool in self.tools if shutil.which(tool) is None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client printed, and how it ended."""

    exit_code: int
    output: str
    seconds: float

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Passed and failed of each check."""
        found = re.findall(r"^(\w+) passed (\d+) failed (\d+) seconds", self.output, re.MULTILINE)
        return {name: (int(passed), int(failed)) for name, passed, failed in found}

    @property
    def summary(self) -> tuple[int, int]:
        """Passed and failed of the last line; nothing passed where there is none."""
        last = re.search(r"^passed (\d+) failed (\d+)\s*\Z", self.output, re.MULTILINE)
        return (int(last[1]), int(last[2])) if last else (0, 0)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_SECONDS,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} in {folder} failed:\n{done.stdout}")


def _build_python(folder: Path) -> None:
    package = folder / "gen" / "steelyard" / "v1"
    package.mkdir(parents=True, exist_ok=True)
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={ROOT / 'proto'}"]
    _run([*protoc, "--python_out=gen", "--grpc_python_out=gen", *map(str, PROTOS)], folder)
    # Packages of their own, so that an installed steelyard does not stand in for them.
    for part in (package.parent, package):
        (part / "__init__.py").touch()


def _build_go(folder: Path) -> None:
    _run([sys.executable, str(ROOT / "tools" / "go_stubs.py"), "."], folder)
    _run(["go", "build", "-o", "build/client", "."], folder)


def _build_java(folder: Path) -> None:
    _run(["mvn", "--quiet", "--batch-mode", "package"], folder)


def _build_node(folder: Path) -> None:
    _run(["npm", "ci", "--no-audit", "--no-fund"], folder)


def _build_rust(folder: Path) -> None:
    _run(["cargo", "build", "--locked", "--quiet"], folder)


LANGUAGES = (
    Language("python", (), _build_python, (sys.executable, "client.py")),
    Language("go", ("go",), _build_go, ("build/client",)),
    Language(
        "java",
        ("java", "javac", "mvn"),
        _build_java,
        ("java", "-cp", f"target/classes{os.pathsep}target/lib/*", "dev.steelyard.client.Client"),
    ),
    Language("node", ("node", "npm"), _build_node, ("node", "client.mjs")),
    Language("rust", ("cargo",), _build_rust, ("target/debug/client",)),
)


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server that runs in a process of its own, over a new store with the records
    of the vectors."""
    with TemporaryDirectory() as folder:
        store = str(Path(folder) / "records.db")
        _run([sys.executable, str(VECTORS / "records_store.py"), store], ROOT)
        command = [sys.executable, "-m", "steelyard", "serve", "--address", "127.0.0.1:0"]
        server = subprocess.Popen(
            [*command, "--config", str(VECTORS / "server.toml"), "--store", store],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            told = re.search(r"listens on (\S+) ", server.stdout.readline())
            if told is None:
                raise RuntimeError("the server did not start")
            yield told[1]
        finally:
            server.terminate()
            server.wait(30)


class Restartable:
    """A server in this process that goes away and comes back on the same port."""

    def __init__(self) -> None:
        self._settings = load_settings({"address": "127.0.0.1:0"})
        self._server: Transport | None = None
        self.start()

    def start(self) -> None:
        """Comes back; does nothing where the server is there."""
        if self._server is None:
            self._server = build_server(self._settings)
            self._server.start()
            self.address = f"127.0.0.1:{self._server.port}"
            self._settings = self._settings.model_copy(update={"address": self.address})

    def stop(self) -> None:
        """Goes away; does nothing where the server is away."""
        if self._server is not None:
            self._server.stop()
            self._server = None


def run_client(
    language: Language,
    address: str,
    restartable: Restartable,
    checks: tuple[str, ...] = CHECKS,
    vectors: Path = VECTORS,
) -> Outcome:
    """Runs a built client to its end."""
    restartable.start()
    arguments = [address, restartable.address, str(SERVICE_CONFIG), str(vectors), *checks]
    begin = time.monotonic()
    client = subprocess.Popen(
        [*language.command, *arguments],
        cwd=HERE / language.name,
        # The client brings its own stubs: the service's package must not be in its way.
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watchdog = threading.Timer(RUN_SECONDS, client.kill)
    watchdog.start()
    lines = []
    try:
        assert client.stdin is not None
        assert client.stdout is not None
        for line in client.stdout:
            lines.append(line)
            if line == "restart: stop\n":
                restartable.stop()
                client.stdin.write("stopped\n")
                client.stdin.flush()
            elif line == "restart: start\n":
                time.sleep(AWAY_SECONDS)
                restartable.start()
        return Outcome(client.wait(), "".join(lines), time.monotonic() - begin)
    finally:
        watchdog.cancel()
        client.kill()
        client.wait()
