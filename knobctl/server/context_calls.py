"""Requests of the wire as calls of the retrieval service, for every way in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.server.retrieval.model import Wish
from knobctl.server.wire.context_messages import source_ids
from knobctl.server.wire.messages import config_values

if TYPE_CHECKING:
    from knobctl.server.auth import Caller
    from knobctl.server.retrieval.model import Assembled, Evaluation, SearchAnswer
    from knobctl.server.retrieval.service import ContextService
    from knobctl.server.wire import context_pb as pb


def search(
    context: ContextService, caller: Caller, tenant: str | None, request: pb.SearchRequest
) -> SearchAnswer:
    """Call Search."""
    return context.search(
        caller,
        tenant,
        query=request.query,
        top_k=request.top_k,
        min_score=request.min_score,
        source_ids=source_ids(request.scope),
    )


def assemble(
    context: ContextService, caller: Caller, tenant: str | None, request: pb.AssembleContextRequest
) -> Assembled:
    """Call AssembleContext."""
    return context.assemble(
        caller,
        tenant,
        task=request.task,
        source_ids=source_ids(request.scope),
        relevance=request.relevance,
    )


def evaluate(
    context: ContextService, caller: Caller, tenant: str | None, request: pb.EvaluateRequest
) -> tuple[list[list[Evaluation]], str]:
    """Call Evaluate; one list a set."""
    configs = [request.config, *request.further_configs]
    return context.evaluate_each(
        caller,
        tenant,
        [config_values(context.knobs.catalogue, one) for one in configs],
        list(request.queries),
        source_ids=source_ids(request.scope),
        wish=Wish(ranking_only=request.ranking_only, top_k=request.top_k),
    )
