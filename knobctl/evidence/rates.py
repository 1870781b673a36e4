"""Rates with their intervals: counts first, a number only where there is something to divide by. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

CONFIDENCE: Final = 0.95
_STEPS: Final = 200
_TINY: Final = 1e-300


@dataclass(frozen=True, slots=True)
class Rate:
    """So many of so many."""

    numerator: int
    denominator: int

    @property
    def value(self) -> float | None:
        """The share; None where there is nothing to be a share of."""
        return self.numerator / self.denominator if self.denominator else None

    @property
    def low(self) -> float | None:
        """The lower end of the exact interval, 95 % two-sided; None where there is no share."""
        return exact_interval(self.numerator, self.denominator)[0] if self.denominator else None

    @property
    def high(self) -> float | None:
        """The upper end of it."""
        return exact_interval(self.numerator, self.denominator)[1] if self.denominator else None


def exact_interval(
    numerator: int, denominator: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Give the two-sided interval of Clopper and Pearson for a share.

    Args:
        numerator: How many, from 0 to the denominator.
        denominator: Of how many, at least 1.
        confidence: How often such an interval holds the true share at least, in (0, 1).

    Returns:
        Lower and upper end; 0 where none and 1 where all were counted.

    Raises:
        ValueError: If the counts are no share.

    Source: Clopper and Pearson 1934, as quantiles of beta distributions.
    """
    _assert_share(numerator, denominator)
    tail = (1 - confidence) / 2
    none, rest = numerator == 0, denominator - numerator
    low = 0.0 if none else beta_quantile(tail, numerator, rest + 1)
    high = 1.0 if rest == 0 else beta_quantile(1 - tail, numerator + 1, rest)
    return low, high


def wilson_interval(
    numerator: int, denominator: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Give the two-sided score interval of Wilson for a share; see `exact_interval`.

    Source: Wilson 1927, without correction for continuity.
    """
    from statistics import NormalDist

    _assert_share(numerator, denominator)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share, square = numerator / denominator, z * z / denominator
    middle = share + square / 2
    half = z * math.sqrt(share * (1 - share) / denominator + square / (4 * denominator))
    low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
    return (0.0 if numerator == 0 else low), (1.0 if numerator == denominator else high)


def binomial_cdf(number: int, of: int, share: float) -> float:
    """Give how often at most so many are counted of so many, where each is with a share: exact tails of a test.

    Args:
        number: At least 0.
        of: How many there are.
        share: Of each, in (0, 1).
    """
    return 1.0 if number >= of else beta_cdf(1 - share, of - number, number + 1)


def rule_of_three(denominator: int) -> float:
    """Where none of so many was counted: what the true share is below, with 95 % confidence, roughly."""
    return min(1.0, 3 / denominator)


def _assert_share(numerator: int, denominator: int) -> None:
    if not 0 <= numerator <= denominator or denominator < 1:
        raise ValueError(f"{numerator} of {denominator} is no share")


@lru_cache(maxsize=4096)
def beta_quantile(share: float, a: float, b: float) -> float:
    """Find where a beta distribution has so much of its weight below, by bisection.

    Args:
        share: From 0 to 1.
        a: First shape, > 0.
        b: Second shape, > 0.
    """
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        if beta_cdf(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_cdf(x: float, a: float, b: float) -> float:
    """Weigh what a beta distribution has below a point: the regularised incomplete beta function.

    Source: its continued fraction (Abramowitz and Stegun 26.5.8), evaluated by Lentz's method.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there the fraction of the other tail converges
        return 1 - beta_cdf(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return min(1.0, front * fraction / a)


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
