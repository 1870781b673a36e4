"""Indexes in the process: an exact scan and a graph for vectors, tantivy for words."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from knobctl.server.candidates.tenant import TenantIndex

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knobctl.server.candidates.interface import Vector
    from knobctl.server.candidates.moment import Moment
    from knobctl.server.store.interface import Store

EXACT_UP_TO: Final = 100_000
"""Chunks of a tenant that are scanned; with more, a graph gives the candidates."""
HELD_CHUNKS: Final = 500_000
"""Chunks of all tenants that are kept in memory, at some two kilobytes each; the tenant last asked for always is."""
HELD_TENANTS: Final = 1_000


class LocalCandidates:
    """The indexes of the tenants that were asked for last."""

    def __init__(
        self,
        store: Store,
        *,
        index_folder: Path | None,
        exact_up_to: int = EXACT_UP_TO,
        held_chunks: int = HELD_CHUNKS,
    ) -> None:
        """Take the place; nothing is read yet.

        Args:
            store: Whose catalogue is indexed.
            index_folder: Where graphs are kept; made where it is missing. None to keep none.
            exact_up_to: Chunks of a tenant that are scanned.
            held_chunks: Chunks of all tenants that are kept in memory.
        """
        self._store = store
        self._index_folder = index_folder
        self._exact_up_to = exact_up_to
        self._held_chunks = held_chunks
        self._tenants: OrderedDict[str, TenantIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    def ask(self) -> None:
        """Whatever is in this process can be asked."""

    def follow(self, tenant: str, *, known: int | None = None) -> int:
        """Bring a tenant's index to the newest version of the catalogue."""
        index = self._index(tenant)
        if known is not None and index.moment is not None and index.moment.version == known:
            return known
        version = index.follow()
        self._let_go()
        return version

    def by_vector(
        self, tenant: str, vector: Vector, *, limit: int, sources: frozenset[str] | None
    ) -> list[tuple[str, float]]:
        """The nearest chunks with their cosines."""
        return self._moment(tenant).by_vector(vector, limit=limit, sources=sources)

    def by_vectors(
        self,
        tenant: str,
        vectors: Sequence[Vector],
        *,
        limit: int,
        sources: frozenset[str] | None,
    ) -> list[list[tuple[str, float]]]:
        """The nearest chunks of each of several vectors."""
        return self._moment(tenant).by_vectors(vectors, limit=limit, sources=sources)

    def by_words(
        self, tenant: str, text: str, *, limit: int, sources: frozenset[str] | None
    ) -> list[str]:
        """The best lexical matches."""
        return self._moment(tenant).by_words(text, limit=limit, sources=sources)

    def settle(self, tenant: str) -> None:
        """Wait until no graph of a tenant is being built."""
        self._index(tenant).settle()

    def close(self) -> None:
        """Forget everything; what is being built is given up."""
        with self._lock:
            indexes = list(self._tenants.values())
            self._tenants.clear()
        for index in indexes:
            index.give_up()
        for index in indexes:
            index.settle()

    def _moment(self, tenant: str) -> Moment:
        index = self._index(tenant)
        if index.moment is None:
            self.follow(tenant)
        moment = index.moment
        assert moment is not None, "following leaves a moment"
        return moment

    def _index(self, tenant: str) -> TenantIndex:
        with self._lock:
            index = self._tenants.get(tenant)
            if index is None:
                index = TenantIndex(
                    self._store,
                    tenant,
                    index_folder=self._index_folder,
                    exact_up_to=self._exact_up_to,
                    turn=self._turn,
                )
                self._tenants[tenant] = index
            self._tenants.move_to_end(tenant)
            return index

    def _let_go(self) -> None:
        """Let the tenants go that were asked for longest ago, until the rest has room."""
        gone = []
        with self._lock:
            held = sum(index.chunks for index in self._tenants.values())
            while len(self._tenants) > 1 and (
                held > self._held_chunks or len(self._tenants) > HELD_TENANTS
            ):
                _, index = self._tenants.popitem(last=False)
                held -= index.chunks
                gone.append(index)
        for index in gone:
            index.give_up()
