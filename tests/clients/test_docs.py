"""The programs of docs/clients.md, extracted and run; and the vectors that it names."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from suite import HERE, ROOT, SERVICE_CONFIG, VECTORS, Language

TEXT = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", TEXT, re.DOTALL))

pytestmark = pytest.mark.timeout(1_800)


@pytest.fixture
def folder(tmp_path: Path, address: str) -> Path:
    """A folder as the page expects it: the files of the page, the protos, the service config."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("127.0.0.1:50051", address))
    (tmp_path / "proto").symlink_to(ROOT / "proto")
    shutil.copy(SERVICE_CONFIG, tmp_path)
    return tmp_path


def said(folder: Path, *command: str, **env: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def run_python(folder: Path) -> str:
    return said(folder, sys.executable, "first_score.py", PYTHONPATH=str(ROOT / "service"))


def run_go(folder: Path) -> str:
    built = HERE / "go"
    for name in ("go.mod", "go.sum"):
        shutil.copy(built / name, folder)
    said(folder, "go", "mod", "edit", "-module=example.com/app")
    shutil.copytree(built / "gen", folder / "gen")
    return said(folder, "go", "run", "main.go")


def run_java(folder: Path) -> str:
    built = HERE / "java" / "target"
    path = f"{built / 'classes'}{os.pathsep}{built / 'lib'}/*"
    return said(folder, "java", "-cp", path, "FirstScore.java")


def run_node(folder: Path) -> str:
    (folder / "node_modules").symlink_to(HERE / "node" / "node_modules")
    return said(folder, "node", "first_score.mjs")


def run_rust(folder: Path) -> str:
    # The dependencies of the client, under another name, so that what is built is built once.
    for name in ("Cargo.toml", "Cargo.lock"):
        text = (HERE / "rust" / name).read_text()
        (folder / name).write_text(text.replace('name = "client"', 'name = "app"'))
    target = str(HERE / "rust" / "target")
    return said(folder, "cargo", "run", "--quiet", "--locked", CARGO_TARGET_DIR=target)


PROGRAMS: dict[str, Callable[[Path], str]] = {
    "python": run_python,
    "go": run_go,
    "java": run_java,
    "node": run_node,
    "rust": run_rust,
}


def test_first_score(client: Language, folder: Path) -> None:
    assert PROGRAMS[client.name](folder) == "81 strong"


def test_call(folder: Path, address: str) -> None:
    command = [sys.executable, "-m", "steelyard", "call", "Score", "--json", "--server", address]
    path = str(ROOT / "service")
    answer = json.loads(said(folder, *command, "--data", "@request.json", PYTHONPATH=path))
    score = answer["rows"]["results"][0]["score"]
    assert (score["overallScore"], score["overallBand"]) == (81, "strong")


def test_named_vectors() -> None:
    files = {path.stem: json.loads(path.read_text()) for path in (VECTORS / "wire").glob("*.json")}
    named = set(re.findall(rf"`((?:{'|'.join(files)})/\w+)`", TEXT))
    there = {f"{name}/{case['name']}" for name, file in files.items() for case in file["cases"]}
    assert len(named) > 15
    assert named <= there
