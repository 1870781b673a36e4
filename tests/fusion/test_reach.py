"""Setup and Reach, held against the given sections and against brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.fusion import Setup, Verdict, exact_score, reach
from tests.fusion.vectors import RANKERS, VECTORS, reached


@pytest.mark.parametrize("section", ["two_of_three_k60_equal", "three_of_three_k60_equal"])
def test_every_given_deepest_equal_rank(section: str) -> None:
    """Found by several at the same rank: the closed form is the given rank."""
    found_by = RANKERS[:2] if section.startswith("two") else RANKERS
    for case in VECTORS[section]:
        row = reached(case["floor"]).row(RANKERS, found_by)
        assert row.deepest_rank == case["deepest_equal_rank"], case


def test_every_given_lowest_score_of_a_list() -> None:
    """The last row of a list scores what was given, alone and together with the others' last rows."""
    for case in VECTORS["lowest_single_list_score_at_depth"]:
        share, depth = Fraction(case["share"]), case["list_depth"]
        weights: dict[str, object] = {"vector": share}
        if share < 1:
            weights["bm25"] = 1 - share
        found = reached("0.3", k=case["k"], weights=weights, depths=dict.fromkeys(weights, depth))
        row = found.row(tuple(weights), ("vector",))
        assert row.lowest == Fraction(case["lowest_single_list_score"]), case
        assert float(row.lowest) == case["float64"]
        together = found.row(tuple(weights), tuple(weights))
        if case["three_list_lowest_if_all_at_depth"] is not None:
            assert together.lowest == Fraction(case["three_list_lowest_if_all_at_depth"])


def test_every_given_structural_verdict() -> None:
    """Unreachable sets, deepest vector-only rank, rows admitted inside a list, and whether a result can be empty."""
    for case in VECTORS["structural"]:
        weights = {
            name: weight
            for name, weight in zip(RANKERS, case["weights"], strict=True)
            if name in case["active"]
        }
        live = tuple(case["active"])
        assert structural(case, weights, live, 50) == {
            "unreachable": sorted(case["unreachable_found_by"]),
            "share": Fraction(case["vector_share"]),
            "deepest": case["vector_only_deepest_rank"],
            "can_be_empty": case["can_ever_empty_the_result"],
        }
        for depth, admitted in case["vector_only_admitted_within_depth"].items():
            found = reached(
                case["floor"], k=case["k"], weights=weights, depths=dict.fromkeys(live, int(depth))
            )
            row = found.row(live, ("vector",))
            assert min(row.deepest_rank, int(depth)) == admitted
            assert row.within_depth == row.vacuous == (admitted == int(depth))


def structural(
    case: dict[str, Any], weights: dict[str, object], live: tuple[str, ...], depth: int
) -> dict[str, Any]:
    """What our reach says of one given case."""
    found = reached(case["floor"], k=case["k"], weights=weights, depths=dict.fromkeys(live, depth))
    rows = [row for row in found.rows if row.live == live]
    return {
        "unreachable": sorted("+".join(row.found_by) for row in rows if row.unreachable),
        "share": found.shares(live)["vector"],
        "deepest": found.row(live, ("vector",)).deepest_rank,
        "can_be_empty": found.can_be_empty(live),
    }


@pytest.mark.parametrize(
    "case",
    VECTORS["band_separation_equal_weights"],
    ids=lambda case: f"k {case['k']}, {case['m']} over {case['m'] - 1}",
)
def test_bands_of_list_counts_stay_apart_to_the_given_depth(case: dict[str, Any]) -> None:
    """Down to that depth each hit of m lists outscores each of m - 1; one row deeper it does not."""
    depth = case["deepest_depth_at_which_every_m_list_hit_outscores_every_m_minus_1_list_hit"]
    apart = []
    for rows in (depth, depth + 1):
        found = reached("0.3", k=case["k"], depths=dict.fromkeys(RANKERS, rows))
        more = found.row(RANKERS, RANKERS[: case["m"]])
        fewer = found.row(RANKERS, RANKERS[: case["m"] - 1])
        apart.append(more.lowest > fewer.ceiling)
    assert apart == [True, False]


WEIGHTS = st.dictionaries(
    st.sampled_from((*RANKERS, "sparse")),
    st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2), Fraction(1, 10), Fraction(3, 10)]),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40)
@given(
    weights=WEIGHTS,
    k=st.integers(1, 80),
    floor=st.fractions(Fraction(1, 50), 1, max_denominator=60),
    depths=st.lists(st.integers(1, 6), min_size=3, max_size=3),
)
def test_every_row_agrees_with_brute_force_over_all_ranks(
    weights: dict[str, Fraction], k: int, floor: Fraction, depths: list[int]
) -> None:
    """Unreachable is no passing combination, vacuous is all of them, the deepest rank is the last equal one that passes."""
    rows_of = dict(zip(weights, depths, strict=False))
    for row in reach(Setup(floor=floor, k=k, weights=weights, depths=rows_of)).rows:
        lists = [range(1, rows_of[name] + 1) for name in row.found_by]
        scores = [
            exact_score(
                dict(zip(row.found_by, ranks, strict=True)), weights=weights, k=k, active=row.live
            )
            for ranks in product(*lists)
        ]
        assert (max(scores), min(scores)) == (row.ceiling, row.lowest)
        assert row.unreachable == (not any(score >= floor for score in scores))
        assert row.vacuous == all(score >= floor for score in scores)
        assert row.depth == min(rows_of[name] for name in row.found_by)
        equal = [
            exact_score(dict.fromkeys(row.found_by, rank), weights=weights, k=k, active=row.live)
            >= floor
            for rank in range(1, row.depth + 2)
        ]
        assert equal == [rank <= row.deepest_rank for rank in range(1, row.depth + 2)]
        assert row.within_depth == all(equal[: row.depth])


@given(
    weights=st.fixed_dictionaries(dict.fromkeys(RANKERS, st.fractions(0, 10, max_denominator=20))),
    floor=st.fractions(Fraction(1, 100), Fraction(1, 3), max_denominator=300),
)
def test_a_floor_up_to_a_third_never_empties_a_result_of_three_rankers(
    weights: dict[str, Fraction], floor: Fraction
) -> None:
    """Whatever the weights: the heaviest live ranker's first row scores at least 1/m."""
    if any(weights.values()):
        assert reach(Setup(floor=floor, k=60, weights=weights, depths={})).never_empty


def test_never_empty_looks_at_every_live_set() -> None:
    """10:1:1 lifts the best row to 5/6 while all three are live, and to 1/2 when the heavy one is silent."""
    found = reached("0.6", weights={"vector": 10, "bm25": 1, "recency": 1})
    assert not found.can_be_empty(RANKERS)
    assert found.can_be_empty(("bm25", "recency"))
    assert (found.never_empty, found.least_best_score) == (False, Fraction(1, 2))


def test_the_shipped_setup_has_nineteen_rows_largest_live_set_first() -> None:
    """Seven sets of live rankers, and within each every set that can have found a hit, smallest first."""
    rows = reached("0.3").rows
    assert len(rows) == 19
    assert [row.found_by for row in rows[:4]] == [
        ("vector",),
        ("bm25",),
        ("recency",),
        ("vector", "bm25"),
    ]
    assert [len(row.live) for row in rows] == [3] * 7 + [2] * 9 + [1] * 3


@pytest.mark.parametrize(
    ("floor", "found_by", "verdict"),
    [
        ("0.3", ("vector",), Verdict.SELECTIVE),
        ("0.34", ("vector",), Verdict.UNREACHABLE),
        ("0.15", ("vector",), Verdict.VACUOUS),
        ("1/3", ("vector",), Verdict.ON_EDGE),
        ("0.3333333333", ("vector",), Verdict.ON_EDGE),
        ("0.33333", ("vector",), Verdict.SELECTIVE),
        ("0.33334", ("vector",), Verdict.UNREACHABLE),
        ("2/3", ("vector", "bm25"), Verdict.ON_EDGE),
        ("0.7", ("vector", "bm25"), Verdict.UNREACHABLE),
    ],
)
def test_one_word_for_a_row(floor: str, found_by: tuple[str, ...], verdict: Verdict) -> None:
    """The edge comes before yes and no."""
    assert reached(floor).row(RANKERS, found_by).verdict is verdict


def test_the_highest_floor_that_keeps_a_rank_keeps_it_and_no_more() -> None:
    """Rank 8 needs 61/204; anything above drops it."""
    found = reached("0.3")
    assert found.score_at(RANKERS, "vector", 8) == Fraction(61, 204)
    assert reached("61/204").row(RANKERS, ("vector",)).deepest_rank == 8
    assert reached("0.2991").row(RANKERS, ("vector",)).deepest_rank == 7


def test_an_unknown_depth_is_no_depth() -> None:
    """Another engine's schema may not say how long a list is: nothing is then vacuous."""
    row = reached("0.0001", depths={"vector": 50}).row(RANKERS, ("bm25",))
    assert row.depth is None
    assert (row.within_depth, row.vacuous, row.lowest) == (False, False, Fraction(0))


def test_many_rankers_are_looked_at_all_but_one_and_one_alone() -> None:
    """Seven rankers would have 2,059 rows; the sets that matter are all, all but one, and one."""
    found = reached("0.1", weights={f"ranker{number}": 1 for number in range(7)}, depths={})
    assert {len(live) for live in found.live_sets} == {7, 6, 1}
    assert found.policy_facts()["ranker0_ceiling_text"] == "1/7"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"floor": Fraction(0)}, "the floor is 0; it must be above 0"),
        ({"k": -1}, "k is -1"),
        ({"weights": {}}, "no ranker is active"),
        ({"weights": {"vector": Fraction(0)}}, "are all 0"),
    ],
)
def test_a_setup_without_scores_is_refused(changed: dict[str, Any], words: str) -> None:
    """There is no reach of nothing."""
    usual: dict[str, Any] = {
        "floor": Fraction(3, 10),
        "k": 60,
        "weights": {"vector": Fraction(1)},
        "depths": {},
    }
    with pytest.raises(ValueError, match=words):
        Setup(**{**usual, **changed})


def test_a_weightless_ranker_is_live_but_reaches_nothing() -> None:
    """Ceilings 1/2, 1/2, 0; alone it gives no score at all, so that set is left out."""
    found = reached("0.3", weights={"vector": 1, "bm25": 1, "recency": 0})
    assert found.row(RANKERS, ("recency",)).unreachable
    assert ("recency",) not in found.live_sets
