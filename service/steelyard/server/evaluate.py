"""Evaluate: contract, runs and judgements in, an EvalResult out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from steelyard import strictjson
from steelyard.errors import PreconditionError
from steelyard.evaluation import LintMode, Previous, evaluate, parse_previous, render
from steelyard.server.evaluate_codec import (
    contract_from_message,
    judgements_from_message,
    previous_from_message,
    result_message,
    runs_from_message,
    violation_messages,
)
from steelyard.server.evaluate_words import LINT, OUTPUT
from steelyard.server.messages import parse
from steelyard.server.table import CallContext, Handler, UnaryHandler
from steelyard.timestamps import timestamp
from steelyard.v1 import evaluate_pb2 as pb

__all__ = ["EVALUATE", "StoredResults", "evaluate_handlers"]

EVALUATE = "/steelyard.v1.SteelyardService/Evaluate"

# The JSON document of the stored result with an id. Raises NotFoundError.
StoredResults = Callable[[str], str]


def evaluate_handlers(
    stored: StoredResults | None, clock: Callable[[], datetime]
) -> dict[str, Handler]:
    """The Evaluate handler. Without `stored` it refuses a previous result given by its id; `clock`
    dates requests that carry no timestamp."""

    def evaluate_(request: bytes, _context: CallContext) -> bytes:
        message = parse(pb.EvaluateRequest, request)
        outputs = [
            OUTPUT.word(value, f"outputs[{index}]") for index, value in enumerate(message.outputs)
        ]
        evaluation = evaluate(
            contract_from_message(message.contract),
            iteration=message.iteration,
            timestamp=message.timestamp or timestamp(clock()),
            runs=runs_from_message(message.runs),
            judgements=judgements_from_message(message),
            previous=_previous(message, stored),
            lint=LINT.word(message.lint, "lint") if message.HasField("lint") else LintMode.REPORT,
        )
        return pb.EvaluateResponse(
            result=result_message(evaluation.result),
            violations=violation_messages(evaluation.violations),
            outputs=[
                pb.EvalOutput(format=OUTPUT.values[word], content=render(evaluation.result, word))
                for word in outputs
            ],
        ).SerializeToString()

    return {EVALUATE: UnaryHandler(evaluate_)}


def _previous(message: pb.EvaluateRequest, stored: StoredResults | None) -> Previous | None:
    match message.WhichOneof("previous_result"):
        case "previous":
            return previous_from_message(message.previous)
        case "previous_eval_id":
            if stored is None:
                raise PreconditionError("NO_STORE", "this server stores no results")
            document = stored(message.previous_eval_id)
            return parse_previous(strictjson.parse(document.encode(), "previous"))
        case _:
            return None
