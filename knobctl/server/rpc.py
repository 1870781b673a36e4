"""The knobs service on the wire: messages to calls and back, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connectrpc.codec import proto_binary_codec

from knobctl.server.auth import EDIT
from knobctl.server.calls import Threads, caller, tenant_named
from knobctl.server.limits import LARGEST_BODY
from knobctl.server.wire.config_json import StrictJsonCodec
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
    from collections.abc import Sequence

    from connectrpc.interceptor import MetadataInterceptor

    from knobctl.server.auth import Caller
    from knobctl.server.calls import Context
    from knobctl.server.knobs import KnobsService
    from knobctl.server.limits import Stopping
    from knobctl.server.metrics import Metrics

WRITES_AT_ONCE: Final = 4
KNOBS_CLEARANCES: Final = {
    "UpdateContextEngineKnobsConfig": EDIT,
    "RevertContextEngineKnobsConfig": EDIT,
}
"""What is asked for before the body is read; the service asks by itself for the rest."""


def knobs_application(
    service: KnobsService,
    metrics: Metrics,
    *,
    reads: Threads,
    stopping: Stopping,
    interceptors: Sequence[MetadataInterceptor[None]],
) -> ContextEngineKnobsConfigServiceASGIApplication:
    """Make the ASGI application of the knobs service: Connect, and gRPC where the server offers trailers."""
    return ContextEngineKnobsConfigServiceASGIApplication(
        KnobsRpc(service, metrics, reads, stopping),
        interceptors=interceptors,
        read_max_bytes=LARGEST_BODY,
        codecs=[proto_binary_codec(), StrictJsonCodec(service.catalogue)],
    )


class KnobsRpc(ContextEngineKnobsConfigService):
    """The methods of the wire, each one call of the service in a thread.

    Writers, who wait for one another and for other processes, never take the readers' threads.
    """

    def __init__(
        self, service: KnobsService, metrics: Metrics, reads: Threads, stopping: Stopping
    ) -> None:
        self._service = service
        self._catalogue = service.catalogue
        self._metrics = metrics
        self._reads = reads
        self._writes = Threads(WRITES_AT_ONCE, "knobs-write", stopping)

    async def get_context_engine_knobs_config(
        self, _request: GetContextEngineKnobsConfigRequest, ctx: Context
    ) -> GetContextEngineKnobsConfigResponse:
        """Answer Get."""
        if (
            self._service.store.reads_at_once
        ):  # measured: the way through a thread costs 20 times the reading
            stored = self._service.get(caller(), tenant_named(ctx))
        else:
            stored = await self._reads.run(self._service.get, caller(), tenant_named(ctx))
        self._metrics.read(stored)
        return set_message(self._catalogue, stored)

    async def update_context_engine_knobs_config(
        self, request: UpdateContextEngineKnobsConfigRequest, ctx: Context
    ) -> UpdateContextEngineKnobsConfigResponse:
        """Answer Update."""
        updated = await self._writes.run(
            self._service.update,
            caller(),
            tenant_named(ctx),
            config_values(self._catalogue, request.config),
            expected_revision=_expected_revision(request),
            reason=request.reason,
            idempotency_key=ctx.request_headers.get("idempotency-key"),
        )
        self._metrics.written(updated)
        return updated_message(self._catalogue, updated)

    async def list_context_engine_knobs_configs(
        self, request: ListContextEngineKnobsConfigsRequest, _ctx: Context
    ) -> ListContextEngineKnobsConfigsResponse:
        """Answer List."""
        return await self._reads.run(self._listed, caller(), request)

    def _listed(
        self, asking: Caller, request: ListContextEngineKnobsConfigsRequest
    ) -> ListContextEngineKnobsConfigsResponse:
        """Make a page with all of its messages: a thousand of them would hold up every other call."""
        page = self._service.list(
            asking, page_size=request.page_size, page_token=request.page_token
        )
        return ListContextEngineKnobsConfigsResponse(
            configs=[set_message(self._catalogue, stored) for stored in page.items],
            next_page_token=page.next_page_token,
        )

    async def list_config_audit_events(
        self, request: ListConfigAuditEventsRequest, ctx: Context
    ) -> ListConfigAuditEventsResponse:
        """Answer ListConfigAuditEvents; the tenant stands in the body or in the header."""
        return await self._reads.run(
            self._events, caller(), request.tenant_id or tenant_named(ctx), request
        )

    def _events(
        self, asking: Caller, tenant: str | None, request: ListConfigAuditEventsRequest
    ) -> ListConfigAuditEventsResponse:
        page = self._service.audit_events(
            asking,
            tenant=tenant,
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
        updated = await self._writes.run(
            self._service.revert,
            caller(),
            tenant_named(ctx),
            request.to_revision,
            expected_revision=_expected_revision(request),
            reason=request.reason,
            idempotency_key=ctx.request_headers.get("idempotency-key"),
        )
        self._metrics.written(updated)
        return updated_message(self._catalogue, updated)


def _expected_revision(
    request: UpdateContextEngineKnobsConfigRequest | RevertContextEngineKnobsConfigRequest,
) -> str | None:
    return request.expected_revision if request.has_field("expected_revision") else None
