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
"""Remembered for one fusion, at about 200 bytes each."""


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
    by_chunk: dict[str, dict[str, int]] = {}
    for ranker in fusion.weights:
        for chunk_id, rank in ranks.get(ranker, {}).items():
            by_chunk.setdefault(chunk_id, {})[ranker] = rank
    score = _scoring(fusion.k, tuple(fusion.weights.items()), tuple(active)).of
    candidates = [
        Candidate(chunk_id=chunk_id, score=score(held), ranks=held)
        for chunk_id, held in by_chunk.items()
    ]
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.chunk_id))
    return tuple(candidates)


class _Scoring:
    """The scores under one fusion, remembered by ranks: a hundred candidates have few of them that are new."""

    def __init__(self, k: int, weights: Mapping[str, float], active: Collection[str]) -> None:
        self._k = k
        self._weights = weights
        self._active = active
        self._known: dict[tuple[tuple[str, int], ...], float] = {}

    def of(self, held: Mapping[str, int]) -> float:
        ranks = tuple(held.items())
        score = self._known.get(ranks)
        if score is None:
            score = fused_score(held, weights=self._weights, k=self._k, active=self._active)
            if len(self._known) < MOST_SCORES:
                self._known[ranks] = score
        return score


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
