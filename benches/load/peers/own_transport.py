"""Our transport with other handlers: `messages` on generated messages, `empty` without work."""

from __future__ import annotations

import sys
import threading

from answers import by_kernel, in_stream

from steelyard.server.table import BidiHandler, HandlerTable, UnaryHandler
from steelyard.server.transport import Transport
from steelyard.settings import load_settings

SERVICE = "steelyard.v1.SteelyardService"
TABLES: dict[str, HandlerTable] = {
    "messages": {
        f"/{SERVICE}/Score": UnaryHandler(lambda request, _: in_stream(by_kernel, request)),
        f"/{SERVICE}/ScoreStream": BidiHandler(
            lambda requests, _: (in_stream(by_kernel, request) for request in requests)
        ),
    },
    "empty": {f"/{SERVICE}/Score": UnaryHandler(lambda request, _: b"")},
}


def main() -> None:
    """Serves `python own_transport.py ADDRESS TABLE` until it is stopped."""
    address, table = sys.argv[1:]
    transport = Transport(TABLES[table], (SERVICE,), load_settings({"address": address}))
    transport.start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
