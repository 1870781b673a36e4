"""How an engine turns ranks into a score: its scale, where its ranks begin, and what a weight does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from knobctl.fusion.numbers import fraction_text, number_text

if TYPE_CHECKING:
    from fractions import Fraction


class Scale(StrEnum):
    """What the sum over the rankers that hold a document is divided by."""

    NORMALISED = "rrf_normalised"
    """By the best sum that the live rankers can give, so that 1 is the most."""
    RAW = "rrf_raw"
    """By nothing: the most is the sum of what each ranker's first row adds."""


def scale_named(words: str | None) -> Scale:
    """Read the scale that a schema names, with whatever else it says of it; normalised where it says nothing.

    Raises:
        ValueError: If it is none on which ranks are fused.
    """
    return Scale(re.split(r"[\s,;:(]", words, maxsplit=1)[0]) if words else Scale.NORMALISED


class Weighs(StrEnum):
    """What a weight w does to what a ranker adds to a score."""

    SCORE = "score"
    """It multiplies it: w/(k + rank)."""
    RANK = "rank"
    """It divides the rank, counted from 1: 1/(k + rank/w). A weight of 0 adds nothing."""


@dataclass(frozen=True, slots=True)
class Formula:
    """Reciprocal rank fusion as one engine computes it.

    Whatever the engine does, a ranker adds w/(c + rank) with ranks counted from 1 and a constant c of
    its own: that is all that the arithmetic knows of the differences.
    """

    scale: Scale = Scale.NORMALISED
    first_rank: int = 1
    """The rank of the first row as the engine counts: 1 or 0."""
    weighs: Weighs = Weighs.SCORE

    def constant(self, k: int, weight: Fraction) -> int | Fraction:
        """What is added to a rank, counted from 1, under a ranker's weight."""
        from_one = k + self.first_rank - 1
        return from_one if self.weighs is Weighs.SCORE else weight * from_one

    def told(self, score: Fraction) -> str:
        """Write a score of this scale for people: `1/3`; of a raw sum its decimal too: `2/61 (0.0328)`."""
        if self.scale is Scale.NORMALISED:
            return fraction_text(score)
        if not 10**4 % score.denominator:
            return number_text(score)
        decimal = f"{float(score):.3g}"
        return f"{score} ({decimal})" if score.denominator <= 1000 else decimal


NORMALISED: Final = Formula()
"""That of the reference engine."""
