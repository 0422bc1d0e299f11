"""The standard that evidence and feedback are held to, rule by rule.

One reading of every rule, used for judgements as they come in and for results that already exist.
The rules look at words, so they can only find what is plainly below the standard.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from steelyard.evaluation.model import Outcome, Priority

__all__ = ["Fault", "Method", "evidence_faults", "method_of", "note_faults", "priority_fault"]


class Method(StrEnum):
    """The verification methods that have a standard of evidence."""

    BUILD = "build"
    TYPECHECK = "typecheck"
    LINT = "lint"
    UNIT_TEST = "unit-test"
    MANUAL = "manual"
    API_CHECK = "api-check"


@dataclass(frozen=True, slots=True)
class Fault:
    """One breach of the standard: the member it is in, an UPPER_SNAKE kind and a sentence."""

    member: str
    kind: str
    message: str


def method_of(word: str) -> Method | None:
    """The method a contract's word names; None for free text and methods without a standard."""
    try:
        return Method(word.strip().lower())
    except ValueError:
        return None


# Evidence ---------------------------------------------------------------------------------------

_STATUS_TEXT = """
    a all an and are as build builds check checked checks clean code compile compiles complete
    completed confirmed correct correctly criteria criterion done ok okay every everything expected
    fail failed failing fails fine fixed full gate gates good green has have implemented in is it
    lint met no not of on pass passed passes passing present project red run runs satisfied still
    strategies strategy strict success successful successfully suite suites test tested tests the
    there this to type typecheck types unchanged verified was well were with work worked working
    works
"""
_POINTER_TEXT = """
    above attached below detail details earlier evaluator for from independently log logs notes
    output outputs per prior previous previously refer reference report reports same see summary
    transcript transcripts under
"""
_STATUS = frozenset(_STATUS_TEXT.split())
_POINTER = frozenset(_POINTER_TEXT.split())
_POINTS = frozenset({"above", "below", "earlier", "log", "logs", "refer", "see", "transcript"})
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")

_EXIT = re.compile(
    r"\bexit(?:s|ed)?\b[^.;,\n]{0,20}?-?\d|\bcode\s*[:=]?\s*\d|\brc\s*=?\s*\d", re.IGNORECASE
)
_NONE_LEFT = re.compile(
    r"\b(?:0|no|zero)\s+(?:[\w-]+\s+){0,2}(?:error|problem|warning|violation|finding)s?\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"[\w)\]-]\.\w{1,10}\s?(?::\s?\d|\(\d|@\d|[ ,]+(?:at )?lines?\s*~?\d)|[:@]\d+", re.IGNORECASE
)
_ERROR = re.compile(r"\berrors?\b|\bnot found\b|\bcannot\b|\bundefined\b", re.IGNORECASE)
_CODE = re.compile(r"\b[A-Z]{1,8}-?\d{2,}\b|\[[a-z][a-z0-9-]+\]|\berror\[\w+\]")
_RULE = re.compile(r"\b[A-Z]{1,8}\d{2,}\b|[@\w/]{1,50}-[\w/-]|\([\w@/-]{1,80}\)")
_COUNTED = re.compile(
    r"(?<!\d)\d[\d,./]{0,15}\s{0,3}(?:new |vitest |unit |of )?[\w-]{0,20}\s{0,3}"
    r"(?:tests?|specs?|pass|green|cases?|files?|assert)",
    re.IGNORECASE,
)
_TEST_NAME = re.compile(
    r"['\"`\u201c\u2018][^'\"`\u201d\u2019\n]{3,}['\"`\u201d\u2019]"
    r"|\b[\w./-]{0,60}(?:test|spec)[\w./-]{0,60}\.\w+|\btest_\w+|::|\bit\(|toHave|toBe|assert",
    re.IGNORECASE,
)
_RECEIVED = re.compile(
    r"\b(?:received|got|actual(?:ly)?|but|instead|was|returned|returns|!=|throws?)\b|!==?|→|->",
    re.IGNORECASE,
)
_WANTED = re.compile(
    r"\b(?:expect(?:s|ed)?|should|want(?:s|ed)?|must|requires?|assert\w*)\b", re.IGNORECASE
)
_FILE = re.compile(r"[\w-]\.[A-Za-z]\w{0,9}\b|[\w.-]{1,80}/[\w./-]|@\d|:\d")
_REQUEST = re.compile(
    r"\b(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\b|\bcurl\b|https?://", re.IGNORECASE
)
_STATUS_CODE = re.compile(r"\b[1-5]\d\d\b")
_BODY = re.compile(r"\bbody\b|\bjson\b|\bempty\b|[{\[\"]", re.IGNORECASE)

_MAX_EVIDENCE = 2_048

# (method, failed?) -> what good evidence shows: every pattern of one alternative must be found
_STANDARD: dict[tuple[Method, bool], tuple[str, tuple[tuple[re.Pattern[str], ...], ...]]] = {
    (Method.BUILD, False): ("the exit code", ((_EXIT,), (_NONE_LEFT,))),
    (Method.BUILD, True): (
        "the exit code and the first error",
        ((_EXIT, _PLACE), (_EXIT, _ERROR)),
    ),
    (Method.TYPECHECK, False): ("the exit code or the number of errors", ((_EXIT,), (_NONE_LEFT,))),
    (Method.TYPECHECK, True): ("error code and file:line:column", ((_CODE, _PLACE),)),
    (Method.LINT, False): ("the exit code or the number of errors", ((_EXIT,), (_NONE_LEFT,))),
    (Method.LINT, True): ("rule and file:line", ((_RULE, _PLACE),)),
    (Method.UNIT_TEST, False): (
        "the tests that ran, by name or number",
        ((_COUNTED,), (_TEST_NAME,), (_EXIT,)),
    ),
    (Method.UNIT_TEST, True): (
        "test name, expected and received",
        ((_TEST_NAME, _WANTED), (_TEST_NAME, _RECEIVED)),
    ),
    (Method.MANUAL, False): ("the file that was read and what it shows", ((_FILE,),)),
    (Method.MANUAL, True): ("the file that was read and what it shows", ((_FILE,),)),
    (Method.API_CHECK, False): ("request, status and body", ((_REQUEST, _STATUS_CODE, _BODY),)),
    (Method.API_CHECK, True): ("request, status and body", ((_REQUEST, _STATUS_CODE, _BODY),)),
}


def evidence_faults(evidence: str, outcome: Outcome, method: Method | None) -> list[Fault]:
    """What is wrong with the evidence for a criterion that passed or failed; at most one fault.

    Evidence of a skipped criterion only has to be there.
    """
    text = evidence[:_MAX_EVIDENCE]
    words = {word.lower() for word in _WORD.findall(text)}
    if not text.strip():
        return [Fault("evidence", "EVIDENCE_MISSING", "says nothing")]
    if outcome == Outcome.SKIPPED:
        return []
    if words & _POINTS and words <= _STATUS | _POINTER:
        message = "points somewhere else: quote what was seen there"
        return [Fault("evidence", "EVIDENCE_POINTER_ONLY", message)]
    if words <= _STATUS:
        message = "is a bare status: say what was run or read and what it showed"
        return [Fault("evidence", "EVIDENCE_BARE_STATUS", message)]
    if method is None:
        return []
    wanted, alternatives = _STANDARD[method, outcome == Outcome.FAIL]
    if any(all(pattern.search(text) for pattern in every) for every in alternatives):
        return []
    message = f"evidence for {method} names {wanted}"
    return [Fault("evidence", "EVIDENCE_BELOW_STANDARD", message)]


# Feedback ---------------------------------------------------------------------------------------

_LISTED = re.compile(r"(?:^|[\s;:])(?:\(?([1-9a-e])[).]|[-*•])\s+(?=\S)", re.MULTILINE)
_NEEDS_LINE = frozenset({Method.TYPECHECK, Method.LINT})
_NEEDS_FILE = _NEEDS_LINE | {Method.MANUAL}


def note_faults(
    description: str, expected: str, file: str | None, line: int | None, method: Method | None
) -> list[Fault]:
    """What is wrong with a feedback item; `method` is that of its criterion or strategy."""
    faults = []
    if not expected.strip():
        message = "does not say what should happen instead"
        faults.append(Fault("expected", "EXPECTED_MISSING", message))
    if method in _NEEDS_FILE and not file:
        faults.append(Fault("file", "LOCATION_MISSING", f"an issue found by {method} is in a file"))
    elif method in _NEEDS_LINE and not line:
        faults.append(Fault("line", "LOCATION_MISSING", f"an issue found by {method} is on a line"))
    if len(_LISTED.findall(description[:_MAX_EVIDENCE])) > 1:
        message = "lists several issues: write one item for each"
        faults.append(Fault("description", "SEVERAL_ISSUES", message))
    return faults


def priority_fault(priority: Priority, *, required: bool, failed: bool) -> Fault | None:
    """Whether a priority does not fit the criterion it is about."""
    urgent = priority in (Priority.CRITICAL, Priority.HIGH)
    if failed and required and not urgent:
        message = f"is {priority}, but a failed required criterion is critical or high"
    elif urgent and failed and not required:
        message = f"is {priority}, but a failed optional criterion is medium or low"
    elif urgent and not failed:
        message = f"is {priority}, but the criterion did not fail"
    else:
        return None
    return Fault("priority", "PRIORITY_MISFIT", message)
