"""Every Client has a connection of its own: workers share connections, not calls."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import psutil

from steelyard.client import Client


def test_a_client_is_a_connection(server_address: str) -> None:
    port = int(server_address.rpartition(":")[2])

    def connections() -> int:
        found = psutil.Process().net_connections("tcp")
        return sum(bool(entry.raddr) and entry.raddr.port == port for entry in found)

    scores = np.full((1, 3), 50, np.uint8)
    before = connections()
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(Client(server_address)).score(scores, scores)
        assert connections() == before + 3
