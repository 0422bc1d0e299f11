"""JUnit XML: one suite of strategies and one of criteria, a testcase for each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from steelyard.evaluation.model import EvalResult, Outcome

__all__ = ["to_junit"]

# Everything outside the Char production of XML 1.0, which no escape can carry.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    outcome: Outcome
    required: bool
    message: str
    body: str
    output: str = ""


def to_junit(result: EvalResult) -> bytes:
    """The verdict as a test report that fails exactly when the evaluation does.

    A failed or skipped thing that is not required is `skipped`; a cause of failure that is neither
    a strategy nor a criterion is a case of its own.
    """
    strategies = [
        _Case(s.strategy, s.result, s.required, s.details, s.details, s.output)
        for s in result.strategy_results
    ]
    criteria = [
        _Case(c.criterion_id, c.result, c.required, c.description, c.feedback or c.evidence)
        for c in result.criteria_results
    ]
    suites = {"strategies": strategies, "criteria": criteria}
    others = [r for r in result.reasons if r.strategy is None and r.criterion_id is None]
    if others:
        suites["verdict"] = [
            _Case(f"{reason.code} {number}", Outcome.FAIL, True, reason.message, reason.message)
            for number, reason in enumerate(others, 1)
        ]
    root = ET.Element("testsuites", name=_text(result.eval_id))
    for name, cases in suites.items():
        _suite(root, f"{result.contract_id}.{name}", result.timestamp, cases)
    failures = [int(suite.get("failures", "0")) for suite in root]
    root.set("tests", str(sum(len(cases) for cases in suites.values())))
    root.set("failures", str(sum(failures)))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(root: ET.Element, name: str, timestamp: str, cases: Iterable[_Case]) -> None:
    suite = ET.SubElement(root, "testsuite", name=_text(name), timestamp=timestamp)
    tests = failures = skipped = 0
    for case in cases:
        tests += 1
        element = ET.SubElement(suite, "testcase", classname=_text(name), name=_text(case.name))
        if case.outcome != Outcome.PASS:
            tag = "failure" if case.required else "skipped"
            failures += case.required
            skipped += not case.required
            message = _text(f"{case.outcome}: {case.message}")
            ET.SubElement(element, tag, message=message).text = _text(case.body)
        if case.output:
            ET.SubElement(element, "system-out").text = _text(case.output)
    for key, count in (
        ("tests", tests),
        ("failures", failures),
        ("errors", 0),
        ("skipped", skipped),
    ):
        suite.set(key, str(count))


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
