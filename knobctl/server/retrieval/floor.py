"""The floor: the one place where candidates are held against it, counted and classified."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from knobctl.server.retrieval.model import HISTOGRAM_BANDS, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.server.retrieval.model import Candidate

_UPPER_ENDS: Final = [(band + 1) / HISTOGRAM_BANDS for band in range(HISTOGRAM_BANDS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Floored:
    """What a floor did. Kept and removed together are the candidates."""

    kept: Sequence[Candidate]
    """At the floor or above it, best first."""
    removed: int
    outcome: Outcome
    best_removed_score: float | None


def apply_floor(candidates: Sequence[Candidate], floor: float) -> Floored:
    """Keep what scores at least the floor.

    Args:
        candidates: Best first.
        floor: From 0 to 1; a score that equals it is kept.
    """
    kept = bisect_right(candidates, -floor, key=lambda candidate: -candidate.score)
    return Floored(
        kept=candidates[:kept],
        removed=len(candidates) - kept,
        outcome=_outcome(kept=kept, candidates=len(candidates)),
        best_removed_score=candidates[kept].score if kept < len(candidates) else None,
    )


def all_removed(candidates: Sequence[Candidate]) -> Floored:
    """What the no-match gate does: no candidate is kept, and each counts as removed."""
    return Floored(
        kept=(),
        removed=len(candidates),
        outcome=Outcome.BELOW_THRESHOLD,
        best_removed_score=candidates[0].score if candidates else None,
    )


def _outcome(*, kept: int, candidates: int) -> Outcome:
    if kept:
        return Outcome.OK
    return Outcome.BELOW_THRESHOLD if candidates else Outcome.NO_RESULTS


def histogram(candidates: Sequence[Candidate]) -> tuple[int, ...]:
    """Count candidates by score, in equal bands from 0 to 1; a score on an edge is in the band below it."""
    scores = sorted(candidate.score for candidate in candidates)
    upto = [bisect_right(scores, end) for end in _UPPER_ENDS]
    return tuple(count - before for before, count in pairwise([0, *upto]))
