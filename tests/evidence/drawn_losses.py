"""Questions drawn by chance from a population whose losses are known: what a guarantee is held against."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from knobctl.evidence.bounded_floor import (
    Bound,
    floor_on_average,
    held_out,
    largest_floor,
    rounded_floors,
)
from knobctl.evidence.rates import exact_interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator
    from numpy.typing import NDArray

    from knobctl.evidence.rates import Rate

SIZES: Final = (20, 71, 338, 5_000)
RATES: Final = (0.0, 0.01, 0.05, 0.2)
SHARPNESS: Final = (1, 3)
"""A score is the power of a uniform one: at 1 a floor loses its own value, at 3 few are lost by low floors."""


@dataclass(frozen=True)
class Population:
    """Scores whose share under any floor is known."""

    sharpness: int

    def draw(self, questions: int, chance: Generator) -> NDArray[np.float64]:
        """So many questions, each independently."""
        return chance.random(questions) ** (1 / self.sharpness)

    def loss(self, floor: float) -> float:
        """The share of all questions that score under a floor."""
        return float(min(max(floor, 0.0), 1.0) ** self.sharpness)


@dataclass(frozen=True)
class Trials:
    """What came out of many draws, as shares of all of them: a draw that names no floor breaks nothing."""

    named: float
    """Of draws that name a floor."""
    broken: float
    """Of draws whose floor loses more than the bound."""
    missed: float
    """Of draws whose interval of the floor's loss does not hold that loss."""
    missed_held_out: float
    """Of draws whose interval of the held-out loss does not hold the mean loss of the ten floors."""
    mean_loss: float
    """Of the floor without a confidence; 0 where there is none."""


def bound(max_loss: float, *, step: str = "1/100", confidence: float = 0.95) -> Bound:
    """A bound over rounded floors."""
    floors = rounded_floors(Fraction(step), Fraction(1))
    return Bound(max_loss=max_loss, confidence=confidence, floors=floors)


def tried(
    population: Population, questions: int, wanted: Bound, *, draws: int, seed: int, parts: bool
) -> Trials:
    """Recommend from many draws."""
    chance = np.random.default_rng(seed)
    losses, missed, parted, means = [], [], [], []
    for _ in range(draws):
        scores = population.draw(questions, chance)
        ascending = np.sort(scores).tolist()
        average = floor_on_average(ascending, wanted)
        means.append(population.loss(average) if average else 0.0)
        chosen = largest_floor(ascending, wanted)
        if chosen is None:
            continue
        losses.append(population.loss(chosen.floor))
        missed.append(not _holds(chosen.lost, losses[-1]))
        rate = held_out(scores.tolist(), wanted) if parts else None
        if rate:
            parted.append(not _holds(rate, mean_of_parts(population, scores, wanted)))
    return Trials(
        named=len(losses) / draws,
        broken=sum(loss > wanted.max_loss for loss in losses) / draws,
        missed=sum(missed) / draws,
        missed_held_out=sum(parted) / draws,
        mean_loss=float(np.mean(means)),
    )


def _holds(rate: Rate, loss: float) -> bool:
    low, high = exact_interval(rate.numerator, rate.denominator)
    return low <= loss <= high


def mean_of_parts(population: Population, scores: NDArray[np.float64], wanted: Bound) -> float:
    """The mean true loss of the floors under which the tenths are held, each weighed by its tenth."""
    parts = np.random.default_rng(wanted.seed).permutation(len(scores)) % 10
    total = 0.0
    for part in range(10):
        chosen = largest_floor(np.sort(scores[parts != part]).tolist(), wanted)
        total += (population.loss(chosen.floor) if chosen else 0.0) * float(np.mean(parts == part))
    return total


def coverage(size: int, rate: float, interval: Callable[[int, int], tuple[float, float]]) -> float:
    """How often an interval of a share holds it, summed over all counts that a draw can give: no chance in it."""
    from math import exp, lgamma, log

    if rate == 0:
        low, high = interval(0, size)
        return float(low <= 0 <= high)

    def weight(count: int) -> float:
        return exp(
            lgamma(size + 1) - lgamma(count + 1) - lgamma(size - count + 1)
            + count * log(rate) + (size - count) * log(1 - rate)
        )  # fmt: skip

    total = 0.0
    for count in range(size + 1):
        if weight(count) > 1e-9:
            low, high = interval(count, size)
            total += weight(count) * (low <= rate <= high)
    return total
