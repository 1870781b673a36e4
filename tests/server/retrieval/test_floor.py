"""The floor: what is kept, what is counted, and how the whole is classified."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.server.retrieval.floor import all_removed, apply_floor, histogram
from knobctl.server.retrieval.model import HISTOGRAM_BANDS, Outcome
from tests.server.retrieval.candidates import SCORES, scored


@pytest.mark.parametrize(
    ("floor", "kept", "removed"),
    [
        (0.0, 3, 0),
        (0.5, 2, 1),  # a score that equals the floor passes
        (math.nextafter(0.5, 1), 1, 2),
        (1.0, 1, 2),
    ],
)
def test_a_score_at_the_floor_is_kept(floor: float, kept: int, removed: int) -> None:
    """Inclusive at 0, at the value, and at 1."""
    found = apply_floor(scored(1.0, 0.5, 0.2), floor)
    assert (len(found.kept), found.removed, found.outcome) == (kept, removed, Outcome.OK)


def test_the_first_row_of_one_ranker_passes_a_third_in_doubles() -> None:
    """1/61 over 3/61 is one ulp above 1/3, whichever of the three it is."""
    assert apply_floor(scored((1 / 61) / (1 / 61 + 1 / 61 + 1 / 61)), 1 / 3).removed == 0


def test_outcomes() -> None:
    """Any kept: ok. All removed: below_threshold. Nothing there: no_results."""
    assert apply_floor(scored(0.9), 0.7).outcome is Outcome.OK
    assert apply_floor(scored(0.66), 0.7).outcome is Outcome.BELOW_THRESHOLD
    assert apply_floor([], 0.7).outcome is Outcome.NO_RESULTS


def test_the_best_removed_score_is_told() -> None:
    """It says by how much the floor missed."""
    assert apply_floor(scored(0.9, 0.66, 0.1), 0.7).best_removed_score == 0.66
    assert apply_floor(scored(0.9), 0.7).best_removed_score is None


def test_no_match_removes_and_counts_everything() -> None:
    """The no-match gate leaves nothing, and each candidate counts."""
    found = all_removed(scored(0.9, 0.2))
    assert (found.kept, found.removed, found.outcome) == ((), 2, Outcome.BELOW_THRESHOLD)
    assert found.best_removed_score == 0.9


@settings(deadline=None, max_examples=200)
@given(SCORES, st.floats(min_value=0.0, max_value=1.0))
def test_kept_and_removed_are_the_candidates(scores: list[float], floor: float) -> None:
    """Nothing is lost or counted twice, no kept score is under the floor, and no removed one is at it."""
    candidates = scored(*scores)
    found = apply_floor(candidates, floor)
    assert len(found.kept) + found.removed == len(candidates)
    assert list(found.kept) == [c for c in candidates if c.score >= floor]


@settings(deadline=None, max_examples=100)
@given(SCORES)
def test_the_histogram_counts_every_candidate_once(scores: list[float]) -> None:
    """A candidate is in the band whose upper end it does not pass."""
    counts = histogram(scored(*scores))
    assert len(counts) == HISTOGRAM_BANDS
    assert sum(counts) == len(scores)
    for band in range(HISTOGRAM_BANDS):
        assert counts[band] == sum(band / 20 < score <= (band + 1) / 20 for score in scores)


def test_a_score_on_an_edge_is_in_the_band_below() -> None:
    """0.7 belongs to 0.65 .. 0.7, so that a floor of 0.7 splits no band unseen."""
    assert [histogram(scored(x)).index(1) for x in (0.05, 0.7, math.nextafter(0.7, 1), 1.0)] == [
        0,
        13,
        14,
        19,
    ]
