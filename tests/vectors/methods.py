"""Makes cases of one method: requests by hand, answers and refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from calls import Rpc
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.rpc import code_pb2
from records_store import RECORDS, ask
from wire_format import ANY, MALFORMED, Case, Group, Raw, Status, shaped

from steelyard.server.table import HandlerTable

__all__ = [
    "KEY_REUSED",
    "NO_RUN",
    "RUN_FINISHED",
    "UNKNOWN",
    "Json",
    "Method",
    "next_token",
    "page_cases",
    "pages",
]

Json = Mapping[str, Any]

NO_RUN = Status.refused("RUN_NOT_FOUND", "run_id", code_pb2.NOT_FOUND)
RUN_FINISHED = Status.refused("RUN_FINISHED", "run_id", code_pb2.FAILED_PRECONDITION)
KEY_REUSED = Status.refused("IDEMPOTENCY_KEY_REUSED", "idempotency_key", code_pb2.ALREADY_EXISTS)
UNKNOWN = {"runId": "run-unknown"}


class Method:
    """Makes the cases of one method; the answers come from the table."""

    def __init__(self, table: HandlerTable, name: str, by_shape: Mapping[str, str]) -> None:
        """`name` is service and method; `by_shape` is that of the file."""
        self.table = table
        self.name = name.partition("/")[2]
        self.rpc = Rpc(name)
        self.by_shape = by_shape

    def answered(self, name: str, description: str, request: Json) -> Case:
        """A case with the answer that the service gives, less what differs from build to build."""
        answers = self.rpc.call(self.table, request)
        return Case(
            name, description, [self.rpc.message(request)], [self._scrubbed(a) for a in answers]
        )

    def _scrubbed(self, answer: Message) -> Message:
        return ParseDict(shaped(answer, self.by_shape, _constant), self.rpc.response())

    def refused(self, name: str, description: str, request: Json, status: Status) -> Case:
        """A case that ends with an error."""
        return Case(name, description, [self.rpc.message(request)], (), status)

    def group(self, name: str, description: str, *cases: Case) -> Group:
        """Its file."""
        garbage = Case("garbage", "Bytes that are no message.", [Raw(b"\xff\xfe")], (), MALFORMED)
        return Group(
            name,
            description,
            self.rpc.path,
            [*cases, garbage],
            self.by_shape,
            stream=self.rpc.stream,
        )


def _constant(match: re.Match[str]) -> str:
    text = match[0]
    for pattern, constant in ANY.items():
        text = re.sub(pattern, constant, text)
    return text


def next_token(table: HandlerTable, method: str, query: Json) -> str:
    """What leads to the second page of one entry."""
    token: str = ask(table, RECORDS + method, {**query, "pageSize": 1}).next_page_token
    assert token, f"{method} has one page only"
    return token


def pages(method: Method, query: Json) -> list[Json]:
    """The requests that read a list by pages of one entry."""
    requests: list[Json] = [{**query, "pageSize": 1}]
    while token := ask(method.table, RECORDS + method.name, requests[-1]).next_page_token:
        requests.append({**requests[0], "pageToken": token})
    return requests


def page_cases(method: Method, requests: Sequence[Json], foreign: str) -> list[Case]:
    """These pages, and what of the last one is refused; `foreign` is a token of another query."""
    last = requests[-1]
    token = last["pageToken"]
    altered = token[:-1] + ("A" if token[-1] != "A" else "Q")
    other_list = Status.refused("PAGE_TOKEN_OTHER_LIST", "page_token")
    no_token = Status.refused("PAGE_TOKEN_INVALID", "page_token")
    no_size = Status.refused("PAGE_SIZE_INVALID", "page_size")
    return [
        *(
            method.answered(f"page_{number}", "A page of one.", request)
            for number, request in enumerate(requests, 1)
        ),
        method.refused(
            "token_foreign", "Another query's token.", {**last, "pageToken": foreign}, other_list
        ),
        method.refused(
            "token_altered", "One character differs.", {**last, "pageToken": altered}, no_token
        ),
        method.refused("token_garbage", "No token.", {**last, "pageToken": "page 2"}, no_token),
        method.refused("page_too_large", "1,000 at most.", {**last, "pageSize": 1001}, no_size),
        method.refused("page_negative", "Less than none.", {**last, "pageSize": -1}, no_size),
    ]
