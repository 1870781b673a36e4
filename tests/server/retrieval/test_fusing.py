"""From the rankers' lists to one list of candidates."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.fusion import fused_score
from knobctl.server.retrieval.fusing import best_ranks, fuse
from knobctl.server.retrieval.settings import Fusion
from tests.server.retrieval.candidates import CHUNKS, EQUAL, RANKINGS


def ranked(lists: dict[str, list[str]]) -> dict[str, dict[str, int]]:
    return {name: best_ranks([ids], 500) for name, ids in lists.items()}


def test_scores_are_those_of_the_page() -> None:
    """Found by one, two and three of three live rankers: 1/3, 2/3 and 1 at best."""
    lists = {"vector": ["all", "two", "one"], "bm25": ["all", "two"], "recency": ["all", "new"]}
    found = {c.chunk_id: c for c in fuse(ranked(lists), active=lists, fusion=EQUAL)}
    assert found["all"].score == 1.0
    assert found["two"].score == pytest.approx(61 / 62 * 2 / 3)
    assert found["one"].score == pytest.approx(61 / 63 / 3)
    assert found["new"].ranks == {"recency": 2}


def test_candidates_come_by_score_and_then_by_id() -> None:
    """Two chunks that are first in one list each score the same; their ids decide."""
    lists = {"vector": ["zebra"], "bm25": ["apple"]}
    found = fuse(ranked(lists), active=lists, fusion=EQUAL)
    assert [(c.chunk_id, c.score) for c in found] == [("apple", 0.5), ("zebra", 0.5)]


def test_a_ranker_that_is_active_without_rows_left_still_counts() -> None:
    """Rows dropped by the cosine floor leave the ceilings of the other rankers where they were."""
    found = fuse({"vector": {}, "bm25": {"a": 1}}, active=["vector", "bm25"], fusion=EQUAL)
    assert found[0].score == 0.5


def test_nothing_found_gives_no_candidates() -> None:
    """No rows, no score to reckon, no trouble."""
    assert fuse({}, active=[], fusion=EQUAL) == ()


@settings(deadline=None, max_examples=60)
@given(RANKINGS, st.integers(1, 1000), st.lists(st.floats(0.01, 100), min_size=3, max_size=3))
def test_every_score_is_the_one_functions(
    lists: dict[str, list[str]], k: int, weights: list[float]
) -> None:
    """Each candidate scores what knobctl.fusion says, all chunks are there once, and the order is strict."""
    fusion = Fusion(k=k, weights=dict(zip(EQUAL.weights, weights, strict=True)))
    found = fuse(ranked(lists), active=list(lists), fusion=fusion)
    assert {c.chunk_id for c in found} == {chunk for ids in lists.values() for chunk in ids}
    for one in found:
        expected = {
            name: ids.index(one.chunk_id) + 1 for name, ids in lists.items() if one.chunk_id in ids
        }
        assert one.ranks == expected
        assert one.score == fused_score(expected, weights=fusion.weights, k=k, active=list(lists))
    for better, worse in pairwise(found):
        assert (-better.score, better.chunk_id) < (-worse.score, worse.chunk_id)


def test_several_lists_of_one_ranker_become_one_by_best_rank() -> None:
    """A chunk's rank is its best one; chunks with the same rank are in the order of their ids; then comes the cut."""
    assert best_ranks([["b", "a", "c"], ["d", "c"]], 3) == {"b": 1, "d": 1, "a": 2}
    assert list(best_ranks([["b", "a", "c"], ["d", "c"]], 9).items()) == [
        ("b", 1),
        ("d", 1),
        ("a", 2),
        ("c", 2),
    ]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(CHUNKS, max_size=12, unique=True), min_size=1, max_size=5))
def test_the_merged_list_does_not_depend_on_the_order_of_the_queries(
    lists: list[list[str]],
) -> None:
    """Reversing the queries changes nothing, and no rank is worse than in any list."""
    merged = best_ranks(lists, 10)
    if len(lists) > 1:
        assert merged == best_ranks(lists[::-1], 10)
    for chunk, rank in merged.items():
        assert rank == min(ids.index(chunk) + 1 for ids in lists if chunk in ids)
