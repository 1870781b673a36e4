"""The terminal UI in a browser on this machine: textual-serve, behind a door of our own.

textual-serve lets in whoever reaches its port: every user of the machine, and every page that a browser
shows while it runs. Here the port is of the loopback alone, a request has to name that very address, and
only who was given the address that is printed comes in: its key is good for one browser, once.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from hmac import compare_digest
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from knobctl.text import visible

if TYPE_CHECKING:
    import socket
    from asyncio.subprocess import Process
    from collections.abc import Awaitable, Callable, Mapping

    from aiohttp.typedefs import Handler

HOST: Final = "127.0.0.1"
COOKIE: Final = "knobctl"
DRIVER: Final = "knobctl.tui.browser.driver:BrowserDriver"
"""In the environment of a session, as Textual looks it up."""
MOST_SESSIONS: Final = 8
"""So many browsers at once: each has a process of its own."""
FAREWELL_S: Final = 60.0
"""How long a session may take to end by itself: a push in flight is finished first."""
LARGEST_MESSAGE: Final = 1 << 20
_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self' ws://{authority}; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a browser gets: a process of the UI for each one."""

    command: tuple[str, ...]
    """The program and its arguments; no shell reads them."""
    environment: Mapping[str, str]
    """All of it: nothing else of ours is passed on."""
    title: str


def serve(
    listening: socket.socket,
    served: Served,
    *,
    secret: Callable[[], str],
    address: Callable[[str], None],
    say: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT; sessions that are open are ended in order.

    Args:
        listening: A port of the loopback that was taken.
        served: What is run for a browser.
        secret: Makes what nobody can guess.
        address: Told where to look, once at the beginning and again whenever a key was used.
        say: Told what sessions say on standard error.
    """

    async def until_signalled() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        door = _Door(listening.getsockname()[1], secret, address)
        server = _Server(served, door, say)
        runner = web.AppRunner(await server.application(), access_log=None, shutdown_timeout=5.0)
        await runner.setup()
        try:
            await web.SockSite(runner, listening).start()
            door.announce()
            await stop.wait()
        finally:
            await runner.cleanup()

    _quieten(say)
    with redirect_stdout(_Said(say)):  # textual-serve prints what a session said when it ended
        asyncio.run(until_signalled())


class _Door:
    """Who may come in."""

    def __init__(
        self, port: int, secret: Callable[[], str], address: Callable[[str], None]
    ) -> None:
        self.authority = f"{HOST}:{port}"
        self.origin = f"http://{self.authority}"
        self.place = f"/{secret()}"
        """Where all lies. A cookie belongs to a host, not to a port: with this path no other port gets it."""
        self._session = secret()
        self._secret, self._address = secret, address
        self._key = secret()

    def announce(self) -> None:
        """Tell the address with the key."""
        self._address(f"{self.origin}/?key={self._key}")

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Let in who has the key, once; the next one needs the next key."""
        if not _same(request.query.get("key", ""), self._key):
            raise _refused("This key was used, or is none. knobctl printed a new address.")
        self._key = self._secret()
        self.announce()
        answer = web.HTTPSeeOther(f"{self.place}/")
        answer.set_cookie(COOKIE, self._session, path=self.place, httponly=True, samesite="Lax")
        return answer

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse other hosts (a name that was made to mean this machine), other pages, and strangers."""
        origin = request.headers.get("Origin")
        is_socket = request.headers.get("Upgrade") is not None
        if request.host != self.authority:
            raise _refused(f"This is {self.origin} and answers to no other name.")
        if origin != self.origin and (is_socket or origin is not None):
            raise _refused("Another page asked.")
        if request.path != "/" and not _same(request.cookies.get(COOKIE, ""), self._session):
            raise _refused("Open the address that knobctl printed.")
        return await handler(request)

    async def harden(self, _: web.Request, response: web.StreamResponse) -> None:
        """Tell the browser to load nothing from elsewhere and to show this in no other page."""
        for name, value in _HEADERS.items():
            response.headers[name] = value.format(authority=self.authority)


class _Server(Server):
    """textual-serve's pages, with our door, our page and our processes."""

    def __init__(self, served: Served, door: _Door, say: Callable[[str], None]) -> None:
        super().__init__(
            "", HOST, 0, served.title, door.origin, templates_path=Path(__file__).parent / "browser"
        )
        self._served, self._door, self._say = served, door, say
        self._open: set[web.WebSocketResponse] = set()

    async def application(self) -> web.Application:
        """The pages, all behind the door."""
        outside = web.Application(middlewares=[self._door.guard])
        outside.on_response_prepare.append(self._door.harden)
        outside.router.add_get("/", self._door.enter)
        outside.add_subapp(self._door.place, await self._make_app())
        return outside

    async def on_startup(self, _app: web.Application) -> None:
        """Say nothing: the address is told when it answers."""

    async def on_shutdown(self, _app: web.Application) -> None:
        """Close the sessions that are open."""
        await asyncio.gather(*(one.close() for one in self._open))

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run the UI for one browser, until either has enough."""
        if len(self._open) >= MOST_SESSIONS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_SESSIONS} browsers look already.")
        websocket = web.WebSocketResponse(heartbeat=15, max_msg_size=LARGEST_MESSAGE)
        self._open.add(websocket)
        session = _Session(self._served, websocket, self)
        try:
            await websocket.prepare(request)
            width, height = (
                min(max(to_int(request.query.get(name, ""), usual), 1), 1000)
                for name, usual in (("width", 80), ("height", 24))
            )
            await session.start(width, height)
            with suppress(ValueError, LookupError, TypeError, AttributeError, AssertionError):
                await self._process_messages(websocket, session)  # what is no message ends it
        finally:
            self._open.discard(websocket)
            await session.end()
        return websocket


class _Session(AppService):
    """The process of the UI for one browser."""

    def __init__(self, served: Served, websocket: web.WebSocketResponse, server: _Server) -> None:
        super().__init__(
            "",
            write_bytes=_unless_gone(websocket.send_bytes),
            write_str=_unless_gone(websocket.send_str),
            close=_closing(websocket),
            download_manager=server.download_manager,
        )
        self._served = served

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = {**self._served.environment, **_driver(width, height)}
        pipe = asyncio.subprocess.PIPE
        # In a session of its own: Ctrl-C at our terminal must not stop a push there halfway.
        self._process = process = await asyncio.create_subprocess_exec(
            *self._served.command,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=environment,
            start_new_session=True,
        )
        self._stdin = process.stdin
        return process

    async def end(self) -> None:
        """End the process: by asking it, and where it does not go, by a signal."""
        try:
            await asyncio.wait_for(self.stop(), FAREWELL_S)
        except TimeoutError:
            if self._process:
                self._process.terminate()
        if self._process:
            await self._process.wait()


class _Said(TextIOBase):
    """Standard output of textual-serve: what sessions said, made safe for ours."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def write(self, text: str) -> int:
        """Say it."""
        if text.strip():
            self._say(visible(text.rstrip(), keep="\n"))
        return len(text)


class _Log(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(visible(record.getMessage()))


def _quieten(say: Callable[[str], None]) -> None:
    """Let textual-serve and aiohttp speak in our voice: a line without a traceback."""
    for name in ("textual-serve", "aiohttp"):
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.handlers = [_Log(say)]


def _driver(width: int, height: int) -> dict[str, str]:
    """What textual-serve tells Textual: that its terminal is a browser, and the size of that."""
    return {
        "TEXTUAL_DRIVER": DRIVER,
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "TERM": "xterm-256color",
        "TERM_PROGRAM": "textual",
        "COLUMNS": str(width),
        "ROWS": str(height),
    }


def _unless_gone(send: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
    async def sending(message: bytes | str) -> None:
        with suppress(ConnectionError):  # a browser that went away misses the rest
            await send(message)

    return sending


def _closing(websocket: web.WebSocketResponse) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        await websocket.close()

    return close


def _same(one: str, other: str) -> bool:
    return compare_digest(one.encode("utf-8", "replace"), other.encode())


def _refused(words: str) -> web.HTTPForbidden:
    return web.HTTPForbidden(text=f"{words}\n")
