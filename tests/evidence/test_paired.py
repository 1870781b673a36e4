"""Two measurements of the same questions: the interval of their difference, the test, the correction."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
SIZES = (20, 71, 338, 5_000)
RATES = (0.0, 0.01, 0.05, 0.2)


def all_lose(rate: float) -> Draw:
    """So many lose all that they had."""
    return lambda chance, n: -(chance.random(n) < rate).astype(float)


def some_of_each(rate: float) -> Draw:
    """As many that move up as down, by any part of the way."""
    return lambda chance, n: (chance.random(n) < rate) * chance.uniform(-1, 1, n)


def mostly_worse(rate: float) -> Draw:
    """So many lose, by half of the way on average; a tenth as many win."""
    return lambda chance, n: np.where(
        chance.random(n) < rate, -chance.random(n), (chance.random(n) < rate / 10) * 1.0
    )


def truth(rate: float, draw: str) -> float:
    """The difference that is measured."""
    return {
        "all_lose": -rate,
        "some_of_each": 0.0,
        "mostly_worse": -rate / 2 + (1 - rate) * rate / 10,
    }[draw]


DRAWS = {"all_lose": all_lose, "some_of_each": some_of_each, "mostly_worse": mostly_worse}


def held(draw: str, n: int, rate: float, runs: int) -> float:
    """How often the interval holds the truth."""
    from knobctl.evidence.paired import _interval

    chance = np.random.default_rng(7)
    made = DRAWS[draw](rate)
    found = 0
    for _ in range(runs):
        low, high = _interval(made(chance, n), 1.0)
        found += low <= truth(rate, draw) <= high
    return found / runs


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(("n", "rate"), [(20, 0.01), (71, 0.05), (338, 0.2)])
def test_the_interval_holds_the_truth_as_often_as_it_says(draw: str, n: int, rate: float) -> None:
    """Also where few questions moved, or none; a simulation may miss by what its size allows."""
    assert held(draw, n, rate, 1_000) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(("n", "rate"), [*itertools.product(SIZES, RATES)])
def test_it_does_at_every_size_and_rate(draw: str, n: int, rate: float) -> None:
    """From 20 questions to 5,000, from none that moves to a fifth."""
    assert held(draw, n, rate, 10_000) >= 0.94
