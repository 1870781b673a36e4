"""How well a score separates two kinds."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.separation import area_under_curve

SCORES = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=12)


@settings(deadline=None, max_examples=60)
@given(wanted=SCORES, unwanted=SCORES)
def test_it_is_the_share_of_pairs_that_stand_right(
    wanted: list[float], unwanted: list[float]
) -> None:
    """Counted one by one, ties as a half; the other way round it is the rest."""
    pairs = [(a > b) + (a == b) / 2 for a, b in product(wanted, unwanted)]
    found = area_under_curve(wanted, unwanted)
    assert found is not None
    assert abs(found - sum(pairs) / len(pairs)) < 1e-12
    assert abs(found + (area_under_curve(unwanted, wanted) or 0) - 1) < 1e-12


def test_of_nothing_it_is_unknown() -> None:
    """None, not a half."""
    assert area_under_curve([], [0.1]) is None
    assert area_under_curve([0.1], []) is None
