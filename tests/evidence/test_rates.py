"""Rates and their intervals are those of the published figures and of the definitions."""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.rates import (
    Rate,
    beta_cdf,
    beta_quantile,
    exact_interval,
    rule_of_three,
    wilson_interval,
)

PUBLISHED: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "relevance_floor_published.json").read_bytes()
)
NAMED = [
    (one["floor"], name, one[name], interval)
    for one in PUBLISHED["judged_sweep"]
    for name, interval in one["intervals_95"].items()
    if interval
]
COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(("floor", "name", "counts", "interval"), NAMED)
def test_the_published_intervals_come_out_to_eight_places(
    floor: float, name: str, counts: list[int], interval: dict[str, list[float]]
) -> None:
    """Exact and Wilson, of every rate of the judged table."""
    del floor, name
    if counts[1]:
        assert exact_interval(*counts) == pytest.approx(interval["clopper_pearson"], abs=1e-8)
        assert wilson_interval(*counts) == pytest.approx(interval["wilson"], abs=1e-8)


@given(counts=COUNTS)
@settings(deadline=None, max_examples=60)
def test_the_exact_interval_leaves_the_stated_tails(counts: tuple[int, int]) -> None:
    """At each end the binomial tail that it is defined by holds 2.5 %, summed term by term."""
    k, n = counts
    low, high = exact_interval(k, n)
    if k:
        above = sum(comb(n, i) * low**i * (1 - low) ** (n - i) for i in range(k, n + 1))
        assert above == pytest.approx(0.025, rel=1e-6)
    if k < n:
        below = sum(comb(n, i) * high**i * (1 - high) ** (n - i) for i in range(k + 1))
        assert below == pytest.approx(0.025, rel=1e-6)
    assert low <= k / n <= high
    assert exact_interval(n - k, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(a=st.floats(0.5, 500), b=st.floats(0.5, 500), share=st.floats(0.001, 0.999))
@settings(deadline=None, max_examples=100)
def test_a_quantile_has_its_share_below(a: float, b: float, share: float) -> None:
    """The inverse of the inverse."""
    assert beta_cdf(beta_quantile(share, a, b), a, b) == pytest.approx(share, abs=1e-9)


def test_nothing_of_nothing_is_no_rate() -> None:
    """None, not zero: a floor that refuses nothing has no share of wrong refusals."""
    empty = Rate(0, 0)
    assert (empty.value, empty.low, empty.high) == (None, None, None)
    with pytest.raises(ValueError, match="no share"):
        exact_interval(1, 0)


def test_none_of_71_is_bounded_as_the_page_has_it() -> None:
    """The rule of three says 4.2 %, exactly it is 4.1 % one-sided, 5.1 % two-sided."""
    assert rule_of_three(71) == pytest.approx(0.0423, abs=1e-4)
    assert exact_interval(0, 71, 0.90)[1] == pytest.approx(0.0413, abs=1e-4)
    assert Rate(0, 71).high == pytest.approx(0.0506, abs=1e-4)
