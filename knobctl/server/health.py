"""The standard health service of gRPC, over the same readiness as /readyz. Open to everybody."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from connectrpc.code import Code
from connectrpc.errors import ConnectError

from knobctl.server.limits import LARGEST_BODY
from knobctl.server.wire.bounded_json import bounded_codecs
from knobctl.server.wire.context_pb import desc as context_desc
from knobctl.server.wire.health_connect import Health, HealthASGIApplication
from knobctl.server.wire.health_pb import (
    HealthCheckRequest,
    HealthCheckResponse,
    HealthListRequest,
    HealthListResponse,
)
from knobctl.server.wire.health_pb import desc as health_desc
from knobctl.server.wire.knobs_service_pb import desc as knobs_desc

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from typing import TypeAlias

    from connectrpc.interceptor import MetadataInterceptor

    from knobctl.server.calls import Context
    from knobctl.server.limits import Stopping
    from knobctl.server.readiness import Readiness

    Status: TypeAlias = HealthCheckResponse.ServingStatus

LOOK_EVERY_S: Final = 1.0
"""How long a change can go unnoticed by a watcher."""

WHOLE_SERVER: Final = ""
OF_KNOBS: Final = frozenset(
    service.type_name
    for described in (knobs_desc(), health_desc())
    for service in described.services
)
OF_RETRIEVAL: Final = frozenset(service.type_name for service in context_desc().services)


def health_application(
    readiness: Readiness,
    stopping: Stopping,
    *,
    is_retrieval_offered: bool,
    interceptors: Sequence[MetadataInterceptor[None]],
) -> HealthASGIApplication:
    """Make the ASGI application of the health service."""
    rpc = HealthRpc(readiness, stopping, is_retrieval_offered=is_retrieval_offered)
    return HealthASGIApplication(
        rpc, interceptors=interceptors, read_max_bytes=LARGEST_BODY, codecs=bounded_codecs()
    )


class HealthRpc(Health):
    """Check, List and Watch."""

    def __init__(
        self, readiness: Readiness, stopping: Stopping, *, is_retrieval_offered: bool
    ) -> None:
        self._readiness = readiness
        self._stopping = stopping
        self._is_retrieval_offered = is_retrieval_offered

    async def check(self, request: HealthCheckRequest, _ctx: Context) -> HealthCheckResponse:
        """Answer Check."""
        if not _is_known(request.service):
            raise ConnectError(Code.NOT_FOUND, "no such service")
        return HealthCheckResponse(status=await self._status(request.service))

    async def list(self, _request: HealthListRequest, _ctx: Context) -> HealthListResponse:
        """Answer List."""
        names = sorted({WHOLE_SERVER} | OF_KNOBS | OF_RETRIEVAL)
        statuses = {name: HealthCheckResponse(status=await self._status(name)) for name in names}
        return HealthListResponse(statuses=statuses)

    async def watch(
        self, request: HealthCheckRequest, _ctx: Context
    ) -> AsyncIterator[HealthCheckResponse]:
        """Answer Watch, until the client goes or the server stops."""
        told: Status | None = None
        while True:
            is_last = self._stopping.begun.is_set()
            status = await self._status(request.service)
            if status != told:
                told = status
                yield HealthCheckResponse(status=status)
            if is_last:
                return
            await _any(self._stopping.begun, LOOK_EVERY_S)

    async def _status(self, service: str) -> Status:
        statuses = HealthCheckResponse.ServingStatus
        if not _is_known(service):
            return statuses.SERVICE_UNKNOWN
        if service in OF_KNOBS:
            troubles = await self._readiness.knobs_troubles()
        elif service in OF_RETRIEVAL and not self._is_retrieval_offered:
            return statuses.NOT_SERVING
        else:
            troubles = await self._readiness.retrieval_troubles()
        return statuses.NOT_SERVING if troubles else statuses.SERVING


def _is_known(service: str) -> bool:
    return service == WHOLE_SERVER or service in OF_KNOBS or service in OF_RETRIEVAL


async def _any(event: asyncio.Event, within_s: float) -> None:
    """Wait for an event, for a while."""
    try:
        await asyncio.wait_for(event.wait(), within_s)
    except TimeoutError:
        return
