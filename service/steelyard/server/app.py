"""Composes the service: the only module that knows all of its parts."""

from __future__ import annotations

from steelyard import _core
from steelyard.records.board import BOARDS
from steelyard.records.schedule import Schedule
from steelyard.records.store import Store, utc_now
from steelyard.scoring.policy import TASK_EVALUATION, Policy, load_policies
from steelyard.server.evaluate import evaluate_handlers
from steelyard.server.gate import gate_handlers
from steelyard.server.records import records_handlers
from steelyard.server.score import score_handlers
from steelyard.server.table import HandlerTable
from steelyard.server.task import task_handlers
from steelyard.server.transport import Transport
from steelyard.settings import Settings
from steelyard.v1 import steelyard_service_pb2

__all__ = ["Server", "build", "check", "open_store"]


class Server:
    """The composed service: transport, store and schedule, started and stopped together."""

    def __init__(self, settings: Settings, *, share_port: bool) -> None:
        policies = _policies(settings)
        store = open_store(settings, policies)
        try:
            table = handler_table(settings, policies, store)
            services = steelyard_service_pb2.DESCRIPTOR.services_by_name.values()
            names = tuple(service.full_name for service in services)
            self._transport = Transport(table, names, settings, share_port=share_port)
        except BaseException:
            if store is not None:
                store.close()
            raise
        self.port: int = self._transport.port
        self._store = store
        self._schedule: Schedule | None = None
        cron = settings.schedule.parsed()
        if store is not None and cron is not None:
            self._schedule = Schedule(cron, store.run_tick, utc_now)

    def start(self) -> None:
        """Begins to answer, and to keep the schedule."""
        self._transport.start()
        if self._schedule is not None:
            self._schedule.start()

    def stop(self) -> None:
        """Drains, then closes the store."""
        self._transport.stop()
        if self._schedule is not None:
            self._schedule.stop()
        if self._store is not None:
            self._store.close()


def _policies(settings: Settings) -> tuple[Policy, ...]:
    """The policies beside the built-in one."""
    return load_policies(settings.policies) if settings.policies is not None else ()


def open_store(settings: Settings, policies: tuple[Policy, ...]) -> Store | None:
    """The store of these settings, None while the feature flag is off. Raises as Store does."""
    if not settings.experimental_features.evals_view:
        return None
    return Store(
        settings.store,
        policies=(TASK_EVALUATION, *policies),
        task_board=BOARDS[settings.board],
    )


def handler_table(
    settings: Settings, policies: tuple[Policy, ...], store: Store | None
) -> HandlerTable:
    """Everything that the service answers under these settings."""
    engine = _core.Engine(list(policies), settings.max_batch_tasks)
    stored = None if store is None else lambda eval_id: store.get_eval_result(eval_id).document
    return (
        score_handlers(engine)
        | task_handlers(engine.policy, store)
        | evaluate_handlers(stored, utc_now)
        | gate_handlers(utc_now)
        | records_handlers(store)
    )


def build(settings: Settings, *, share_port: bool = False) -> Server:
    """A server that is bound and not yet started; see Transport for `share_port`.

    Raises InvalidInputError or NotFoundError where the policies folder does not load, and what
    Store raises where the store cannot be opened.
    """
    return Server(settings, share_port=share_port)


def check(settings: Settings) -> None:
    """Raises what `build` would raise, without binding: an embedded store is migrated by it."""
    policies = _policies(settings)
    store = open_store(settings, policies)
    if store is not None:
        store.close()
    handler_table(settings, policies, None)
