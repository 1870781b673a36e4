"""A proxy that cuts connections at chosen moments of a call, for tests of what becomes of a write."""

from __future__ import annotations

import http.client
import struct
import threading
import time
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Self


class Cut(Enum):
    """Where in a call the connection is cut."""

    BEFORE_SENDING = "the engine never sees the call"
    AFTER_SENDING = "the engine answers, and nothing of it arrives"
    IN_THE_REPLY = "half of the answer arrives"
    AFTER_THE_REPLY = "the whole answer is sent, and whether it arrives is left to the network"
    LATER = "503 with Retry-After, and the engine never sees the call"
    GATEWAY = "502, and the engine never sees the call"
    TOO_MANY = "429 with Retry-After, and the engine never sees the call"


_STATUSES = {Cut.LATER: 503, Cut.GATEWAY: 502, Cut.TOO_MANY: 429}


class CuttingProxy:
    """Forwards calls to an engine; the next ones that match meet the cuts, in their order."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream.removeprefix("http://")
        self.cuts: list[Cut] = []
        self.only = "Update"
        """Part of the method's name that a call must have to be cut."""
        self.seen = 0
        """How many such calls came in."""
        self.arrivals: list[float] = []
        """When any call came in."""
        self.lock = threading.Lock()
        proxy = self

        class Handler(_Handler):
            cutting = proxy

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def next_cut(self, path: str) -> Cut | None:
        with self.lock:
            self.arrivals.append(time.monotonic())
            if self.only not in path:
                return None
            self.seen += 1
            return self.cuts.pop(0) if self.cuts else None

    def arrived(self, path: str) -> None:
        """A call came in; it is passed on when this returns."""

    def answered(self, path: str, body: bytes) -> bytes:
        """The engine answered a call; gives what is passed on."""
        del path
        return body

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class _Handler(BaseHTTPRequestHandler):
    cutting: CuttingProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout: ClassVar[float | None] = 10.0

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.cutting.arrived(self.path)
        cut = self.cutting.next_cut(self.path)
        match cut:
            case Cut.BEFORE_SENDING:
                self.cut()
                return
            case Cut.LATER | Cut.GATEWAY | Cut.TOO_MANY:
                self.reply(_STATUSES[cut], b"later", {"Retry-After": "0"})
                return
            case _:
                pass
        status, answer, kind = self.forward(body)
        answer = self.cutting.answered(self.path, answer)
        match cut:
            case Cut.AFTER_SENDING:
                self.cut()
            case Cut.IN_THE_REPLY:
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer[: len(answer) // 2])
                self.cut()
            case _:
                self.reply(status, answer, {"Content-Type": kind})
                if cut is Cut.AFTER_THE_REPLY:
                    self.cut()

    def forward(self, body: bytes) -> tuple[int, bytes, str]:
        connection = http.client.HTTPConnection(self.cutting.upstream, timeout=10)
        try:
            dropped = {"host", "connection", "accept-encoding"}
            headers = {k: v for k, v in self.headers.items() if k.lower() not in dropped}
            connection.request("POST", self.path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers.get("Content-Type", "")
        finally:
            connection.close()

    def reply(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def cut(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.setsockopt(1, 13, struct.pack("ii", 1, 0))
        self.connection.close()
