"""The wire vectors: up to date, of the form they promise, and answered so by the handler table."""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import jsonschema
import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.json_format import ParseDict

from steelyard.errors import SteelyardError
from steelyard.rpc_errors import to_status
from steelyard.server.table import BidiHandler, HandlerTable, ServerStreamHandler, UnaryHandler
from steelyard.v1 import steelyard_service_pb2

VECTORS = Path(__file__).parents[1] / "vectors"
sys.path.insert(0, str(VECTORS))
import generate  # noqa: E402  # a script beside the vectors, not a package
import records_store  # noqa: E402  # likewise
from calls import NoCall, table_of  # noqa: E402  # likewise
from wire_format import shaped  # noqa: E402  # likewise

FILES = {path.stem: json.loads(path.read_text()) for path in (VECTORS / "wire").glob("*.json")}
CASES = [
    pytest.param(file, case, id=f"{name}/{case['name']}")
    for name, file in sorted(FILES.items())
    for case in file["cases"]
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HandlerTable]:
    path = tmp_path_factory.mktemp("vectors") / "records.db"
    records_store.fill(path)
    with records_store.opened(path) as store:
        yield table_of(store)


def test_files_are_up_to_date() -> None:
    assert generate.stale() == []


@pytest.mark.parametrize("name", sorted(FILES))
def test_schema(name: str) -> None:
    schema = json.loads((VECTORS / "wire.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(FILES[name], schema)


def test_no_engine_digest() -> None:
    digests = {
        match
        for path in (VECTORS / "wire").glob("*.json")
        for match in re.findall(r'"engineDigest": "(\w+)"', path.read_text())
    }
    assert digests == {"0" * 64}


@pytest.mark.parametrize(("file", "case"), CASES)
def test_case(file: dict[str, Any], case: dict[str, Any], table: HandlerTable) -> None:
    check(file, case, table)


def test_cases_leave_each_other_alone(table: HandlerTable) -> None:
    """One store serves many clients, and each may send the cases in its own order."""
    for parameters in [*reversed(CASES), *CASES]:
        file, case = parameters.values
        check(file, case, table)


def test_every_method_has_vectors() -> None:
    services = steelyard_service_pb2.DESCRIPTOR.services_by_name.values()
    methods = {f"/{s.full_name}/{m.name}" for s in services for m in s.methods}
    assert methods <= {file["method"] for file in FILES.values()}


def check(file: dict[str, Any], case: dict[str, Any], table: HandlerTable) -> None:
    """The messages of a case say what they say, and the table answers as the case has it."""
    service, _, name = file["method"][1:].rpartition("/")
    method = descriptor_pool.Default().FindServiceByName(service).methods_by_name.get(name)
    if method is None:
        assert file["method"] not in table
        return
    for side, descriptor in (("requests", method.input_type), ("responses", method.output_type)):
        for item in case[side]:
            if "json" in item:
                made = message_factory.GetMessageClass(descriptor)
                decoded = made.FromString(base64.b64decode(item["binary"]))
                decoded.DiscardUnknownFields()
                assert decoded == ParseDict(item["json"], made())
    if file["offline"]:
        return
    answers, status = answer(table[file["method"]], case)
    response = message_factory.GetMessageClass(method.output_type)
    shapes = file["byShape"]
    assert [shaped(response.FromString(data), shapes, "~") for data in answers] == [
        shaped(ParseDict(item["json"], response()), shapes, "~") for item in case["responses"]
    ]
    assert status == case["status"]


def answer(handler: object, case: dict[str, Any]) -> tuple[list[bytes], dict[str, Any]]:
    """The responses and the status of a case, straight from the handler."""
    sent = [base64.b64decode(item["binary"]) for item in case["requests"]]
    answers: list[bytes] = []
    try:
        if isinstance(handler, BidiHandler):
            for data in handler.call(iter(sent), NoCall()):
                answers.append(data)  # noqa: PERF402  # what came before an error stays
        elif isinstance(handler, ServerStreamHandler):
            answers.extend(handler.call(sent[0], NoCall()))
        else:
            assert isinstance(handler, UnaryHandler)
            answers.append(handler.call(sent[0], NoCall()))
    except SteelyardError as error:
        code: grpc.StatusCode = to_status(error).code
        told = {
            "code": code.value[0],
            "name": code.name,
            "reason": error.reason,
            "domain": "steelyard.dev",
        }
        violations = [{"field": v.path, "reason": v.reason} for v in error.violations]
        return answers, {**told, "violations": violations} if violations else told
    return answers, {"code": 0, "name": "OK"}
