"""Serves the engine on a port until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from typing import TYPE_CHECKING, Any, Final

from hypercorn.asyncio import serve as serve_asgi
from hypercorn.config import Config

from knobctl.errors import KnobctlError, UsageError
from knobctl.server.rpc import knobs_application

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from knobctl.server.knobs import KnobsService

GRACE_S: Final = 10.0
"""How long calls in flight may take after a stop."""
KEEP_ALIVE_S: Final = 75.0
"""How long a connection may idle: longer than a client thinks between two calls."""


def listen(host: str, port: int) -> socket.socket:
    """Take a port.

    Args:
        host: Name or address to bind to.
        port: 0 for any free one.

    Raises:
        UsageError: If it cannot be had.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, number)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror}",
            hint="choose another --port; 0 takes any free one",
        ) from error
    return listening


def serve(service: KnobsService, listening: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve on a port that was taken, until SIGTERM or SIGINT; calls in flight are finished.

    Args:
        service: The knobs service.
        listening: The socket of `listen`.
        ready: Called when calls are answered; what it raises ends the serving and is raised here.
    """
    failures: list[KnobctlError] = []

    async def until_signalled() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        try:
            ready()
        except KnobctlError as error:  # the server would wrap it in groups of its own
            failures.append(error)
        else:
            await stop.wait()

    asyncio.run(answer_calls(service, listening, until=until_signalled))
    if failures:
        raise failures[0]


async def answer_calls(
    service: KnobsService, listening: socket.socket, *, until: Callable[[], Awaitable[None]]
) -> None:
    """Answer calls on a port until `until`, which begins when calls are answered, comes to its end."""
    config = Config()
    config.bind = [f"fd://{listening.detach()}"]
    config.graceful_timeout = GRACE_S
    config.keep_alive_timeout = KEEP_ALIVE_S
    config.include_server_header = False
    config.errorlog = logging.getLogger("knobctl.server.http")
    applications = {app.path: app for app in [knobs_application(service)]}
    await serve_asgi(Mounted(applications), config, shutdown_trigger=until)


class Mounted:
    """ASGI applications by the path of their service."""

    def __init__(self, applications: dict[str, Any]) -> None:
        self._applications = applications

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI's own types are no stricter
        """Pass a request to its service; answer 404 where there is none."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        service = "/" + scope["path"].lstrip("/").partition("/")[0]
        application = self._applications.get(service)
        if application and scope["type"] == "http":
            await application(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def _lifespan(receive: Any, send: Any) -> None:  # noqa: ANN401  as above
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
