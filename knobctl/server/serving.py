"""Serves the engine on a port until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from hypercorn.asyncio import serve as serve_asgi
from hypercorn.config import Config

from knobctl.errors import KnobctlError, UsageError
from knobctl.server.applications import Engine, Limits
from knobctl.server.limits import LAST_WAIT_S, Stopping

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from knobctl.server.opening import Services

log: Final = logging.getLogger(__name__)

KEEP_ALIVE_S: Final = 75.0
"""How long a connection may idle: longer than a client thinks between two calls."""
LARGEST_HEADERS: Final = 32 << 10
"""Bytes of a request's headers."""


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Take a port.

    Args:
        host: Name or address to bind to.
        port: 0 for any free one.
        option: What it was chosen with.

    Raises:
        UsageError: If it cannot be had.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, number)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen()  # only this finds out about another socket that is bound and reuses, as ours do
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror}",
            hint=f"choose another {option}; 0 takes any free one"
            if error.errno in {errno.EADDRINUSE, errno.EACCES}
            else "--host is a name or an address of this machine; 0.0.0.0 and :: are all of them",
        ) from error
    return listening


def listen_all(host: str, ports: Mapping[str, int]) -> list[socket.socket]:
    """Take ports by the options that they were chosen with: all, or none.

    Raises:
        UsageError: If one cannot be had.
    """
    taken: list[socket.socket] = []
    try:
        for option, port in ports.items():
            taken.append(listen(host, port, option))
    except UsageError:
        for one in taken:
            one.close()
        raise
    return taken


def serve(
    services: Services,
    listening: Sequence[socket.socket],
    *,
    ready: Callable[[], None],
    limits: Limits | None = None,
) -> None:
    """Serve on ports that were taken, until SIGTERM or SIGINT; calls in flight are finished.

    Args:
        services: What is served.
        listening: Sockets of `listen`; each answers everything.
        ready: Called when calls are answered; what it raises ends the serving and is raised here.
        limits: What an operator chose.
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
            stop.set()
        await stop.wait()

    asyncio.run(answer_calls(services, listening, until=until_signalled, limits=limits))
    if failures:
        raise failures[0]


async def answer_calls(
    services: Services,
    listening: Sequence[socket.socket],
    *,
    until: Callable[[], Awaitable[None]],
    limits: Limits | None = None,
) -> None:
    """Answer calls on ports until `until`, which begins when calls are answered, comes to its end."""
    limits = limits or Limits()
    asyncio.get_running_loop().set_exception_handler(_note_trouble)
    stopping, stopped = Stopping(grace_s=limits.grace_s), asyncio.Event()

    async def until_drained() -> None:
        await until()
        stopping.begin()
        await asyncio.sleep(limits.drain_s)
        stopped.set()

    engine = Engine(services, stopping, limits)
    config = hypercorn_config(listening, end_within_s=limits.grace_s + LAST_WAIT_S + 1)
    serving = asyncio.ensure_future(serve_asgi(engine, config, shutdown_trigger=until_drained))
    ending = asyncio.ensure_future(stopped.wait())
    await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    # A Python from 3.12.1 on waits for every connection, however long, before the server counts seconds.
    await asyncio.wait((serving,), timeout=config.graceful_timeout + 1)
    if not serving.done():
        serving.cancel()
    try:
        with suppress(asyncio.CancelledError):
            await serving
    except BaseExceptionGroup as failures:
        if not stopping.begun.is_set():
            raise
        # A connection that broke the server's reading of it is no fault of the stop.
        log.info("a connection was dropped at the stop: %s", _innermost(failures))


def _note_trouble(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Note in a line that a connection broke the server's reading of it.

    The stack of that would hold the bytes that were sent, a token among them, as often as anybody likes.
    """
    error = context.get("exception")
    if context.get("message") != "Unhandled exception in client_connected_cb" or error is None:
        loop.default_exception_handler(context)
        return
    log.info("a connection was dropped, for what it sent is no HTTP: %s", _innermost(error))


def _innermost(error: BaseException) -> str:
    """The name of the first error in groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__


def hypercorn_config(listening: Sequence[socket.socket], *, end_within_s: float = 3.0) -> Config:
    """How hypercorn serves an engine.

    Args:
        listening: The sockets; they are its own from here on.
        end_within_s: How long connections may take to come to their end after a stop.
    """
    config = Config()
    config.bind = [f"fd://{one.detach()}" for one in listening]
    config.graceful_timeout = end_within_s
    config.keep_alive_timeout = KEEP_ALIVE_S
    config.keep_alive_max_requests = sys.maxsize
    config.include_server_header = False
    config.h11_max_incomplete_size = LARGEST_HEADERS
    config.h2_max_header_list_size = LARGEST_HEADERS
    config.errorlog = logging.getLogger("knobctl.server.http")
    return config
