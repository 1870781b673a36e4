"""From the rankers' lists to one list of scored candidates. The arithmetic is `knobctl.fusion`'s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.fusion import fused_score
from knobctl.server.retrieval.model import Candidate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from knobctl.server.retrieval.settings import Fusion


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
    candidates = [
        Candidate(
            chunk_id=chunk_id,
            score=fused_score(held, weights=fusion.weights, k=fusion.k, active=active),
            ranks=held,
        )
        for chunk_id, held in by_chunk.items()
    ]
    candidates.sort(key=lambda candidate: (-candidate.score, candidate.chunk_id))
    return tuple(candidates)


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
