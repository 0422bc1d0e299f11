"""SARIF 2.1.0 (OASIS), as any static analysis tool writes it.

No maintained library reads it: the object models on offer are either abandoned or demand a document
that is valid throughout, which real producers do not write. This reads what findings need and lets
a missing rule, location or message pass.

Levels follow section 3.27.10: the result's own, else its rule's default, else warning. A result
whose `kind` is not `fail`, `open` or `review`, or whose baseline state is `absent`, is no finding;
a suppressed one (section 3.27.23) is counted only. A `startLine` below 1 is no line.
"""

from __future__ import annotations

import re

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.formats.rules import is_syntax_rule, kind_of_rule
from steelyard.ingest.jsonread import JsonReader, integer, member, objects, string
from steelyard.ingest.model import Kind, Reason, Severity

__all__ = ["parse"]

_REFERRED = ("artifacts", "originalUriBaseIds")
"""What results refer to, besides the tool: when it comes after them they are read last."""
_KEEP = frozenset({"tool", "invocations", *_REFERRED})
_LEVELS = {"error": Severity.ERROR, "warning": Severity.WARNING, "note": Severity.NOTE}
_FINDING_KINDS = ("fail", "open", "review")
_NO_MESSAGE = "(no message)"
_PLACEHOLDER = re.compile(r"\{(\d{1,2})\}")


def parse(data: bytes, out: Collector) -> None:
    """Read a SARIF log."""
    reader = JsonReader(data)
    version: object = None
    runs = scanned = 0
    for key in reader.members():
        if key == "version":
            version = reader.value()
        elif key == "runs":
            for _ in reader.items():
                runs += 1
                scanned += _run(reader, out)
    reader.end()
    if version != "2.1.0":
        raise Unreadable(f"SARIF version {version!r}; only 2.1.0 is read")
    if not scanned:
        out.problem(Reason.EVALUATOR_ERROR, f"none of the {runs} runs in the SARIF log has results")


def _run(reader: JsonReader, out: Collector) -> bool:
    """Read one run; False when it holds no list of results, so that no scan is on record."""
    kept: dict[str, object] = {}
    results: int | None = None
    scanned = done = False
    for key in reader.members():
        if key == "results":
            scanned = reader.peek() == "["
            if scanned and "tool" in kept and not reader.ahead(*_REFERRED):
                _name(out, _Run(kept))
                _results(reader, _Run(kept), out)
                done = True
            else:
                results = reader.offset
        elif key in _KEEP:
            kept[key] = reader.value()
    run = _Run(kept)
    _name(out, run)
    if scanned and not done and results is not None:
        end = reader.offset
        reader.rewind(results)
        _results(reader, run, out)
        reader.rewind(end)
    if results is not None and not scanned:
        detail = f"{run.tool} has no list of results: it did not scan"
        out.problem(Reason.EVALUATOR_ERROR, detail)
    for invocation in objects(kept, "invocations"):
        _invocation(invocation, out)
    return scanned


def _name(out: Collector, run: _Run) -> None:
    """The log is called after the tool of its first run."""
    if out.tool == "sarif":
        out.tool = run.tool


def _results(reader: JsonReader, run: _Run, out: Collector) -> None:
    first, out.tool = out.tool, run.tool
    for result in reader.values():
        run.add(result, out)
    out.tool = first


def _invocation(invocation: object, out: Collector) -> None:
    failed = member(invocation, "executionSuccessful") is False
    notes = [
        *objects(invocation, "toolExecutionNotifications"),
        *objects(invocation, "toolConfigurationNotifications"),
    ]
    errors = [note for note in notes if member(note, "level") == "error"]
    for note in errors:
        out.add(
            Kind.RUNTIME,
            Severity.ERROR,
            string(note, "message", "text") or "The tool reports an error of its own.",
        )
    if failed and not errors:
        reason = string(invocation, "exitCodeDescription") or "The tool did not finish its scan."
        out.add(Kind.RUNTIME, Severity.ERROR, reason)


class _Run:
    """What the results of one run refer to: rules, artifacts, base URIs."""

    def __init__(self, kept: dict[str, object]) -> None:
        self.tool = string(kept, "tool", "driver", "name") or "sarif"
        self._artifacts = objects(kept, "artifacts")
        self._bases = member(kept, "originalUriBaseIds")
        self._rules = objects(kept, "tool", "driver", "rules")
        self._extensions = objects(kept, "tool", "extensions")
        self._by_id = {name: rule for rule in self._rules if (name := string(rule, "id"))}

    def add(self, result: object, out: Collector) -> None:
        """Add one result, unless it is no finding."""
        if not isinstance(result, dict):
            raise Unreadable("a result of the SARIF log is no object")
        if (
            result.get("kind", "fail") not in _FINDING_KINDS
            or result.get("baselineState") == "absent"
        ):
            return
        if "suppressions" in result and _is_suppressed(result):
            out.suppressed += 1
            return
        name = string(result, "ruleId") or string(result, "rule", "id")
        rule = self._rule(result, name)
        name = name or string(rule, "id")
        level = string(result, "level") or string(rule, "defaultConfiguration", "level")
        if level == "none":
            return
        kind = kind_of_rule(self.tool, name)
        severity = _LEVELS.get(level or "warning", Severity.ERROR)
        message = _message(result, rule)
        root = None
        if is_syntax_rule(name):
            root = f"syntax {self._file(member(self._location(result), 'artifactLocation'))}"
        group = out.count(kind, severity, message, name, root)
        if group is None:
            return
        location = self._location(result)
        region = member(location, "region")
        out.keep(
            group,
            kind,
            severity,
            message,
            rule=name,
            file=self._file(member(location, "artifactLocation")),
            line=integer(region, "startLine"),
            column=integer(region, "startColumn"),
            end_line=integer(region, "endLine") or integer(region, "startLine"),
            end_column=integer(region, "endColumn"),
            uri=True,
        )

    def _rule(self, result: dict[object, object], name: str | None) -> object:
        """The descriptor of the rule: by index, else by id."""
        rules = self._rules
        index = integer(result, "ruleIndex") if "ruleIndex" in result else None
        if "rule" in result:
            extension = integer(result, "rule", "toolComponent", "index")
            if extension is not None:
                rules = objects(_at(self._extensions, extension), "rules")
            index = integer(result, "rule", "index") if index is None else index
        found = _at(rules, index)
        if found is None and name is not None:
            found = self._by_id.get(name)
            if found is None and "/" in name:
                # section 3.52.4: a rule id may add components to the id of its descriptor
                found = self._by_id.get(name.rpartition("/")[0])
        return found

    def _location(self, result: object) -> object:
        for location in objects(result, "locations"):
            if isinstance(found := member(location, "physicalLocation"), dict):
                return found
        return None

    def _file(self, artifact: object) -> str | None:
        if string(artifact, "uri") is None:
            artifact = member(_at(self._artifacts, integer(artifact, "index")), "location")
        uri = string(artifact, "uri")
        seen: set[str] = set()
        while uri is not None and (base := string(artifact, "uriBaseId")) and base not in seen:
            seen.add(base)
            artifact = member(self._bases, base)
            prefix = string(artifact, "uri") or ""
            if not prefix or uri.startswith("/") or ":" in uri.split("/")[0]:
                break
            uri = prefix.rstrip("/") + "/" + uri
        return uri


def _at(items: list[object], index: int | None) -> object:
    return items[index] if index is not None and 0 <= index < len(items) else None


def _is_suppressed(result: object) -> bool:
    """Suppressed unless one of the suppressions is still under review or was rejected."""
    suppressions = objects(result, "suppressions")
    return bool(suppressions) and all(
        string(suppression, "status") in (None, "accepted") for suppression in suppressions
    )


def _message(result: dict[object, object], rule: object) -> str:
    message = result.get("message")
    text = string(message, "text") or string(message, "markdown")
    if text is None and rule is None:
        return _NO_MESSAGE
    if text is None:
        name = string(message, "id")
        text = name and string(rule, "messageStrings", name, "text")
    if text is None:
        return (
            string(rule, "shortDescription", "text")
            or string(rule, "fullDescription", "text")
            or string(rule, "name")
            or _NO_MESSAGE
        )
    arguments = objects(message, "arguments") if "{" in text else []
    return _PLACEHOLDER.sub(lambda found: _argument(arguments, found), text) if arguments else text


def _argument(arguments: list[object], found: re.Match[str]) -> str:
    argument = _at(arguments, int(found[1]))
    return argument if isinstance(argument, str) else found[0]
