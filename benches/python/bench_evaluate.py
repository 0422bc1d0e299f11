"""Evaluate for a typical sprint, beside a handler that does nothing.

    python benches/python/bench_evaluate.py [--rpc]

A typical sprint: 10 criteria, 5 strategies, 40 findings, a previous result. All rows are measured
in interleaved rounds within one process, so that they see the same machine; the figure is the best
round, in microseconds per call. With --rpc also through a server on the loopback interface, beside
its health check.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime

from steelyard.evaluation import Evaluation, OutputFormat, evaluate, render
from steelyard.server.evaluate import EVALUATE, evaluate_handlers
from steelyard.server.evaluate_codec import (
    contract_from_message,
    judgements_from_message,
    previous_from_message,
    result_message,
    runs_from_message,
)
from steelyard.v1 import evaluate_pb2 as pb

ROUNDS = 7
CALLS = 200
CRITERIA = 10
FINDINGS = 40


def tsc(count: int) -> bytes:
    lines = (
        f"src/module_{n % 7}.ts({n * 3 + 1},5): error TS2304: Cannot find name 'value{n}'.\n"
        for n in range(count)
    )
    return "".join(lines).encode()


def junit(failed: int) -> bytes:
    cases = [f'<testcase classname="suite" name="passes {n}"/>' for n in range(60)]
    cases += [
        f'<testcase classname="suite" name="fails {n}"><failure message="expected {n} to be 0">'
        f"AssertionError\n at src/module_{n}.test.ts:{n + 3}:9</failure></testcase>"
        for n in range(failed)
    ]
    return f'<testsuites><testsuite name="s">{"".join(cases)}</testsuite></testsuites>'.encode()


def sprint() -> pb.EvaluateRequest:
    """The request of a typical sprint, in its second round."""
    tests = FINDINGS // 2
    request = pb.EvaluateRequest(
        contract=pb.SprintContract(
            contract_id="sprint-spec-1-4",
            spec_id="spec-1",
            success_criteria=[
                pb.SuccessCriterion(
                    criterion_id=f"sc-4-{n}",
                    description=f"Criterion {n}: the form refuses value {n} and says why.",
                    verification_method="unit-test",
                )
                for n in range(CRITERIA)
            ],
        ),
        iteration=1,
        timestamp="2026-01-31T12:00:00Z",
        runs=[
            pb.StrategyRun(strategy="build", required=True, exit_code=0),
            pb.StrategyRun(
                strategy="typecheck",
                required=True,
                report=tsc(FINDINGS - tests),
                format=pb.REPORT_FORMAT_TSC,
                exit_code=2,
            ),
            pb.StrategyRun(
                strategy="unit-test",
                required=True,
                report=junit(tests),
                format=pb.REPORT_FORMAT_JUNIT,
                exit_code=1,
            ),
            pb.StrategyRun(
                strategy="lint", report=b"[]", format=pb.REPORT_FORMAT_RUFF, exit_code=0
            ),
            pb.StrategyRun(strategy="format", exit_code=0),
        ],
        judgements=[
            pb.CriterionJudgement(
                criterion_id=f"sc-4-{n}",
                result=pb.JUDGEMENT_RESULT_FAIL if n % 5 == 0 else pb.JUDGEMENT_RESULT_PASS,
                evidence=f"form.test.ts: 'refuses value {n}' expected an error, received none",
                feedback=f"Value {n} is accepted at src/form.ts:{n + 1}." if n % 5 == 0 else "",
            )
            for n in range(CRITERIA)
        ],
    )
    first = evaluated(request).result
    assert len(first.generator_feedback) == FINDINGS + 2
    request.previous.CopyFrom(result_message(first))
    request.iteration = 2
    return request


def evaluated(request: pb.EvaluateRequest) -> Evaluation:
    """What the handler does between decoding and encoding."""
    return evaluate(
        contract_from_message(request.contract),
        iteration=request.iteration,
        timestamp=request.timestamp,
        runs=runs_from_message(request.runs),
        judgements=judgements_from_message(request),
        previous=previous_from_message(request.previous) if request.HasField("previous") else None,
    )


def empty(request: bytes) -> bytes:
    """A handler that decodes an empty request and encodes an empty answer."""
    pb.EvaluateRequest.FromString(request)
    return pb.EvaluateResponse().SerializeToString()


def measure(rows: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best round of each row, in microseconds per call."""
    best = dict.fromkeys(rows, float("inf"))
    for _ in range(ROUNDS):
        for name, call in rows.items():
            call()
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / CALLS * 1e6)
    return best


def report(best: dict[str, float]) -> None:
    width = max(map(len, best))
    for name, microseconds in best.items():
        print(f"{name:<{width}}  {microseconds:10.1f} us")


def in_process(request: pb.EvaluateRequest) -> dict[str, Callable[[], object]]:
    handler = evaluate_handlers(None, lambda: datetime.now(UTC))[EVALUATE]
    data = request.SerializeToString()
    result = evaluated(request).result
    return {
        "empty handler": lambda: empty(b""),
        "Evaluate handler, typical sprint": lambda: handler.call(data, None),  # type: ignore[arg-type]  # needs no context
        "  of it: evaluate": lambda: evaluated(request),
        "  of it: encode": lambda: result_message(result).SerializeToString(),
        "the result as JSON": lambda: render(result, OutputFormat.JSON),
        "the result as Markdown": lambda: render(result, OutputFormat.MARKDOWN),
        "the result as SARIF": lambda: render(result, OutputFormat.SARIF),
    }


def over_loopback(request: pb.EvaluateRequest) -> None:
    from grpc_health.v1 import health_pb2

    from steelyard.client import Client
    from steelyard.server.app import build
    from steelyard.settings import Settings

    server = build(Settings(address="127.0.0.1:0", grace_seconds=0))
    server.start()
    try:
        with Client(f"127.0.0.1:{server.port}", timeout=20) as client:
            check, answer = health_pb2.HealthCheckRequest(), health_pb2.HealthCheckResponse
            report(
                measure(
                    {
                        "empty RPC (health check)": lambda: client.call(
                            "/grpc.health.v1.Health/Check", check, answer
                        ),
                        "Evaluate RPC, typical sprint": lambda: client.call(
                            EVALUATE, request, pb.EvaluateResponse
                        ),
                    }
                )
            )
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rpc", action="store_true", help="also through a server on loopback")
    options = parser.parse_args()
    request = sprint()
    report(measure(in_process(request)))
    if options.rpc:
        over_loopback(request)


if __name__ == "__main__":
    main()
