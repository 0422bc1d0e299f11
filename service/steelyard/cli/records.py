"""What the commands over records share: where they look, and how they show it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from steelyard.cli.run import print_json
from steelyard.client import Client
from steelyard.errors import PreconditionError
from steelyard.records.store import Store
from steelyard.scoring.policy import Policy
from steelyard.scoring.ports import SavedEvaluation
from steelyard.scoring.task_types import TaskEvaluation
from steelyard.server.records import SERVICE, records_handlers
from steelyard.server.table import UnaryHandler
from steelyard.settings import load_settings
from steelyard.v1 import records_pb2 as pb

__all__ = [
    "Ask",
    "StoreWhenNeeded",
    "filter_options",
    "page_note",
    "page_options",
    "records_options",
    "result_filter",
    "show_json",
    "value_of",
    "when",
    "word",
    "words",
]

R = TypeVar("R", bound=Message)
TIMEOUT_S = 60


class Ask(Protocol):
    """Calls a method of the RecordsService, in this process or on a server."""

    def __call__(self, request: Message, response: type[R]) -> R:
        """The method is named by the request."""


class _HereCall:
    """The call context of a call that never left the process."""

    @property
    def metadata(self) -> Mapping[str, str]:
        return {}

    def time_remaining(self) -> float | None:
        return TIMEOUT_S

    def is_active(self) -> bool:
        return True


def _method(request: Message) -> str:
    return SERVICE + request.DESCRIPTOR.name.removesuffix("Request")


@contextmanager
def _asking(store: str | None, config: Path | None, server: str | None) -> Iterator[Ask]:
    if server is not None:
        with Client(server, timeout=TIMEOUT_S) as client:
            yield lambda request, response: client.call(_method(request), request, response)
        return
    # Imported here: a command that asks a server needs no store.
    from steelyard.server.app import open_store

    settings = load_settings({"store": store}, config)
    opened = open_store(settings, ())
    table = records_handlers(opened)

    def ask(request: Message, response: type[R]) -> R:
        handler = table[_method(request)]
        assert isinstance(handler, UnaryHandler)  # noqa: S101  # commands ask single calls only
        return response.FromString(handler.call(request.SerializeToString(), _HereCall()))

    try:
        yield ask
    finally:
        if opened is not None:
            opened.close()


class StoreWhenNeeded:
    """A store for task evaluations that is opened when the first one is to be kept."""

    def __init__(self, store: str | None, policies: tuple[Policy, ...]) -> None:
        self._setting = store
        self._policies = policies
        self._opened: Store | None = None

    def _store(self) -> Store:
        if self._opened is None:
            from steelyard.server.app import open_store

            self._opened = open_store(load_settings({"store": self._setting}), self._policies)
        if self._opened is None:
            raise PreconditionError(
                "RECORDS_DISABLED", "experimental_features.evals_view is off in the settings"
            )
        return self._opened

    def active_suggestions(self, suggestion_ids: Collection[str]) -> Collection[str]:
        return self._store().active_suggestions(suggestion_ids)

    def save_evaluation(self, evaluation: TaskEvaluation, idempotency_key: str) -> SavedEvaluation:
        return self._store().save_evaluation(evaluation, idempotency_key)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def records_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --store, --config, --server and --json; the command gets `ask` and `as_json`."""

    @wraps(command)
    def wrapped(
        *arguments: Any, store: str | None, config: Path | None, server: str | None, **more: Any
    ) -> Any:
        if server is not None and store is not None:
            raise click.UsageError("give --store or --server, not both")
        with _asking(store, config, server) as ask:
            return command(*arguments, ask=ask, **more)

    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--server", help="Ask this server (host:port), not a store."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            envvar="STEELYARD_CONFIG",
            help="TOML file with settings.",
        ),
        click.option(
            "--store",
            help="Where records are kept: a file, sqlite:///FILE or postgresql://…. "
            "[default: as the settings say]",
        ),
    ):
        wrapped = option(wrapped)
    return wrapped


def page_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --limit and --page-token."""
    for option in (
        click.option("--page-token", default="", help="Go on where a page ended."),
        click.option(
            "--limit",
            type=click.IntRange(1, 1000),
            default=50,
            show_default=True,
            help="Most rows to show.",
        ),
    ):
        command = option(command)
    return command


class _Moment(click.ParamType[datetime]):
    """A date or an RFC 3339 time; without an offset it is UTC."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no date or time such as 2026-03-01 or 2026-03-01T12:00Z")
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of a result filter; `result_filter` reads them."""
    score = click.IntRange(0, 100)
    for option in (
        click.option("--until", type=_Moment(), help="Stored before this time."),
        click.option("--since", type=_Moment(), help="Stored at this time or later."),
        click.option("--max-score", type=score, help="Overall at most this."),
        click.option("--min-score", type=score, help="Overall at least this."),
        click.option("--band", default="", help="Overall in this band."),
        click.option("--run", "run_id", default="", help="Of this run."),
        click.option("--task", "task_id", default="", help="Of this task."),
    ):
        command = option(command)
    return command


def result_filter(
    task_id: str,
    run_id: str,
    band: str,
    min_score: int | None,
    max_score: int | None,
    since: datetime | None,
    until: datetime | None,
) -> pb.ResultFilter:
    """The filter that the options ask for."""
    chosen = pb.ResultFilter(
        task_id=task_id, run_id=run_id, band=band, min_score=min_score, max_score=max_score
    )
    if since is not None:
        chosen.since.FromDatetime(since)
    if until is not None:
        chosen.until.FromDatetime(until)
    return chosen


def when(stamp: Timestamp) -> str:
    """A time for people, in UTC."""
    return stamp.ToDatetime().strftime("%Y-%m-%d %H:%M:%S")


def word(enum: Any, value: int) -> str:
    """The word of an enum value: RUN_STATUS_RUNNING is "running"."""
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", enum.DESCRIPTOR.name).upper() + "_"
    name: str = enum.Name(value)
    return name.removeprefix(prefix).lower()


def value_of(enum: Any, chosen: str | None) -> int:
    """The inverse of `word`; nothing chosen is unspecified."""
    return next((v for v in enum.values() if word(enum, v) == chosen), 0)


def words(enum: Any) -> click.Choice[str]:
    """The choices that an enum gives."""
    return click.Choice([word(enum, value) for value in enum.values() if value])


def page_note(token: str) -> str | None:
    """What stands under a table that has more pages."""
    return f"more: --page-token {token}" if token else None


def show_json(message: Message) -> None:
    """A response as JSON with the names of the proto."""
    print_json(MessageToDict(message, always_print_fields_with_no_presence=True))
