"""The three doors to an evaluation: one request as JSON, asked of library, CLI and RPC handler."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from steelyard.cli import main
from steelyard.errors import InvalidInputError
from steelyard.evaluation import (
    Category,
    OutputFormat,
    Priority,
    Ruling,
    Severity,
    StrategyRun,
    evaluate,
    parse_contract,
    parse_judgements,
    parse_previous,
    result_value,
)
from steelyard.ingest import Format
from steelyard.server.evaluate import EVALUATE, evaluate_handlers
from steelyard.server.evaluate_words import CATEGORY, FORMAT, OUTPUT, PRIORITY, RULING, SEVERITY
from steelyard.v1 import evaluate_pb2 as pb

FIXTURES = Path(__file__).parents[1] / "fixtures" / "outputs"
TIMESTAMP = "2026-01-31T12:00:00Z"
ROOT = "/repo"

Json = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One strategy's run as a test states it."""

    name: str
    report: bytes | None = None
    format: str | None = None
    exit_code: int | None = None
    required: bool = True


@dataclass(frozen=True)
class Request:
    """One evaluation as a test states it."""

    contract: Json
    runs: tuple[Run, ...] = ()
    judgements: Json = field(default_factory=dict)
    previous: Json | None = None
    iteration: int = 1


class RefusedError(Exception):
    """The door refused the request: where and why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def fixture(name: str) -> tuple[bytes, str, int]:
    """Output, format and exit code of a real run."""
    about = json.loads((FIXTURES / f"{name}.run.json").read_text())
    return (FIXTURES / f"{name}.out").read_bytes(), about["format"], about["exit_code"]


def run_of(name: str, fixture_name: str, *, required: bool = True) -> Run:
    """A run with a real output."""
    report, form, code = fixture(fixture_name)
    return Run(name, report, form, code, required)


def library(request: Request, tmp_path: Path) -> Json:
    """The result by the library."""
    try:
        return result_value(
            evaluate(
                parse_contract(request.contract, "contract"),
                iteration=request.iteration,
                timestamp=TIMESTAMP,
                runs=[
                    StrategyRun(
                        strategy=run.name,
                        required=run.required,
                        report=run.report,
                        format=Format(run.format) if run.format else None,
                        exit_code=run.exit_code,
                        root=ROOT,
                    )
                    for run in request.runs
                ],
                judgements=parse_judgements(request.judgements),
                previous=parse_previous(request.previous) if request.previous else None,
            ).result
        )
    except InvalidInputError as error:
        raise RefusedError(error.violations[0].path, error.reason) from error


def cli(request: Request, tmp_path: Path) -> Json:
    """The result by `steelyard evaluate`, whose exit code has to fit it."""

    def write(name: str, value: object) -> str:
        file = tmp_path / name
        file.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return str(file)

    arguments = ["evaluate", write("contract.json", request.contract)]
    arguments += ["--judgements", write("judgements.json", request.judgements)]
    arguments += ["--out", "json", "--timestamp", TIMESTAMP, "--root", ROOT]
    arguments += ["--iteration", str(request.iteration)]
    if request.previous:
        arguments += ["--previous", write("previous.json", request.previous)]
    for number, run in enumerate(request.runs):
        option = run.name + (":required" if run.required else "")
        if run.report is not None:
            option += f"={write(f'report-{number}', run.report)}"
            option += f"@{run.format}" if run.format else ""
        arguments += ["--strategy", option]
        if run.exit_code is not None:
            arguments += ["--exit-code", f"{run.name}={run.exit_code}"]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    if done.exit_code == 2:
        # steelyard: contract.contractId: what is wrong [REASON]
        words = done.stderr.strip()
        path = words.removeprefix("steelyard: ").partition(":")[0]
        raise RefusedError(path, words.rpartition("[")[2].rstrip("]"))
    result: Json = json.loads(done.stdout)
    assert done.exit_code == {"pass": 0, "fail": 1}[result["overallResult"]]
    return result


def rpc(request: Request, tmp_path: Path) -> Json:
    """The result by the handler of the RPC: its JSON output, checked against its message."""
    message = request_message(request)
    message.outputs.append(pb.EVAL_OUTPUT_FORMAT_JSON)
    try:
        response = pb.EvaluateResponse.FromString(call(message.SerializeToString()))
    except InvalidInputError as error:
        raise RefusedError(error.violations[0].path, error.reason) from error
    result: Json = json.loads(response.outputs[0].content)
    verdict = {pb.EVAL_VERDICT_PASS: "pass", pb.EVAL_VERDICT_FAIL: "fail"}
    assert verdict[response.result.overall_result] == result["overallResult"]
    return result


def call(request: bytes) -> bytes:
    """The handler, without a store."""
    handler = evaluate_handlers(None, lambda: datetime(2026, 1, 31, tzinfo=UTC))[EVALUATE]
    answer: bytes = handler.call(request, None)  # type: ignore[arg-type,assignment]  # unary, needs no context
    return answer


DOORS = {"library": library, "cli": cli, "rpc": rpc}


# JSON to messages -------------------------------------------------------------------------------


def request_message(request: Request) -> pb.EvaluateRequest:
    """The message of a request. Words that no enum has become UNSPECIFIED."""
    contract = request.contract
    judgements = request.judgements
    previous = request.previous or {}
    return pb.EvaluateRequest(
        contract=pb.SprintContract(
            contract_id=contract.get("contractId", ""),
            spec_id=contract.get("specId", ""),
            success_criteria=[
                pb.SuccessCriterion(
                    criterion_id=c["criterionId"],
                    description=c["description"],
                    verification_method=c.get("verificationMethod", ""),
                    required=c.get("required"),
                )
                for c in contract.get("successCriteria", [])
            ],
            strategies=[
                pb.StrategySpec(
                    strategy=s["strategy"],
                    required=s.get("required"),
                    command=s.get("command", ""),
                    format=FORMAT.values[Format(s["format"])] if "format" in s else None,
                    allow_zero_tests=s.get("allowZeroTests", False),
                )
                for s in contract.get("strategies", [])
            ],
            non_goals=contract.get("nonGoals", []),
        ),
        iteration=request.iteration,
        timestamp=TIMESTAMP,
        runs=[
            pb.StrategyRun(
                strategy=run.name,
                required=run.required,
                report=run.report,
                format=FORMAT.values[Format(run.format)] if run.format else None,
                exit_code=run.exit_code,
                root=ROOT,
            )
            for run in request.runs
        ],
        judgements=[_judgement(judgement) for judgement in judgements.get("judgements", [])],
        regressions=[
            pb.EvalRegression(
                description=r["description"],
                evidence=r.get("evidence", ""),
                severity=SEVERITY.values[Severity(r["severity"])],
                affected_files=r.get("affectedFiles", []),
            )
            for r in judgements.get("regressions", [])
        ],
        non_goals=[
            pb.NonGoalCheck(
                index=c["nonGoal"] if isinstance(c["nonGoal"], int) else None,
                text=c["nonGoal"] if isinstance(c["nonGoal"], str) else None,
                breached=c["breached"],
                evidence=c.get("evidence", ""),
            )
            for c in judgements.get("nonGoals", [])
        ],
        feedback=[
            pb.FeedbackNote(
                description=n["description"],
                expected=n.get("expected", ""),
                priority=PRIORITY.values[Priority(n["priority"])] if "priority" in n else None,
                category=CATEGORY.values[Category(n["category"])] if "category" in n else None,
                location=_location(n),
                rule_id=n.get("ruleId", ""),
                criterion_id=n.get("criterionId", ""),
            )
            for n in judgements.get("feedback", [])
        ],
        previous=pb.EvalResult(
            eval_id=previous["evalId"],
            contract_id=previous["contractId"],
            iteration=previous["iteration"],
        )
        if previous
        else None,
    )


def _judgement(judgement: Json) -> pb.CriterionJudgement:
    word = judgement.get("result")
    if isinstance(judgement.get("passed"), bool):
        word = "pass" if judgement["passed"] else "fail"
    message = pb.CriterionJudgement(
        criterion_id=judgement["criterionId"],
        result=RULING.values[Ruling(word)] if word is not None else None,
        evidence=judgement.get("evidence", ""),
        feedback=judgement.get("feedback", ""),
        error=judgement.get("error", ""),
        location=_location(judgement),
    )
    if isinstance(judgement.get("passed"), str):
        # What a client without types would send: a string in the field of the result.
        text = judgement["passed"].encode()
        message.MergeFromString(bytes([2 << 3 | 2, len(text)]) + text)
    return message


def _location(value: Json) -> pb.FeedbackLocation | None:
    if "file" not in value:
        return None
    return pb.FeedbackLocation(file=value["file"], line=value.get("line"))


def rendered(request: Request, word: OutputFormat) -> bytes:
    """The result in one format, by the handler."""
    message = request_message(request)
    message.outputs.append(OUTPUT.values[word])
    return pb.EvaluateResponse.FromString(call(message.SerializeToString())).outputs[0].content
