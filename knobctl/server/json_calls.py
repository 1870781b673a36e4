"""Retrieval asked inside the process, with requests and answers in the wire's own JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from connectrpc.errors import ConnectError

from knobctl.server.context_calls import assemble, evaluate, search
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.wire import context_pb as pb
from knobctl.server.wire.config_json import StrictJsonCodec
from knobctl.server.wire.context_messages import (
    as_json,
    assembled_message,
    described_message,
    evaluated_message,
    ranking_json,
    search_message,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protobuf import Message

    from knobctl.server.auth import Caller
    from knobctl.server.opening import Services
    from knobctl.server.retrieval.ingest import IngestService
    from knobctl.server.retrieval.service import ContextService

    M = TypeVar("M", bound=Message)
    T = TypeVar("T")


class JsonCalls:
    """The calls of one caller. Every method raises `ServiceError` where the service refuses."""

    def __init__(self, services: Services, caller: Caller) -> None:
        self._services = services
        self._caller = caller
        self._codec = StrictJsonCodec(services.knobs.catalogue)

    def search(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Search."""
        asked = self._read(request, pb.SearchRequest)
        answer = search(self._context, self._caller, tenant, asked)
        return as_json(search_message(answer))

    def assemble(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """AssembleContext."""
        asked = self._read(request, pb.AssembleContextRequest)
        assembled = assemble(self._context, self._caller, tenant, asked)
        return as_json(assembled_message(assembled))

    def evaluate(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Evaluate."""
        asked = self._read(request, pb.EvaluateRequest)
        sets, version = evaluate(self._context, self._caller, tenant, asked)
        if asked.ranking_only:
            return ranking_json(sets, version)
        return as_json(evaluated_message(sets, version, include_text=asked.include_text))

    def describe(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Describe."""
        self._read(request, pb.DescribeRequest)
        return as_json(described_message(*self._ingest.describe(self._caller, tenant)))

    @property
    def _context(self) -> ContextService:
        return self._there(self._services.context)

    @property
    def _ingest(self) -> IngestService:
        return self._there(self._services.ingest)

    def _there(self, service: T | None) -> T:
        if service is None:
            raise ServiceError(Code.UNIMPLEMENTED, self._services.missing)
        return service

    def _read(self, request: Mapping[str, Any], kind: type[M]) -> M:
        try:
            return self._codec.decode(json.dumps(request).encode(), kind)
        except ConnectError as error:
            raise ServiceError(Code.INVALID_ARGUMENT, error.message) from error
