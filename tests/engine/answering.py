"""A client of an engine that a test answers for, call by call, over real connections."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING

from knobctl.engine.http import HttpEngine
from knobctl.engine.network import Network
from knobctl.engine.tokens import GivenToken
from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.server import BaseHTTPRequestHandler


@contextmanager
def client_of_handler(
    handler: type[BaseHTTPRequestHandler],
    *,
    network: Network | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> Iterator[HttpEngine]:
    """Serve a handler on a free port, and give a client of it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    client = HttpEngine(
        f"http://127.0.0.1:{server.server_address[1]}",
        load_catalogue(),
        tokens=GivenToken("abcdef", "the test"),
        network=network or Network(),
        notice=notice,
    )
    try:
        yield client
    finally:
        client.close()
        server.shutdown()
        server.server_close()
        thread.join()
