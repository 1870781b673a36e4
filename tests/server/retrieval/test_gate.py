"""The confidence gate and the no-match gate."""

from __future__ import annotations

import pytest

from knobctl.server.retrieval.gate import accepts, no_match, survivors
from knobctl.server.retrieval.model import RankerReport
from tests.server.retrieval.candidates import fused, scored, under


@pytest.mark.parametrize(
    ("best", "knobs", "stands"),
    [
        (0.5, {}, True),  # MinConfident as shipped, inclusive
        (0.49, {}, False),
        (0.49, {"gate_mode": "DISABLED"}, True),
        (0.49, {"gate_min_confident": 0.0001}, True),
        (0.6, {"gate_min_confident": 0.61}, False),
    ],
)
def test_the_first_pass_stands_where_its_best_score_is_high_enough(
    best: float, knobs: dict[str, object], stands: bool
) -> None:
    """The gate is off, or the best score reaches gate_min_confident."""
    assert accepts(fused(scored(best, 0.1)), under(**knobs).expansion) is stands


def test_a_first_pass_without_any_row_is_not_expanded() -> None:
    """An empty scope stays empty, however deep one looks."""
    assert accepts(fused([], vector=RankerReport(), bm25=RankerReport()), under().expansion)


def test_a_first_pass_whose_rows_fell_to_the_cosine_floor_is_expanded() -> None:
    """A rewrite may be nearer to what is there."""
    dropped = RankerReport(rows=4, removed_by_cosine_floor=4)
    assert not accepts(fused([], vector=dropped), under().expansion)


def test_an_expansion_is_cut_at_its_own_floor() -> None:
    """What is under gate_expanded_floor is counted apart; the floor itself passes."""
    kept, removed = survivors(scored(0.6, 0.3, 0.29, 0.1), under().expansion)
    assert ([c.score for c in kept], removed) == ([0.6, 0.3], 2)


@pytest.mark.parametrize(
    ("best_cosine", "floor", "closes"),
    [
        (0.4, 0.0, False),  # off
        (-0.2, 0.0, False),
        (0.4, 0.4, False),  # strictly under
        (0.39, 0.4, True),
        (None, 0.4, False),  # nobody can judge
    ],
)
def test_the_no_match_gate_closes_strictly_under_its_cosine(
    best_cosine: float | None, floor: float, closes: bool
) -> None:
    """It stays open where the vector ranker gave no answer."""
    assert no_match(best_cosine, floor) is closes
