"""Small corpora with vectors that a test can reckon with: eight dimensions, no embedder."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import TYPE_CHECKING, Any

from knobctl.server.store.corpus import Chunk, EmbedderIdentity

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from knobctl.server.store.interface import Store

DIMENSIONS = 8
IDENTITY = EmbedderIdentity(model="by hand", revision="1", pooling="none", dimensions=DIMENSIONS)
NOON = "2026-03-01T12:00:00.000000Z"


def unit(*values: float) -> bytes:
    """A vector in the direction of these first coordinates, as the catalogue holds it."""
    length = math.hypot(*values) or 1.0
    whole = [value / length for value in values] + [0.0] * (DIMENSIONS - len(values))
    return struct.pack(f"<{DIMENSIONS}f", *whole)


def at_angle(degrees: float) -> bytes:
    """A unit vector whose cosine with `unit(1)` is that of the angle."""
    return unit(math.cos(math.radians(degrees)), math.sin(math.radians(degrees)))


def chunk(name: str, text: str = "something", **facts: Any) -> Chunk:
    """A chunk of a document of its own, unless said otherwise."""
    own: dict[str, Any] = {
        "document_id": f"doc of {name}",
        "source_id": "default",
        "created_at": NOON,
        "vector": unit(1),
    }
    return Chunk(chunk_id=name, text=text, **(own | facts))


def write(
    store: Store, tenant: str, chunks: Sequence[Chunk] = (), removed: Collection[str] = ()
) -> int:
    """Change a tenant's corpus, and give its version."""
    with store.ingesting(tenant) as session:
        digested = [(chunk, hashlib.sha256(repr(chunk).encode()).hexdigest()) for chunk in chunks]
        return session.corpus.write(tenant, digested, removed)
