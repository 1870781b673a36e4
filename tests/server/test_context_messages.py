"""Answers of retrieval and ingest on the wire: every field arrives, in the JSON that clients read."""

from __future__ import annotations

import dataclasses

import pytest

from knobctl.server.retrieval.model import (
    Assembled,
    Candidate,
    Deleted,
    Evaluation,
    Fallback,
    Hit,
    Omitted,
    Outcome,
    Quality,
    RankerReport,
    SearchAnswer,
    Text,
    Upserted,
)
from knobctl.server.retrieval.off_topic import Tier
from knobctl.server.retrieval.relevance import TaskRelevance
from knobctl.server.store.corpus import Chunk, Description, EmbedderIdentity, SourceCount
from knobctl.server.wire import context_pb as pb
from knobctl.server.wire.context_messages import (
    as_json,
    assembled_message,
    deleted_message,
    described_message,
    evaluated_message,
    search_message,
    texts,
    upserted_message,
)

CHUNK = Chunk(
    chunk_id="d#1",
    document_id="d",
    source_id="wiki",
    text="Rain falls.",
    created_at="2026-11-29T20:00:00.000000Z",
    metadata={"lang": "en"},
)
HIT = Hit(
    candidate=Candidate(chunk_id="d#1", score=0.5, ranks={"vector": 1, "recency": 3}),
    chunk=CHUNK,
    cosine=0.25,
)
HIT_JSON = {
    "chunkId": "d#1",
    "documentId": "d",
    "sourceId": "wiki",
    "text": "Rain falls.",
    "score": 0.5,
    "ranks": {"vector": 1, "recency": 3},
    "cosine": 0.25,
    "createdAt": "2026-11-29T20:00:00.000000Z",
    "metadata": {"lang": "en"},
}
RANKERS = {"bm25": RankerReport(error="late", timed_out=True, latency_ms=1.5)}
RANKERS_JSON = {"bm25": {"error": "late", "timedOut": True, "latencyMs": 1.5}}
QUALITY = Quality(
    effective_min_score=0.3,
    retrieval_outcome=Outcome.BELOW_THRESHOLD,
    corpus_version="c7",
    results_below_threshold=12,
    fallback=Fallback.RETRIEVAL_TIMEOUT,
    rankers=RANKERS,
    expanded=True,
    rewrites=("rain",),
    removed_by_expansion_floor=4,
    best_cosine=0.0,
    no_match=True,
    nearest=((CHUNK, 0.25),),
    best_removed_score=0.25,
    score_histogram=(0, 2),
    omitted=Omitted(duplicates=1, per_document=2, max_chunks=3, token_budget=4),
    prompt_tokens=9,
    last_good_knobs=True,
    relevance=TaskRelevance(
        tier=Tier.NO_MATCH,
        p_value=1.0,
        z=-0.5,
        cosine=0.0,
        cut_off=0.25,
        probes=99,
        alpha=0.05,
        probe_set_version=2,
        chunks=30,
    ),
)
QUALITY_JSON = {
    "effectiveMinScore": 0.3,
    "resultsBelowThreshold": 12,
    "retrievalOutcome": "below_threshold",
    "fallbackUsed": True,
    "fallbackReason": "retrieval_timeout",
    "rankers": RANKERS_JSON,
    "expanded": True,
    "rewrites": ["rain"],
    "removedByExpansionFloor": 4,
    "bestCosine": 0.0,
    "noMatch": True,
    "nearest": [{"chunkId": "d#1", "documentId": "d", "cosine": 0.25}],
    "bestRemovedScore": 0.25,
    "corpusVersion": "c7",
    "scoreHistogram": [0, 2],
    "omitted": {"duplicates": 1, "perDocument": 2, "maxChunks": 3, "tokenBudget": 4},
    "promptTokens": 9,
    "lastGoodKnobs": True,
    "relevance": {
        "tier": "no_match",
        "pValue": 1.0,
        "z": -0.5,
        "cosine": 0.0,
        "cutOff": 0.25,
        "probes": 99,
        "alpha": 0.05,
        "probeSetVersion": 2,
        "chunks": 30,
    },
}


def test_the_answer_of_search_arrives_whole() -> None:
    """Every field, under its lowerCamelCase name; a cosine of none is left out."""
    answer = SearchAnswer(
        results=(HIT, dataclasses.replace(HIT, cosine=None)),
        effective_min_score=0.7,
        results_below_threshold=2,
        outcome=Outcome.OK,
        rankers=RANKERS,
        best_removed_score=0.5,
        corpus_version="c7",
        score_histogram=(1, 0, 2),
        last_good_knobs=True,
    )
    without = {name: value for name, value in HIT_JSON.items() if name != "cosine"}
    assert as_json(search_message(answer)) == {
        "results": [HIT_JSON, without],
        "effectiveMinScore": 0.7,
        "resultsBelowThreshold": 2,
        "outcome": "ok",
        "rankers": RANKERS_JSON,
        "bestRemovedScore": 0.5,
        "corpusVersion": "c7",
        "scoreHistogram": [1, 0, 2],
        "lastGoodKnobs": True,
    }


def test_what_is_not_measurable_is_said_and_its_numbers_are_left_out() -> None:
    """A tier is always there where it was asked for; where it was not, nothing is."""
    unknown = dataclasses.replace(QUALITY, relevance=TaskRelevance())
    unasked = dataclasses.replace(QUALITY, relevance=None)
    said, unsaid = (
        as_json(assembled_message(Assembled(prompt="", chunks=(), quality=one)))["quality"]
        for one in (unknown, unasked)
    )
    assert said["relevance"] == {"tier": "not_measurable", "alpha": 0.05, "probeSetVersion": 2}
    assert "relevance" not in unsaid


def test_the_answer_of_assembly_arrives_whole() -> None:
    """Prompt, chunks and every field of the quality block."""
    assembled = Assembled(prompt="Text", chunks=(HIT,), quality=QUALITY)
    assert as_json(assembled_message(assembled)) == {
        "prompt": "Text",
        "chunks": [HIT_JSON],
        "quality": QUALITY_JSON,
    }


@pytest.mark.parametrize("include_text", [True, False])
def test_an_evaluation_carries_text_only_where_it_was_asked_for(include_text: bool) -> None:
    """The rest of a hit is the same, and the prompt is left out."""
    one = Evaluation(
        query="rain?",
        candidates=(HIT,),
        rankers=RANKERS,
        best_cosine=0.25,
        assembled=Assembled(prompt="Text", chunks=(HIT,), quality=QUALITY),
    )
    hit = {name: value for name, value in HIT_JSON.items() if include_text or name != "text"}
    written = {
        "query": "rain?",
        "candidates": [hit],
        "rankers": RANKERS_JSON,
        "bestCosine": 0.25,
        "chunks": [hit],
        "quality": QUALITY_JSON,
    }
    assert as_json(evaluated_message([[one]], "c7", include_text=include_text)) == {
        "evaluations": [written],
        "corpusVersion": "c7",
    }
    assert as_json(evaluated_message([[one], [], [one, one]], "c7", include_text=include_text)) == {
        "evaluations": [written],
        "corpusVersion": "c7",
        "further": [{}, {"evaluations": [written, written]}],
    }


def test_answers_of_ingest_arrive_whole() -> None:
    """Counts, versions and the embedder's identity."""
    upserted = Upserted(written=1, unchanged=2, removed=3, corpus_version="c8")
    assert as_json(upserted_message(upserted)) == {
        "written": 1,
        "unchanged": 2,
        "removed": 3,
        "corpusVersion": "c8",
    }
    deleted = Deleted(documents=1, chunks=2, corpus_version="c9")
    assert as_json(deleted_message(deleted)) == {
        "documents": 1,
        "chunks": 2,
        "corpusVersion": "c9",
    }
    described = Description(
        version=9,
        documents=1,
        chunks=2,
        sources=(SourceCount(source_id="wiki", documents=1, chunks=2),),
        oldest="2026-11-29T20:00:00Z",
        newest="2026-11-29T21:00:00Z",
    )
    embedder = EmbedderIdentity(model="m", revision="r", pooling="mean", dimensions=384)
    assert as_json(described_message("acme", described, embedder)) == {
        "tenantId": "acme",
        "corpusVersion": "c9",
        "documents": 1,
        "chunks": 2,
        "sources": [{"sourceId": "wiki", "documents": 1, "chunks": 2}],
        "oldest": "2026-11-29T20:00:00Z",
        "newest": "2026-11-29T21:00:00Z",
        "embedder": {"model": "m", "revision": "r", "pooling": "mean", "dimensions": 384},
    }


def test_an_upsert_gives_its_texts() -> None:
    """Every field of a chunk, and empty texts for what was left out."""
    request = pb.UpsertChunksRequest(
        chunks=[
            pb.Chunk(
                document_id="d",
                chunk_id="c",
                source_id="s",
                text="t",
                created_at="2026-11-29",
                metadata={"a": "b"},
            ),
            pb.Chunk(document_id="d"),
        ]
    )
    assert texts(request) == [
        Text(
            document_id="d",
            chunk_id="c",
            source_id="s",
            text="t",
            created_at="2026-11-29",
            metadata={"a": "b"},
        ),
        Text(document_id="d", text=""),
    ]


def test_the_wire_has_every_outcome_and_no_other() -> None:
    """One closed enumeration, by name."""
    assert [value.name for value in pb.RetrievalOutcome.desc().values] == [*Outcome]
