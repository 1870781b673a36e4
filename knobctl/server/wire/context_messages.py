"""Answers of retrieval and ingest to messages, and requests from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from knobctl.server.retrieval.model import Text
from knobctl.server.wire import context_pb as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from protobuf import Message

    from knobctl.server.retrieval.model import (
        Assembled,
        Deleted,
        Evaluation,
        Hit,
        Omitted,
        Outcome,
        Quality,
        RankerReport,
        SearchAnswer,
        Upserted,
    )
    from knobctl.server.retrieval.relevance import TaskRelevance
    from knobctl.server.store.corpus import Description, EmbedderIdentity


def as_json(message: Message) -> dict[str, Any]:
    """Give a message in the proto3 JSON mapping, as it goes over the wire."""
    mapped: dict[str, Any] = json.loads(message.to_json())
    return mapped


def search_message(answer: SearchAnswer) -> pb.SearchResponse:
    """Make the answer of Search."""
    return pb.SearchResponse(
        results=_hits(answer.results),
        effective_min_score=answer.effective_min_score,
        results_below_threshold=answer.results_below_threshold,
        outcome=_outcome(answer.outcome),
        rankers=_rankers(answer.rankers),
        best_removed_score=answer.best_removed_score,
        corpus_version=answer.corpus_version,
        score_histogram=list(answer.score_histogram),
        last_good_knobs=answer.last_good_knobs,
    )


def assembled_message(assembled: Assembled) -> pb.AssembleContextResponse:
    """Make the answer of AssembleContext."""
    return pb.AssembleContextResponse(
        prompt=assembled.prompt,
        chunks=_hits(assembled.chunks),
        quality=_quality(assembled.quality),
    )


def evaluated_message(
    sets: Iterable[Iterable[Evaluation]], corpus_version: str, *, include_text: bool
) -> pb.EvaluateResponse:
    """Make the answer of Evaluate.

    Args:
        sets: For each set the evaluations in the order of the queries.
        corpus_version: What they were made on.
        include_text: Whether hits carry their text.
    """
    first, *further = (
        [_evaluation(one, include_text=include_text) for one in evaluations] for evaluations in sets
    )
    return pb.EvaluateResponse(
        evaluations=first,
        corpus_version=corpus_version,
        further=[pb.Evaluations(evaluations=one) for one in further],
    )


def ranking_json(sets: Iterable[Iterable[Evaluation]], corpus_version: str) -> dict[str, Any]:
    """The answer of Evaluate with the ranking half alone, as `as_json` gives it of the message.

    Hits are most of it, and are written without a message of their own: that takes a sixth of the time.

    Args:
        sets: For each set the evaluations in the order of the queries.
        corpus_version: What they were made on.
    """
    first, *further = ([_ranking_object(one) for one in evaluations] for evaluations in sets)
    answer: dict[str, Any] = {"evaluations": first} if first else {}
    answer |= {"corpusVersion": corpus_version} if corpus_version else {}
    if further:
        answer["further"] = [{"evaluations": one} if one else {} for one in further]
    return answer


def texts(request: pb.UpsertChunksRequest) -> list[Text]:
    """Give the texts of an upsert."""
    return [
        Text(
            document_id=chunk.document_id,
            chunk_id=chunk.chunk_id,
            source_id=chunk.source_id,
            text=chunk.text,
            created_at=chunk.created_at,
            metadata=dict(chunk.metadata),
        )
        for chunk in request.chunks
    ]


def upserted_message(upserted: Upserted) -> pb.UpsertChunksResponse:
    """Make the answer of UpsertChunks."""
    return pb.UpsertChunksResponse(
        written=upserted.written,
        unchanged=upserted.unchanged,
        removed=upserted.removed,
        corpus_version=upserted.corpus_version,
    )


def deleted_message(deleted: Deleted) -> pb.DeleteDocumentsResponse:
    """Make the answer of DeleteDocuments."""
    return pb.DeleteDocumentsResponse(
        documents=deleted.documents, chunks=deleted.chunks, corpus_version=deleted.corpus_version
    )


def described_message(
    tenant: str, described: Description, embedder: EmbedderIdentity | None
) -> pb.DescribeResponse:
    """Make the answer of Describe."""
    return pb.DescribeResponse(
        tenant_id=tenant,
        corpus_version=f"c{described.version}",
        documents=described.documents,
        chunks=described.chunks,
        sources=[
            pb.SourceDescription(
                source_id=source.source_id, documents=source.documents, chunks=source.chunks
            )
            for source in described.sources
        ],
        oldest=described.oldest,
        newest=described.newest,
        embedder=_identity(embedder) if embedder else None,
    )


def source_ids(scope: pb.Scope | None) -> list[str]:
    """The sources that a request is limited to; none for all that the caller may search."""
    return list(scope.source_ids) if scope else []


def _evaluation(one: Evaluation, *, include_text: bool) -> pb.Evaluation:
    return pb.Evaluation(
        query=one.query,
        candidates=_hits(one.candidates, text=include_text),
        rankers=_rankers(one.rankers),
        best_cosine=one.best_cosine,
        chunks=_hits(one.assembled.chunks, text=include_text),
        quality=_quality(one.assembled.quality),
    )


def _ranking_object(one: Evaluation) -> dict[str, Any]:
    without = pb.Evaluation(
        query=one.query,
        rankers=_rankers(one.rankers),
        best_cosine=one.best_cosine,
        quality=_quality(one.assembled.quality),
    )
    hits = {"candidates": one.candidates, "chunks": one.assembled.chunks}
    return as_json(without) | {name: [*map(_hit_object, of)] for name, of in hits.items() if of}


def _hit_object(hit: Hit) -> dict[str, Any]:
    candidate = hit.candidate
    written = {
        "chunkId": candidate.chunk_id,
        "score": candidate.score,
        "ranks": dict(candidate.ranks),
    }
    if hit.cosine is not None:
        written["cosine"] = hit.cosine
    return written


def _hits(hits: Iterable[Hit], *, text: bool = True) -> list[pb.Hit]:
    return [
        pb.Hit(
            chunk_id=hit.chunk.chunk_id,
            document_id=hit.chunk.document_id,
            source_id=hit.chunk.source_id,
            text=hit.chunk.text if text else "",
            score=hit.candidate.score,
            ranks=dict(hit.candidate.ranks),
            cosine=hit.cosine,
            created_at=hit.chunk.created_at,
            metadata=dict(hit.chunk.metadata),
        )
        for hit in hits
    ]


def _rankers(reports: Mapping[str, RankerReport]) -> dict[str, pb.RankerReport]:
    return {
        name: pb.RankerReport(
            rows=report.rows,
            error=report.error,
            timed_out=report.timed_out,
            removed_by_cosine_floor=report.removed_by_cosine_floor,
            latency_ms=report.latency_ms,
        )
        for name, report in reports.items()
    }


def _quality(quality: Quality) -> pb.QualityAttestation:
    return pb.QualityAttestation(
        effective_min_score=quality.effective_min_score,
        results_below_threshold=quality.results_below_threshold,
        retrieval_outcome=_outcome(quality.retrieval_outcome),
        fallback_used=quality.fallback is not None,
        fallback_reason=quality.fallback.value if quality.fallback else "",
        rankers=_rankers(quality.rankers),
        expanded=quality.expanded,
        rewrites=list(quality.rewrites),
        removed_by_expansion_floor=quality.removed_by_expansion_floor,
        best_cosine=quality.best_cosine,
        no_match=quality.no_match,
        nearest=[
            pb.Nearest(chunk_id=chunk.chunk_id, document_id=chunk.document_id, cosine=cosine)
            for chunk, cosine in quality.nearest
        ],
        best_removed_score=quality.best_removed_score,
        corpus_version=quality.corpus_version,
        score_histogram=list(quality.score_histogram),
        omitted=_omitted(quality.omitted),
        prompt_tokens=quality.prompt_tokens,
        last_good_knobs=quality.last_good_knobs,
        relevance=_relevance(quality.relevance) if quality.relevance else None,
    )


def _relevance(found: TaskRelevance) -> pb.TaskRelevance:
    return pb.TaskRelevance(
        tier=found.tier,
        p_value=found.p_value,
        z=found.z,
        cosine=found.cosine,
        cut_off=found.cut_off,
        probes=found.probes,
        alpha=found.alpha,
        probe_set_version=found.probe_set_version,
        chunks=found.chunks,
    )


def _omitted(omitted: Omitted) -> pb.Omitted:
    return pb.Omitted(
        duplicates=omitted.duplicates,
        per_document=omitted.per_document,
        max_chunks=omitted.max_chunks,
        token_budget=omitted.token_budget,
    )


def _identity(embedder: EmbedderIdentity) -> pb.EmbedderIdentity:
    return pb.EmbedderIdentity(
        model=embedder.model,
        revision=embedder.revision,
        pooling=embedder.pooling,
        dimensions=embedder.dimensions,
    )


def _outcome(outcome: Outcome) -> pb.RetrievalOutcome:
    return pb.RetrievalOutcome[outcome.value]
