"""Candidates with their chunks and their cosines."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from knobctl.server.candidates.nearest import cosines
from knobctl.server.retrieval.model import Hit
from knobctl.server.store.corpus import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knobctl.server.retrieval.cache import Retrieved
    from knobctl.server.retrieval.model import Candidate

MOST_BARE: Final = 10_000
"""Chunks that are remembered by their ids alone: hits of many queries name the same ones."""


def needs_vectors(chunk_ids: Iterable[str], retrieved: Retrieved) -> bool:
    """Whether a cosine is missing that the chunks' vectors can give."""
    return bool(unmeasured(chunk_ids, retrieved))


def unmeasured(chunk_ids: Iterable[str], retrieved: Retrieved) -> list[str]:
    """The chunks whose cosine is missing, where their vectors can give it."""
    if retrieved.query_vector is None:
        return []
    return [one for one in chunk_ids if one not in retrieved.cosines]


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
    _reckon_cosines(candidates, chunks, retrieved)
    return tuple(
        Hit(
            candidate=candidate,
            chunk=_without_vector(chunks[candidate.chunk_id]),
            cosine=retrieved.cosines.get(candidate.chunk_id),
        )
        for candidate in candidates
    )


def bare_hits(
    candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], retrieved: Retrieved
) -> tuple[Hit, ...]:
    """Put candidates together with the ids of their chunks alone.

    Args:
        candidates: Which ones.
        chunks: Those of them that `unmeasured` names, with their vectors.
        retrieved: As in `hits`.
    """
    _reckon_cosines(candidates, chunks, retrieved)
    known = retrieved.cosines
    return tuple(
        Hit(candidate=one, chunk=_bare(one.chunk_id), cosine=known.get(one.chunk_id))
        for one in candidates
    )


@lru_cache(maxsize=MOST_BARE)
def _bare(chunk_id: str) -> Chunk:
    return Chunk(chunk_id=chunk_id, document_id="", source_id="", text="", created_at="")


def _reckon_cosines(
    candidates: Sequence[Candidate], chunks: Mapping[str, Chunk], retrieved: Retrieved
) -> None:
    missing = [
        chunks[chunk_id] for chunk_id in unmeasured([c.chunk_id for c in candidates], retrieved)
    ]
    if missing and retrieved.query_vector is not None:
        # As the vector ranker reckons them, so that a cosine is the same whoever found the chunk.
        found = cosines(stacked(missing), np.arange(len(missing)), retrieved.query_vector)
        for chunk, cosine in zip(missing, found.tolist(), strict=True):
            retrieved.cosines[chunk.chunk_id] = cosine


def _without_vector(chunk: Chunk) -> Chunk:
    if not chunk.vector:
        return chunk
    return Chunk(  # a third of the time of `replace`, and hits are many
        chunk_id=chunk.chunk_id,
        document_id=chunk.document_id,
        source_id=chunk.source_id,
        text=chunk.text,
        created_at=chunk.created_at,
        metadata=chunk.metadata,
    )


def stacked(chunks: Sequence[Chunk]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The vectors of chunks, shape (chunks, dimensions)."""
    if not chunks:
        return np.empty((0, 0), np.float32)
    joined = b"".join(chunk.vector for chunk in chunks)
    return np.frombuffer(joined, dtype="<f4").reshape(len(chunks), -1)
