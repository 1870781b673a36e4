"""The vectors of a corpus as the store holds them: for who measures the corpus, not for who searches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from knobctl.server.retrieval.embedder import Vectors
    from knobctl.server.store.interface import Store

AT_ONCE: Final = 5_000
"""Chunks of one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVectors:
    """One row a chunk, by chunk id."""

    chunk_ids: tuple[str, ...]
    vectors: Vectors
    """Shape (chunks, dimensions); of no columns where there is no chunk."""


def stored_vectors(store: Store, tenant: str, *, at_once: int = AT_ONCE) -> StoredVectors:
    """Read a tenant's vectors, all of one version.

    Args:
        store: The store.
        tenant: Whose.
        at_once: Chunks of one page.

    Raises:
        StoreUnavailableError: If the store cannot be asked, or its vectors are of unequal lengths.
    """
    found: dict[str, bytes] = {}
    with store.reading() as session:
        after = 0
        while True:
            page = session.corpus.changes(tenant, after=after, limit=at_once)
            for chunk_id in page.removed:
                found.pop(chunk_id, None)
            found |= {chunk.chunk_id: chunk.vector for chunk in page.written}
            if page.complete:
                break
            after = page.version
    ids = tuple(sorted(found))
    lengths = {len(vector) for vector in found.values()}
    if len(lengths) > 1:
        raise StoreUnavailableError("the store holds vectors of unequal lengths")
    rows = np.frombuffer(b"".join(found[name] for name in ids), "<f4")
    shape = (len(ids), len(rows) // len(ids) if ids else 0)
    return StoredVectors(chunk_ids=ids, vectors=rows.reshape(shape).astype(np.float32))
