"""What the pipeline needs of an index: ranked ids per ranker, with ties broken by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = "NDArray[np.float32]"


class CandidatesUnavailableError(Exception):
    """The index cannot be asked. Its text is for the log, not for callers."""


class Candidates(Protocol):
    """The indexes of every tenant. Safe to use from several threads.

    An index is derived: it can be thrown away and built again from the catalogue. Every method raises
    `CandidatesUnavailableError` where the index cannot be asked, and `StoreUnavailableError` where the
    catalogue cannot.
    """

    def ask(self) -> None:
        """See whether the index can be asked, without asking for anything."""

    def follow(self, tenant: str, *, known: int | None = None) -> int:
        """Bring a tenant's index to the newest version of the catalogue, and give that version.

        Args:
            tenant: Whose chunks.
            known: The version that the caller has just read: an index that is at it need not ask again.
        """

    def by_vector(
        self, tenant: str, vector: Vector, *, limit: int, sources: frozenset[str] | None
    ) -> list[tuple[str, float]]:
        """The nearest chunks with their cosines, best first, then by id.

        Args:
            tenant: Whose chunks.
            vector: Unit length, shape (dimensions,).
            limit: Most rows.
            sources: Only chunks of these; None for all.
        """

    def by_vectors(
        self,
        tenant: str,
        vectors: Sequence[Vector],
        *,
        limit: int,
        sources: frozenset[str] | None,
    ) -> list[list[tuple[str, float]]]:
        """What `by_vector` gives for each of several vectors, which may take less than one after the other."""

    def by_words(
        self, tenant: str, text: str, *, limit: int, sources: frozenset[str] | None
    ) -> list[str]:
        """The best lexical matches by BM25, best first, then by id; none where no word of the text is indexed."""

    def close(self) -> None:
        """Give back connections and files."""
