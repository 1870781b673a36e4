"""Candidates beyond one machine: a Milvus that follows the catalogue, for any number of engine processes.

Nothing that it says is taken on trust: ids that the catalogue no longer has are dropped, cosines are computed from
the catalogue's vectors, and of its scores only the order counts.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

import numpy as np

from knobctl.errors import UsageError
from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.candidates.nearest import cosines, ranked
from knobctl.server.candidates.words import by_ties, ends_of_ties, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from knobctl.server.candidates.interface import Vector
    from knobctl.server.candidates.milvus_server import IndexedChunk
    from knobctl.server.store.corpus import Changes, Chunk
    from knobctl.server.store.interface import Session, Store

SCHEME: Final = "milvus:"
_PAGE: Final = 2_000
"""Chunks read from the catalogue at once: some megabytes."""
MOST_ROWS: Final = 16_384
"""What one search of a Milvus gives at most."""
_SPARE: Final = 32
"""Rows fetched beyond those asked for, so that ties at the cut seldom need a second search."""
_ROUGH: Final = 1e-5
"""More than a float32 cosine is off."""
_FEWEST_DIMENSIONS: Final = 2
"""That a field of vectors has."""
_EVERY_TENANT: Final = ""
"""Under which name the number of the collection is kept."""

T = TypeVar("T")


class MilvusCandidates:
    """One collection for all tenants of a store. How far each is in it is kept in the catalogue's database."""

    def __init__(self, store: Store, url: str) -> None:
        """Take the place; nothing is asked yet.

        Args:
            store: Whose catalogue is indexed.
            url: `milvus:http://HOST:PORT`.

        Raises:
            UsageError: If the URL means no Milvus, or its client is not installed.
        """
        address = _address(url)
        try:
            from knobctl.server.candidates.milvus_server import MilvusServer
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in {"pymilvus", "grpc"}:
                raise
            raise UsageError(
                "candidates in Milvus need packages that are not installed",
                hint="pip install 'knobctl[cluster]'",
            ) from error
        self._store = store
        self._server = MilvusServer(address)
        parts = urlsplit(address)
        self._index = f"milvus {parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
        self._number: int | None = None
        """Of the collection that this process knows to be there."""
        self._lock = threading.Lock()

    def ask(self) -> None:
        """See whether the server answers."""
        self._server.has("knobctl")

    def follow(self, tenant: str, *, known: int | None = None) -> int:  # noqa: ARG002  how far it is, the store knows
        """Bring a tenant's index to the newest version of the catalogue."""
        with self._store.reading() as session:
            number = session.corpus.indexed(self._index, _EVERY_TENANT)
            version = session.corpus.version(tenant)
            position = session.corpus.indexed(_of(self._index, number), tenant)
        if version == 0 or (position == version and number == self._number):
            return version
        return self._again_if_gone(lambda: self._bring_forward(tenant))

    def by_vector(
        self, tenant: str, vector: Vector, *, limit: int, sources: frozenset[str] | None
    ) -> list[tuple[str, float]]:
        """The nearest chunks with their cosines."""
        if limit < 1 or sources == frozenset() or not self._has_chunks(tenant):
            return []
        fetched = _most(limit + _SPARE)
        while True:
            found = self._nearest(tenant, vector, fetched, sources)
            exact = self._compared(tenant, vector, found, sources)
            last = min(exact.values(), default=-1.0)
            best = ranked(
                list(exact),
                np.arange(len(exact)),
                np.fromiter(exact.values(), np.float64, len(exact)),
                limit=limit,
            )
            complete = len(found) < fetched or fetched == MOST_ROWS
            if complete or (len(best) == limit and best[-1][1] > last + _ROUGH):
                return best
            fetched = _most(2 * fetched)

    def by_vectors(
        self,
        tenant: str,
        vectors: Sequence[Vector],
        *,
        limit: int,
        sources: frozenset[str] | None,
    ) -> list[list[tuple[str, float]]]:
        """The nearest chunks of each of several vectors."""
        return [self.by_vector(tenant, one, limit=limit, sources=sources) for one in vectors]

    def by_words(
        self, tenant: str, text: str, *, limit: int, sources: frozenset[str] | None
    ) -> list[str]:
        """The best lexical matches."""
        words = " ".join(dict.fromkeys(words_of(text)))
        if limit < 1 or not words or sources == frozenset() or not self._has_chunks(tenant):
            return []
        fetched = _most(limit + _SPARE)
        while True:
            found = self._lexical(tenant, words, fetched, sources)
            ids = [name for name, _ in found]
            ends = ends_of_ties([score for _, score in found])
            there = self._admitted(tenant, ids, sources)
            settled = sum(name in there for name in ids[: ends[-2] if len(ends) > 1 else 0])
            complete = len(found) < fetched or fetched == MOST_ROWS
            if complete or settled >= limit:
                return [name for name in by_ties(ids, ends) if name in there][:limit]
            fetched = _most(2 * fetched)

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def _bring_forward(self, tenant: str) -> int:
        number = self._collection_number()
        position = _of(self._index, number)
        while True:
            # One session a page: what was pushed stays, and a page pushed twice does no harm.
            with self._store.indexing(tenant) as session:
                changes = session.corpus.changes(
                    tenant, after=session.corpus.indexed(position, tenant), limit=_PAGE
                )
                self._push(session, tenant, number, changes)
                session.corpus.set_indexed(position, tenant, changes.version)
            if changes.complete:
                return changes.version

    def _push(self, session: Session, tenant: str, number: int, changes: Changes) -> None:
        collection = _name(session.store_id(), number)
        if session.corpus.indexed(_of(self._index, number), tenant) == 0:
            self._server.clear(collection, tenant)  # what a push that was cut off has left
        if changes.removed:
            self._server.remove(collection, tenant, changes.removed)
        if changes.written:
            self._server.put(collection, tenant, _entries(changes.written, _dimensions(session)))

    def _collection_number(self) -> int:
        """The number of the store's collection; a new one where it is not on the server."""
        with self._lock:
            if self._number is not None:
                return self._number
            with self._store.indexing(_EVERY_TENANT) as session:
                number = session.corpus.indexed(self._index, _EVERY_TENANT)
                if not number or not self._server.has(_name(session.store_id(), number)):
                    number += 1
                    self._server.make(
                        _name(session.store_id(), number), dimensions=_dimensions(session)
                    )
                    session.corpus.set_indexed(self._index, _EVERY_TENANT, number)
            self._number = number
            return number

    def _again_if_gone(self, ask: Callable[[], T]) -> T:
        """Ask, and where the collection is gone, find or make the new one and ask once more."""
        from knobctl.server.candidates.milvus_server import CollectionGoneError

        try:
            return ask()
        except CollectionGoneError:
            with self._lock:
                self._number = None
            return ask()

    def _has_chunks(self, tenant: str) -> bool:
        with self._store.reading() as session:
            return session.corpus.version(tenant) > 0

    def _nearest(
        self, tenant: str, vector: Vector, limit: int, sources: frozenset[str] | None
    ) -> list[str]:
        return self._search(
            tenant,
            lambda collection: self._server.nearest(
                collection, tenant, vector, limit=limit, sources=sources
            ),
        )

    def _lexical(
        self, tenant: str, words: str, limit: int, sources: frozenset[str] | None
    ) -> list[tuple[str, float]]:
        return self._search(
            tenant,
            lambda collection: self._server.lexical(
                collection, tenant, words, limit=limit, sources=sources
            ),
        )

    def _search(self, tenant: str, ask: Callable[[str], T]) -> T:
        def asked() -> T:
            if self._number is None:
                self._bring_forward(tenant)
            with self._store.reading() as session:
                store_id = session.store_id()
            return ask(_name(store_id, self._collection_number()))

        return self._again_if_gone(asked)

    def _compared(
        self,
        tenant: str,
        vector: Vector,
        chunk_ids: Collection[str],
        sources: frozenset[str] | None,
    ) -> dict[str, float]:
        """The cosines of those of these chunks that the catalogue has, in these sources."""
        if not chunk_ids:
            return {}
        with self._store.reading() as session:
            dimensions = _dimensions(session)
            found = session.corpus.chunks(tenant, chunk_ids, vectors=True)
        vectors = _usable(
            (chunk for chunk in found.values() if _is_admitted(chunk, sources)), dimensions
        )
        if not vectors:
            return {}
        if vector.shape != (dimensions,) or not np.isfinite(vector).all():
            raise CandidatesUnavailableError(
                f"a vector of shape {vector.shape} cannot be compared with chunks of {dimensions}"
                " dimensions, or is not finite"
            )
        scores = cosines(np.stack(list(vectors.values())), np.arange(len(vectors)), vector)
        return dict(zip(vectors, scores.tolist(), strict=True))

    def _admitted(
        self, tenant: str, chunk_ids: Collection[str], sources: frozenset[str] | None
    ) -> set[str]:
        with self._store.reading() as session:
            found = session.corpus.chunks(tenant, chunk_ids)
        return {name for name, chunk in found.items() if _is_admitted(chunk, sources)}


def _address(url: str) -> str:
    address = url.removeprefix(SCHEME)
    try:
        parts = urlsplit(address)
        names_one = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # of a port that is no number; not chained, it may be a password
        names_one = False
    if not url.startswith(SCHEME) or not names_one:
        raise UsageError(
            "the URL of the candidates names no Milvus",
            hint="write milvus:http://HOST:19530, or leave it out for indexes in the engine itself",
        )
    return address


def _of(index: str, number: int) -> str:
    """Under which name a collection's positions are kept."""
    return f"{index} {number}"


def _name(store_id: str, number: int) -> str:
    return f"knobctl_{store_id}_{number}"


def _most(rows: int) -> int:
    return min(rows, MOST_ROWS)


def _dimensions(session: Session) -> int:
    identity = session.corpus.embedder()
    return identity.dimensions if identity else _FEWEST_DIMENSIONS


def _entries(chunks: Sequence[Chunk], dimensions: int) -> list[IndexedChunk]:
    from knobctl.server.candidates.milvus_server import IndexedChunk

    vectors = _usable(chunks, dimensions)
    # A chunk whose vector cannot be compared is still found by its words, and dropped from the nearest.
    nowhere = np.eye(1, max(dimensions, _FEWEST_DIMENSIONS), dtype=np.float32)[0]
    return [
        IndexedChunk(
            chunk_id=chunk.chunk_id,
            source_id=chunk.source_id,
            words=" ".join(words_of(chunk.text)),
            vector=vectors.get(chunk.chunk_id, nowhere),
        )
        for chunk in chunks
    ]


def _usable(chunks: Iterable[Chunk], dimensions: int) -> dict[str, NDArray[np.float32]]:
    """The vectors that are of the right length and finite, by chunk."""
    vectors = {
        chunk.chunk_id: np.frombuffer(chunk.vector, "<f4")
        for chunk in chunks
        if len(chunk.vector) == 4 * dimensions
    }
    return {name: vector for name, vector in vectors.items() if np.isfinite(vector).all()}


def _is_admitted(chunk: Chunk, sources: frozenset[str] | None) -> bool:
    return sources is None or chunk.source_id in sources
