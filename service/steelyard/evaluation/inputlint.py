"""The standard of evidence and feedback, applied to judgements as they come in."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.errors import Violation
from steelyard.evaluation.contract import Contract
from steelyard.evaluation.judgement import Judgement, Judgements, Note, Ruling
from steelyard.evaluation.model import Outcome
from steelyard.evaluation.standards import (
    Fault,
    evidence_faults,
    method_of,
    note_faults,
    priority_fault,
)

__all__ = ["lint_judgements"]


def lint_judgements(judgements: Judgements, contract: Contract) -> tuple[Violation, ...]:
    """Every breach of the standard, in the order of the input, with the path of its field.

    Judgements of judges that broke are not held to it.
    """
    return tuple(_violations(judgements, contract))


def _violations(judgements: Judgements, contract: Contract) -> Iterator[Violation]:
    methods = {c.criterion_id: method_of(c.method) for c in contract.criteria}
    required = {c.criterion_id: c.required for c in contract.criteria}
    failed = {j.criterion_id for j in judgements.criteria if j.ruling == Ruling.FAIL}

    def judgement_faults(judgement: Judgement) -> Iterator[Fault]:
        if judgement.ruling == Ruling.ERROR:
            return
        method = methods.get(judgement.criterion_id)
        yield from evidence_faults(judgement.evidence, Outcome(judgement.ruling), method)
        if judgement.ruling == Ruling.FAIL and not judgement.feedback:
            message = "a failed criterion says what went wrong and what should happen instead"
            yield Fault("feedback", "FEEDBACK_MISSING", message)

    def faults(note: Note) -> Iterator[Fault]:
        name = note.criterion_id or ""
        place = note.location
        method = methods.get(name) or method_of(note.strategy or "")
        yield from note_faults(
            note.description,
            note.expected or "",
            place.file if place else None,
            place.line if place else None,
            method,
        )
        if name in required and note.priority is not None:
            fault = priority_fault(note.priority, required=required[name], failed=name in failed)
            if fault:
                yield fault

    for index, judgement in enumerate(judgements.criteria):
        for fault in judgement_faults(judgement):
            yield Violation(f"judgements[{index}].{fault.member}", fault.kind, fault.message)
    for index, note in enumerate(judgements.notes):
        for fault in faults(note):
            yield Violation(f"feedback[{index}].{fault.member}", fault.kind, fault.message)
    for index, regression in enumerate(judgements.regressions):
        for fault in evidence_faults(regression.evidence, Outcome.FAIL, None):
            yield Violation(f"regressions[{index}].{fault.member}", fault.kind, fault.message)
    for index, check in enumerate(judgements.non_goals):
        if check.breached:
            for fault in evidence_faults(check.evidence, Outcome.FAIL, None):
                yield Violation(f"nonGoals[{index}].{fault.member}", fault.kind, fault.message)
