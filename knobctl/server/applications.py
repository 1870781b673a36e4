"""Everything that an engine answers, behind one door: each request has an id, a size, a time limit and a log line."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knobctl.server.calls import Authenticating, Limiting, Refusing, Threads, begin_call
from knobctl.server.context_rpc import (
    CONTEXT_CLEARANCES,
    INGEST_CLEARANCES,
    context_application,
    ingest_application,
)
from knobctl.server.health import health_application
from knobctl.server.limits import (
    GRACE_S,
    LARGEST_BODY,
    LARGEST_INGEST,
    Arriving,
    Rate,
    Stopping,
)
from knobctl.server.metrics import Metrics
from knobctl.server.probes import PATHS, Probes, answer
from knobctl.server.readiness import Readiness
from knobctl.server.reflection import reflection_applications
from knobctl.server.request_id import begin_request, is_request_id
from knobctl.server.rpc import KNOBS_CLEARANCES, knobs_application

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from connectrpc.interceptor import MetadataInterceptor
    from connectrpc.server import ConnectASGIApplication

    from knobctl.server.calls import Call
    from knobctl.server.opening import Services

log: Final = logging.getLogger(__name__)

READS_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an operator may choose."""

    calls_per_s: float | None = None
    """For each principal; None for any number."""
    grace_s: float = GRACE_S
    """How long calls in flight may take when the engine stops."""
    drain_s: float = 0.0
    """How long, before that, new calls are still answered while /readyz says no."""
    entropy: Callable[[int], bytes] = os.urandom
    monotonic: Callable[[], float] = time.monotonic


class Engine:
    """The ASGI application of an engine."""

    def __init__(self, services: Services, stopping: Stopping, limits: Limits) -> None:
        self._metrics = Metrics()
        services.watchers.add(self._metrics)
        self._stopping = stopping
        self._entropy = limits.entropy
        self._monotonic = limits.monotonic
        readiness = Readiness(services, stopping, monotonic=limits.monotonic)
        self._probes = Probes(readiness, self._metrics)
        self._services = self._mounted(services, readiness, limits)

    def _mounted(self, services: Services, readiness: Readiness, limits: Limits) -> dict[str, Any]:
        reads = Threads(READS_AT_ONCE, "knobs-read", self._stopping)
        rate = Rate(limits.calls_per_s, monotonic=limits.monotonic) if limits.calls_per_s else None

        def guarded(clearances: Mapping[str, int]) -> list[MetadataInterceptor[None]]:
            limiting: list[MetadataInterceptor[None]] = [Limiting(rate)] if rate else []
            known = Authenticating(services.knobs.principals, reads, clearances)
            return [Refusing(), known, *limiting]

        applications: list[ConnectASGIApplication[Any]] = [
            knobs_application(
                services.knobs,
                self._metrics,
                reads=reads,
                stopping=self._stopping,
                interceptors=guarded(KNOBS_CLEARANCES),
            ),
            context_application(
                services, self._metrics, self._stopping, guarded(CONTEXT_CLEARANCES)
            ),
            ingest_application(services, self._stopping, guarded(INGEST_CLEARANCES)),
            health_application(
                readiness,
                self._stopping,
                is_retrieval_offered=not services.missing,
                interceptors=[Refusing()],
            ),
            *reflection_applications([Refusing()]),
        ]
        return {application.path: application for application in applications}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI's own types are no stricter
        """Answer a request, under its id, and note what became of it."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        started = self._monotonic()
        answering = Answering(
            send, _request_id(scope, self._entropy), may_leave_unread=_has_body_of_http_1(scope)
        )
        begin_request(answering.request_id)
        call = begin_call()
        try:
            await self._answer(scope, receive, answering)
        finally:
            self._note(scope, call, answering.status, self._monotonic() - started)

    async def _answer(self, scope: Any, receive: Any, send: Answering) -> None:  # noqa: ANN401  as above
        if scope["path"] in PATHS:
            await self._probes(scope, receive, send)
            return
        service = "/" + scope["path"].lstrip("/").partition("/")[0]
        application = self._services.get(service)
        largest = LARGEST_INGEST if service.endswith(".Ingest") else LARGEST_BODY
        send.body = Arriving(receive, largest=largest, stopping=self._stopping)
        if application is None:
            await answer(send, 404, {"code": "unimplemented", "message": "no such service"})
        elif not _are_texts(scope["headers"]):
            await answer(send, 400, {"code": "invalid_argument", "message": "a header is no UTF-8"})
        elif _is_grpc_without_trailers(scope):
            await answer(send, 505, {"code": "internal", "message": "gRPC needs HTTP/2"})
        else:
            await application(scope, send.body, send)

    def _note(self, scope: Any, call: Call, status: int, seconds: float) -> None:  # noqa: ANN401  as above
        if scope["path"] in PATHS:
            return
        call.code = call.code or f"http_{status}"
        self._metrics.answered(call, seconds)
        if not log.isEnabledFor(logging.INFO):
            return
        facts = {
            "method": call.method or scope["path"][:200],
            "tenant": call.tenant,
            "subject": call.subject,
            "code": call.code,
            "ms": round(seconds * 1000, 3),
        }
        log.info("%s", " ".join(str(fact or "-") for fact in facts.values()), extra=facts)


class Answering:
    """ASGI's `send`, with the id of the request on the answer, and its length where it is whole.

    An answer of unknown length goes out in chunks, and each chunk, the empty last one too, is a call of
    the system: measured, a third of the time of a short answer.

    Behind an answer to a request that was not read whole, the server closes the connection of HTTP/1.
    The answer says so: else the client's next call on it would be lost. On HTTP/2 the answer ends only
    when the request has arrived: else every call on the connection would be lost.
    """

    def __init__(self, send: Any, request_id: str, *, may_leave_unread: bool) -> None:  # noqa: ANN401  as above
        self._send = send
        self._may_leave_unread = may_leave_unread
        self.body: Arriving | None = None
        """What was read of the request."""
        self._start: dict[str, Any] | None = None
        self.request_id = request_id
        self._has_trailers = False
        self.status = 499
        """What was answered; 499 where the client went before."""

    async def __call__(self, message: Any) -> None:  # noqa: ANN401  as above
        """Send a message; the start of an answer waits for the first of its body."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._has_trailers = message.get("trailers", False)
            named = (b"x-request-id", self.request_id.encode())
            self._start = {**message, "headers": [*message["headers"], named]}
            return
        if self.body and not self._may_leave_unread and self._ends(message):
            await self.body.drop_the_rest()
        if self._start is not None:
            start, self._start = self._start, None
            if self._may_leave_unread and not (self.body and self.body.is_whole):
                start["headers"].append((b"connection", b"close"))
            if not message.get("more_body", False) and not _has_length(start):
                length = str(len(message.get("body", b""))).encode()
                start["headers"].append((b"content-length", length))
            await self._send(start)
        await self._send(message)

    def _ends(self, message: Any) -> bool:  # noqa: ANN401  as above
        """Whether a message is an answer's last."""
        if message["type"] == "http.response.trailers":
            return not message.get("more_trailers", False)
        return not self._has_trailers and not message.get("more_body", False)


def _has_length(start: dict[str, Any]) -> bool:
    """Whether an answer says its length already, or has trailers behind it."""
    return start.get("trailers", False) or any(
        name == b"content-length" for name, _ in start["headers"]
    )


def _has_body_of_http_1(scope: Any) -> bool:  # noqa: ANN401  as above
    return scope["http_version"] not in {"2", "3"} and any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


def _request_id(scope: Any, entropy: Callable[[int], bytes]) -> str:  # noqa: ANN401  as above
    """The id that the caller gave its request, if it can be one; else one of ours."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            given: str = value.decode("latin-1")
            return given if is_request_id(given) else entropy(8).hex()
    return entropy(8).hex()


def _are_texts(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether headers can be read as text, which is what the protocols make of them."""
    try:
        return all(value.isascii() or value.decode() for _, value in headers)
    except UnicodeDecodeError:
        return False


def _is_grpc_without_trailers(scope: Any) -> bool:  # noqa: ANN401  as above
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    plain = kind == b"application/grpc" or kind.startswith(b"application/grpc+")
    return plain and scope["http_version"] not in {"2", "3"}


async def _lifespan(receive: Any, send: Any) -> None:  # noqa: ANN401  as above
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
