"""Counts from stage to stage, and the bounds of another floor, against candidates that are known."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.diagnosis.counting import first_empty, stages, would_keep
from knobctl.diagnosis.reading import from_object
from knobctl.fusion import exact
from tests.diagnosis.answers import FIELD_REPORT, assembled, hit_at, quality, rankers, search

RANKS = st.dictionaries(
    st.sampled_from(["vector", "bm25", "recency"]), st.integers(1, 50), min_size=1
)
CANDIDATES = st.lists(RANKS, min_size=1, max_size=30).map(
    lambda found: [hit_at(f"c{at:02}", ranks) for at, ranks in enumerate(found)]
)
FLOORS = st.sampled_from(
    ["0.0001", "0.15", "0.3", "0.33", "1/3", "0.34", "0.5", "0.66", "2/3", "0.7", "1"]
)
DROPPED = ("scoreHistogram", "bestRemovedScore")


@settings(max_examples=100)
@given(
    CANDIDATES, FLOORS, FLOORS, st.integers(1, 12), st.sets(st.sampled_from(DROPPED)), st.booleans()
)
def test_another_floor_keeps_what_the_bounds_say(
    candidates: list[dict[str, Any]],
    ran: str,
    other: str,
    limit: int,
    dropped: set[str],
    searched: bool,
) -> None:
    """Whatever the answer leaves out, the true number lies between the bounds."""
    make = search if searched else assembled
    answer = make(candidates, float(exact(ran)), limit)
    for name in dropped:
        (answer if searched else answer["quality"]).pop(name, None)
    found = would_keep(from_object(answer, "x"), exact(other))
    truth = sum(exact(one["score"]) >= exact(other) for one in candidates)
    assert found is not None
    assert found.at_least <= truth
    assert found.at_most is None or truth <= found.at_most


@given(CANDIDATES, FLOORS)
def test_the_floor_that_ran_keeps_what_it_kept(candidates: list[dict[str, Any]], ran: str) -> None:
    """With every field there, both bounds are the count."""
    floor = exact(ran)
    answer = from_object(assembled(candidates, float(floor), 50), "x")
    found = would_keep(answer, exact(float(floor)))
    assert found is not None
    assert (found.at_least, found.at_most) == (answer.kept, answer.kept)


def test_a_band_that_is_cut_gives_bounds() -> None:
    """Three to twelve: nine candidates lie between 0.30 and 0.35, and nobody says where."""
    found = would_keep(from_object(search(FIELD_REPORT), "x"), Fraction(33, 100))
    assert found is not None
    assert (found.at_least, found.at_most) == (3, 12)


def test_what_top_k_left_out_scores_no_more_than_the_last_shown() -> None:
    """So a floor above that is counted exactly."""
    found = would_keep(from_object(search(FIELD_REPORT, 0.01, 8), "x"), Fraction(33, 100))
    assert found is not None
    assert (found.at_least, found.at_most) == (4, 4)


def test_an_older_answer_gives_a_lower_bound_only() -> None:
    """What its floor removed it does not say."""
    found = would_keep(
        from_object({"results": [{"score": 0.9}, {"score": 0.8}]}, "x"), Fraction(17, 20)
    )
    assert found is not None
    assert (found.at_least, found.at_most) == (1, 1)
    low = would_keep(from_object({"results": [{"score": 0.9}]}, "x"), Fraction(1, 10))
    assert low is not None
    assert (low.at_least, low.at_most) == (1, None)


def test_nothing_to_count_gives_nothing() -> None:
    """Not zero."""
    assert would_keep(from_object({"outcome": "below_threshold"}, "x"), Fraction(1, 2)) is None
    assert would_keep(from_object(search([]), "x"), Fraction(1, 2)) is None


def test_the_steps_are_counted_in_the_order_of_the_pipeline() -> None:
    """Rows, cosine filter, fusion, expansion floor, floor, prompt."""
    answer = assembled(
        FIELD_REPORT,
        0.33,
        3,
        rankers=rankers(50, 4, 5, vector={"removedByCosineFloor": 44}),
        removedByExpansionFloor=7,
    )
    found = [(stage.name, stage.rows) for stage in stages(from_object(answer, "x"))]
    assert found == [
        ("rankers", 59),
        ("cosine floor", 15),
        ("fusion", 19),
        ("expansion floor", 12),
        ("floor", 4),
        ("prompt", 3),
    ]


def test_the_first_step_with_nothing_left_is_named() -> None:
    """Stages 0/0/0 and 100/60/0 both end empty, and not for one reason."""
    cases = {
        "rankers": search([], rankers=rankers(0, 0, 0)),
        "cosine floor": search([], rankers=rankers(9, 0, 0, vector={"removedByCosineFloor": 9})),
        "floor": search(FIELD_REPORT),
        "no-match gate": quality(
            effectiveMinScore=0.3, rankers=rankers(3), resultsBelowThreshold=3, noMatch=True
        ),
        "expansion floor": quality(
            effectiveMinScore=0.3, rankers=rankers(3), removedByExpansionFloor=3
        ),
        "prompt": quality(effectiveMinScore=0.3, rankers=rankers(2), omitted={"tokenBudget": 2}),
    }
    for name, answer in cases.items():
        empty = first_empty(from_object(answer, "x"))
        assert empty is not None
        assert empty.name == name
    assert first_empty(from_object(search(FIELD_REPORT, 0.3), "x")) is None
