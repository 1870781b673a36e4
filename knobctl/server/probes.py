"""What balancers and monitors ask for over plain HTTP: /healthz, /readyz and /metrics. Open to everybody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import make_asgi_app

if TYPE_CHECKING:
    from knobctl.server.metrics import Metrics
    from knobctl.server.readiness import Readiness

PATHS: Final = frozenset(["/healthz", "/readyz", "/metrics"])


class Probes:
    """The ASGI application of the three."""

    def __init__(self, readiness: Readiness, metrics: Metrics) -> None:
        self._readiness = readiness
        self._metrics = make_asgi_app(metrics.registry)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI's own types are no stricter
        """Answer one of `PATHS`: GET and HEAD."""
        if scope["method"] not in {"GET", "HEAD"}:
            await answer(send, 405, {"error": "GET or HEAD"}, [(b"allow", b"GET, HEAD")])
        elif scope["path"] == "/healthz":
            await answer(send, 200, {"alive": True})
        elif scope["path"] == "/readyz":
            reasons = await self._readiness.retrieval_troubles()
            await answer(send, 503 if reasons else 200, {"ready": not reasons, "reasons": reasons})
        else:
            await self._metrics(scope, receive, send)


async def answer(
    send: Any,  # noqa: ANN401  as above
    status: int,
    body: dict[str, Any],
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    """Answer with JSON."""
    text = json.dumps(body).encode() + b"\n"
    about = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(text)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send(
        {"type": "http.response.start", "status": status, "headers": about + (headers or [])}
    )
    await send({"type": "http.response.body", "body": text})
