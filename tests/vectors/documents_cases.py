"""The cases of the RecordsService about documents."""

from __future__ import annotations

import json
from collections.abc import Iterator

from google.rpc import code_pb2
from methods import Method, next_token, page_cases, pages
from records_store import RECORDS, eval_result, gate_report, playbook_entry
from wire_format import STAMP, Group, Status

from steelyard.server.table import HandlerTable

NO_DOCUMENT = "DOCUMENT_NOT_FOUND"
NOT_JSON = Status.refused("INVALID_JSON", "document")


def store_eval_result(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}StoreEvalResult", {"evalResult.createdAt": STAMP})
    kept = eval_result(table, "contract-kept", 1, "FAIL")
    return method.group(
        "records_store_eval_result",
        "An EvalResult is kept as it comes; the same again changes nothing.",
        method.answered(
            "stored", "A new one.", {"document": eval_result(table, "contract-new", 1, "PASS")}
        ),
        method.answered("again", "One that is stored.", {"document": kept}),
        method.refused(
            "other_content",
            "Another result under the same id.",
            {"document": eval_result(table, "contract-kept", 1, "PASS")},
            Status.refused("DOCUMENT_EXISTS", "document.eval_id", code_pb2.ALREADY_EXISTS),
        ),
        method.refused(
            "id_differs",
            "The id does not fit the iteration.",
            {"document": kept.replace('"iteration":1', '"iteration":2')},
            Status.refused("EVAL_ID_MISMATCH", "document.evalId"),
        ),
        method.refused("no_json", "A text that is no JSON.", {"document": "PASS"}, NOT_JSON),
    )


def get_eval_result(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}GetEvalResult", {})
    return method.group(
        "records_get_eval_result",
        "One EvalResult with its document.",
        method.answered("found", "Byte for byte.", {"evalId": "eval-contract-kept-1"}),
        method.refused(
            "unknown",
            "No such id.",
            {"evalId": "eval-unknown-1"},
            Status.refused(NO_DOCUMENT, "eval_id", code_pb2.NOT_FOUND),
        ),
    )


def list_eval_results(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}ListEvalResults", {})
    kept = {"contractId": "contract-kept"}
    foreign = next_token(table, "ListGateReports", {"squad": "squad-kept"})
    return method.group(
        "records_list_eval_results",
        "EvalResults without their documents, newest first.",
        method.answered("of_contract", "Of one contract.", kept),
        method.answered("of_result", "Those that fail.", {**kept, "overallResult": "fail"}),
        *page_cases(method, pages(method, kept), foreign),
    )


def store_gate_report(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}StoreGateReport", {"report.createdAt": STAMP})
    report = gate_report("squad-new", "WARN")
    return method.group(
        "records_store_gate_report",
        "A gate report is kept under its evidence hash; the same again changes nothing.",
        method.answered("stored", "A new one.", {"document": report}),
        method.answered(
            "again", "One that is stored.", {"document": gate_report("squad-kept", "PASS")}
        ),
        method.refused(
            "tampered",
            "The verdict was changed by hand.",
            {"document": report.replace("WARN", "PASS")},
            Status.refused("HASH_MISMATCH", "document.reproduction.evidence_hash"),
        ),
        method.refused(
            "other_signature",
            "The same evidence with another signature.",
            {"document": gate_report("squad-kept", "PASS")[:-1] + ',"signature":{}}'},
            Status.refused("DOCUMENT_EXISTS", "document.report_id", code_pb2.ALREADY_EXISTS),
        ),
        method.refused("no_json", "A text that is no JSON.", {"document": "PASS"}, NOT_JSON),
    )


def get_gate_report(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}GetGateReport", {})
    digest = json.loads(gate_report("squad-kept", "FAIL"))["reproduction"]["evidence_hash"]
    return method.group(
        "records_get_gate_report",
        "One gate report with its document.",
        method.answered("found", "Byte for byte.", {"reportId": digest}),
        method.refused(
            "unknown",
            "No such hash.",
            {"reportId": "0" * 64},
            Status.refused(NO_DOCUMENT, "report_id", code_pb2.NOT_FOUND),
        ),
    )


def list_gate_reports(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}ListGateReports", {})
    kept = {"squad": "squad-kept"}
    foreign = next_token(table, "ListPlaybookEntries", kept)
    return method.group(
        "records_list_gate_reports",
        "Gate reports without their documents, newest first.",
        method.answered("of_squad", "Of one squad.", kept),
        method.answered("of_verdict", "Those that pass.", {**kept, "verdict": "PASS"}),
        *page_cases(method, pages(method, kept), foreign),
    )


def store_playbook_entry(table: HandlerTable) -> Group:
    shapes = {"entry.createdAt": STAMP, "entry.updatedAt": STAMP}
    method = Method(table, f"{RECORDS}StorePlaybookEntry", shapes)
    entry = {**playbook_entry("rule-3", "candidate"), "squad": "squad-new"}
    return method.group(
        "records_store_playbook_entry",
        "A playbook entry, or its new state.",
        method.answered("stored", "A candidate.", entry),
        method.refused(
            "status_unknown",
            "An entry is a candidate or promoted.",
            playbook_entry("rule-3", "retired"),
            Status.refused("WORD_UNKNOWN", "document.status"),
        ),
        method.refused(
            "squad_missing",
            "It has to say whose.",
            {**entry, "squad": ""},
            Status.refused("REQUIRED", "squad"),
        ),
        method.refused("no_json", "A text that is no JSON.", {**entry, "document": ""}, NOT_JSON),
    )


def list_playbook_entries(table: HandlerTable) -> Group:
    method = Method(table, f"{RECORDS}ListPlaybookEntries", {})
    kept = {"squad": "squad-kept"}
    foreign = next_token(table, "ListGateReports", kept)
    return method.group(
        "records_list_playbook_entries",
        "Playbook entries, newest first.",
        method.answered("of_squad", "Of one squad.", kept),
        method.answered("of_status", "Those that are promoted.", {**kept, "status": "promoted"}),
        *page_cases(method, pages(method, kept), foreign),
    )


def groups(table: HandlerTable) -> Iterator[Group]:
    """All files; the answers come from the table, over the store of records_store."""
    for group in (
        store_eval_result,
        get_eval_result,
        list_eval_results,
        store_gate_report,
        get_gate_report,
        list_gate_reports,
        store_playbook_entry,
        list_playbook_entries,
    ):
        yield group(table)
