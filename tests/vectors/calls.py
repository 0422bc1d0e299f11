"""Calls of the service's handlers in this process, by method and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor_pool import Default
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from steelyard.records.store import Store
from steelyard.scoring.policy import load_policies
from steelyard.server.app import handler_table
from steelyard.server.table import HandlerTable, ServerStreamHandler, UnaryHandler
from steelyard.settings import load_settings

__all__ = ["POLICIES", "NoCall", "Rpc", "table_of"]

HERE = Path(__file__).parent
POLICIES = HERE / "policies"


class NoCall:
    """The context of a call that comes over no wire."""

    @property
    def metadata(self) -> Mapping[str, str]:
        return {}

    def time_remaining(self) -> float | None:
        return None

    def is_active(self) -> bool:
        return True


def table_of(store: Store) -> HandlerTable:
    """What the server of server.toml answers, with this store."""
    settings = load_settings({}, HERE / "server.toml")
    return handler_table(settings, load_policies(POLICIES), store)


class Rpc:
    """A method, with the types of its messages."""

    def __init__(self, name: str) -> None:
        """`name` is service and method, such as "SteelyardService/Score"."""
        service, _, method = name.partition("/")
        found = Default().FindServiceByName(f"steelyard.v1.{service}").methods_by_name[method]
        self.path = f"/steelyard.v1.{name}"
        self.stream: bool = found.server_streaming
        self.request = message_factory.GetMessageClass(found.input_type)
        self.response = message_factory.GetMessageClass(found.output_type)

    def message(self, request: Mapping[str, Any]) -> Message:
        """The request from its JSON mapping."""
        return ParseDict(dict(request), self.request())

    def call(self, table: HandlerTable, request: Mapping[str, Any]) -> Sequence[Any]:
        """The answers, one unless it is a stream. Raises SteelyardError."""
        handler = table[self.path]
        sent = self.message(request).SerializeToString()
        if isinstance(handler, ServerStreamHandler):
            return [self.response.FromString(each) for each in handler.call(sent, NoCall())]
        assert isinstance(handler, UnaryHandler)
        return [self.response.FromString(handler.call(sent, NoCall()))]
