"""The largest floor under a bound: what is guaranteed of it is true, and it is the largest of which it is."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.bounded_floor import (
    floor_on_average,
    held_out,
    largest_floor,
    missing,
    rounded_floors,
    smallest_bound,
)
from knobctl.evidence.rates import exact_interval
from tests.evidence.drawn_losses import RATES, SHARPNESS, SIZES, Population, bound, tried

SCORES = st.lists(st.integers(0, 1000).map(lambda one: one / 1000), min_size=1, max_size=300)


def tail(lost: int, of: int, share: Fraction) -> Fraction:
    """How often at most so many are lost, summed term by term in exact fractions."""
    return sum(
        (comb(of, one) * share**one * (1 - share) ** (of - one) for one in range(lost + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize(("max_loss", "least"), [("1/50", 183), ("1/20", 72), ("1/100", 368)])
def test_so_many_questions_are_needed_as_the_binomial_says(max_loss: str, least: int) -> None:
    """With none lost, 1 - share to the number of questions falls to 2.5 %: at the stated number, not before."""
    share = Fraction(max_loss)
    assert bound(float(share)).needed(0) == least
    for lost in (0, 1, 7):
        needed = bound(float(share)).needed(lost)
        assert tail(lost, needed, share) <= Fraction(1, 40) < tail(lost, needed - 1, share)
        assert bound(float(share)).most(needed) >= lost > bound(float(share)).most(needed - 1)


@settings(deadline=None, max_examples=60)
@given(scores=SCORES, max_loss=st.sampled_from([0.02, 0.05, 0.2, 0.5]))
def test_it_is_the_largest_floor_whose_interval_ends_at_the_bound(
    scores: list[float], max_loss: float
) -> None:
    """The interval of the next one ends above it; without a floor, that of the lowest does."""
    wanted, ascending = bound(max_loss), sorted(scores)
    chosen = largest_floor(ascending, wanted)

    def high(floor: float) -> float:
        return exact_interval(sum(one < floor for one in scores), len(scores))[1]

    if chosen is None:
        assert high(wanted.floors[0]) > max_loss
        return
    assert chosen.lost.numerator == sum(one < chosen.floor for one in scores)
    assert chosen.interval[1] == high(chosen.floor) <= max_loss
    after = [floor for floor in wanted.floors if floor > chosen.floor]
    assert not after or high(after[0]) > max_loss


@settings(deadline=None, max_examples=60)
@given(scores=SCORES, max_loss=st.sampled_from([0.02, 0.05, 0.2]))
def test_with_the_missing_questions_there_is_a_floor_and_with_one_fewer_none(
    scores: list[float], max_loss: float
) -> None:
    """If the lowest floor loses none of the further ones: the number is exact."""
    wanted, ascending = bound(max_loss), sorted(scores)
    number = missing(ascending, wanted)
    assert (number == 0) == (largest_floor(ascending, wanted) is not None)
    assert largest_floor([*ascending, *[1.0] * number], wanted) is not None
    if number:
        assert largest_floor([*ascending, *[1.0] * (number - 1)], wanted) is None


def test_a_score_equal_to_a_floor_is_not_lost() -> None:
    """As the gate compares: 0.29 passes 0.29, typed as it is."""
    chosen = largest_floor([0.29] * 200, bound(0.02))
    assert chosen is not None
    assert (chosen.floor, chosen.lost.numerator) == (0.29, 0)


def test_floors_are_written_as_a_person_would() -> None:
    """Multiples, not sums: 0.29 and 0.57 are those numbers."""
    floors = rounded_floors(Fraction("0.01"), Fraction(1))
    assert (len(floors), floors[28], floors[56], floors[-1]) == (100, 0.29, 0.57, 1.0)


@given(lost=st.integers(0, 5), more=st.integers(1, 300), confidence=st.sampled_from([0.9, 0.95]))
@settings(deadline=None, max_examples=40)
def test_what_so_few_can_bound_is_said_to_the_tenth_of_a_percent(
    lost: int, more: int, confidence: float
) -> None:
    """With that bound the lowest floor stands; a tenth less and it does not."""
    share = smallest_bound(lost, lost + more, confidence)
    if share < 1:
        assert bound(share, confidence=confidence).most(lost + more) >= lost
    if share > 0.001:
        assert bound(share - 0.001, confidence=confidence).most(lost + more) < lost


def test_held_out_questions_are_judged_by_floors_that_others_chose() -> None:
    """Counted by hand for every tenth, and the same for the same seed."""
    scores = Population(3).draw(338, np.random.default_rng(4)).tolist()
    wanted = bound(0.05)
    parts = np.random.default_rng(wanted.seed).permutation(338) % 10
    lost = 0
    for part in range(10):
        chosen = largest_floor(
            sorted(one for one, at in zip(scores, parts, strict=True) if at != part), wanted
        )
        assert chosen is not None
        lost += sum(one < chosen.floor for one, at in zip(scores, parts, strict=True) if at == part)
    found = held_out(scores, wanted)
    assert found is not None
    assert (found.numerator, found.denominator) == (lost, 338)
    assert held_out(scores[:75], wanted) is None  # nine tenths of 75 choose no floor


@pytest.mark.parametrize("sharpness", SHARPNESS)
def test_the_bound_holds_as_often_as_stated(sharpness: int) -> None:
    """Of many draws of 338 questions, at most 5 % give a floor that loses more than 5 % of all of them."""
    found = tried(Population(sharpness), 338, bound(0.05), draws=300, seed=1, parts=False)
    assert found.named > 0.9
    assert found.broken <= 0.05
    assert found.missed <= 0.07  # of 300 draws; the long run looks closer
    assert found.mean_loss <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("max_loss", [rate for rate in RATES if rate])
@pytest.mark.parametrize("sharpness", SHARPNESS)
@pytest.mark.parametrize("step", ["1/100", "1/1000"])
def test_the_bound_and_the_intervals_hold_whatever_is_drawn(
    size: int, max_loss: float, sharpness: int, step: str
) -> None:
    """The bound at twice its confidence; the intervals at theirs; the floor on average on average."""
    wanted = bound(max_loss, step=step)
    population = Population(sharpness)
    found = tried(population, size, wanted, draws=4_000, seed=size, parts=False)
    print(size, max_loss, sharpness, step, found)
    assert found.broken <= 0.025 + 0.0075  # and three standard errors of 4,000 draws
    assert found.missed <= 0.05 + 0.0105
    assert found.mean_loss <= max_loss * (1 + 0.02)
    if size < wanted.needed(0):
        assert found.named == 0


@pytest.mark.slow
@pytest.mark.parametrize("size", [338, 5_000])
@pytest.mark.parametrize("max_loss", [0.05, 0.2])
@pytest.mark.parametrize("sharpness", SHARPNESS)
def test_the_interval_of_the_held_out_loss_holds_it(
    size: int, max_loss: float, sharpness: int
) -> None:
    """What it is about is the mean loss of the ten floors."""
    found = tried(Population(sharpness), size, bound(max_loss), draws=1_000, seed=size, parts=True)
    print(size, max_loss, sharpness, found)
    assert found.missed_held_out <= 0.05 + 0.021


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_another_confidence_holds_too(confidence: float) -> None:
    """As often as that one says."""
    wanted = bound(0.05, confidence=confidence)
    found = tried(Population(1), 338, wanted, draws=10_000, seed=3, parts=False)
    assert found.broken <= (1 - confidence) / 2 * 1.2


def test_the_floor_on_average_is_the_largest_that_leaves_room_for_one_more() -> None:
    """(lost + 1) / (n + 1) is at most the bound: of 99 questions 4 may be lost at 5 %."""
    scores = [at / 100 for at in range(1, 100)]
    assert floor_on_average(scores, bound(0.05)) == 0.05
    assert floor_on_average(scores[:18], bound(0.05)) is None
    hundredths = [number / 100 for number in range(1, 100)]
    assert floor_on_average(hundredths, bound(0.29)) == 0.29  # 28 lost: 29 of 100 is 0.29
