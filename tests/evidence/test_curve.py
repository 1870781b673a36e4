"""The refusal curve is what counting line by line gives, and the gates beside the floor keep their part."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.curve import OtherGates, curve_of, histogram, scores_by_label
from knobctl.evidence.recording import Label, Why
from knobctl.evidence.sweep import Row, judged_sweep
from tests.evidence.recordings import SHIPPED, WITHOUT_RECENCY, lines, question, read, recording
from tests.evidence.test_rates import PUBLISHED

FLOORS = ["0.0001", "0.15", "0.3", "0.33", "1/3", "0.34", "0.5", "0.66", "2/3", "0.67", "0.9", "1"]
SCORES = st.lists(st.floats(0, 1), max_size=60)
FLOOR = st.fractions(Fraction(1, 1000), 1, max_denominator=1000)


@pytest.mark.parametrize("path", [SHIPPED, WITHOUT_RECENCY], ids=lambda path: path.name)
@pytest.mark.parametrize("floor", FLOORS)
def test_it_is_what_counting_lines_gives(path: Any, floor: str) -> None:
    """All of them and each label, at floors between, at and beside the ceilings."""
    made, at = read(path), Fraction(floor)
    rows = lines(path)[1:]
    assert curve_of(made).refused(at) == sum(row["fused"] < float(at) for row in rows)
    for label in Label:
        mine = [row for row in rows if row["label"] == label.value]
        curve = curve_of(made, label=label)
        assert (curve.refused(at), curve.counted) == (
            sum(row["fused"] < float(at) for row in mine),
            len(mine),
        )


@pytest.mark.parametrize("want", PUBLISHED["refusal_curve"])
def test_the_published_counts_come_out(want: dict[str, Any]) -> None:
    """The 338 rows give the counts of the published curve."""
    rows = PUBLISHED["reconstruction"]["rows"]
    made = recording([question(at, score) for at, (_, _, score, _) in enumerate(rows)])
    curve = curve_of(made)
    assert [curve.refused(Fraction(str(want["floor"]))), curve.counted] == want["refused"]


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from((True, False))), max_size=60), FLOOR)
@settings(deadline=None, max_examples=100)
def test_it_agrees_with_the_sweep(scored: list[tuple[float, bool]], floor: Fraction) -> None:
    """Two reckonings, one of them in numpy."""
    label = {True: Label.ANSWERABLE, False: Label.UNANSWERABLE}
    made = recording([question(at, one, label[yes]) for at, (one, yes) in enumerate(scored)])
    (swept,) = judged_sweep(
        [Row(max_similarity=one, answerable=yes) for one, yes in scored], [float(floor)]
    )
    lost = curve_of(made, label=Label.ANSWERABLE)
    passed = curve_of(made, label=Label.UNANSWERABLE)
    assert (lost.refused(floor), lost.counted) == (
        swept.answerable_refused.numerator,
        swept.answerable_refused.denominator,
    )
    assert passed.counted - passed.refused(floor) == swept.unanswerable_passed.numerator


@given(SCORES, FLOOR, FLOOR)
@settings(deadline=None, max_examples=100)
def test_a_higher_floor_never_refuses_fewer(
    scores: list[float], one: Fraction, other: Fraction
) -> None:
    """Monotone, from the open floor to one above all scores."""
    curve = curve_of(recording([question(at, score) for at, score in enumerate(scores)]))
    low, high = sorted((one, other))
    assert 0 <= curve.refused(low) <= curve.refused(high) <= curve.counted == len(scores)


def test_a_score_equal_to_the_floor_passes() -> None:
    """As doubles: the double of a third, and the one below it."""
    third = 1 / 3
    made = recording([question(0, third), question(1, 0.33333333333333326)])
    assert curve_of(made).refused(Fraction(1, 3)) == 1


def test_nothing_is_known_below_the_floor_that_was_measured_under() -> None:
    """Below 0.3 no number, at 0.3 those that nothing reached."""
    made = recording([question(0, None), question(1, 0.5)], floor=0.3)
    curve = curve_of(made)
    assert (curve.share(Fraction("0.29")), curve.refused(Fraction("0.3"))) == (None, 1)
    with pytest.raises(ValueError, match="known below"):
        curve.refused(Fraction("0.29"))


def test_another_gate_refuses_at_any_floor() -> None:
    """What the expansion floor cuts, and what is no match, no fused floor brings back."""
    made = recording(
        [
            question(0, 0.4, expanded=True),
            question(1, 0.4),
            question(2, 0.9, nearest_cosine=0.1),
            question(3, 0.9, nearest_cosine=0.9),
        ]
    )
    gates = OtherGates(expansion_floor=0.5, no_match_cosine=0.2)
    assert [curve_of(made, gates).refused(Fraction(at)) for at in ("0.01", "0.5", "1")] == [2, 3, 4]


def test_a_cut_by_a_higher_expansion_floor_is_not_guessed() -> None:
    """What it hid when it was measured is unknown to a tenant with a lower one."""
    made = recording([question(0, None, expanded=True)], expansion_floor=0.3)
    assert curve_of(made, OtherGates(expansion_floor=0.3)).known_from == 0.0001
    assert curve_of(made, OtherGates(expansion_floor=0.1)).known_from == 0.3


def test_questions_without_a_row_are_in_no_rate() -> None:
    """Neither those that failed."""
    made = recording([question(0, None, why=Why.EMPTY), question(1, None, why=Why.FAILED)])
    curve = curve_of(made)
    assert (curve.counted, curve.share(Fraction(1))) == (0, None)


@given(SCORES, st.integers(1, 50))
@settings(deadline=None, max_examples=100)
def test_the_bands_add_up_and_a_floor_on_an_edge_splits_them(
    scores: list[float], bands: int
) -> None:
    """Each score is in one band; below an edge there are as many as the floor at that edge refuses."""
    made = recording([question(at, score) for at, score in enumerate(scores)])
    counted = histogram(scores_by_label(made), Fraction(1), bands)
    numbers = counted.by_label.get(None, [0] * bands)
    assert (sum(numbers), len(numbers)) == (len(scores), bands)
    for at, edge in enumerate(counted.edges[:-1]):
        assert sum(numbers[:at]) == bisect_left(sorted(scores), edge)
