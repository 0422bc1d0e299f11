"""Paths of reports become paths of the repository, or stay text."""

from __future__ import annotations

import pytest

from steelyard.ingest.paths import Locator, is_vendored


@pytest.mark.parametrize(
    ("raw", "inside"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//b/../a.py", "src/a.py"),
        ("/repo/src/a.py", "src/a.py"),
        ("/repo/./src/../src/a.py", "src/a.py"),
        ("/repo/../repo/a.py", "a.py"),
        ("file:///repo/src/a%20b.py", "src/a b.py"),
        ("file://localhost/repo/a.py", "a.py"),
        ("FILE:/repo/a.py", "a.py"),
        ("src\\a.py", "src/a.py"),
        ("a%20b.py", "a%20b.py"),
        ("src/näme.py", "src/näme.py"),
        ("/repo", None),
        ("/repo/", None),
        (".", None),
        ("", None),
        ("/repository/a.py", None),
        ("/other/a.py", None),
        ("../a.py", None),
        ("src/../../a.py", None),
        ("/repo/../etc/passwd", None),
        ("file:///etc/passwd", None),
        ("file:///repo/..%2f..%2fetc/passwd", None),
        ("file:///repo/a%00.py", None),
        ("file:///repo/%ff.py", None),
        ("file://server/share/a.py", None),
        ("C:\\repo\\a.py", None),
        ("https://example.com/a.py", None),
        ("webpack:///./src/a.ts", None),
        ("node:internal/process", None),
        ("<stdin>", None),
        ("a\nb.py", None),
        ("a\x00.py", None),
        ("x" * 5_000, None),
    ],
)
def test_posix_root(raw: str, inside: str | None) -> None:
    assert Locator("/repo").inside(raw) == inside


@pytest.mark.parametrize("root", ["C:\\Code\\Repo", "c:/code/repo", "C:\\Code\\Repo\\"])
@pytest.mark.parametrize(
    ("raw", "inside"),
    [
        ("C:\\Code\\Repo\\src\\App.ts", "src/App.ts"),
        ("c:/code/REPO/src/App.ts", "src/App.ts"),
        ("file:///C:/Code/Repo/src/App.ts", "src/App.ts"),
        ("file:///c%3A/Code/Repo/src/App.ts", "src/App.ts"),
        ("src\\App.ts", "src/App.ts"),
        ("src/sub\\App.ts", "src/sub/App.ts"),
        ("..\\App.ts", None),
        ("D:\\Code\\Repo\\App.ts", None),
        ("C:\\Code\\Repository\\App.ts", None),
        ("\\\\server\\share\\App.ts", None),
        ("/code/repo/App.ts", None),
    ],
)
def test_windows_root(root: str, raw: str, inside: str | None) -> None:
    assert Locator(root).inside(raw) == inside


def test_uri_references_are_decoded_once() -> None:
    locator = Locator("/repo")
    assert locator.inside("src/a%20b.py", uri=True) == "src/a b.py"
    assert locator.inside("src/a%2520b.py", uri=True) == "src/a%20b.py"
    assert locator.inside("C:\\repo\\a.py", uri=True) is None


def test_without_a_root_only_relative_paths_are_inside() -> None:
    assert Locator(None).inside("src/a.py") == "src/a.py"
    assert Locator(None).inside("/repo/src/a.py") is None


@pytest.mark.parametrize("cwd", ["packages/app", "/repo/packages/app", "./packages/app/"])
def test_relative_paths_start_at_the_codeing_directory(cwd: str) -> None:
    locator = Locator("/repo", cwd)
    assert locator.inside("src/a.ts") == "packages/app/src/a.ts"
    assert locator.inside("../lib/b.ts") == "packages/lib/b.ts"
    assert locator.inside("../../../b.ts") is None
    assert locator.inside("/repo/c.ts") == "c.ts"


def test_vendored() -> None:
    assert is_vendored("node_modules/x/index.js")
    assert is_vendored("app/.venv/lib/a.py")
    assert not is_vendored("src/node_modules.py")
