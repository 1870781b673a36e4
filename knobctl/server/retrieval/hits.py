"""Candidates with their chunks and their cosines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from knobctl.server.candidates.nearest import cosines
from knobctl.server.retrieval.model import Hit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knobctl.server.retrieval.cache import Retrieved
    from knobctl.server.retrieval.model import Candidate
    from knobctl.server.store.corpus import Chunk


def needs_vectors(chunk_ids: Iterable[str], retrieved: Retrieved) -> bool:
    """Whether a cosine is missing that the chunks' vectors can give."""
    if retrieved.query_vector is None:
        return False
    return not all(map(retrieved.cosines.__contains__, chunk_ids))


def hits(
    candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], retrieved: Retrieved
) -> tuple[Hit, ...]:
    """Put candidates together with their chunks.

    Args:
        candidates: Which ones.
        chunks: Every one of them by id, with its vector where `needs_vectors` said so.
        retrieved: Where the candidates come from; it remembers the cosines that are reckoned here.

    Returns:
        Hits without vectors, so that an answer is the same whether or not they were needed.
    """
    _reckon_cosines([chunks[candidate.chunk_id] for candidate in candidates], retrieved)
    return tuple(
        Hit(
            candidate=candidate,
            chunk=_without_vector(chunks[candidate.chunk_id]),
            cosine=retrieved.cosines.get(candidate.chunk_id),
        )
        for candidate in candidates
    )


def _reckon_cosines(chunks: Sequence[Chunk], retrieved: Retrieved) -> None:
    if retrieved.query_vector is None:
        return
    missing = [chunk for chunk in chunks if chunk.chunk_id not in retrieved.cosines]
    if missing:
        # As the vector ranker reckons them, so that a cosine is the same whoever found the chunk.
        found = cosines(stacked(missing), np.arange(len(missing)), retrieved.query_vector)
        for chunk, cosine in zip(missing, found.tolist(), strict=True):
            retrieved.cosines[chunk.chunk_id] = cosine


def _without_vector(chunk: Chunk) -> Chunk:
    return replace(chunk, vector=b"") if chunk.vector else chunk


def stacked(chunks: Sequence[Chunk]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The vectors of chunks, shape (chunks, dimensions)."""
    if not chunks:
        return np.empty((0, 0), np.float32)
    joined = b"".join(chunk.vector for chunk in chunks)
    return np.frombuffer(joined, dtype="<f4").reshape(len(chunks), -1)
