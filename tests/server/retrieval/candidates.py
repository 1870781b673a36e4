"""Candidates, hits and settings made by hand, and ways for hypothesis to make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from knobctl.knobs import load_catalogue
from knobctl.server.retrieval.model import Candidate, Fused, Hit, RankerReport
from knobctl.server.retrieval.settings import Fusion, Settings, settings_of
from knobctl.server.store.corpus import Chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

EQUAL = Fusion(k=60, weights={"vector": 1.0, "bm25": 1.0, "recency": 1.0})
"""As shipped."""


def under(**knobs: Any) -> Settings:
    """The settings of a set."""
    catalogue = load_catalogue()
    return settings_of(catalogue, catalogue.canonical(knobs))


def candidate(chunk_id: str, score: float, **ranks: int) -> Candidate:
    return Candidate(chunk_id=chunk_id, score=score, ranks=ranks or {"vector": 1})


def scored(*scores: float) -> list[Candidate]:
    """Candidates c1, c2, ... with these scores, best first."""
    in_order = sorted(scores, reverse=True)
    return [candidate(f"c{number:03}", score) for number, score in enumerate(in_order, start=1)]


def fused(candidates: Sequence[Candidate], **reports: RankerReport) -> Fused:
    reports = reports or {"vector": RankerReport(rows=len(candidates))}
    return Fused(candidates=tuple(candidates), rankers=reports, best_cosine=None)


def hit(
    chunk_id: str,
    score: float,
    vector: Sequence[float],
    *,
    document: str = "",
    words: str = "one two three",
) -> Hit:
    """A hit with a vector, which is brought to unit length."""
    array = np.array(vector, dtype="<f4")
    chunk = Chunk(
        chunk_id=chunk_id,
        document_id=document or chunk_id,
        source_id="default",
        text=words,
        created_at="",
        vector=(array / np.linalg.norm(array)).astype("<f4").tobytes(),
    )
    return Hit(candidate=candidate(chunk_id, score), chunk=chunk, cosine=None)


def words(text: str) -> int:
    """Counts tokens where a test wants to know the number at a glance."""
    return len(text.split())


CHUNKS = st.sampled_from([f"c{number:02}" for number in range(30)])
RANKINGS = st.dictionaries(
    st.sampled_from(["vector", "bm25", "recency"]),
    st.lists(CHUNKS, min_size=1, max_size=20, unique=True),
    min_size=1,
)
"""Ranker to what it returned, best first."""
SCORES = st.lists(st.floats(min_value=1e-6, max_value=1.0), max_size=40)
