"""Composes the service: the only module that knows all of its parts."""

from __future__ import annotations

from datetime import UTC, datetime

from steelyard import _core
from steelyard.scoring.policy import load_policies
from steelyard.server.evaluate import evaluate_handlers
from steelyard.server.gate import gate_handlers
from steelyard.server.score import score_handlers
from steelyard.server.table import HandlerTable
from steelyard.server.task import task_handlers
from steelyard.server.transport import Transport
from steelyard.settings import Settings
from steelyard.v1 import steelyard_service_pb2

__all__ = ["build", "handler_table"]


def handler_table(settings: Settings) -> HandlerTable:
    """Everything that the service answers under these settings.

    Raises InvalidInputError or NotFoundError where the policies folder does not load.
    """
    policies = load_policies(settings.policies) if settings.policies is not None else ()
    engine = _core.Engine(list(policies), settings.max_batch_tasks)
    return (
        score_handlers(engine)
        | task_handlers(engine.policy, store=None)
        | evaluate_handlers(stored=None, clock=lambda: datetime.now(UTC))
        | gate_handlers(lambda: datetime.now(UTC))
    )


def build(settings: Settings, *, share_port: bool = False) -> Transport:
    """A server that is bound and not yet started; see Transport for `share_port`."""
    services = steelyard_service_pb2.DESCRIPTOR.services_by_name.values()
    names = tuple(service.full_name for service in services)
    return Transport(handler_table(settings), names, settings, share_port=share_port)
