"""The servers and the built clients."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from suite import HERE, LANGUAGES, Language, Restartable, serving


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture(scope="session")
def restartable() -> Iterator[Restartable]:
    server = Restartable()
    yield server
    server.stop()


@pytest.fixture(scope="session", params=LANGUAGES, ids=lambda language: language.name)
def client(request: pytest.FixtureRequest) -> Language:
    """A built client; skipped, or in CI failed, where its toolchain is missing."""
    language: Language = request.param
    if language.missing:
        message = f"the {language.name} client needs {', '.join(language.missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    language.build(HERE / language.name)
    return language
