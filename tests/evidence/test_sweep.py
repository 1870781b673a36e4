"""Sweeps give the published tables, the given cases, and what counting row by row gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.rates import Rate
from knobctl.evidence.sweep import Row, Rows, judged_sweep, quantiles, refusal_curve
from tests.evidence.test_rates import PUBLISHED

GIVEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "relevance_floor.json").read_bytes()
)
NAMES = {
    "answerable_refused": "answerable_refused",
    "unanswerable_passed": "unanswerable_passed",
    "refused_answerable": "refused_were_answerable",
    "passed_unanswerable": "passed_were_unanswerable",
}
ROWS = [
    Row(max_similarity=score, answerable=label, source=source)
    for _, source, score, label in PUBLISHED["reconstruction"]["rows"]
]


def counts(rate: Rate) -> list[int]:
    """Numerator and denominator."""
    return [rate.numerator, rate.denominator]


@pytest.mark.parametrize("want", PUBLISHED["refusal_curve"])
def test_the_published_refusal_curve_comes_out(want: dict[str, Any]) -> None:
    """Counts, and the printed digit."""
    (got,) = refusal_curve(ROWS, [want["floor"]])
    assert counts(got.refused) == want["refused"]
    assert got.refused.value is not None
    assert f"{100 * got.refused.value:.1f}%" == want["printed"]


@pytest.mark.parametrize("want", PUBLISHED["judged_sweep"])
def test_the_published_judged_sweep_comes_out(want: dict[str, Any]) -> None:
    """All four rates at every floor, an empty one without a value."""
    (got,) = judged_sweep(ROWS, [want["floor"]])
    for ours, theirs in NAMES.items():
        rate: Rate = getattr(got, ours)
        assert counts(rate) == want[theirs], ours
        assert (rate.value is None) == (rate.denominator == 0)


def test_the_published_percentiles_come_out() -> None:
    """To three places, of all rows and of each label."""
    published = PUBLISHED["percentiles"]
    for name, rows in {
        "all": ROWS,
        "answerable": [row for row in ROWS if row.answerable],
        "unanswerable": [row for row in ROWS if row.answerable is False],
    }.items():
        got = quantiles([row.max_similarity for row in rows if row.max_similarity is not None])
        renamed = {"min": got["p0"], "median": got["p50"], **got}
        for key, value in published[name].items():
            if key != "n":
                assert round(renamed[key], 3) == value, (name, key)


@pytest.mark.parametrize("case", GIVEN["sweep"], ids=lambda case: case["name"])
def test_a_given_case_comes_out(case: dict[str, Any]) -> None:
    """Every rate of every floor, by source too."""
    rows = [
        Row(
            max_similarity=row["max_similarity"], answerable=row["answerable"], source=row["source"]
        )
        for row in case["rows"]
    ]
    for got, want in zip(refusal_curve(rows, case["floors"]), case["refusal_curve"], strict=True):
        assert (counts(got.refused), got.refused.value) == (
            [want["refused"]["numerator"], want["refused"]["denominator"]],
            want["refused"]["value"],
        )
        assert {name: counts(rate) for name, rate in got.refused_by_source.items()} == {
            name: [rate["numerator"], rate["denominator"]]
            for name, rate in want["refused_by_source"].items()
        }
    for judged, want in zip(judged_sweep(rows, case["floors"]), case["floor_sweep"], strict=True):
        for ours, theirs in NAMES.items():
            rate = want[theirs]
            assert counts(getattr(judged, ours)) == [rate["numerator"], rate["denominator"]]


@pytest.mark.parametrize("case", GIVEN["gate"])
def test_a_score_equal_to_the_floor_passes(case: dict[str, Any]) -> None:
    """Strictly below, without tolerance, as doubles."""
    (got,) = refusal_curve([Row(max_similarity=case["max_similarity"])], [case["floor"]])
    assert got.refused.numerator == case["refused"]


@pytest.mark.parametrize("case", GIVEN["quantiles"])
def test_given_quantiles_come_out(case: dict[str, Any]) -> None:
    """The element at that rank, ties to even, never between two."""
    assert quantiles(case["values"]) == case["quantiles"]


SCORES = st.one_of(
    st.none(), st.sampled_from([0.0, 0.1, 1 / 3, 0.3, 0.30000000000000004, 1.0]), st.floats(-1, 1)
)
MANY = st.lists(
    st.builds(
        Row,
        max_similarity=SCORES,
        answerable=st.sampled_from([True, False, None]),
        source=st.sampled_from(["a", "b", "c"]),
        declined=st.booleans(),
    ),
    max_size=40,
)
FLOORS = st.lists(
    st.one_of(st.sampled_from([0.0, 0.1, 1 / 3, 0.3, 1.0]), st.floats(0, 1)), min_size=1, max_size=6
)


@given(rows=MANY, floors=FLOORS)
@settings(deadline=None, max_examples=200)
def test_counting_row_by_row_gives_the_same(rows: list[Row], floors: list[float]) -> None:
    """An independent reckoning, in the order of the floors, whatever repeats among them."""
    scored = [(row, row.max_similarity) for row in rows if row.max_similarity is not None]
    assert refusal_curve(rows, floors) == refusal_curve(Rows.of(rows), floors)
    for floor, curve, judged in zip(
        floors, refusal_curve(rows, floors), judged_sweep(rows, floors), strict=True
    ):
        refused = [row for row, score in scored if score < floor]
        passed = [row for row, score in scored if not score < floor]
        assert counts(curve.refused) == [len(refused), len(scored)]
        yes, no = ([row.answerable for row in refused].count(label) for label in (True, False))
        all_yes, all_no = (
            [row.answerable for row, _ in scored].count(one) for one in (True, False)
        )
        assert counts(judged.answerable_refused) == [yes, all_yes]
        assert counts(judged.unanswerable_passed) == [all_no - no, all_no]
        assert counts(judged.refused_answerable) == [yes, yes + no]
        assert counts(judged.passed_unanswerable) == [all_no - no, all_yes + all_no - yes - no]
        declined = [row for row in passed if row.answerable is False and row.declined]
        assert counts(judged.declined) == [len(declined), all_no - no]
        for source, rate in curve.refused_by_source.items():
            assert rate.numerator == [row.source for row in refused].count(source)


def test_the_declines_of_the_second_gate_are_split_as_they_are() -> None:
    """The page has 141 declined of 256 that passed and 126 others; together that is more than passed."""
    passed, refused = 256, 11
    rows = [
        Row(max_similarity=0.5, answerable=False, declined=number < 130) for number in range(passed)
    ] + [Row(max_similarity=0.1, answerable=False, declined=True)] * refused
    (got,) = judged_sweep(rows, [0.25])
    assert counts(got.declined) == [130, 256]
    assert counts(got.unanswerable_passed) == [256, 267]
