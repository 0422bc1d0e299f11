"""Runs the wire vectors and the transport checks against a server. See ../README.md.

Stands on the stubs that grpcio-tools generates into gen/ and on nothing of the service's package.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "gen"))

import grpc
import rfc8785
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.json_format import MessageToDict, ParseDict
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from steelyard.v1 import score_pb2, steelyard_service_pb2_grpc

for generated in Path(__file__).parent.glob("gen/steelyard/v1/*_pb2.py"):
    importlib.import_module(f"steelyard.v1.{generated.stem}")

MESSAGES = 100_000
PADDING = "." * 256  # so that what windows and buffers hold is far less than all messages
CALLERS, CALLS = 32, 25


class Checks:
    """Counts what passed, tells what failed."""

    def __init__(self, server: str, restarted: str, config: str, vectors: str) -> None:
        self.server, self.restarted = server, restarted
        self.options = [
            ("grpc.service_config", Path(config).read_text()),
            ("grpc.max_receive_message_length", -1),
        ]
        self.root = Path(vectors)
        self.channel = grpc.insecure_channel(server, options=self.options)
        self.stub = steelyard_service_pb2_grpc.SteelyardServiceStub(self.channel)
        self.passed = self.failed = 0

    def expect(self, name: str, actual: object, expected: object) -> None:
        """One comparison."""
        if actual == expected:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {name}: {actual!r} is not {expected!r}")

    # Vectors.

    def vectors(self) -> None:
        """The cases that are answered."""
        self.cases(lambda status: status["code"] == 0)

    def errors(self) -> None:
        """The cases that end with an error, its details decoded."""
        self.cases(lambda status: status["code"] != 0)

    def cases(self, chosen: Callable[[dict[str, Any]], bool]) -> None:
        for path in sorted(self.root.glob("wire/*.json")):
            file = json.loads(path.read_text())
            for case in file["cases"]:
                if chosen(case["status"]):
                    actual, expected = self.case(file, case)
                    self.expect(f"{path.stem}/{case['name']}", actual, expected)

    def case(self, file: dict[str, Any], case: dict[str, Any]) -> tuple[object, object]:
        """What came of a case and what should."""
        service, _, name = file["method"][1:].rpartition("/")
        method = descriptor_pool.Default().FindServiceByName(service).methods_by_name.get(name)
        request, response = (
            message_factory.GetMessageClass(kind) if kind else None
            for kind in ((method.input_type, method.output_type) if method else (None, None))
        )

        def normal(data: bytes) -> Any:
            return masked(MessageToDict(response.FromString(data)), file["byShape"])

        sent = []
        decoded = []
        for item in case["requests"]:
            data = base64.b64decode(item["binary"])
            if "json" in item:
                message = ParseDict(item["json"], request())
                decoded.append(MessageToDict(request.FromString(data)) == item["json"])
                data = message.SerializeToString()
            sent.append(data)
        expected = [masked(item["json"], file["byShape"]) for item in case["responses"]]
        decoded += [
            normal(base64.b64decode(item["binary"])) == masked(item["json"], file["byShape"])
            for item in case["responses"]
        ]
        if file["offline"]:
            return decoded, [True] * len(decoded)
        answers, status = self.call(file["method"], sent, stream=file["stream"])
        actual = [all(decoded), [normal(data) for data in answers], status]
        return actual, [True, expected, case["status"]]

    def call(
        self, method: str, sent: list[bytes], *, stream: bool
    ) -> tuple[list[bytes], dict[str, Any]]:
        """The responses and the status of a call of bytes."""
        answers: list[bytes] = []
        try:
            if stream:
                for data in self.channel.stream_stream(method)(iter(sent), timeout=20):
                    answers.append(data)  # noqa: PERF402  # what came before an error stays
            else:
                answers.append(self.channel.unary_unary(method)(sent[0], timeout=20))
        except grpc.RpcError as error:
            return answers, status_of(error)
        return answers, {"code": 0, "name": "OK"}

    def hashes(self) -> None:
        """RFC 8785 and SHA-256 by this language's own libraries."""
        for case in json.loads((self.root / "hashes.json").read_text())["cases"]:
            canonical = rfc8785.dumps(json.loads(case["json"]))
            actual = (canonical.decode(), hashlib.sha256(canonical).hexdigest())
            self.expect(case["name"], actual, (case["canonical"], case["sha256"]))

    # Transport.

    def deadline(self) -> None:
        """A stream that nobody ends is ended by its deadline."""
        held = time.monotonic()

        def requests() -> Iterator[score_pb2.ScoreStreamRequest]:
            yield score_pb2.ScoreStreamRequest(columns=columns(50))
            time.sleep(1)

        code = None
        try:
            for _ in self.stub.ScoreStream(requests(), timeout=0.3):
                pass
        except grpc.RpcError as error:
            code = error.code()
        took = time.monotonic() - held
        self.expect("code", code, grpc.StatusCode.DEADLINE_EXCEEDED)
        self.expect("in time", 0.25 <= took < 5, True)

    def restart(self) -> None:
        """Without the retry policy a restart is an error, with it a pause."""
        plain = grpc.insecure_channel(self.restarted, options=[("grpc.enable_retries", 0)])
        patient = grpc.insecure_channel(self.restarted, options=self.options)
        plain_stub = steelyard_service_pb2_grpc.SteelyardServiceStub(plain)
        patient_stub = steelyard_service_pb2_grpc.SteelyardServiceStub(patient)
        request = score_pb2.ScoreRequest(columns=columns(50))
        for stub in (plain_stub, patient_stub):
            self.expect("before", overall(stub.Score(request, timeout=20)), 50)
        print("restart: stop", flush=True)
        sys.stdin.readline()
        try:
            plain_stub.Score(request, timeout=20)
            code = None
        except grpc.RpcError as error:
            code = error.code()
        self.expect("without retries", code, grpc.StatusCode.UNAVAILABLE)
        print("restart: start", flush=True)
        self.expect("with retries", overall(patient_stub.Score(request, timeout=20)), 50)

    def stream(self) -> None:
        """100,000 messages; while nobody reads the answers, the sender has to wait."""
        sent = 0

        def requests() -> Iterator[score_pb2.ScoreStreamRequest]:
            nonlocal sent
            for index in range(MESSAGES):
                sent += 1
                name = f"{index}{PADDING}"
                yield score_pb2.ScoreStreamRequest(columns=columns(index % 101, name))

        right = 0
        for index, answer in enumerate(self.stub.ScoreStream(requests(), timeout=120)):
            if index == 0:
                time.sleep(1)
                self.expect("flow control", sent < MESSAGES // 2, True)
            same = answer.columns.task_ids[0] == f"{index}{PADDING}"
            right += same and overall(answer) == index % 101
        self.expect("answers in order", right, MESSAGES)

    def limit(self) -> None:
        """A message over the limit is refused; the connection lives on."""
        large = score_pb2.TaskColumns(deterministic=bytes(5 << 20))
        code = None
        try:
            self.stub.Score(score_pb2.ScoreRequest(columns=large), timeout=20)
        except grpc.RpcError as error:
            code = error.code()
        self.expect("code", code, grpc.StatusCode.RESOURCE_EXHAUSTED)
        after = self.stub.Score(score_pb2.ScoreRequest(columns=columns(50)), timeout=20)
        self.expect("after it", overall(after), 50)

    def concurrent(self) -> None:
        """32 threads, each with calls of its own."""

        def caller(number: int) -> int:
            right = 0
            for call in range(CALLS):
                value, name = (number + call) % 101, f"{number}/{call}"
                request = score_pb2.ScoreRequest(columns=columns(value, name))
                answer = self.stub.Score(request, timeout=20)
                right += answer.columns.task_ids[0] == name and overall(answer) == value
            return right

        with ThreadPoolExecutor(CALLERS) as pool:
            for number, right in enumerate(pool.map(caller, range(CALLERS))):
                self.expect(f"caller {number}", right, CALLS)


def columns(value: int, task_id: str | None = None) -> score_pb2.TaskColumns:
    """One task of the built-in policy with one value for all scores; its overall is that value."""
    scores = bytes([value] * 3)
    return score_pb2.TaskColumns(
        deterministic=scores, ai=scores, task_ids=[] if task_id is None else [task_id]
    )


def overall(answer: score_pb2.ScoreResponse | score_pb2.ScoreStreamResponse) -> int:
    """The overall of a single task."""
    return answer.columns.overall_scores[0]


def masked(document: Any, shapes: dict[str, str]) -> Any:
    """The document with what matches its shape replaced in every field that has one."""
    for path, pattern in shapes.items():
        mask(document, path.split("."), pattern)
    return document


def mask(node: Any, path: list[str], pattern: str) -> None:
    if isinstance(node, list):
        for item in node:
            mask(item, path[1:], pattern)
    elif path[0] in node:
        if len(path) > 1:
            mask(node[path[0]], path[1:], pattern)
        else:
            node[path[0]] = re.sub(pattern, "~", node[path[0]])


def status_of(error: grpc.RpcError) -> dict[str, Any]:
    """An error in the form of the vectors."""
    code = error.code()
    status: dict[str, Any] = {"code": code.value[0], "name": code.name}
    rich = rpc_status.from_call(error)
    for detail in rich.details if rich else ():
        info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            status |= {"reason": info.reason, "domain": info.domain}
        elif detail.Unpack(request):
            status["violations"] = [
                {"field": entry.field, "reason": entry.reason} for entry in request.field_violations
            ]
    return status


def main() -> int:
    server, restarted, config, vectors, *names = sys.argv[1:]
    checks = Checks(server, restarted, config, vectors)
    known = ["vectors", "errors", "hashes", "deadline", "restart", "stream", "limit", "concurrent"]
    total = [0, 0]
    for name in names or known:
        checks.passed = checks.failed = 0
        start = time.monotonic()
        try:
            getattr(checks, name)()
        except Exception as error:  # a check that breaks has failed; the others still run
            checks.expect(name, repr(error), None)
        seconds = time.monotonic() - start
        print(f"{name} passed {checks.passed} failed {checks.failed} seconds {seconds:.1f}")
        total = [total[0] + checks.passed, total[1] + checks.failed]
    print(f"passed {total[0]} failed {total[1]}")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
