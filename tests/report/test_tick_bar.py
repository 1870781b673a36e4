"""The bar under a floor: the floor among the ceilings, drawn and labelled."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.fusion import Setup, reach
from knobctl.fusion.formula import Formula, Scale
from knobctl.report.tick_bar import FLOOR, LINE, MARK, NOW, TickBar, tick_bar

ONE = Fraction(1)


def drawn(floor: str, *weights: int, width: int = 61, now: str | None = None) -> TickBar:
    names = ("vector", "bm25", "recency")
    setup = Setup(
        floor=Fraction(floor),
        k=60,
        weights={name: Fraction(weight) for name, weight in zip(names, weights, strict=False)},
        depths={},
    )
    return tick_bar(reach(setup), width=width, now=Fraction(now) if now else None)


def test_the_ceilings_of_one_and_of_two_rankers_are_marked() -> None:
    """At a third and at two thirds, as even weights give them."""
    bar = drawn("0.5", 1, 1, 1, now="0.3")
    assert bar.bar == ("------------------o-|---------^---------|--------------------")
    assert bar.labels == ("0                  1/3       0.5       2/3                  1")


def test_other_weights_move_the_marks() -> None:
    """The best single ranker, then the best two."""
    bar = drawn("0.1", 2, 1, 1)
    assert [index for index, sign in enumerate(bar.bar) if sign == MARK] == [30, 45]
    assert "1/2" in bar.labels
    assert "3/4" in bar.labels


def test_one_ranker_has_no_mark() -> None:
    """What it can score is the end of the bar."""
    assert set(drawn("0.4", 1).bar) == {LINE, FLOOR}


def test_a_floor_on_a_mark_is_drawn_over_it() -> None:
    """Nor is the floor in force drawn where it is the same one."""
    bar = drawn("1/3", 1, 1, 1, now="1/3")
    assert bar.bar.index(FLOOR) == 20
    assert NOW not in bar.bar


@given(
    floor=st.fractions(min_value=Fraction(1, 997), max_value=2, max_denominator=997),
    weights=st.lists(st.integers(1, 100), min_size=1, max_size=3),
    width=st.integers(20, 120),
    raw=st.booleans(),
)
@settings(deadline=None, max_examples=120)
def test_the_floor_always_has_its_place_and_its_label(
    floor: Fraction, weights: list[int], width: int, raw: bool
) -> None:
    """Whatever the scale; no label runs into another one, none is longer than the bar."""
    names = ("vector", "bm25", "recency")
    formula = Formula(scale=Scale.RAW) if raw else Formula()
    setup = Setup(
        floor=floor,
        k=60,
        weights={name: Fraction(one) for name, one in zip(names, weights, strict=False)},
        depths={},
        formula=formula,
    )
    reached = reach(setup)
    bar = tick_bar(reached, width=width, now=ONE)
    assert len(bar.bar) == width
    assert bar.bar.count(FLOOR) == 1
    assert len(bar.labels) <= width
    assert bar.bar.index(FLOOR) == max(
        0, min(width - 1, round(floor / reached.best_score * (width - 1)))
    )


@pytest.mark.parametrize("width", [20, 40, 61])
def test_labels_that_have_no_room_are_left_out(width: int) -> None:
    """The floor's never is."""
    bar = drawn("0.33", 1, 1, 1, width=width)
    assert "0.33" in bar.labels
    assert "1/3" not in bar.labels
