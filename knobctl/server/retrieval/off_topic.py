"""How near queries that are off topic come to a corpus, and where a query stands beside them. Pure.

Each probe is a text that the corpus says nothing about; its *maximum* is its cosine to the closest chunk. A query's
own best cosine is a maximum of the same kind, so that under "this query is off topic too" its rank among theirs is
as likely to be any as any other: that alone gives the p-value and the cut-off, without a distribution assumed
(split conformal prediction on the null). Where that cannot be said, nothing is: `NOT_MEASURABLE` is no tier.

The cut-off is the robust part. The bands above it are PROVISIONAL: their limits are those of the given package,
which were fitted on two corpora.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

ALPHA: Final = 0.05
"""Share of off-topic queries that may pass for a match, where nobody says another."""
FEWEST_CHUNKS: Final = 30
"""With fewer the closest one is chance."""
WEAK_MAX_Z: Final = 1.0
MODERATE_MAX_Z: Final = 2.5
"""Upper ends of the bands, in standard deviations of the maxima above the cut-off."""
SMALLEST_SPREAD: Final = 1e-4
"""Below it the maxima are copies of one, not a distribution: single precision alone moves a cosine by 1e-7."""
_ROUNDING: Final = 1e-6
"""By which a cosine of single-precision vectors may be beyond 1."""


class Tier(StrEnum):
    """How relevant the closest chunk is."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"
    NO_MATCH = "no_match"
    """No nearer than off-topic queries come."""
    NOT_MEASURABLE = "not_measurable"
    """Nobody can tell; neither a match nor none."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """Where a query stands beside the off-topic ones."""

    tier: Tier
    p_value: float | None = None
    """Share of off-topic queries that come as near, at most; None where it is not measurable."""
    z: float | None = None
    """By how many standard deviations of the maxima it is above their mean; None as before."""


@dataclass(frozen=True, slots=True)
class OffTopic:
    """What off-topic probes come to in one corpus."""

    maxima: tuple[float, ...]
    """Of each probe, the cosine to its closest chunk, in the order of the probes."""
    chunks: int
    """How many there are in the corpus."""

    def p_value(self, cosine: float) -> float:
        """The share of off-topic queries that come as near as this, as the probes have it: never 0."""
        as_near = sum(
            not maximum < cosine for maximum in self.maxima
        )  # what is no number counts as near
        return (1 + as_near) / (len(self.maxima) + 1)

    def cut_off(self, alpha: float = ALPHA) -> float | None:
        """The cosine at or under which a query is no match.

        Args:
            alpha: Share of off-topic queries that may be above it, in (0, 1).

        Returns:
            The ceil((m + 1)(1 - alpha))-th smallest of m maxima. None where there are too few of them for
            such an alpha, below 1/alpha - 1, where one of them is no cosine, or alpha is no such share.
        """
        place = from_above(alpha, len(self.maxima))
        if not place or not all(map(is_cosine, self.maxima)):
            return None
        return sorted(self.maxima)[-place]

    def relevance(self, cosine: float, alpha: float = ALPHA) -> Relevance:
        """Label a query; a cosine at the cut-off is no match.

        Args:
            cosine: Of the query with the chunk of the corpus that is closest to it.
            alpha: As in `cut_off`.
        """
        cut_off = self.cut_off(alpha)
        if cut_off is None or not is_cosine(cosine) or not self.speaks_at(alpha):
            return Relevance(Tier.NOT_MEASURABLE)
        mean, deviation = mean_and_deviation(self.maxima)
        return Relevance(
            _tier(cosine, cut_off, deviation),
            p_value=self.p_value(cosine),
            z=(cosine - mean) / deviation,
        )

    def speaks_at(self, alpha: float = ALPHA) -> bool:
        """Whether the maxima say anything of a query: enough chunks, enough different probes, and a spread."""
        different = set(self.maxima)  # copies of a probe are one probe
        return (
            self.chunks >= FEWEST_CHUNKS
            and all(map(is_cosine, different))
            and len(different) > 1
            and from_above(alpha, len(different)) > 0
            and mean_and_deviation(self.maxima)[1] >= SMALLEST_SPREAD
        )


def from_above(alpha: float, maxima: int) -> int:
    """Which of the maxima, counted from the largest, is the cut-off; 0 for none of them.

    In fractions of the number as it is written: 0.05 of 20 is 1, whatever a double makes of it.
    """
    if not 0 < alpha < 1:
        return 0
    return math.floor(Fraction(str(alpha)) * (maxima + 1))


def mean_and_deviation(values: tuple[float, ...]) -> tuple[float, float]:
    """The mean of two or more finite numbers and their standard deviation, of a sample."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1))


def is_cosine(value: float) -> bool:
    """Whether a number can be the cosine of two single-precision vectors; NaN cannot."""
    return abs(value) <= 1 + _ROUNDING


def _tier(cosine: float, cut_off: float, deviation: float) -> Tier:
    above = (cosine - cut_off) / deviation
    if above <= 0:
        return Tier.NO_MATCH
    if above <= WEAK_MAX_Z:
        return Tier.WEAK
    return Tier.MODERATE if above <= MODERATE_MAX_Z else Tier.STRONG
