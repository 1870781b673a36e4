"""What one tenant's indexes held at one version: readers keep it, followers put another in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.candidates.nearest import (
    best_rows,
    best_rows_of_each,
    cosines,
    ranked,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from knobctl.server.candidates.graph import Coverage
    from knobctl.server.candidates.interface import Vector
    from knobctl.server.candidates.words import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The indexes of one tenant at one version of its corpus. Nothing in it changes."""

    version: int
    ids: Sequence[str]
    """By row. The list goes on growing behind the rows of this moment."""
    chunks: int
    """How many are there: rows, less those that are dead."""
    source_numbers: Mapping[str, int]
    matrix: NDArray[np.float32]
    sources: NDArray[np.int32]
    usable: NDArray[np.bool_]
    """Which rows are there and have a vector that can be compared."""
    all_usable: bool
    words: Words
    coverage: Coverage | None = None
    """The graph over most of the rows, where there is one."""

    def by_vector(
        self, vector: Vector, *, limit: int, sources: frozenset[str] | None
    ) -> list[tuple[str, float]]:
        """The nearest chunks with their cosines."""
        if not self.chunks:
            return []
        self._require_comparable(vector)
        numbers = self._numbers(sources)
        if numbers is None and self.coverage is not None:
            rows, scores = self.coverage.nearest(self.matrix, self.usable, vector, limit=limit)
        else:
            admitted = self._admitted(numbers)
            rows = best_rows(self.matrix, vector, limit=limit, admitted=admitted)
            scores = cosines(self.matrix, rows, vector)
        return ranked(self.ids, rows, scores, limit=limit)

    def by_vectors(
        self, vectors: Sequence[Vector], *, limit: int, sources: frozenset[str] | None
    ) -> list[list[tuple[str, float]]]:
        """The nearest chunks of each of several vectors, as `by_vector` gives them."""
        numbers = self._numbers(sources)
        if len(vectors) < 2 or not self.chunks or (numbers is None and self.coverage is not None):
            return [self.by_vector(one, limit=limit, sources=sources) for one in vectors]
        for one in vectors:
            self._require_comparable(one)
        each = best_rows_of_each(
            self.matrix, np.stack(vectors), limit=limit, admitted=self._admitted(numbers)
        )
        return [
            ranked(self.ids, rows, cosines(self.matrix, rows, one), limit=limit)
            for one, rows in zip(vectors, each, strict=True)
        ]

    def by_words(self, text: str, *, limit: int, sources: frozenset[str] | None) -> list[str]:
        """The best lexical matches."""
        numbers = self._numbers(sources)
        if numbers == []:
            return []
        return self.words.ranked(text, self.ids, limit=limit, sources=numbers)

    def _admitted(self, numbers: list[int] | None) -> NDArray[np.bool_] | None:
        """Which rows to look at; None for all."""
        if numbers is None:
            return None if self.all_usable else self.usable
        table = np.zeros(len(self.source_numbers), np.bool_)
        table[numbers] = True
        of_sources: NDArray[np.bool_] = table[self.sources]
        return self.usable & of_sources

    def _numbers(self, sources: frozenset[str] | None) -> list[int] | None:
        """Numbers of the sources to look in; None where they are all that there are."""
        known = self.source_numbers
        if sources is None or known.keys() <= sources:
            return None
        return sorted(known[name] for name in sources if name in known)

    def _require_comparable(self, vector: Vector) -> None:
        if vector.shape != (self.matrix.shape[1],) or not np.isfinite(vector).all():
            raise CandidatesUnavailableError(
                f"a vector of shape {vector.shape} cannot be compared with chunks of {self.matrix.shape[1]}"
                " dimensions, or is not finite"
            )
