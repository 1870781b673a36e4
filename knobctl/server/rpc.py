"""Wire to service and back, and nothing else."""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from connectrpc.code import Code
from connectrpc.codec import proto_binary_codec
from connectrpc.errors import ConnectError

from knobctl.server.auth import EDIT, admit
from knobctl.server.refusal import ServiceError
from knobctl.server.wire.config_json import ConfigJsonCodec
from knobctl.server.wire.errors import connect_error
from knobctl.server.wire.knobs_service_connect import (
    ContextEngineKnobsConfigService,
    ContextEngineKnobsConfigServiceASGIApplication,
)
from knobctl.server.wire.knobs_service_pb import (
    GetContextEngineKnobsConfigRequest,
    GetContextEngineKnobsConfigResponse,
    ListConfigAuditEventsRequest,
    ListConfigAuditEventsResponse,
    ListContextEngineKnobsConfigsRequest,
    ListContextEngineKnobsConfigsResponse,
    RevertContextEngineKnobsConfigRequest,
    UpdateContextEngineKnobsConfigRequest,
    UpdateContextEngineKnobsConfigResponse,
)
from knobctl.server.wire.messages import (
    config_values,
    event_message,
    set_message,
    updated_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from connectrpc.request import RequestContext

    from knobctl.server.auth import Caller
    from knobctl.server.knobs import KnobsService

    Context: TypeAlias = RequestContext[Any, Any]

P = ParamSpec("P")
T = TypeVar("T")
log: Final = logging.getLogger(__name__)

LARGEST_BODY: Final = 1 << 20
"""Bytes of a request, unpacked. A config with every knob has about one thousand."""

READS_AT_ONCE: Final = 16
WRITES_AT_ONCE: Final = 4
WRITES: Final = {"UpdateContextEngineKnobsConfig", "RevertContextEngineKnobsConfig"}

_caller: ContextVar[Caller] = ContextVar("caller")


def knobs_application(service: KnobsService) -> ContextEngineKnobsConfigServiceASGIApplication:
    """Make the ASGI application of the knobs service: Connect, and gRPC where the server offers trailers."""
    return ContextEngineKnobsConfigServiceASGIApplication(
        KnobsRpc(service),
        interceptors=[Refusing(), Authenticating(service)],
        read_max_bytes=LARGEST_BODY,
        codecs=[proto_binary_codec(), ConfigJsonCodec(service.catalogue)],
    )


class KnobsRpc(ContextEngineKnobsConfigService):
    """The methods of the wire, each one call of the service in a thread.

    Writers, who wait for one another and for other processes, never take the readers' threads.
    """

    def __init__(self, service: KnobsService) -> None:
        self._service = service
        self._catalogue = service.catalogue
        self._reads = ThreadPoolExecutor(READS_AT_ONCE, "knobs-read")
        self._writes = ThreadPoolExecutor(WRITES_AT_ONCE, "knobs-write")

    async def _read(self, method: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        call = partial(method, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._reads, call)

    async def _write(self, method: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        call = partial(method, *arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self._writes, call)

    async def get_context_engine_knobs_config(
        self, _request: GetContextEngineKnobsConfigRequest, ctx: Context
    ) -> GetContextEngineKnobsConfigResponse:
        """Answer Get."""
        stored = await self._read(self._service.get, _caller.get(), _tenant(ctx))
        return set_message(self._catalogue, stored)

    async def update_context_engine_knobs_config(
        self, request: UpdateContextEngineKnobsConfigRequest, ctx: Context
    ) -> UpdateContextEngineKnobsConfigResponse:
        """Answer Update."""
        updated = await self._write(
            self._service.update,
            _caller.get(),
            _tenant(ctx),
            config_values(self._catalogue, request.config),
            expected_revision=_expected_revision(request),
            reason=request.reason,
            idempotency_key=ctx.request_headers.get("idempotency-key"),
        )
        return updated_message(self._catalogue, updated)

    async def list_context_engine_knobs_configs(
        self, request: ListContextEngineKnobsConfigsRequest, _ctx: Context
    ) -> ListContextEngineKnobsConfigsResponse:
        """Answer List."""
        page = await self._read(
            self._service.list,
            _caller.get(),
            page_size=request.page_size,
            page_token=request.page_token,
        )
        return ListContextEngineKnobsConfigsResponse(
            configs=[set_message(self._catalogue, stored) for stored in page.items],
            next_page_token=page.next_page_token,
        )

    async def list_config_audit_events(
        self, request: ListConfigAuditEventsRequest, ctx: Context
    ) -> ListConfigAuditEventsResponse:
        """Answer ListConfigAuditEvents; the tenant stands in the body or in the header."""
        page = await self._read(
            self._service.audit_events,
            _caller.get(),
            tenant=request.tenant_id or _tenant(ctx),
            since=request.since,
            page_size=request.page_size,
            page_token=request.page_token,
        )
        return ListConfigAuditEventsResponse(
            events=[event_message(self._catalogue, event) for event in page.items],
            next_page_token=page.next_page_token,
        )

    async def revert_context_engine_knobs_config(
        self, request: RevertContextEngineKnobsConfigRequest, ctx: Context
    ) -> UpdateContextEngineKnobsConfigResponse:
        """Answer Revert."""
        updated = await self._write(
            self._service.revert,
            _caller.get(),
            _tenant(ctx),
            request.to_revision,
            expected_revision=_expected_revision(request),
            reason=request.reason,
            idempotency_key=ctx.request_headers.get("idempotency-key"),
        )
        return updated_message(self._catalogue, updated)


class Authenticating:
    """Knows the caller, and that it may write at all, before the body is read.

    So that whoever may not write hears that, and not what would be wrong with the config.
    """

    def __init__(self, service: KnobsService) -> None:
        self._service = service

    async def on_start(self, ctx: Context) -> None:
        """Take the token and the tenant from the headers."""
        scheme, _, token = ctx.request_headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else None
        caller = await asyncio.to_thread(self._service.authenticate, bearer)
        if ctx.method.name in WRITES:
            admit(caller, _tenant(ctx), EDIT)
        _caller.set(caller)

    async def on_end(self, _token: None, _ctx: Context, _error: Exception | None, /) -> None:
        """Nothing to give back."""


class Refusing:
    """Gives every error its wire form; an unforeseen one keeps its text to itself."""

    async def on_start(self, _ctx: Context) -> None:
        """Nothing to prepare."""

    async def on_end(self, _token: None, ctx: Context, error: Exception | None, /) -> None:
        """Translate.

        Raises:
            ConnectError: In the place of any other exception.
        """
        if error is None or isinstance(error, ConnectError):
            return
        if isinstance(error, ServiceError):
            raise connect_error(error) from error
        request_id = os.urandom(8).hex()
        log.error("request %s to %s failed", request_id, ctx.method.name, exc_info=error)
        raise ConnectError(Code.INTERNAL, f"internal error; request {request_id}") from error


def _tenant(ctx: Context) -> str | None:
    return ctx.request_headers.get("x-tenant-id")


def _expected_revision(
    request: UpdateContextEngineKnobsConfigRequest | RevertContextEngineKnobsConfigRequest,
) -> str | None:
    return request.expected_revision if request.has_field("expected_revision") else None
