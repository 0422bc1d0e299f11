"""Lint of EvalResult documents that somebody else wrote: schema, counts, evidence and feedback.

Total: any JSON value gives a list of violations, each with the path of its field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TypeVar

from jsonschema import ValidationError

from steelyard.errors import Violation
from steelyard.evaluation.contract import Contract
from steelyard.evaluation.judgement import is_repository_path
from steelyard.evaluation.model import Outcome, Priority
from steelyard.evaluation.schema import validator
from steelyard.evaluation.standards import (
    Fault,
    Method,
    evidence_faults,
    method_of,
    note_faults,
    priority_fault,
)
from steelyard.evaluation.summary import sentences
from steelyard.strictjson import MAX_DEPTH, exceeds_depth

__all__ = ["lint_document", "schema_valid", "tally"]

_MAX_VIOLATIONS = 10_000

Json = Mapping[str, object]
_Word = TypeVar("_Word", Outcome, Priority)


def schema_valid(document: object) -> bool:
    """Whether a document satisfies the published schema of EvalResult."""
    return not exceeds_depth(document, MAX_DEPTH) and validator("eval-result").is_valid(document)


def lint_document(document: object, contract: Contract | None = None) -> tuple[Violation, ...]:
    """Every violation in an EvalResult, at most 10,000, sorted by path.

    With the contract, criteria are also checked against it: what is required, that each one is
    judged, and the standard of evidence of its verification method.
    """
    if exceeds_depth(document, MAX_DEPTH):
        message = f"nests deeper than {MAX_DEPTH} levels"
        return (Violation("", "TOO_DEEP", message),)
    violations = chain(
        islice(_structure(document), _MAX_VIOLATIONS),
        islice(_meaning(document, contract), _MAX_VIOLATIONS),
    )
    found = {(violation.path, violation.reason): violation for violation in violations}
    ordered = sorted(found.values(), key=lambda v: (_path_key(v.path), v.reason))
    return tuple(ordered[:_MAX_VIOLATIONS])


_INDEX = re.compile(r"\[(\d+)\]")


def _path_key(path: str) -> list[tuple[str, int]]:
    """Paths in the order of the document's text, with `[2]` before `[10]`."""
    parts = _INDEX.split(path)
    return [(part, 0) if i % 2 == 0 else ("", int(part)) for i, part in enumerate(parts)]


# Structure --------------------------------------------------------------------------------------


def _structure(document: object) -> Iterator[Violation]:
    for error in validator("eval-result").iter_errors(document):
        yield _from_schema(error)


def _from_schema(error: ValidationError) -> Violation:
    path = _path(error.absolute_path)
    last = error.absolute_path[-1] if error.absolute_path else ""
    if error.validator == "required":
        name = str(error.message).split("'")[1]
        kind = {
            "criteriaResults": "CRITERIA_RESULTS_MISSING",
            "evidence": "EVIDENCE_MISSING",
            "expected": "EXPECTED_MISSING",
            "summary": "SUMMARY_LENGTH",
        }.get(name, "FIELD_MISSING")
        return Violation(f"{path}.{name}" if path else name, kind, "is missing")
    if error.validator == "enum":
        choices = error.validator_value
        words = ", ".join(map(str, choices)) if isinstance(choices, list) else ""
        return Violation(path, "ENUM_DRIFT", f"is {_shown(error.instance)}, must be one of {words}")
    if error.validator == "type":
        wanted = error.validator_value
        names = " or ".join(wanted) if isinstance(wanted, list) else wanted
        string_line = last in ("line", "endLine", "column") and isinstance(error.instance, str)
        kind = "LINE_NOT_INTEGER" if string_line else "WRONG_TYPE"
        return Violation(path, kind, f"is {_shown(error.instance)}, must be {names}")
    return Violation(
        path, "MALFORMED", f"is {_shown(error.instance)}, must satisfy {error.validator}"
    )


def _path(parts: Iterable[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".")


def _shown(value: object) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value[:60] if isinstance(value, str) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# Meaning ----------------------------------------------------------------------------------------


def _meaning(document: object, contract: Contract | None) -> Iterator[Violation]:
    if not isinstance(document, Mapping):
        return
    criteria = _objects(document, "criteriaResults")
    methods = {c.criterion_id: method_of(c.method) for c in contract.criteria} if contract else {}
    yield from _identity(document)
    yield from _summary(document)
    yield from _counts(document, [criterion for _, criterion in criteria], contract)
    yield from _verdict(document, criteria)
    for index, criterion in criteria:
        name = criterion.get("criterionId")
        method = methods.get(name) if isinstance(name, str) else None
        yield from _at(f"criteriaResults[{index}]", _criterion(criterion, method))
    judged = {str(criterion.get("criterionId")): criterion for _, criterion in criteria}
    for index, item in _objects(document, "generatorFeedback"):
        yield from _at(f"generatorFeedback[{index}]", _item(item, judged, methods))
    for index, regression in _objects(document, "regressions"):
        evidence = regression.get("evidence")
        if isinstance(evidence, str):
            faults = evidence_faults(evidence, Outcome.FAIL, None)
            yield from _at(f"regressions[{index}]", faults)
    if contract is not None:
        yield from _against(contract, criteria)


def _objects(document: Json, name: str) -> list[tuple[int, Json]]:
    value = document.get(name)
    entries = value if isinstance(value, list) else []
    return [(index, entry) for index, entry in enumerate(entries) if isinstance(entry, Mapping)]


def _at(path: str, faults: Iterable[Fault]) -> Iterator[Violation]:
    for fault in faults:
        yield Violation(f"{path}.{fault.member}", fault.kind, fault.message)


def _word(value: object, words: type[_Word]) -> _Word | None:
    try:
        return words(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _identity(document: Json) -> Iterator[Violation]:
    eval_id, contract_id, iteration = map(document.get, ("evalId", "contractId", "iteration"))
    wanted = f"eval-{contract_id}-{iteration}"
    if isinstance(eval_id, str) and isinstance(contract_id, str) and eval_id != wanted:
        yield Violation(
            "evalId", "EVAL_ID_CONTRADICTS", f"is {_shown(eval_id)}, must be {wanted!r}"
        )


def _summary(document: Json) -> Iterator[Violation]:
    summary = document.get("summary")
    count = sentences(summary) if isinstance(summary, str) else 2
    if not 2 <= count <= 3:
        yield Violation("summary", "SUMMARY_LENGTH", f"has {count} sentences, must have 2 or 3")


def tally(criteria: Sequence[Json], contract: Contract | None) -> dict[str, int]:
    """The parts of the score that a list of criteria settles: none of the counts when an entry does
    not say its result, none of the required ones when one does not say whether it is required (and
    the contract does not either)."""
    promised = {c.criterion_id: c.required for c in contract.criteria} if contract else {}
    outcomes = [_word(criterion.get("result"), Outcome) for criterion in criteria]
    required = [
        promised.get(str(criterion.get("criterionId")), criterion.get("required"))
        for criterion in criteria
    ]
    counts = Counter(outcomes)
    needed = Counter(o for o, r in zip(outcomes, required, strict=True) if r is True)
    known = {"criteriaTotal": len(criteria)}
    if None not in outcomes:
        known["criteriaPassed"] = counts[Outcome.PASS]
        known["criteriaFailed"] = counts[Outcome.FAIL]
        known["criteriaSkipped"] = counts[Outcome.SKIPPED]
    if all(isinstance(value, bool) for value in required):
        known["requiredTotal"] = needed.total()
        if None not in outcomes:
            known["requiredPassed"] = needed[Outcome.PASS]
            known["requiredFailed"] = needed[Outcome.FAIL]
    return known


def _counts(
    document: Json, criteria: Sequence[Json], contract: Contract | None
) -> Iterator[Violation]:
    score = document.get("score")
    if not isinstance(score, Mapping):
        return
    given = {name: value for name, value in score.items() if type(value) is int}
    sources = []
    if contract is not None:
        needed = sum(criterion.required for criterion in contract.criteria)
        promised = {"criteriaTotal": len(contract.criteria), "requiredTotal": needed}
        sources.append(("the contract has", promised))
    if isinstance(document.get("criteriaResults"), list):
        sources.append(("criteriaResults come to", tally(criteria, contract)))
    for told, counts in sources:
        for name, count in counts.items():
            if given.get(name, count) != count:
                message = f"is {given[name]}, but {told} {count}"
                yield Violation(f"score.{name}", "COUNTS_CONTRADICT", message)
    for whole, parts in (
        ("criteriaTotal", ("criteriaPassed", "criteriaFailed", "criteriaSkipped")),
        ("requiredTotal", ("requiredPassed", "requiredFailed")),
    ):
        added = sum(given.get(part, 0) for part in parts)
        # A required criterion that was skipped is counted nowhere but in the total.
        open_ones = given.get("criteriaSkipped", 0) if whole == "requiredTotal" else 0
        if whole in given and not given[whole] - open_ones <= added <= given[whole]:
            message = f"is {given[whole]}, but {' + '.join(parts)} is {added}"
            yield Violation(f"score.{whole}", "COUNTS_CONTRADICT", message)


def _verdict(document: Json, criteria: Sequence[tuple[int, Json]]) -> Iterator[Violation]:
    """A pass that its own document contradicts."""
    if document.get("overallResult") != "pass":
        return
    against = [
        f"{where}[{index}]"
        for where, entries in (
            ("strategyResults", _objects(document, "strategyResults")),
            ("criteriaResults", criteria),
        )
        for index, entry in entries
        if entry.get("required") is True and entry.get("result") in ("fail", "skipped")
    ]
    against += [
        f"regressions[{index}]"
        for index, entry in _objects(document, "regressions")
        if entry.get("severity") == "critical"
    ]
    if against:
        message = f"is pass, which contradicts {', '.join(against[:3])}"
        yield Violation("overallResult", "VERDICT_CONTRADICTS", message)


def _criterion(criterion: Json, method: Method | None) -> Iterator[Fault]:
    outcome = _word(criterion.get("result"), Outcome)
    evidence = criterion.get("evidence")
    if isinstance(evidence, str):
        yield from evidence_faults(evidence, outcome or Outcome.SKIPPED, method)
    feedback = criterion.get("feedback")
    if outcome == Outcome.FAIL and not (isinstance(feedback, str) and feedback.strip()):
        message = "a failed criterion says what went wrong and what should happen instead"
        yield Fault("feedback", "FEEDBACK_MISSING", message)


def _item(
    item: Json, judged: Mapping[str, Json], methods: Mapping[str, Method | None]
) -> Iterator[Fault]:
    file, line = item.get("file"), item.get("line")
    name, strategy = item.get("criterionId"), item.get("strategy")
    method = methods.get(name) if isinstance(name, str) else None
    if method is None and isinstance(strategy, str):
        method = method_of(strategy)
    if isinstance(file, str) and not _plain_path(file):
        message = f"is {_shown(file)}, must be one path relative to the repository root"
        yield Fault("file", "FILE_NOT_A_PATH", message)
    expected, description = item.get("expected"), item.get("description")
    yield from note_faults(
        description if isinstance(description, str) else "",
        # An absent `expected` is the schema's to report.
        expected if isinstance(expected, str) else "-",
        file if isinstance(file, str) else None,
        line if isinstance(line, int) else 1 if line else None,
        method,
    )
    criterion = judged.get(name, {}) if isinstance(name, str) else {}
    priority = _word(item.get("priority"), Priority)
    outcome = _word(criterion.get("result"), Outcome)
    required = criterion.get("required")
    if priority is not None and outcome is not None and isinstance(required, bool):
        misfit = priority_fault(priority, required=required, failed=outcome == Outcome.FAIL)
        if misfit:
            yield misfit


_PLACE_IN_PATH = re.compile(r":\d|,|\s(?:and|&)\s")


def _plain_path(file: str) -> bool:
    return is_repository_path(file) and not _PLACE_IN_PATH.search(file)


def _against(contract: Contract, criteria: Sequence[tuple[int, Json]]) -> Iterator[Violation]:
    promised = {criterion.criterion_id: criterion for criterion in contract.criteria}
    judged = set()
    for index, entry in criteria:
        name = entry.get("criterionId")
        path = f"criteriaResults[{index}]"
        criterion = promised.get(name) if isinstance(name, str) else None
        if criterion is None:
            if isinstance(name, str):
                message = f"{_shown(name)} is no criterion of the contract"
                yield Violation(f"{path}.criterionId", "CRITERION_UNKNOWN", message)
            continue
        judged.add(criterion.criterion_id)
        if isinstance(entry.get("required"), bool) and entry["required"] != criterion.required:
            message = f"is {entry['required']}, the contract says {criterion.required}".lower()
            yield Violation(f"{path}.required", "REQUIRED_CONTRADICTS", message)
    missing = [name for name in promised if name not in judged]
    if criteria and missing:
        message = f"leaves out {', '.join(missing[:5])}{' and more' if len(missing) > 5 else ''}"
        yield Violation("criteriaResults", "CRITERION_UNJUDGED", message)
