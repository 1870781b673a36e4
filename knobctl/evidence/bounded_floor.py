"""The largest floor that loses few of the questions that can be answered, and what is guaranteed of it. Pure.

A floor's loss is the share, of all questions like these that can be answered, that it turns away. What is
random is the draw of the labelled ones: each is drawn, independently of the others, from those that will be
asked. The floors to try are fixed before a score is seen, and they are tried from the lowest up. A floor
stands where the exact two-sided interval of its loss, at the stated confidence, ends at or under the bound;
the first that does not stand ends it, and the last that stood is the floor. For that to be one that loses
more than the bound, the lowest floor that does must have stood, and its interval ends under its loss in
at most half of 1 - confidence of the draws. So the floor keeps to the bound as often as stated, and more
often, however many floors are tried: no correction is due, and no question has to be kept back for it.

How many are lost is told, beside that, of questions that had no part in the choice: each tenth of them is
held against the floor that the other nine tenths choose.

Source: Angelopoulos, Bates, Candes, Jordan and Lei 2021, "Learn then test", fixed-sequence testing;
Clopper and Pearson 1934. The floor without a confidence: Angelopoulos, Bates, Fisch, Lei and Schuster
2024, "Conformal risk control".
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knobctl.evidence.rates import Rate, binomial_cdf, exact_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS: Final = 10
"""Of the questions, for judging each by a floor that the others chose."""
_ROUNDING: Final = 1e-12
"""Of tails as doubles: 5 % and 1 - 95 % differ in the last digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a floor is to keep to."""

    max_loss: float
    """The largest share of answerable questions that may be lost, in (0, 1)."""
    confidence: float
    """How often a draw of the questions gives a floor that keeps to it, at least; in (0, 1)."""
    floors: tuple[float, ...]
    """Those to try, ascending: fixed before a score is seen."""
    seed: int = 0
    """Of the parts in which questions are held out."""

    def needed(self, lost: int) -> int:
        """Of how many questions so many may be lost, at least."""
        low, high = lost, lost + 1
        while not self._refutes(lost, high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._refutes(lost, middle) else (middle, high)
        return high

    def most(self, questions: int) -> int:
        """Of so many questions, how many may be lost; -1 where even none says too little."""
        return _most(questions, self.max_loss, self.confidence)

    def _refutes(self, lost: int, questions: int) -> bool:
        return refutes(lost, questions, self.max_loss, self.confidence)


def rounded_floors(step: Fraction, most: Fraction) -> tuple[float, ...]:
    """The multiples of a step up to the largest floor, as a person would write them: 0.01, 0.02, ..."""
    return tuple(float(step * number) for number in range(1, math.floor(most / step) + 1))


def refutes(lost: int, questions: int, share: float, confidence: float) -> bool:
    """Whether so few lost questions refute that more than a share is lost: their exact interval ends at or under it."""
    return binomial_cdf(lost, questions, share) <= (1 - confidence) / 2 + _ROUNDING


def smallest_bound(lost: int, questions: int, confidence: float) -> float:
    """The smallest bound to which so few lost questions can hold a floor, in tenths of a percent."""
    _, high = exact_interval(lost, questions, confidence)
    return math.ceil(round(high * 1000, 6)) / 1000


@lru_cache(maxsize=4096)
def _most(questions: int, share: float, confidence: float) -> int:
    low, high = -1, questions
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if refutes(middle, questions, share, confidence) else (low, middle)
        )
    return low


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The largest floor that keeps to a bound, and how often it loses a question."""

    floor: float
    lost: Rate
    """Of the questions that chose it, those under it."""
    interval: tuple[float, float]
    """Of its loss, at the confidence of the bound: exact, two-sided."""


def lost_under(ascending: Sequence[float], floor: float) -> int:
    """How many scores are under a floor; one that equals it passes."""
    return bisect_left(ascending, floor)


def largest_floor(ascending: Sequence[float], bound: Bound) -> Chosen | None:
    """Choose a floor; see above for what is guaranteed of it.

    Args:
        ascending: The scores of the answerable questions, in order.
        bound: What it is to keep to.

    Returns:
        None where not even the lowest floor stands.
    """
    number, most = len(ascending), bound.most(len(ascending))
    standing = None
    for floor in bound.floors:
        if lost_under(ascending, floor) > most:
            break
        standing = floor
    if standing is None:
        return None
    lost = Rate(lost_under(ascending, standing), number)
    return Chosen(
        floor=standing,
        lost=lost,
        interval=exact_interval(lost.numerator, number, bound.confidence),
    )


def missing(ascending: Sequence[float], bound: Bound) -> int:
    """How many more answerable questions it takes before the lowest floor stands, if that loses none of them."""
    lost = lost_under(ascending, bound.floors[0])
    return max(bound.needed(lost) - len(ascending), 0)


def held_out(scores: Sequence[float], bound: Bound) -> Rate | None:
    """Count the questions that are lost under floors in whose choice they had no part.

    Args:
        scores: Of the answerable questions, in an order that does not depend on them.
        bound: What the floors are to keep to; its seed draws the parts.

    Returns:
        None where nine tenths of the questions are too few to choose a floor.
    """
    import numpy as np

    lost, part_of = 0, np.random.default_rng(bound.seed).permutation(len(scores)) % PARTS
    values = np.asarray(scores, dtype=np.float64)
    for part in range(PARTS):
        others, own = np.sort(values[part_of != part]), values[part_of == part]
        chosen = largest_floor(others.tolist(), bound)
        if chosen is None and bound.most(len(others)) < 0:
            return None
        lost += int((own < chosen.floor).sum()) if chosen else 0
    return Rate(lost, len(values))


def floor_on_average(ascending: Sequence[float], bound: Bound) -> float | None:
    """Give the largest floor that keeps to the bound on average over draws of the questions: nothing is said of one draw.

    Returns:
        None where no floor does.
    """
    # 0.29 of 100 is 29, whatever a double makes of it.
    most = Fraction(str(bound.max_loss)) * (len(ascending) + 1)
    found = [floor for floor in bound.floors if lost_under(ascending, floor) + 1 <= most]
    return found[-1] if found else None
