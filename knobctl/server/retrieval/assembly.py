"""Which of the kept chunks enter the prompt, and what left the others out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from knobctl.server.retrieval.model import Omitted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from knobctl.server.retrieval.model import Hit
    from knobctl.server.retrieval.settings import AssemblyLimits

ROUNDING: Final = 1e-6
"""More than the cosine of two float32 vectors is off: that of a vector with itself comes out as 1 -+ 2e-7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """What enters the prompt, in its order. Hits and omitted together are what was given."""

    hits: tuple[Hit, ...]
    omitted: Omitted
    tokens: int
    """Of the texts of the hits."""


def pick(
    hits: Sequence[Hit],
    vectors: NDArray[np.float32],
    limits: AssemblyLimits,
    count_tokens: Callable[[str], int],
) -> Picked:
    """Choose by relevance and diversity, one after the other, until a limit says no more.

    Args:
        hits: What the floor kept, best first.
        vectors: Of unit length, one a hit, shape (hits, dimensions).
        limits: De-duplication, diversity, and how much may enter.
        count_tokens: How many tokens a text has.

    Source: maximal marginal relevance, Carbonell and Goldstein 1998, with the fused score as relevance.
    """
    if not hits:
        return Picked(hits=(), omitted=Omitted(), tokens=0)
    distinct = _distinct(vectors, limits.dedup_min_similarity)
    # In the order of ids, so that of equal ones the first is taken.
    distinct.sort(key=lambda index: hits[index].chunk.chunk_id)
    picking = _Picking([hits[index] for index in distinct], vectors[distinct], limits)
    picking.run(count_tokens)
    return Picked(
        hits=tuple(picking.picked),
        omitted=Omitted(
            duplicates=len(hits) - len(distinct),
            per_document=picking.per_document,
            max_chunks=picking.left,
            token_budget=picking.over_budget,
        ),
        tokens=picking.tokens,
    )


class _Picking:
    """One run of picking."""

    def __init__(
        self, hits: list[Hit], vectors: NDArray[np.float32], limits: AssemblyLimits
    ) -> None:
        self._hits = hits
        self._vectors = vectors
        self._limits = limits
        self._relevance = limits.mmr_lambda * np.array([hit.candidate.score for hit in hits])
        self._nearest = np.full(len(hits), -np.inf)
        """Of each hit, its cosine to the picked hit that is most like it."""
        self._of_document: Counter[str] = Counter()
        self.picked: list[Hit] = []
        self.left = len(hits)
        self.per_document = self.over_budget = self.tokens = 0

    def run(self, count_tokens: Callable[[str], int]) -> None:
        while self.left and len(self.picked) < self._limits.max_chunks:
            index = self._next()
            self._relevance[index] = -np.inf
            self.left -= 1
            hit = self._hits[index]
            if self._of_document[hit.chunk.document_id] == self._limits.per_document:
                self.per_document += 1
                continue
            tokens = count_tokens(hit.chunk.text)
            if self.tokens + tokens > self._limits.token_budget:
                self.over_budget += 1
                continue
            self._take(index, tokens)

    def _next(self) -> int:
        if not self.picked:
            return int(np.argmax(self._relevance))
        return int(np.argmax(self._relevance - (1 - self._limits.mmr_lambda) * self._nearest))

    def _take(self, index: int, tokens: int) -> None:
        hit = self._hits[index]
        self.picked.append(hit)
        self._of_document[hit.chunk.document_id] += 1
        self.tokens += tokens
        np.maximum(self._nearest, self._vectors @ self._vectors[index], out=self._nearest)


def _distinct(vectors: NDArray[np.float32], min_similarity: float) -> list[int]:
    """The rows that are not the same text as an earlier one that is kept itself."""
    kept: list[int] = []
    nearest = np.full(len(vectors), -np.inf)
    for index, vector in enumerate(vectors):
        if nearest[index] < min_similarity - ROUNDING:
            kept.append(index)
            rest = slice(index + 1, None)
            np.maximum(nearest[rest], vectors[rest] @ vector, out=nearest[rest])
    return kept
