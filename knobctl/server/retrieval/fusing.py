"""From the rankers' lists to one list of scored candidates. The arithmetic is `knobctl.fusion`'s."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knobctl.fusion import fused_score
from knobctl.server.retrieval.model import Candidate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from knobctl.server.retrieval.settings import Fusion

MOST_SCORES: Final = 20_000
"""Remembered for one fusion, at about 400 bytes each."""
_BITS: Final = 20
_MOST_RANKS: Final = (1 << _BITS) - 1


def fuse(
    ranks: Mapping[str, Mapping[str, int]], *, active: Collection[str], fusion: Fusion
) -> tuple[Candidate, ...]:
    """Score every chunk that a ranker returned.

    Args:
        ranks: Ranker to chunk id to rank, from 1.
        active: The rankers that returned a row, before any of their rows was dropped.
        fusion: The rank constant and the weights.

    Returns:
        Best first, then by chunk id; empty where no ranker returned anything.
    """
    scoring = _scoring(fusion.k, tuple(fusion.weights.items()), tuple(active))
    places: dict[str, int] = {}
    for shift, ranker in scoring.shifts:
        for chunk_id, rank in ranks.get(ranker, {}).items():
            places[chunk_id] = places.get(chunk_id, 0) + (rank << shift)
    scored = scoring.scored
    found = [(chunk_id, scored(place)) for chunk_id, place in places.items()]
    in_order = sorted((-score, chunk_id, held) for chunk_id, (score, held) in found)
    return tuple(
        Candidate(chunk_id=chunk_id, score=-score, ranks=held) for score, chunk_id, held in in_order
    )


class _Scoring:
    """The scores under one fusion, remembered by ranks: a hundred candidates have few of them that are new."""

    def __init__(self, k: int, weights: Mapping[str, float], active: Collection[str]) -> None:
        self._k = k
        self._weights = weights
        self._active = active
        self._known: dict[int, tuple[float, dict[str, int]]] = {}
        self.shifts = [(_BITS * number, ranker) for number, ranker in enumerate(weights)]
        """By how much each ranker's rank is shifted in the one number that stands for all ranks of a chunk."""

    def scored(self, place: int) -> tuple[float, dict[str, int]]:
        """The score of these ranks, and the ranks by name."""
        found = self._known.get(place)
        if found is None:
            ranks = {
                ranker: rank
                for shift, ranker in self.shifts
                if (rank := place >> shift & _MOST_RANKS)
            }
            score = fused_score(ranks, weights=self._weights, k=self._k, active=self._active)
            found = (score, ranks)
            if len(self._known) < MOST_SCORES:
                self._known[place] = found
        return found


@lru_cache(maxsize=64)
def _scoring(k: int, weights: tuple[tuple[str, float], ...], active: tuple[str, ...]) -> _Scoring:
    return _Scoring(k, dict(weights), active)


def best_ranks(lists: Sequence[Iterable[str]], depth: int) -> dict[str, int]:
    """Make one ranking of the lists that one ranker gave for several queries.

    Args:
        lists: Chunk ids, best first, one list a query.
        depth: Most chunks that remain.

    Returns:
        Chunk id to its best rank in any list, from 1, by rank and then by id. Chunks share a rank
        where each has it in a list of its own. One list keeps its own order.
    """
    if len(lists) == 1:
        return {
            chunk_id: rank for rank, chunk_id in zip(range(1, depth + 1), lists[0], strict=False)
        }
    best: dict[str, int] = {}
    for ids in lists:
        for rank, chunk_id in enumerate(ids, start=1):
            if rank < best.get(chunk_id, rank + 1):
                best[chunk_id] = rank
    in_order = sorted(best.items(), key=lambda item: (item[1], item[0]))
    return dict(in_order[:depth])
