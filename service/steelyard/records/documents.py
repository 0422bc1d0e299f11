"""Evaluations, gate reports and playbook entries: JSON documents that are kept as they came.

The store reads of a document only what lists filter by. Evaluations and reports are immutable: the
same document again is no second one, another under the same id is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, FromClause, Row, Select, insert, select, update

from steelyard._core import hash_object
from steelyard.errors import AlreadyExistsError, InvalidInputError, NotFoundError, Violation
from steelyard.evaluation import lint_document, schema_valid
from steelyard.gating.report import MAX_REPORT_DEPTH, evidence_hash
from steelyard.records.model import (
    DocumentFilter,
    GateReport,
    Page,
    PageRequest,
    PlaybookEntry,
    StoredEvalResult,
)
from steelyard.records.numbering import moment_of, number_to_moment
from steelyard.records.paging import Pager
from steelyard.records.schema import evaluations, gate_reports, playbook_entries
from steelyard.records.writer import Transaction
from steelyard.scoring.text import check_id
from steelyard.strictjson import JsonValue, as_object, parse

__all__ = [
    "CheckedDocument",
    "check_eval_result",
    "check_gate_report",
    "check_playbook_entry",
    "get_eval_result",
    "get_gate_report",
    "list_eval_results",
    "list_gate_reports",
    "list_playbook_entries",
    "save_eval_result",
    "save_gate_report",
    "save_playbook_entry",
]

T = TypeVar("T")

MAX_DOCUMENT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A document whose listed fields have been read and checked."""

    columns: Mapping[str, Any]
    document: str
    content_hash: str


def check_eval_result(document: str) -> CheckedDocument:
    """Reads an EvalResult. Raises InvalidInputError that names the fields."""
    parsed = _parse(document)
    if not schema_valid(parsed):
        faults = [
            Violation(f"document.{each.path}".rstrip("."), each.reason, each.message)
            for each in lint_document(parsed)
        ]
        first = f"{faults[0].path}: {faults[0].message}" if faults else "document"
        raise InvalidInputError(
            "EVAL_RESULT_INVALID", f"not an EvalResult by its schema; {first}", faults
        )
    eval_id = _text(parsed, "evalId")
    contract_id = _text(parsed, "contractId")
    iteration = parsed.get("iteration")
    if type(iteration) is not int or not 1 <= iteration < 2**31:
        raise _field("iteration", "ITERATION_INVALID", f"is {iteration!r}, must be an integer >= 1")
    if eval_id != f"eval-{contract_id}-{iteration}":
        raise _field("evalId", "EVAL_ID_MISMATCH", f"must be 'eval-{contract_id}-{iteration}'")
    columns = {
        "eval_id": eval_id,
        "contract_id": contract_id,
        "spec_id": _text(parsed, "specId"),
        "iteration": iteration,
        "overall_result": _word(parsed, "overallResult", ("pass", "fail")),
    }
    return CheckedDocument(columns, document, hash_object(parsed))


def check_gate_report(document: str) -> CheckedDocument:
    """Reads a gate report; its id is its evidence hash, recomputed here, so no altered report is
    stored. Raises InvalidInputError that names the field."""
    parsed = _parse(document)
    reproduction = as_object(parsed.get("reproduction"))
    claimed, recomputed = reproduction.get("evidence_hash"), evidence_hash(parsed)
    if claimed != recomputed:
        raise _field(
            "reproduction.evidence_hash",
            "HASH_MISMATCH",
            f"is {claimed!r}, but computes to {recomputed!r}",
        )
    columns = {
        "report_id": recomputed,
        "squad": _text(parsed, "squad"),
        "verdict": _word(parsed, "verdict", ("PASS", "WARN", "UNVERIFIED", "FAIL")),
    }
    return CheckedDocument(columns, document, hash_object(parsed))


def check_playbook_entry(squad: str, document: str) -> CheckedDocument:
    """Reads a playbook entry of a squad. Raises InvalidInputError that names the field."""
    parsed = _parse(document)
    columns = {
        "squad": check_id("squad", squad),
        "entry_id": _text(parsed, "id"),
        "status": _word(parsed, "status", ("candidate", "promoted")),
    }
    return CheckedDocument(columns, document, hash_object(parsed))


def _field(name: str, reason: str, message: str) -> Exception:
    return InvalidInputError.at(f"document.{name}", reason, message)


def _parse(document: str) -> dict[str, JsonValue]:
    if len(document) > MAX_DOCUMENT_BYTES:
        raise InvalidInputError.at(
            "document", "TOO_LARGE", f"has {len(document)} characters, limit {MAX_DOCUMENT_BYTES}"
        )
    parsed = parse(document.encode("utf-8", "surrogatepass"), "document", MAX_REPORT_DEPTH)
    if not isinstance(parsed, dict):
        raise InvalidInputError.at("document", "NOT_AN_OBJECT", "must be a JSON object")
    return parsed


def _text(parsed: dict[str, JsonValue], name: str) -> str:
    value = parsed.get(name)
    if not isinstance(value, str):
        raise _field(name, "REQUIRED", "must be a string")
    return check_id(f"document.{name}", value)


def _word(parsed: dict[str, JsonValue], name: str, words: Sequence[str]) -> str:
    value = parsed.get(name)
    if value not in words:
        raise _field(name, "WORD_UNKNOWN", f"is {value!r}, must be one of {', '.join(words)}")
    return str(value)


def _without_document(table: FromClause) -> Select[Any]:
    """The rows of a table as lists show them: documents can be large."""
    return select(*(column for column in table.c if column.name != "document"))


def _save_immutable(tx: Transaction, id_column: Column[Any], checked: CheckedDocument) -> Row[Any]:
    """Stores the document unless it is stored; returns its row without the document."""
    identity = str(checked.columns[id_column.name])
    query = _without_document(id_column.table).where(id_column == identity)
    row = tx.connection.execute(query).first()
    if row is None:
        tx.connection.execute(
            insert(id_column.table).values(
                number=tx.numbering.next(),
                content_hash=checked.content_hash,
                document=checked.document,
                **checked.columns,
            )
        )
        return tx.connection.execute(query).one()
    if row.content_hash != checked.content_hash:
        raise AlreadyExistsError.at(
            f"document.{id_column.name}",
            "DOCUMENT_EXISTS",
            f"{identity!r} is stored with other content",
        )
    return row


def save_eval_result(tx: Transaction, checked: CheckedDocument) -> StoredEvalResult:
    """Stores an EvalResult; returns it without its document."""
    return _eval_result(_save_immutable(tx, evaluations.c.eval_id, checked))


def save_gate_report(tx: Transaction, checked: CheckedDocument) -> GateReport:
    """Stores a gate report; returns it without its document."""
    return _gate_report(_save_immutable(tx, gate_reports.c.report_id, checked))


def save_playbook_entry(tx: Transaction, checked: CheckedDocument) -> PlaybookEntry:
    """Stores a playbook entry, or its new state under the same squad and id."""
    table = playbook_entries
    mine = (
        table.c.squad == checked.columns["squad"],
        table.c.entry_id == checked.columns["entry_id"],
    )
    values = {
        "status": checked.columns["status"],
        "document": checked.document,
        "updated_at": tx.now,
    }
    if tx.connection.execute(update(table).where(*mine).values(**values)).rowcount == 0:
        tx.connection.execute(
            insert(table).values({**checked.columns, **values, "number": tx.numbering.next()})
        )
    return _playbook_entry(tx.connection.execute(select(table).where(*mine)).one())


def _get(
    connection: Connection, column: Column[Any], identity: str, build: Callable[[Row[Any]], T]
) -> T:
    row = connection.execute(select(column.table).where(column == identity)).first()
    if row is None:
        raise NotFoundError.at(column.name, "DOCUMENT_NOT_FOUND", f"there is no {identity!r}")
    return build(row)


def get_eval_result(connection: Connection, eval_id: str) -> StoredEvalResult:
    """One EvalResult; raises NotFoundError."""
    return _get(connection, evaluations.c.eval_id, eval_id, _eval_result)


def get_gate_report(connection: Connection, report_id: str) -> GateReport:
    """One gate report; raises NotFoundError."""
    return _get(connection, gate_reports.c.report_id, report_id, _gate_report)


def _list(
    connection: Connection,
    pager: Pager,
    query: Select[Any],
    group: Column[Any],
    outcome: Column[Any],
    where: DocumentFilter,
    request: PageRequest,
    build: Callable[[Row[Any]], T],
) -> Page[T]:
    if where.group:
        query = query.where(group == where.group)
    if where.outcome:
        query = query.where(outcome == where.outcome)
    return pager.page(
        connection,
        query,
        group.table.c.number,
        request,
        (str(group), where),
        lambda rows: [build(row) for row in rows],
    )


def list_eval_results(
    connection: Connection, pager: Pager, where: DocumentFilter, request: PageRequest
) -> Page[StoredEvalResult]:
    """EvalResults without their documents, newest first."""
    columns = evaluations.c
    return _list(
        connection,
        pager,
        _without_document(evaluations),
        columns.contract_id,
        columns.overall_result,
        where,
        request,
        _eval_result,
    )


def list_gate_reports(
    connection: Connection, pager: Pager, where: DocumentFilter, request: PageRequest
) -> Page[GateReport]:
    """Gate reports without their documents, newest first."""
    columns = gate_reports.c
    return _list(
        connection,
        pager,
        _without_document(gate_reports),
        columns.squad,
        columns.verdict,
        where,
        request,
        _gate_report,
    )


def list_playbook_entries(
    connection: Connection, pager: Pager, where: DocumentFilter, request: PageRequest
) -> Page[PlaybookEntry]:
    """Playbook entries, newest first."""
    columns = playbook_entries.c
    return _list(
        connection,
        pager,
        select(playbook_entries),
        columns.squad,
        columns.status,
        where,
        request,
        _playbook_entry,
    )


def _eval_result(row: Row[Any]) -> StoredEvalResult:
    return StoredEvalResult(
        number=row.number,
        eval_id=row.eval_id,
        contract_id=row.contract_id,
        spec_id=row.spec_id,
        iteration=row.iteration,
        overall_result=row.overall_result,
        document=getattr(row, "document", ""),
        created_at=number_to_moment(row.number),
    )


def _gate_report(row: Row[Any]) -> GateReport:
    return GateReport(
        number=row.number,
        report_id=row.report_id,
        squad=row.squad,
        verdict=row.verdict,
        document=getattr(row, "document", ""),
        created_at=number_to_moment(row.number),
    )


def _playbook_entry(row: Row[Any]) -> PlaybookEntry:
    return PlaybookEntry(
        number=row.number,
        squad=row.squad,
        entry_id=row.entry_id,
        status=row.status,
        document=row.document,
        created_at=number_to_moment(row.number),
        updated_at=moment_of(row.updated_at),
    )
