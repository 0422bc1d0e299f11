"""`steelyard call`: any RPC with JSON in and out, for people without a client at hand."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from steelyard import strictjson
from steelyard.cli.files import MAX_DOCUMENT, printable, read_document
from steelyard.cli.run import exit_code, print_json
from steelyard.client import DEFAULT_ADDRESS, channel_options
from steelyard.errors import InvalidInputError, NotFoundError, SteelyardError
from steelyard.rpc_errors import from_rpc_error

__all__ = ["call"]


@click.command()
@click.argument("method")
@click.option(
    "--data",
    default="{}",
    show_default=True,
    help="The request: JSON, @FILE or - for standard input.",
)
@click.option("--server", default=DEFAULT_ADDRESS, show_default=True, help="host:port.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Deadline in seconds.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="One line for each response; an error as JSON, too."
)
def call(method: str, data: str, server: str, timeout: float, as_json: bool) -> None:
    """Call METHOD of a server, such as Score or steelyard.v1.SteelyardService/Score.

    The server itself tells which methods and messages it has. The request is an object in the JSON
    form of its message; a method that takes a stream takes an array of them. Responses go to
    standard output as JSON; an error goes to the error stream with its code, reason and fields.
    """
    document = _document(data)
    with grpc.insecure_channel(server, options=channel_options(timeout)) as channel:
        try:
            found = _find(channel, method)
            for answer in _answers(channel, found, document, timeout):
                if as_json:
                    click.echo(json.dumps(MessageToDict(answer), ensure_ascii=False))
                else:
                    print_json(MessageToDict(answer))
        except grpc.RpcError as error:
            refused = from_rpc_error(error)
            _explain(error, refused, as_json)
            raise click.exceptions.Exit(exit_code(refused)) from None


def _document(data: str) -> Any:
    if data == "-":
        return strictjson.parse(sys.stdin.buffer.read(MAX_DOCUMENT), "--data")
    if data.startswith("@"):
        return read_document(Path(data[1:]))
    return strictjson.parse(os.fsencode(data), "--data")


def _find(channel: grpc.Channel, name: str) -> MethodDescriptor:
    """The method of that name; its service may be left out where no other has such a method."""
    database = ProtoReflectionDescriptorDatabase(channel)
    pool = DescriptorPool(database)
    methods = {
        f"{service}/{method.name}": method
        for service in sorted(database.get_services())
        for method in pool.FindServiceByName(service).methods
    }
    wanted = name.removeprefix("/")
    found = [full for full in methods if wanted in (full, full.rpartition("/")[2])]
    if len(found) != 1:
        text = "stands for several" if found else "is unknown"
        known = "\n  ".join(found or methods)
        raise NotFoundError("METHOD_UNKNOWN", f"method {name} {text}; the server has\n  {known}")
    return methods[found[0]]


def _answers(
    channel: grpc.Channel, method: MethodDescriptor, document: Any, timeout: float
) -> Iterator[Message]:
    request = message_factory.GetMessageClass(method.input_type)
    response = message_factory.GetMessageClass(method.output_type)
    items = document if method.client_streaming else [document]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        form = "an array of objects" if method.client_streaming else "one object"
        raise InvalidInputError("REQUEST_INVALID", f"--data: {method.name} takes {form}")
    try:
        sent = [ParseDict(item, request()) for item in items]
    except ParseError as error:
        raise InvalidInputError("REQUEST_INVALID", f"--data: {error}") from None
    arity = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, False): channel.stream_unary,
        (True, True): channel.stream_stream,
    }[method.client_streaming, method.server_streaming]
    rpc: Any = arity(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=request.SerializeToString,
        response_deserializer=response.FromString,
    )
    answer = rpc(iter(sent) if method.client_streaming else sent[0], timeout=timeout)
    yield from answer if method.server_streaming else [answer]


def _explain(error: grpc.RpcError, refused: SteelyardError, as_json: bool) -> None:
    """The whole status on the error stream."""
    code = error.code().name if isinstance(error, grpc.Call) else "UNKNOWN"
    if as_json:
        violations = [
            {"field": entry.path, "reason": entry.reason, "message": entry.message}
            for entry in refused.violations
        ]
        status = {
            "code": code,
            "reason": refused.reason,
            "message": refused.message,
            "violations": violations,
        }
        click.echo(json.dumps(status, ensure_ascii=False), err=True)
        return
    click.echo(printable(f"steelyard: {code}: {refused.message} [{refused.reason}]"), err=True)
    for entry in refused.violations:
        line = printable(f"{entry.path or '(the message)'}: {entry.message} [{entry.reason}]")
        click.echo(f"  {line}", err=True)
