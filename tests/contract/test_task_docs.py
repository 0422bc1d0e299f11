"""The worked example of docs/task-evaluations.md gives what the text says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from steelyard.scoring.policy import TASK_EVALUATION
from steelyard.scoring.task_document import evaluation_document
from steelyard.scoring.task_input import evaluate_document

PAGE = Path(__file__).parents[2] / "docs" / "task-evaluations.md"


def test_the_worked_example() -> None:
    page = PAGE.read_text("utf-8")
    # The example holds a fence inside a string; its own fence ends a line of its own.
    found = re.search(r"<!-- example: input -->\n```json\n(.*?)\n```\n", page, re.DOTALL)
    assert found is not None
    evaluated = evaluate_document(found[1].encode(), lambda name, version: TASK_EVALUATION)
    document: Any = evaluation_document(evaluated.kept.evaluation)
    rows = re.findall(
        r"^\| (\w+) \| .* = (\d+) \| (\d+) \| R.* = (\d+) \| (\w+) \|$", page, re.MULTILINE
    )
    assert rows == [
        (
            entry["category"],
            str(entry["deterministicScore"]),
            str(entry["aiScore"]),
            str(entry["finalScore"]),
            entry["band"],
        )
        for entry in document["categoryScores"]
    ]
    assert f"= {document['overallScore']}, {document['overallBand']}." in page
    assert [entry["evidenceId"] for entry in document["unknownEvidence"]] == ["workflow-9"]
    first, second = document["followUps"]
    assert (first["state"], first["priority"]) == ("suggested", "high")
    assert first["recommendation"]["shouldCreate"] is True
    assert second["suppressedReason"] == "empty_or_generic"
