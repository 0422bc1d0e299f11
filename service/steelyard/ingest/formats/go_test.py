"""`go test -json`: test events and, since Go 1.24, build output of packages that do not compile.

Test failures name a file without its directory. The directory follows from the package and the
module, which is taken from the packages of the report; when that is not certain, the location
stays text. `go test -json -fullpath` needs no such guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.jsonread import json_lines, string
from steelyard.ingest.model import Kind, Severity
from steelyard.ingest.text import decode, strip_ansi

__all__ = ["parse"]

_MAX_OPEN = 20_000
_MAX_OUTPUT = 16 * 1024
_COMPILER = re.compile(r"^(?:vet: )?(\S[^\r\n:]{0,1024}\.go):(\d{1,9})(?::(\d{1,9}))?: (.+)$")
_FAILURE = re.compile(r"^\s{0,64}(\S[^\r\n:]{0,1024}\.go):(\d{1,9}): ", re.MULTILINE)
_FRAME = re.compile(r"^\t(\S[^\r\n:]{0,1024}\.go:\d{1,9})", re.MULTILINE)
_FRAMING = re.compile(r"^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)\b|--- (?:FAIL|PASS|SKIP): )")
_HOSTS = ("github.com/", "gitlab.com/", "bitbucket.org/")


@dataclass(slots=True)
class _Open:
    """A test or package that has begun and not ended, and what it printed."""

    output: list[str] = field(default_factory=list)
    size: int = 0
    failed_below: bool = False

    def write(self, text: str) -> None:
        if self.size < _MAX_OUTPUT:
            self.output.append(text[:_MAX_OUTPUT])
            self.size += len(text)


@dataclass(slots=True)
class _State:
    out: Collector
    open: dict[tuple[str, str], _Open] = field(default_factory=dict)
    failed: list[tuple[str, str, str]] = field(default_factory=list)
    packages: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    """Import paths whose build errors are on record."""

    def get(self, package: str, test: str) -> _Open:
        if len(self.open) > _MAX_OPEN or len(self.packages) > _MAX_OPEN:
            raise Unreadable("too many tests open at once")
        return self.open.setdefault((package, test), _Open())


def parse(data: bytes, out: Collector) -> None:
    """Read the events of one `go test` run."""
    state = _State(out)
    for line, event in json_lines(strip_ansi(data)):
        action = string(event, "Action")
        if event is None:
            _compiler(decode(line), "", state)
        elif action is None:
            raise Unreadable(f"not an event of go test: {line[:80]!r}")
        elif action in ("build-output", "build-fail"):
            _build(action, event, state)
        else:
            _event(action, event, state)
    packages = [package for package, test in state.open if not test]
    if packages:
        raise Unreadable(f"{len(packages)} packages began and did not end: {packages[0]}")
    module = _module(state.packages, out.run.command or "")
    for package, test, output in state.failed:
        _failure(package, test, output, module, out)


def _build(action: str, event: object, state: _State) -> None:
    package = string(event, "ImportPath") or ""
    if action == "build-output":
        _compiler(string(event, "Output") or "", package, state)
    elif package not in state.broken:
        state.broken.add(package)
        state.out.add(Kind.BUILD, Severity.ERROR, f"The package {package} does not build.")


def _compiler(line: str, package: str, state: _State) -> None:
    found = _COMPILER.match(line.rstrip())
    if not found:
        return
    if len(state.broken) < _MAX_OPEN:
        state.broken.add(package)
    state.out.add(
        Kind.BUILD,
        Severity.ERROR,
        found[4],
        file=found[1],
        line=int(found[2]),
        column=int(found[3]) if found[3] else None,
    )


def _event(action: str, event: object, state: _State) -> None:
    package, test = string(event, "Package") or "", string(event, "Test") or ""
    if action in ("start", "run"):
        state.packages.add(package)
        state.get(package, test)
        state.get(package, "")
    elif action == "output":
        state.get(package, test).write(string(event, "Output") or "")
    elif action in ("pass", "fail", "skip"):
        state.packages.add(package)
        ended = state.open.pop((package, test), None) or _Open()
        if test:
            _test_ended(action, package, test, ended, state)
        else:
            _package_ended(action, event, package, ended, state)


def _test_ended(action: str, package: str, test: str, ended: _Open, state: _State) -> None:
    out = state.out
    if action == "pass":
        out.test_passed(f"{package}.{test}")
        return
    if action == "skip":
        out.skipped += 1
        return
    out.failed += 1
    state.get(package, "").failed_below = True
    parent = test.rpartition("/")[0]
    if parent:
        state.get(package, parent).failed_below = True
    output = "".join(ended.output)
    # a test whose subtests failed says nothing new, unless it complains itself
    if not ended.failed_below or _FAILURE.search(output):
        _keep(package, test, output, state)


def _package_ended(action: str, event: object, package: str, ended: _Open, state: _State) -> None:
    unfinished = [test for name, test in state.open if name == package and test]
    for test in unfinished:
        output = "".join(state.open.pop((package, test)).output)
        if action == "fail":
            state.out.failed += 1
            ended.failed_below = True
            _keep(package, test, output, state)
    if action != "fail" or ended.failed_below:
        return
    output = "".join(ended.output)
    build = string(event, "FailedBuild")
    if build is None and "[build failed]" not in output and "[setup failed]" not in output:
        _keep(package, "", output, state)
        return
    for line in output.splitlines():
        _compiler(line, build or package, state)
    if (build or package) not in state.broken and "" not in state.broken:
        state.out.add(Kind.BUILD, Severity.ERROR, f"The package {package} does not build.")


def _keep(package: str, test: str, output: str, state: _State) -> None:
    if len(state.failed) < _MAX_OPEN:
        state.failed.append((package, test, output))
    else:
        _failure(package, test, output, None, state.out)


def _failure(package: str, test: str, output: str, module: str | None, out: Collector) -> None:
    lines = [line for line in output.splitlines() if line.strip() and not _FRAMING.match(line)]
    text = "\n".join(lines)
    panicked = "panic: " in output
    found = None if panicked else _FAILURE.search(output)
    file = None
    if found:
        file = found[1]
        if "/" not in file and "\\" not in file:
            directory = _directory(package, module)
            file = None if directory is None else f"{directory}{file}"
    message = _FAILURE.sub("", text, 1) if found and not panicked else text
    message = message.partition("\ngoroutine ")[0]
    name = f"{package}.{test}" if test else package
    if found and file is None:
        message = f"{found[1]}:{found[2]}: {message.strip()}"
    out.add(
        Kind.TEST if test else Kind.RUNTIME,
        Severity.ERROR,
        message or "the test failed without a message",
        file=file,
        line=int(found[2]) if found else None,
        trace="\n".join(f"at {frame}" for frame in _FRAME.findall(output)) if panicked else None,
        test=name,
    )


def _module(packages: set[str], command: str) -> str | None:
    """The module that all `packages` belong to, None when the report does not tell."""
    known = sorted(packages)
    if not known:
        return None
    first = known[0]
    if first.startswith(_HOSTS):
        parts = first.split("/")
        version = parts[3:4] if len(parts) > 3 and re.fullmatch(r"v[2-9]\d*", parts[3]) else []
        return "/".join(parts[:3] + version)
    covers = all(name == first or name.startswith(first + "/") for name in known)
    return first if covers and (len(known) > 1 or "./..." in command.split()) else None


def _directory(package: str, module: str | None) -> str | None:
    """The directory of `package` relative to the module, ending in `/` unless empty."""
    package = package.partition(" ")[0].removesuffix("_test")
    if module is None or not (package == module or package.startswith(module + "/")):
        return None
    below = package[len(module) + 1 :]
    return f"{below}/" if below else ""
