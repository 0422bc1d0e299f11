"""Contained reads, atomic writes and locks."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from steelyard.errors import InvalidInputError, NotFoundError, UnavailableError
from steelyard.files import Folder, locked, write_atomic
from tests.support.squad_project import run_processes


@pytest.fixture
def project(tmp_path: Path) -> Folder:
    root = tmp_path / "project"
    (root / "dir").mkdir(parents=True)
    (root / "a.md").write_bytes(b"alpha\r\n\xff")
    (root / "dir" / "x.md").write_text("nested")
    (root / "in-link.md").symlink_to("dir/x.md")
    (root / "out-link.md").symlink_to("../outside.md")
    (root / "out-dir").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (tmp_path / "outside.md").write_text("secret")
    os.mkfifo(root / "pipe")
    return Folder.open(root)


def test_reads_raw_bytes_and_names_the_real_file(project: Folder) -> None:
    assert project.read("a.md").data == b"alpha\r\n\xff"
    assert project.read("in-link.md").path == "dir/x.md"
    assert project.read("dir/../a.md").path == "a.md"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "FILE_NOT_FOUND"),
        ("gone.md", "FILE_NOT_FOUND"),
        ("a.md\0", "FILE_NOT_FOUND"),
        ("a.md/below", "FILE_NOT_FOUND"),
        ("loop", "FILE_NOT_FOUND"),
        ("x" * 5000, "FILE_NOT_FOUND"),
        ("../outside.md", "FILE_OUTSIDE_PROJECT"),
        ("dir/../../outside.md", "FILE_OUTSIDE_PROJECT"),
        ("/etc/hostname", "FILE_OUTSIDE_PROJECT"),
        ("out-link.md", "FILE_OUTSIDE_PROJECT"),
        ("out-dir/outside.md", "FILE_OUTSIDE_PROJECT"),
        ("dir", "FILE_NOT_REGULAR"),
        ("pipe", "FILE_NOT_REGULAR"),
    ],
)
def test_refuses_what_is_not_a_contained_regular_file(
    project: Folder, path: str, reason: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        project.read(path)
    assert caught.value.reason == reason
    assert caught.value.violations[0].path == path


def test_the_cap_is_inclusive(project: Folder) -> None:
    (project.root / "big").write_bytes(b"x" * 100)
    assert len(project.read("big", 100).data) == 100
    with pytest.raises(InvalidInputError) as caught:
        project.read("big", 99)
    assert caught.value.reason == "FILE_TOO_LARGE"


def test_a_project_reached_through_a_symlink_is_the_same_project(
    project: Folder, tmp_path: Path
) -> None:
    (tmp_path / "alias").symlink_to(project.root)
    assert Folder.open(tmp_path / "alias") == project


def test_a_missing_folder_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        Folder.open(tmp_path / "gone")
    assert caught.value.reason == "FOLDER_NOT_FOUND"


def test_makes_folders_inside_only(project: Folder, tmp_path: Path) -> None:
    assert project.make("new/deep").is_dir()
    for path in ("../new", "/tmp/x", "out-dir/new"):  # noqa: S108 - a path that must be refused
        with pytest.raises(InvalidInputError) as caught:
            project.make(path)
        assert caught.value.reason == "FILE_OUTSIDE_PROJECT"
    assert not (tmp_path / "new").exists()
    with pytest.raises(InvalidInputError) as caught:
        project.make("a.md/below")
    assert caught.value.reason == "FILE_NOT_FOLDER"


def test_a_write_replaces_the_file_and_clears_leftovers(tmp_path: Path) -> None:
    target = tmp_path / "latest.json"
    (tmp_path / ".latest.json.dead.tmp").write_text("half")
    write_atomic(target, b"one")
    write_atomic(target, b"two", 0o600)
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["latest.json"]


def test_kill_9_at_any_call_leaves_the_old_or_the_new_content(tmp_path: Path) -> None:
    *seen, name = run_processes("file", tmp_path)
    # The deaths fall on both sides of the rename, and no leftover outlives the next writer.
    assert seen == sorted(seen, reverse=True)
    assert set(seen) == {"old", "new"}
    assert len(seen) > 4
    assert name == "file"


def test_a_lock_excludes_threads_and_times_out(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    counter = tmp_path / "counter"
    counter.write_text("0")

    def bump() -> None:
        for _ in range(20):
            with locked(lock):
                counter.write_text(str(int(counter.read_text()) + 1))

    threads = [threading.Thread(target=bump) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.read_text() == "160"
    with locked(lock), pytest.raises(UnavailableError) as caught, locked(lock, 0.05):
        pass
    assert caught.value.reason == "LOCK_TIMEOUT"
