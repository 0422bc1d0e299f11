"""Fills a new store with the records that the vectors of the RecordsService are about.

`python tests/vectors/records_store.py FILE`. Times, ids, numbers and page tokens are the same in
every store that it makes, so that vectors can name them. What vectors read, none of them changes;
what they change is not read; all of it is older than whatever a running server adds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from calls import POLICIES, Rpc, table_of
from sqlalchemy import update

from steelyard._core import hash_object
from steelyard.records import migrate
from steelyard.records.board import BOARDS
from steelyard.records.engine import open_engine, store_url
from steelyard.records.numbering import Clock
from steelyard.records.paging import PAGE_KEY_NAME
from steelyard.records.schema import store_settings
from steelyard.records.store import Store, utc_now
from steelyard.scoring.policy import TASK_EVALUATION, load_policies
from steelyard.server.table import HandlerTable

__all__ = [
    "CHOICES",
    "DONE",
    "EVEN",
    "FIRST",
    "OUTBOX",
    "ask",
    "eval_result",
    "fill",
    "gate_report",
    "number_of",
    "opened",
    "playbook_entry",
    "recorded",
    "task",
]

MONDAY, TUESDAY, WEDNESDAY, THURSDAY = (
    datetime(2024, 1, day, 9, tzinfo=UTC) for day in (15, 16, 17, 18)
)
WEEK_S = 7 * 24 * 3600

RECORDS = "RecordsService/"
Json = dict[str, Any]

DONE = {
    "runId": "run-done",
    "trigger": "RUN_TRIGGER_TASK_COMPLETION",
    "summary": "Größe of 🚀",
    "leaseSeconds": WEEK_S,
    "start": True,
    "idempotencyKey": "create run-done",
}
"""A run with a result of each kind, completed."""

CHOICES = tuple(f"Name the owner of queue {number}" for number in range(7))
"""Titles of suggestions to decide about: the first three are accepted, the fourth is dismissed."""

OUTBOX = 100
"""Items that wait in the outbox; each DrainOutbox of the vectors takes one for good."""


def task(
    task_id: str,
    run_id: str,
    scores: Sequence[tuple[int, int]],
    drafts: Sequence[str] = (),
    mode: str = "SUGGESTION_MODE_PERSIST_ONLY",
) -> Json:
    """A ScoreTaskRequest to store: a pair of scores for each category, titles of follow-ups."""
    named = list(zip(TASK_EVALUATION.categories, scores, strict=True))
    return {
        "taskId": task_id,
        "runId": run_id,
        "deterministic": {"categories": [{"category": name, "score": s} for name, (s, _) in named]},
        "ai": {
            "categories": [
                {
                    "category": name,
                    "score": score,
                    "rationale": f"{name} is as the evidence shows.",
                    "evidenceIds": ["workflow-1"],
                }
                for name, (_, score) in named
            ]
        },
        "evidence": {"workflow": [{"status": "STEP_STATUS_FAILED", "label": "lint"}]},
        "followUpDrafts": [
            {
                "title": title,
                "description": f"{title}: nobody answers for it.",
                "reason": "It was seen to fail.",
                "evidenceRefs": ["workflow-1"],
            }
            for title in drafts
        ],
        "policyMode": mode,
        "idempotencyKey": f"score {task_id} in {run_id}",
        "persist": True,
    }


FIRST = task("FN-1", "run-done", [(80, 75), (92, 88), (70, 60)])
"""The first result of run-done."""

EVEN = [(55, 55)] * 3


def recorded(task_id: str, status: str) -> Json:
    """A RecordResultRequest for run-done."""
    return {
        "runId": "run-done",
        "taskId": task_id,
        "status": status,
        "reason": "Nothing to judge.",
        "idempotencyKey": f"record {task_id}",
    }


def ask(table: HandlerTable, method: str, request: Mapping[str, Any]) -> Any:
    """The one answer of a method."""
    (answer,) = Rpc(method).call(table, request)
    return answer


def eval_result(table: HandlerTable, contract_id: str, iteration: int, result: str) -> str:
    """The document of an EvalResult; `result` is PASS or FAIL."""
    criterion = {"criterionId": "sc-1", "description": "It builds."}
    judgement = {
        "criterionId": "sc-1",
        "result": f"JUDGEMENT_RESULT_{result}",
        "evidence": "make: exit 0",
    }
    request = {
        "contract": {"contractId": contract_id, "specId": "spec", "successCriteria": [criterion]},
        "iteration": iteration,
        "timestamp": "2024-01-15T09:00:00Z",
        "judgements": [judgement],
        "outputs": ["EVAL_OUTPUT_FORMAT_CANONICAL"],
    }
    content: bytes = ask(table, "SteelyardService/Evaluate", request).outputs[0].content
    return content.decode()


def gate_report(squad: str, verdict: str) -> str:
    """The document of a gate report, with no more in it than the store reads."""
    digest = hash_object({"reproduction": {}, "squad": squad, "verdict": verdict})
    return (
        f'{{"reproduction":{{"evidence_hash":"{digest}"}},"squad":"{squad}","verdict":"{verdict}"}}'
    )


def playbook_entry(entry_id: str, status: str) -> Json:
    """A StorePlaybookEntryRequest."""
    document = f'{{"id":"{entry_id}","status":"{status}","rule":"Name every source"}}'
    return {"squad": "squad-kept", "document": document}


@contextmanager
def opened(path: Path, board: str = "builtin", clock: Clock = utc_now) -> Iterator[Store]:
    """A store of the file with the policies of the vectors."""
    policies = (TASK_EVALUATION, *load_policies(POLICIES))
    # The node of a process is part of the numbers that it gives.
    with (
        patch("steelyard.records.store.secrets.randbelow", return_value=0),
        Store(str(path), policies=policies, task_board=BOARDS[board], clock=clock) as store,
    ):
        yield store


def fill(path: Path) -> None:
    """Makes the store."""
    engine = open_engine(store_url(str(path)))
    migrate.upgrade(engine)
    with engine.begin() as connection:
        key = store_settings.c.name == PAGE_KEY_NAME
        connection.execute(update(store_settings).where(key).values(value="5e" * 32))
    engine.dispose()
    with opened(path, clock=lambda: MONDAY) as store:
        _monday(table_of(store))
    with opened(path, clock=lambda: TUESDAY) as store:
        _tuesday(table_of(store))
    with opened(path, clock=lambda: WEDNESDAY) as store:
        store.run_tick(WEDNESDAY)
    with opened(path, "outbox", lambda: THURSDAY) as store:
        _thursday(table_of(store))


def _score(table: HandlerTable, request: Json) -> None:
    ask(table, "SteelyardService/ScoreTask", request)


def _run(table: HandlerTable, run_id: str, *, start: bool, trigger: str = "MANUAL") -> None:
    request = {"runId": run_id, "trigger": f"RUN_TRIGGER_{trigger}", "start": start}
    ask(table, RECORDS + "CreateRun", {**request, "leaseSeconds": WEEK_S})


def _monday(table: HandlerTable) -> None:
    ask(table, RECORDS + "CreateRun", DONE)
    _score(table, FIRST)
    _score(table, task("FN-2", "run-done", EVEN, ["Make the lint pass", "?"]))
    for purpose in ("finish", "fail", "cancel", "renew"):
        _run(table, f"run-to-{purpose}", start=False)
    for squad, verdict in (("squad-kept", "PASS"), ("squad-kept", "FAIL")):
        request = {"document": gate_report(squad, verdict)}
        ask(table, RECORDS + "StoreGateReport", request)
    for iteration, result in ((1, "FAIL"), (2, "PASS")):
        document = eval_result(table, "contract-kept", iteration, result)
        ask(table, RECORDS + "StoreEvalResult", {"document": document})
    for request in (playbook_entry("rule-1", "promoted"), playbook_entry("rule-2", "candidate")):
        ask(table, RECORDS + "StorePlaybookEntry", request)


def _tuesday(table: HandlerTable) -> None:
    ask(table, RECORDS + "RecordResult", recorded("FN-3", "RESULT_STATUS_SKIPPED"))
    ask(table, RECORDS + "RecordResult", recorded("FN-4", "RESULT_STATUS_ERROR"))
    _score(table, task("FN-5", "run-done", [(100, 90), (97, 97), (96, 96)]))
    finished = {"runId": "run-done", "status": "RUN_STATUS_COMPLETED"}
    ask(table, RECORDS + "FinishRun", finished)
    _run(table, "run-failed", start=True, trigger="TASK_COMPLETION")
    # The suggestion that FN-2 has already.
    _score(table, task("FN-2", "run-failed", EVEN, ["Make the lint pass"]))
    failed = {"runId": "run-failed", "status": "RUN_STATUS_FAILED", "error": "The judge is away."}
    ask(table, RECORDS + "FinishRun", failed)
    _run(table, "run-cancelled", start=False, trigger="TASK_COMPLETION")
    ask(table, RECORDS + "CancelRun", {"runId": "run-cancelled"})
    _run(table, "run-choices", start=True)
    _score(table, task("FN-6", "run-choices", EVEN, CHOICES))
    for title, action in zip(CHOICES, ["ACCEPT"] * 3 + ["DISMISS"], strict=False):
        request = {
            "number": number_of(table, "FN-6", title),
            "action": f"FOLLOW_UP_ACTION_{action}",
        }
        ask(table, RECORDS + "UpdateFollowUp", {**request, "note": "Decided on Tuesday."})
    ask(table, RECORDS + "FinishRun", {**finished, "runId": "run-choices"})


def _thursday(table: HandlerTable) -> None:
    _run(table, "run-outbox", start=True)
    waiting = [f"FN-waits-{number}" for number in range(1, OUTBOX + 1)]
    for task_id in (*waiting, "FN-to-acknowledge", "FN-acknowledged"):
        drafts, mode = ["Make the lint pass"], "SUGGESTION_MODE_CREATE_ALL_NON_DUPLICATES"
        _score(table, task(task_id, "run-outbox", EVEN, drafts, mode))
    request = {"number": number_of(table, "FN-acknowledged"), "taskId": "EXT-1"}
    ask(table, RECORDS + "AcknowledgeOutbox", request)
    finished = {"runId": "run-outbox", "status": "RUN_STATUS_COMPLETED"}
    ask(table, RECORDS + "FinishRun", finished)


def number_of(table: HandlerTable, task_id: str, title: str = "Make the lint pass") -> int:
    """The number of a task's newest follow-up with this title, and of its item in the outbox."""
    listed = ask(table, RECORDS + "ListFollowUps", {"taskId": task_id}).follow_ups
    number: int = next(each.number for each in listed if each.suggestion.title == title)
    return number


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
