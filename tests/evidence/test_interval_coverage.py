"""Every interval that is printed holds what it is about as often as it says, for few questions and rare losses too.

Coverage of a share is summed over all that can be counted, so there is no chance in it; what is summed is
then simulated in the long run. Differences of two shares are summed for few questions and simulated for many.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from knobctl.evidence.paired_shares import difference_interval
from knobctl.evidence.rates import beta_quantile, exact_interval, rule_of_three, wilson_interval
from tests.evidence.drawn_losses import RATES, SIZES, coverage

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = list(product(SIZES, RATES))
PAIRS = [(up, down) for up, down in product(RATES, RATES) if up >= down]
"""Shares of questions that are gained and lost; the other way round it is the same."""
ENOUGH = 0.95
WILSON_LEAST = 0.92
"""What Wilson's interval holds at least in these cases: it is right on average over shares, not for each."""
DRAWS = 100_000


@pytest.mark.parametrize(("size", "rate"), CASES)
def test_the_exact_interval_holds_at_least_95_percent(size: int, rate: float) -> None:
    """For each size and each share."""
    assert coverage(size, rate, exact_interval) >= ENOUGH


@pytest.mark.parametrize(("size", "rate"), CASES)
def test_wilsons_interval_holds_about_95_percent(size: int, rate: float) -> None:
    """It is beside the exact one in JSON, under its name."""
    assert coverage(size, rate, wilson_interval) >= WILSON_LEAST


@pytest.mark.parametrize("size", SIZES)
def test_the_rule_of_three_bounds_what_was_not_seen(size: int) -> None:
    """Where the share is above its bound, something is counted in all but 5 % of cases."""
    assert (1 - rule_of_three(size)) ** size <= 0.05


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("size", [20, 71])
def test_the_interval_of_a_difference_holds_with_few_questions(
    size: int, pair: tuple[float, float]
) -> None:
    """Summed over all numbers of questions gained and lost."""
    assert paired_coverage(size, *pair) >= ENOUGH


@pytest.mark.parametrize("pair", PAIRS)
def test_the_interval_of_a_difference_holds_with_338_questions(pair: tuple[float, float]) -> None:
    """In 500 draws, as far as so few can tell."""
    assert simulated_pairs(338, *pair, draws=500, seed=1) >= ENOUGH - 0.03


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("size", [338, 5_000])
def test_the_interval_of_a_difference_holds_with_many_questions(
    size: int, pair: tuple[float, float]
) -> None:
    """Within three standard errors of so many draws."""
    found = simulated_pairs(size, *pair, draws=20_000, seed=size)
    print(size, pair, found)
    assert found >= ENOUGH - 0.0047


@pytest.mark.slow
@pytest.mark.parametrize(("size", "rate"), CASES)
@pytest.mark.parametrize("interval", [exact_interval, wilson_interval])
def test_what_is_summed_is_what_is_drawn(
    size: int, rate: float, interval: Callable[[int, int], tuple[float, float]]
) -> None:
    """By simulation: the same coverage."""
    counts = np.random.default_rng(size).binomial(size, rate, DRAWS)
    ends = {count: interval(count, size) for count in map(int, np.unique(counts))}
    held = {count: low <= rate <= high for count, (low, high) in ends.items()}
    drawn = float(np.mean([held[int(count)] for count in counts]))
    summed = coverage(size, rate, interval)
    print(size, rate, interval.__name__, summed, drawn)
    assert drawn == pytest.approx(summed, abs=0.004)


@pytest.mark.parametrize(("probes", "place"), [(8, 1), (19, 1), (59, 1), (99, 5), (299, 15)])
def test_the_interval_of_a_false_accept_rate_holds_95_percent(probes: int, place: int) -> None:
    """Whatever off-topic cosines look like: the share above the j-th largest of m has that distribution."""
    low = beta_quantile(0.025, place, probes + 1 - place)
    high = beta_quantile(0.975, place, probes + 1 - place)
    drawn = np.random.default_rng(probes).exponential(size=(20_000, probes))
    cut_offs = np.sort(drawn, axis=1)[:, -place]
    above = np.exp(-cut_offs)
    assert np.mean((low <= above) & (above <= high)) == pytest.approx(0.95, abs=0.006)


def paired_coverage(size: int, up: float, down: float) -> float:
    """Over all that can be counted."""
    from math import exp, lgamma, log

    def logged(share: float, count: int) -> float:
        return count * log(share) if share else (0.0 if count == 0 else float("-inf"))

    total = 0.0
    for gained in range(size + 1):
        for lost in range(size + 1 - gained):
            rest = size - gained - lost
            weight = exp(
                lgamma(size + 1) - lgamma(gained + 1) - lgamma(lost + 1) - lgamma(rest + 1)
                + logged(up, gained) + logged(down, lost) + logged(1 - up - down, rest)
            )  # fmt: skip
            if weight > 1e-9:
                low, high = difference_interval(gained, lost, size)
                total += weight * (low - 1e-12 <= up - down <= high + 1e-12)
    return total


def simulated_pairs(size: int, up: float, down: float, *, draws: int, seed: int) -> float:
    """How often the interval holds the difference, of so many draws."""
    drawn = np.random.default_rng(seed).multinomial(size, [up, down, 1 - up - down], draws)
    kinds, numbers = np.unique(drawn[:, :2], axis=0, return_counts=True)
    held = 0
    for (gained, lost), number in zip(kinds.tolist(), numbers.tolist(), strict=True):
        low, high = difference_interval(gained, lost, size)
        held += number * (low - 1e-12 <= up - down <= high + 1e-12)
    return held / draws
