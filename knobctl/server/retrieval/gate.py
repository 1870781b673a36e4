"""The gates: whether a first pass will do, what an expansion pass may keep, and whether anything matches at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.server.retrieval.floor import apply_floor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.server.retrieval.model import Candidate, Fused
    from knobctl.server.retrieval.settings import Expansion


def accepts(first: Fused, expansion: Expansion) -> bool:
    """Whether the first pass stands as it is.

    It does where the gate is off, where its best score is high enough, and where no ranker returned
    a row, for there is nothing that more depth could bring.
    """
    if not expansion.is_on or not any(report.rows for report in first.rankers.values()):
        return True
    return bool(first.candidates) and first.candidates[0].score >= expansion.min_confident


def survivors(
    candidates: Sequence[Candidate], expansion: Expansion
) -> tuple[tuple[Candidate, ...], int]:
    """Keep what an expansion pass brought at its floor or above, and count the others."""
    floored = apply_floor(candidates, expansion.floor)
    return tuple(floored.kept), floored.removed


def no_match(best_cosine: float | None, min_cosine: float) -> bool:
    """Whether nothing admitted is near enough to the query.

    Args:
        best_cosine: Of the closest admitted chunk; None where nobody could tell, then the gate stays open.
        min_cosine: 0 for no such gate.
    """
    return min_cosine > 0 and best_cosine is not None and best_cosine < min_cosine
