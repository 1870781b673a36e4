"""Counts candidates from stage to stage, and under another floor."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from knobctl.diagnosis.answer import BANDS, Surface
from knobctl.fusion import exact

if TYPE_CHECKING:
    from knobctl.diagnosis.answer import Answer


@dataclass(frozen=True, slots=True)
class Stage:
    """How many rows came out of one step of the pipeline."""

    name: str
    rows: int | None
    """None where the answer does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """How many candidates another floor would keep, as far as one answer tells."""

    floor: Fraction
    at_least: int
    at_most: int | None
    """None where there may be more than the answer shows."""


def stages(answer: Answer) -> list[Stage]:
    """The steps in their order, each with what came out of it."""
    found: list[Stage] = []
    rankers = (answer.rankers or {}).values()
    ran = answer.rankers is not None
    found.append(Stage("rankers", sum(one.rows for one in rankers) if ran else None))
    if any(one.removed_by_cosine for one in rankers):
        left = sum(one.rows - one.removed_by_cosine for one in rankers)
        found.append(Stage("cosine floor", max(left, 0)))
    candidates = answer.candidates
    cut = answer.removed_by_expansion
    found.append(Stage("fusion", None if candidates is None else candidates + cut))
    if cut:
        found.append(Stage("expansion floor", candidates))
    if answer.no_match:
        found.append(Stage("no-match gate", 0))
    else:
        known = answer.removed is not None
        found.append(Stage("floor", answer.kept if known or answer.rows else None))
    found.append(
        Stage("prompt" if answer.surface is Surface.ASSEMBLE else "topK", len(answer.rows))
    )
    return found


def first_empty(answer: Answer) -> Stage | None:
    """The first step out of which nothing came, though something may have gone in."""
    return next((stage for stage in stages(answer) if stage.rows == 0), None)


def would_keep(answer: Answer, floor: Fraction) -> WhatIf | None:
    """Bound how many candidates another floor keeps; None where the answer holds nothing to count.

    Known are the scores of what was returned, the bands of all candidates, and the best removed score.
    """
    shown = sum(exact(score) >= floor for score in answer.scores)
    if answer.candidates == 0 or (answer.candidates is None and not answer.rows):
        return None
    if answer.surface is Surface.SEARCH and answer.scores and floor > exact(answer.scores[-1]):
        # What topK left out scores no more than the last that it did not.
        return WhatIf(floor=floor, at_least=shown, at_most=shown)
    at_least, at_most = (
        _by_counts(answer, floor, shown)
        if answer.bands is None
        else _by_bands(answer, answer.bands, floor, shown)
    )
    return WhatIf(floor=floor, at_least=at_least, at_most=at_most)


def _by_bands(
    answer: Answer, bands: tuple[int, ...], floor: Fraction, shown: int
) -> tuple[int, int]:
    above = sum(number for at, number in enumerate(bands) if Fraction(at, BANDS) >= floor)
    split = sum(
        number
        for at, number in enumerate(bands)
        if Fraction(at, BANDS) < floor <= Fraction(at + 1, BANDS)
    )
    at_least, at_most = max(above, shown), above + split
    best = answer.best_removed
    ran = None if answer.floor is None else exact(answer.floor)
    if ran is not None and floor <= ran:
        # What passed a higher floor passes this one; so does the best that it removed.
        reached = best is not None and exact(best) >= floor
        at_least = max(at_least, answer.kept + reached)
        if best is not None and not reached:
            at_most = min(at_most, answer.kept)
    elif ran is not None and len(answer.scores) == answer.kept:
        return shown, shown
    return min(at_least, at_most), at_most


def _by_counts(answer: Answer, floor: Fraction, shown: int) -> tuple[int, int | None]:
    ran = None if answer.floor is None else exact(answer.floor)
    unseen = answer.omitted.total
    cut_by_top_k = answer.surface is Surface.SEARCH and bool(answer.rows)
    if ran is None or answer.removed is None:
        return shown, None
    if floor > ran:
        return shown, None if cut_by_top_k else shown + unseen
    kept = len(answer.rows) + unseen
    reached = answer.best_removed is None or exact(answer.best_removed) >= floor
    certain = kept + (answer.best_removed is not None and reached)
    if floor == ran:
        return kept, None if cut_by_top_k else kept
    most = kept + (answer.removed if reached else 0)
    return min(certain, most), None if cut_by_top_k else most
