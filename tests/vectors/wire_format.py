"""The form of the wire vectors (README.md, wire.schema.json): cases in, file text out."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.rpc import code_pb2

__all__ = [
    "ANY",
    "DIGEST",
    "MALFORMED",
    "RUN_ID",
    "STAMP",
    "TASK_ID",
    "TIME",
    "VERSION",
    "Case",
    "Group",
    "Raw",
    "Status",
    "dump",
    "shaped",
]

DOMAIN = "steelyard.dev"

# What differs from build to build or from call to call, and what stands in the files for it.
VERSION = "^[0-9]+[.][0-9]+[.][0-9]+"
DIGEST = "[0-9a-f]{64}"
TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+[+]00:00"
STAMP = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$"
RUN_ID = "^er-[0-9a-f]{16}$"
TASK_ID = "task-[0-9a-f]{16}"
ANY = {
    VERSION: "0.0.0",
    DIGEST: "0" * 64,
    TIME: "2000-01-01T00:00:00+00:00",
    STAMP: "2000-01-01T00:00:00Z",
    RUN_ID: f"er-{0:016}",
    TASK_ID: f"task-{0:016}",
}


def shaped(
    message: Message, by_shape: Mapping[str, str], replacement: str | Callable[[re.Match[str]], str]
) -> dict[str, Any]:
    """The message's JSON with what matches its shape replaced in every field that has one."""
    document = MessageToDict(message)
    for path, pattern in by_shape.items():
        _substitute(document, path.split("."), pattern, replacement)
    return document


def _substitute(
    node: Any, path: list[str], pattern: str, replacement: str | Callable[[re.Match[str]], str]
) -> None:
    if isinstance(node, list):
        for item in node:
            _substitute(item, path[1:], pattern, replacement)
    elif len(path) > 1 and path[0] in node:
        _substitute(node[path[0]], path[1:], pattern, replacement)
    elif path[0] in node:
        node[path[0]] = re.sub(pattern, replacement, node[path[0]])


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes that the JSON mapping cannot say: garbage, or a message with unknown fields.

    `message` is what a reader makes of them; None where no reader can, or where the JSON mapping
    would not lead back to these bytes.
    """

    binary: bytes
    message: Message | None = None


Item = Message | Raw


@dataclass(frozen=True, slots=True)
class Status:
    """How a call ends. `violations` are pairs of field path and reason."""

    code: int = code_pb2.OK
    reason: str | None = None
    violations: Sequence[tuple[str, str]] = ()

    @staticmethod
    def refused(reason: str, field: str, code: int = code_pb2.INVALID_ARGUMENT) -> Status:
        """The usual refusal: one violation with the reason of the whole."""
        return Status(code, reason, ((field, reason),))


MALFORMED = Status.refused("MALFORMED_MESSAGE", "")
"""The refusal of bytes that are no message: the whole is at fault, no field of it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One call: what is sent, what comes back, how it ends."""

    name: str
    description: str
    requests: Sequence[Item]
    responses: Sequence[Item] = ()
    status: Status = Status()


@dataclass(frozen=True, slots=True)
class Group:
    """One file. `by_shape` maps paths of response fields to the pattern they are compared by."""

    name: str
    description: str
    method: str
    cases: Sequence[Case]
    by_shape: Mapping[str, str]
    stream: bool = False
    offline: bool = False


def dump(group: Group) -> str:
    """The text of a vector file: deterministic, one message a line."""
    head: dict[str, Any] = {
        "$schema": "../wire.schema.json",
        "description": group.description,
        "method": group.method,
        "stream": group.stream,
        "offline": group.offline,
        "byShape": dict(group.by_shape),
    }
    lines = ["{", *(f"{_json(key)}: {_json(value)}," for key, value in head.items()), '"cases": [']
    lines.append(",\n".join(_case(case) for case in group.cases))
    return "\n".join([*lines, "]", "}", ""])


def _case(case: Case) -> str:
    return "\n".join(
        [
            f' {{"name": {_json(case.name)},',
            f'  "description": {_json(case.description)},',
            f'  "requests": {_items(case.requests)},',
            f'  "responses": {_items(case.responses)},',
            f'  "status": {_json(_status(case.status))}}}',
        ]
    )


def _items(items: Sequence[Item]) -> str:
    if not items:
        return "[]"
    return "[\n" + ",\n".join(f"   {_json(_item(item))}" for item in items) + "]"


def _item(item: Item) -> dict[str, Any]:
    raw = item if isinstance(item, Raw) else Raw(item.SerializeToString(deterministic=True), item)
    entry: dict[str, Any] = {} if raw.message is None else {"json": MessageToDict(raw.message)}
    return {**entry, "binary": base64.b64encode(raw.binary).decode()}


def _status(status: Status) -> dict[str, Any]:
    document: dict[str, Any] = {
        "code": status.code,
        "name": code_pb2.Code.Name(status.code),  # type: ignore[arg-type]  # a plain int is one
    }
    if status.reason is not None:
        document |= {"reason": status.reason, "domain": DOMAIN}
    if status.violations:
        document["violations"] = [
            {"field": field, "reason": reason} for field, reason in status.violations
        ]
    return document


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True)
