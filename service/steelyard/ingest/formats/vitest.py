"""The JSON reporters of Vitest and Jest, which share one shape.

A file that fails without a failed test could not be loaded: that counts as a failure, and so does
`success: false` without any.
"""

from __future__ import annotations

from steelyard.ingest.collect import Collector, Unreadable
from steelyard.ingest.jsonread import JsonReader, integer, member, objects, string
from steelyard.ingest.model import Kind, Severity

__all__ = ["parse"]

_SKIPPED = frozenset({"skipped", "pending", "todo", "disabled"})
_SUITE = frozenset({"name", "status", "message", "testExecError"})
_TOP = frozenset({"success", "wasInterrupted", "numFailedTests", "numFailedTestSuites"})


def parse(data: bytes, out: Collector) -> None:
    """Read a Vitest or Jest report."""
    reader = JsonReader(data)
    top: dict[str, object] = {}
    listed = False
    for key in reader.members():
        if key == "testResults":
            listed = True
            for _ in reader.items():
                _suite(reader, out)
        elif key in _TOP:
            top[key] = reader.value()
    reader.end()
    success = top.get("success")
    if not listed or not isinstance(success, bool):
        raise Unreadable("no 'testResults' with 'success' in the report")
    if top.get("wasInterrupted") is True:
        out.add(Kind.RUNTIME, Severity.ERROR, "The test run was interrupted.")
    out.declared_failures(integer(top, "numFailedTests"))
    if not success and not out.errors and out.tests:
        out.add(Kind.RUNTIME, Severity.ERROR, "The run failed, though every test listed passed.")


def _suite(reader: JsonReader, out: Collector) -> None:
    kept, mark = reader.outline(_SUITE, later="assertionResults")
    file = string(kept, "name")
    failed = out.failed
    if mark is not None:
        end = reader.offset
        reader.rewind(mark)
        for test in reader.values():
            _test(test, file, out)
        reader.rewind(end)
    if string(kept, "status") == "failed" and out.failed == failed:
        out.failed += 1
        message = string(kept, "message") or string(kept, "testExecError", "message")
        trace = string(kept, "testExecError", "stack") or message
        out.add(
            Kind.COLLECTION,
            Severity.ERROR,
            message or "The test file could not be loaded.",
            file=file,
            trace=trace,
        )


def _test(test: object, file: str | None, out: Collector) -> None:
    status = string(test, "status")
    if status == "passed":
        out.test_passed(string(test, "fullName") or string(test, "title"))
    elif status in _SKIPPED:
        out.skipped += 1
    else:
        out.failed += 1
        messages = [text for text in objects(test, "failureMessages") if isinstance(text, str)]
        for trace in messages or [f"status {status}"]:
            # the message is what stands before the stack
            message = trace.partition("\n    at ")[0]
            place = member(test, "location")
            out.add(
                Kind.TEST,
                Severity.ERROR,
                message,
                file=file,
                line=None if "\n    at " in trace else integer(place, "line"),
                trace=trace,
                test=string(test, "fullName") or string(test, "title"),
            )
