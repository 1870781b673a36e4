"""A small engine that offers the two given methods and nothing more, with switches for its faults.

It speaks the given contract to the letter: the token alone decides whose set is read and written, an
Update replaces the whole set, and there are no revisions, no lists and no audit events to ask for.
"""

from __future__ import annotations

import base64
import json
import math
import struct
import threading
import time
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, Self

from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

SERVICE = "/upsquad.contextengine.v1.ContextEngineKnobsConfigService/"
GET = "GetContextEngineKnobsConfig"
UPDATE = "UpdateContextEngineKnobsConfig"


class Fault(Enum):
    """What the engine does wrong on a call."""

    DROP_FIELD = "stores all but the last field"
    ROUND_FLOAT32 = "stores doubles rounded to 32 bits"
    SWAP = "stores two numbers in each other's place"
    NOT_STORED = "answers 200 and stores nothing"
    EXTRA_FIELD = "stores a field that was not sent"
    NEXT_DOUBLE = "stores the neighbour of each double"
    STALE_READ = "answers with the set before the last write"
    CUT_BEFORE = "cuts the connection and stores nothing"
    CUT_AFTER = "stores, then cuts the connection"
    CUT_MID_REPLY = "stores, then cuts the connection in the middle of its answer"
    TOO_MANY = "answers 429 with Retry-After"
    UNAVAILABLE = "answers 503 with Retry-After"
    BAD_GATEWAY = "answers 502 as a proxy does, and stores nothing"
    INTERNAL_BEFORE = "answers internal and stores nothing"
    INTERNAL_AFTER = "stores, then answers internal"
    HTML = "answers 200 with a web page"
    HTML_AFTER = "stores, then answers 200 with a web page"
    REDIRECT = "redirects to another place"
    SLOW = "answers after a second"
    BODY = "answers 200 with any bytes"


@dataclass
class Trouble:
    """A fault that the next calls of a method meet."""

    fault: Fault
    method: str
    times: int
    argument: Any = None


@dataclass
class Seen:
    """A call as it arrived."""

    method: str
    headers: Mapping[str, str]
    body: Any
    at: float = field(default_factory=time.monotonic)


@dataclass
class GivenEngine:
    """The engine; use it as a context manager."""

    tenants: Mapping[str, str] = field(default_factory=lambda: {"acme-token": "acme"})
    """Which tenant each token stands for."""
    tls: ssl.SSLContext | None = None
    sets: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What is stored, by tenant, under the names of the wire."""
    calls: list[Seen] = field(default_factory=list)
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Every change of a set: what an engine would emit an audit event for."""

    def __post_init__(self) -> None:
        self.previous: dict[str, dict[str, Any]] = {}
        self.troubles: list[Trouble] = []
        self.lock = threading.Lock()
        engine = self

        class Handler(_Handler):
            given = engine

        self.server = _Server(("127.0.0.1", 0), Handler)
        if self.tls:
            self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def fail(
        self, fault: Fault, *, method: str = UPDATE, times: int = 1, argument: Any = None
    ) -> None:
        """Let the next calls of a method meet a fault."""
        self.troubles.append(Trouble(fault, method, times, argument))

    def writes(self) -> int:
        """How many Updates arrived."""
        return sum(call.method == UPDATE for call in self.calls)

    def trouble(self, method: str) -> Trouble | None:
        with self.lock:
            for trouble in self.troubles:
                if trouble.method == method and trouble.times > 0:
                    trouble.times -= 1
                    return trouble
        return None

    def store(self, tenant: str, config: dict[str, Any]) -> None:
        with self.lock:
            self.previous[tenant] = self.sets.get(tenant, {})
            self.sets[tenant] = config
            self.events.append((tenant, config))

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: a client that gave up has closed its end."""


class _Handler(BaseHTTPRequestHandler):
    given: GivenEngine
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout: ClassVar[float | None] = 10.0

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.answer(405, b"")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        method = self.path.removeprefix(SERVICE)
        if not self.path.startswith(SERVICE) or method not in {GET, UPDATE}:
            self.answer(404, b"404 page not found", "text/plain")
            return
        with self.given.lock:
            self.given.calls.append(Seen(method, dict(self.headers.items()), json.loads(raw)))
        tenant = self.given.tenants.get(
            self.headers.get("Authorization", "").removeprefix("Bearer ")
        )
        if tenant is None:
            self.error(401, "unauthenticated", "no such token")
            return
        trouble = self.given.trouble(method)
        if trouble and not self.goes_on(trouble):
            return
        if method == GET:
            self.get(tenant, trouble)
        else:
            self.update(tenant, json.loads(raw), trouble)

    def goes_on(self, trouble: Trouble) -> bool:
        """Meet the faults that come before any work; whether the work is done after them."""
        match trouble.fault:
            case Fault.CUT_BEFORE:
                self.cut()
            case Fault.TOO_MANY | Fault.UNAVAILABLE:
                status, code = (
                    (429, "resource_exhausted")
                    if trouble.fault is Fault.TOO_MANY
                    else (503, "unavailable")
                )
                self.error(status, code, "later", {"Retry-After": str(trouble.argument or 0)})
            case Fault.BAD_GATEWAY:
                self.answer(502, b"<html>Bad Gateway</html>", "text/html")
            case Fault.INTERNAL_BEFORE:
                self.error(500, "internal", "request 7f3a")
            case Fault.HTML:
                self.answer(200, b"<html><body>Please sign in</body></html>", "text/html")
            case Fault.REDIRECT:
                self.answer(307, b"", headers={"Location": trouble.argument + self.path})
            case Fault.BODY:
                self.answer(200, trouble.argument)
            case Fault.SLOW:
                time.sleep(trouble.argument or 1.0)
                return True
            case _:
                return True
        return False

    def get(self, tenant: str, trouble: Trouble | None) -> None:
        stale = trouble and trouble.fault is Fault.STALE_READ
        config = (self.given.previous if stale else self.given.sets).get(tenant, {})
        self.answer(200, json.dumps({"config": config}).encode())

    def update(self, tenant: str, body: dict[str, Any], trouble: Trouble | None) -> None:
        catalogue = load_catalogue()
        sent = {
            catalogue.by_any_name[name]: value
            for name, value in body.get("config", {}).items()
            if name in catalogue.by_any_name
        }
        wrong = [knob for knob, value in sent.items() if not knob.accepts(value)]
        if wrong:
            self.error(
                400,
                "invalid_argument",
                f"{wrong[0].name} must lie in {wrong[0].range_text}",
                violation=wrong[0].name,
            )
            return
        config = {knob.json_name: value for knob, value in sent.items() if value != knob.unset}
        fault = trouble.fault if trouble else None
        if fault is not Fault.NOT_STORED:
            self.given.store(tenant, faulty(config, fault))
        match fault:
            case Fault.CUT_AFTER:
                self.cut()
            case Fault.CUT_MID_REPLY:
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"config"')
                self.cut()
            case Fault.INTERNAL_AFTER:
                self.error(500, "internal", "request 7f3b")
            case Fault.HTML_AFTER:
                self.answer(200, b"<html></html>", "text/html")
            case _:
                self.answer(200, json.dumps({"config": config}).encode())

    def cut(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        # Reset instead of a polite end: a process that died sends no goodbye.
        self.connection.setsockopt(1, 13, struct.pack("ii", 1, 0))
        self.connection.close()

    def error(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        violation: str = "",
    ) -> None:
        body: dict[str, Any] = {"code": code, "message": message}
        if violation:
            name, why = violation.encode(), b"out of range"
            inner = b"\x0a" + bytes([len(name)]) + name + b"\x12" + bytes([len(why)]) + why
            detail = base64.b64encode(b"\x0a" + bytes([len(inner)]) + inner).decode().rstrip("=")
            body["details"] = [{"type": "google.rpc.BadRequest", "value": detail}]
        self.answer(status, json.dumps(body).encode(), headers=headers)

    def answer(
        self,
        status: int,
        body: bytes,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def faulty(config: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
    """The set that is stored instead of the one sent."""
    match fault:
        case Fault.DROP_FIELD:
            return dict(list(config.items())[:-1])
        case Fault.ROUND_FLOAT32:
            return {
                name: struct.unpack("f", struct.pack("f", value))[0]
                if isinstance(value, float)
                else value
                for name, value in config.items()
            }
        case Fault.SWAP:
            first, second, *_ = config
            return config | {first: config[second], second: config[first]}
        case Fault.EXTRA_FIELD:
            return config | {"rrfK": 61}
        case Fault.NEXT_DOUBLE:
            return {
                name: math.nextafter(value, 1.0) if isinstance(value, float) else value
                for name, value in config.items()
            }
        case _:
            return config
