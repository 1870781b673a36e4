"""Retrieval and ingest on the wire: messages to calls and back, and nothing else."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final, TypeVar

from connectrpc.codec import proto_binary_codec

from knobctl.errors import KnobctlError
from knobctl.server.auth import EDIT, READ
from knobctl.server.calls import Threads, caller, current_call, tenant_named
from knobctl.server.context_calls import assemble, evaluate, search
from knobctl.server.limits import LARGEST_BODY, LARGEST_INGEST
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.request_id import current_request_id
from knobctl.server.wire.config_json import StrictJsonCodec
from knobctl.server.wire.context_connect import (
    ContextEngine,
    ContextEngineASGIApplication,
    Ingest,
    IngestASGIApplication,
)
from knobctl.server.wire.context_messages import (
    assembled_message,
    deleted_message,
    described_message,
    evaluated_message,
    search_message,
    texts,
    upserted_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from connectrpc.interceptor import MetadataInterceptor

    from knobctl.server.auth import Caller
    from knobctl.server.calls import Context
    from knobctl.server.limits import Stopping
    from knobctl.server.metrics import Metrics
    from knobctl.server.opening import Services
    from knobctl.server.retrieval.ingest import IngestService
    from knobctl.server.retrieval.model import (
        Assembled,
        Deleted,
        Evaluation,
        SearchAnswer,
        Upserted,
    )
    from knobctl.server.retrieval.service import ContextService
    from knobctl.server.store.corpus import Description, EmbedderIdentity
    from knobctl.server.wire import context_pb as pb

T = TypeVar("T")
log: Final = logging.getLogger(__name__)

SEARCHES_AT_ONCE: Final = 8
EVALUATIONS_AT_ONCE: Final = 2
INGESTS_AT_ONCE: Final = 2
CONTEXT_CLEARANCES: Final = {"Search": 0, "AssembleContext": 0, "Evaluate": READ}
INGEST_CLEARANCES: Final = {"UpsertChunks": EDIT, "DeleteDocuments": EDIT, "Describe": READ}


def context_application(
    services: Services,
    metrics: Metrics,
    stopping: Stopping,
    interceptors: Sequence[MetadataInterceptor[None]],
) -> ContextEngineASGIApplication:
    """Make the ASGI application of search, assembly and evaluation."""
    return ContextEngineASGIApplication(
        ContextRpc(services, metrics, stopping),
        interceptors=interceptors,
        read_max_bytes=LARGEST_BODY,
        codecs=[proto_binary_codec(), StrictJsonCodec(services.knobs.catalogue)],
    )


def ingest_application(
    services: Services, stopping: Stopping, interceptors: Sequence[MetadataInterceptor[None]]
) -> IngestASGIApplication:
    """Make the ASGI application of taking texts in."""
    return IngestASGIApplication(
        IngestRpc(services, stopping),
        interceptors=interceptors,
        read_max_bytes=LARGEST_INGEST,
        codecs=[proto_binary_codec(), StrictJsonCodec(services.knobs.catalogue)],
    )


class ContextRpc(ContextEngine):
    """Each method is one call of the service in a thread; evaluations never take the threads of searches.

    Nor does an assembly that says how relevant it is: it may have a hundred searches to do before it answers.
    """

    def __init__(self, services: Services, metrics: Metrics, stopping: Stopping) -> None:
        self._services = services
        self._metrics = metrics
        self._searches = Threads(SEARCHES_AT_ONCE, "search", stopping)
        self._evaluations = Threads(EVALUATIONS_AT_ONCE, "evaluate", stopping)

    async def search(self, request: pb.SearchRequest, ctx: Context) -> pb.SearchResponse:
        """Answer Search."""
        answer = await self._searches.run(self._search, caller(), tenant_named(ctx), request)
        self._metrics.searched(current_call().tenant, answer)
        return search_message(answer)

    async def assemble_context(
        self, request: pb.AssembleContextRequest, ctx: Context
    ) -> pb.AssembleContextResponse:
        """Answer AssembleContext."""
        threads = self._evaluations if request.relevance else self._searches
        assembled = await threads.run(self._assemble, caller(), tenant_named(ctx), request)
        self._metrics.assembled(current_call().tenant, assembled)
        return assembled_message(assembled)

    async def evaluate(self, request: pb.EvaluateRequest, ctx: Context) -> pb.EvaluateResponse:
        """Answer Evaluate."""
        sets, version = await self._evaluations.run(
            self._evaluate, caller(), tenant_named(ctx), request
        )
        return evaluated_message(sets, version, include_text=request.include_text)

    def _search(self, asker: Caller, tenant: str | None, request: pb.SearchRequest) -> SearchAnswer:
        return search(context_of(self._services), asker, tenant, request)

    def _assemble(
        self, asker: Caller, tenant: str | None, request: pb.AssembleContextRequest
    ) -> Assembled:
        return assemble(context_of(self._services), asker, tenant, request)

    def _evaluate(
        self, asker: Caller, tenant: str | None, request: pb.EvaluateRequest
    ) -> tuple[list[list[Evaluation]], str]:
        return evaluate(context_of(self._services), asker, tenant, request)


class IngestRpc(Ingest):
    """Each method is one call of the service in a thread of its own kind: embedding takes long."""

    def __init__(self, services: Services, stopping: Stopping) -> None:
        self._services = services
        self._threads = Threads(INGESTS_AT_ONCE, "ingest", stopping)

    async def upsert_chunks(
        self, request: pb.UpsertChunksRequest, ctx: Context
    ) -> pb.UpsertChunksResponse:
        """Answer UpsertChunks. A call that is given up, by its client or at a stop, embeds no further."""
        given_up = threading.Event()
        try:
            upserted = await self._threads.run(
                self._upsert, caller(), tenant_named(ctx), request, given_up
            )
        finally:
            given_up.set()
        return upserted_message(upserted)

    async def delete_documents(
        self, request: pb.DeleteDocumentsRequest, ctx: Context
    ) -> pb.DeleteDocumentsResponse:
        """Answer DeleteDocuments."""
        return deleted_message(
            await self._threads.run(self._delete, caller(), tenant_named(ctx), request)
        )

    async def describe(self, _request: pb.DescribeRequest, ctx: Context) -> pb.DescribeResponse:
        """Answer Describe."""
        return described_message(
            *await self._threads.run(self._describe, caller(), tenant_named(ctx))
        )

    def _upsert(
        self,
        asker: Caller,
        tenant: str | None,
        request: pb.UpsertChunksRequest,
        given_up: threading.Event,
    ) -> Upserted:
        def go_on(_embedded: int) -> None:
            if given_up.is_set():
                raise ServiceError(Code.UNAVAILABLE, "the call was given up; nothing was written")

        return ingest_of(self._services).upsert(asker, tenant, texts(request), progress=go_on)

    def _delete(
        self, asker: Caller, tenant: str | None, request: pb.DeleteDocumentsRequest
    ) -> Deleted:
        return ingest_of(self._services).delete_documents(asker, tenant, list(request.document_ids))

    def _describe(
        self, asker: Caller, tenant: str | None
    ) -> tuple[str, Description, EmbedderIdentity | None]:
        return ingest_of(self._services).describe(asker, tenant)


_opening: Final = threading.Lock()
"""Held while a service is opened, so that two calls at once open it once."""


def context_of(services: Services) -> ContextService:
    """Open what retrieval needs, once.

    Raises:
        ServiceError: `unimplemented` where retrieval is not installed, `unavailable` where it cannot be opened.
    """
    return _opened(services, lambda: services.context)


def ingest_of(services: Services) -> IngestService:
    """Open what ingest needs, once.

    Raises:
        ServiceError: As `context_of`.
    """
    return _opened(services, lambda: services.ingest)


def _opened(services: Services, open_it: Callable[[], T | None]) -> T:
    with _opening:
        try:
            found = open_it()
        except KnobctlError as error:
            raise _not_opened(error) from error
    if found is None:
        raise ServiceError(Code.UNIMPLEMENTED, services.missing)
    return found


def _not_opened(error: KnobctlError) -> ServiceError:
    log.error("retrieval cannot be opened: %s", error)
    return ServiceError(
        Code.UNAVAILABLE,
        f"the engine cannot retrieve as it was started; its log says why, request {current_request_id()}",
    )
