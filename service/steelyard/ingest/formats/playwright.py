"""Playwright Test's JSON reporter.

Global errors (a spec file that cannot be loaded, no tests, stopped early) and interrupted tests,
which the reporter itself calls skipped, count as failures. A flaky test passed, unless the
configuration says otherwise.
"""

from __future__ import annotations

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.jsonread import JsonReader, integer, member, objects, string
from steelyard.ingest.model import Kind, Severity

__all__ = ["parse"]

_NO_TESTS = "Error: No tests found"


def parse(data: bytes, out: Collector) -> None:
    """Read a Playwright report."""
    reader = JsonReader(data)
    config: object = None
    stats: object = None
    for key in reader.members():
        if key == "config":
            config = reader.value()
        elif key == "suites":
            for _ in reader.items():
                _suite(reader, (), _Settings(config), out)
        elif key == "errors":
            for error in reader.values():
                _global_error(error, out)
        elif key == "stats":
            stats = reader.value()
    reader.end()
    if not isinstance(stats, dict):
        raise Unreadable("no 'stats' in the Playwright report")
    out.declared_failures(integer(stats, "unexpected"))


class _Settings:
    """What the configuration says about every test."""

    def __init__(self, config: object) -> None:
        self.root = string(config, "rootDir")
        self.flaky_fails = member(config, "failOnFlakyTests") is True

    def file(self, name: str | None) -> str | None:
        """Spec files are named relative to `rootDir`, not to the directory of the run."""
        if name is None or self.root is None:
            return None
        return f"{self.root}/{name}"


def _suite(
    reader: JsonReader, titles: tuple[str, ...], settings: _Settings, out: Collector
) -> None:
    for key in reader.members():
        if key == "title":
            title = reader.value()
            titles = (*titles, title) if isinstance(title, str) and title else titles
        elif key == "suites":
            for _ in reader.items():
                _suite(reader, titles, settings, out)
        elif key == "specs":
            for spec in reader.values():
                _spec(spec, titles, settings, out)


def _spec(spec: object, titles: tuple[str, ...], settings: _Settings, out: Collector) -> None:
    name = " > ".join((*titles, string(spec, "title") or ""))
    for test in objects(spec, "tests"):
        project = string(test, "projectName")
        label = f"[{project}] {name}" if project else name
        results = objects(test, "results")
        last = results[-1] if results else None
        interrupted = string(last, "status") == "interrupted"
        status = string(test, "status")
        if status == "skipped" and not interrupted:
            out.skipped += 1
        elif not interrupted and (
            status == "expected" or (status == "flaky" and not settings.flaky_fails)
        ):
            out.test_passed(label)
        else:
            out.failed += 1
            _failure(spec, last, label, status if not interrupted else "interrupted", settings, out)


def _failure(
    spec: object,
    result: object,
    name: str,
    status: str | None,
    settings: _Settings,
    out: Collector,
) -> None:
    errors = objects(result, "errors") or [member(result, "error")]
    for error in errors:
        place = member(error, "location") or member(result, "errorLocation")
        message = string(error, "message") or string(error, "value")
        out.add(
            Kind.TEST,
            Severity.ERROR,
            message or f"The test was {status or string(result, 'status') or 'not run'}.",
            file=string(place, "file") or settings.file(string(spec, "file")),
            # without an error the best there is is where the test begins
            line=integer(place, "line") or integer(spec, "line"),
            column=integer(place, "column"),
            trace=string(error, "stack"),
            test=name,
        )


def _global_error(error: object, out: Collector) -> None:
    message = string(error, "message") or string(error, "value") or "global error"
    place = member(error, "location")
    if message.startswith(_NO_TESTS):
        out.red = True
        return
    out.add(
        Kind.COLLECTION if place else Kind.RUNTIME,
        Severity.ERROR,
        message,
        file=string(place, "file"),
        line=integer(place, "line"),
        column=integer(place, "column"),
        trace=string(error, "stack"),
    )
