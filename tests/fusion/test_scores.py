"""The four public functions, held against every given case and against brute force."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knobctl.fusion import ceiling, deepest_rank, exact_score, fused_score
from tests.fusion.vectors import BY_LETTER, EQUAL, RANKERS, VECTORS

WEIGHTS = st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=100)
SETS = st.sets(st.sampled_from(RANKERS), min_size=1)


def test_every_given_case_has_its_exact_score() -> None:
    """The fraction equals the given one; where none is given, there is no score."""
    for _, weights, k, active, ranks, exact, *_ in VECTORS["cases"]:
        case = arguments(weights, k, active, ranks)
        if exact is None:
            with pytest.raises(ValueError, match="are all 0"):
                exact_score(**case)
        else:
            assert exact_score(**case) == Fraction(exact), case


def test_every_given_case_has_its_double_to_the_last_bit() -> None:
    """Summed vector, bm25, recency and then divided, as the engine does it."""
    for _, weights, k, active, ranks, exact, _, summed in VECTORS["cases"]:
        case = arguments(weights, k, active, ranks)
        if exact is None:
            with pytest.raises(ValueError, match="are all 0"):
                fused_score(**case)
        else:
            assert fused_score(**case) == summed, case
            doubles = {name: float(Fraction(weight)) for name, weight in case["weights"].items()}
            assert fused_score(**{**case, "weights": doubles}) == summed, case


def arguments(weights: list[str], k: int, active: str, ranks: list[int | None]) -> dict[str, Any]:
    """Spell a given row as arguments."""
    return {
        "ranks": {name: rank for name, rank in zip(RANKERS, ranks, strict=True) if rank},
        "weights": dict(zip(RANKERS, weights, strict=True)),
        "k": k,
        "active": {BY_LETTER[letter] for letter in active},
    }


def test_every_given_ceiling() -> None:
    """Whatever k is, the ceiling is the share of the rankers that found the hit."""
    for case in VECTORS["ceilings_any_k"]:
        weights = dict(zip(RANKERS, case["weights"], strict=True))
        found = ceiling(case["found_by"], weights=weights, active=case["active"])
        assert found == Fraction(case["ceiling"]), case
        assert float(found) == case["float64"]


def test_every_given_deepest_rank_of_a_single_list() -> None:
    """The closed form gives the rank that brute force gave, at every share, k and floor."""
    for case in VECTORS["single_list_deepest_rank"]:
        share = Fraction(case["share"])
        weights = {"vector": share} | ({"bm25": 1 - share} if share < 1 else {})
        found = deepest_rank(
            "vector", floor=case["floor"], weights=weights, k=case["k"], active=set(weights)
        )
        assert found == case["deepest_rank"], case


@pytest.mark.parametrize("case", VECTORS["two_of_three_k60_equal"], ids=lambda case: case["floor"])
def test_pairs_of_ranks_that_clear_a_floor(case: dict[str, Any]) -> None:
    """Found by two of three: for each first rank the deepest second one, and how many pairs of a square pass."""
    floor = Fraction(case["floor"])

    def passes(first: int, second: int | None) -> bool:
        ranks = {"vector": first} | ({"bm25": second} if second else {})
        return exact_score(ranks, weights=EQUAL, k=60, active=RANKERS) >= floor

    for first, deepest in case["for_first_rank_the_deepest_second_rank"]:
        if deepest == "any":
            assert passes(first, None)
        else:
            assert passes(first, deepest)
            assert not passes(first, deepest + 1)
    for side, key in (
        (10, "pairs_clearing_of_100_in_10x10"),
        (32, "pairs_clearing_of_1024_in_32x32"),
    ):
        pairs = product(range(1, side + 1), repeat=2)
        assert sum(passes(*pair) for pair in pairs) == case[key]


def test_triples_of_ranks_that_clear_a_floor() -> None:
    """Found by all three: how many of 32 x 32 x 32 triples pass, and the deepest third rank behind two firsts."""
    scores = [
        exact_score(dict(zip(RANKERS, ranks, strict=True)), weights=EQUAL, k=60, active=RANKERS)
        for ranks in product(range(1, 33), repeat=3)
    ]
    for case in VECTORS["three_of_three_k60_equal"]:
        floor = Fraction(case["floor"])
        if case["triples_clearing_of_32768_in_32x32x32"] is not None:
            passing = sum(score >= floor for score in scores)
            assert passing == case["triples_clearing_of_32768_in_32x32x32"], case
        assert third_rank(floor) == case["deepest_third_rank_when_two_are_first"], case


def third_rank(floor: Fraction) -> int | str:
    """The deepest third rank that passes when a hit is first in two lists, by bisection on exact scores."""

    def passes(third: int | None) -> bool:
        ranks = {"vector": 1, "bm25": 1} | ({"recency": third} if third else {})
        return exact_score(ranks, weights=EQUAL, k=60, active=RANKERS) >= floor

    if passes(None):
        return "any"
    low, high = 1, 10_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return low


@pytest.mark.parametrize(("live", "deepest"), [(3, 7), (2, 41), (1, 143)])
def test_floor_0_3_admits_vector_hits_to_rank_7_41_or_143(live: int, deepest: int) -> None:
    """A ranker that falls silent makes the same floor looser."""
    weights = dict.fromkeys(RANKERS, 1)
    found = deepest_rank("vector", floor="0.3", weights=weights, k=60, active=RANKERS[:live])
    assert found == deepest


@pytest.mark.parametrize(
    "third",
    [Fraction(1, 3), "1/3", " 1/3", Decimal("0.25"), "0.25", "25e-2", 0.25, 2, "2"],
    ids=repr,
)
def test_weights_are_read_in_every_spelling(third: Any) -> None:
    """A fraction, a decimal, an int, a float, or the text of one."""
    weights = {"vector": 1, "bm25": third}
    share = 1 / (1 + Fraction(str(third)))
    assert ceiling({"vector"}, weights=weights, active=set(weights)) == share
    score = fused_score({"vector": 1}, weights=weights, k=60, active=set(weights))
    assert score == pytest.approx(float(share), rel=1e-15)


def test_a_float_means_its_decimal_text() -> None:
    """0.3 is three tenths, not the double beside it."""
    weights = {"vector": 0.5, "bm25": 0.3, "recency": 0.2}
    assert ceiling({"bm25"}, weights=weights, active=RANKERS) == Fraction(3, 10)
    assert deepest_rank("bm25", floor=0.3, weights=weights, k=60, active=RANKERS) == 1


def test_other_rankers_are_summed_after_the_usual_three_in_their_own_order() -> None:
    """The last bit of a double depends on the order, so the order is fixed."""
    usual = {"recency": 0.2, "bm25": 0.3, "vector": 0.5}
    assert fused_score({"bm25": 1}, weights=usual, k=60, active=RANKERS) == 0.29999999999999993
    other = {"fresh": 0.2, "lexical": 0.3, "dense": 0.5}
    assert (
        fused_score({"lexical": 1}, weights=other, k=60, active=set(other)) == 0.30000000000000004
    )


def test_a_rank_in_a_ranker_that_is_not_active_counts_for_nothing() -> None:
    """The formula sums over the active rankers only."""
    case: dict[str, Any] = {"weights": EQUAL, "k": 60, "active": {"vector", "bm25"}}
    with_rank, without = {"vector": 8, "recency": 1}, {"vector": 8}
    assert fused_score(with_rank, **case) == fused_score(without, **case)
    assert exact_score(with_rank, **case) == exact_score(without, **case) == Fraction(61, 136)


def test_a_hit_of_no_active_ranker_scores_zero() -> None:
    """A ranker without weight is active but adds nothing."""
    weights = {"vector": 1, "recency": 0}
    assert exact_score({"recency": 1}, weights=weights, k=60, active=set(weights)) == 0
    assert fused_score({"recency": 1}, weights=weights, k=60, active=set(weights)) == 0.0


def test_weights_that_underflow_in_doubles_still_have_a_score() -> None:
    """Only ratios matter, however small the weights are."""
    weights = dict.fromkeys(("vector", "bm25"), 5e-324)
    assert fused_score({"vector": 1}, weights=weights, k=60, active=set(weights)) == 0.5


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"active": set()}, "no ranker is active"),
        ({"weights": {"vector": 0, "bm25": 0}}, "the weights of vector, bm25 are all 0"),
        ({"active": {"vector", "dense"}}, "dense is active but has no weight"),
        ({"ranks": {"dense": 1}}, "a rank is given for dense, a weight only for vector, bm25"),
        ({"ranks": {"vector": 0}}, "the rank in vector is 0; ranks count from 1"),
        ({"ranks": {"bm25": -3}}, "ranks count from 1"),
        ({"k": -1}, "k is -1; the rank constant must be 0 or more"),
        ({"weights": {"vector": -1, "bm25": 1}}, "the weight of vector is -1"),
        ({"weights": {"vector": float("nan"), "bm25": 1}}, "the weight of vector is"),
        ({"weights": {"vector": float("inf"), "bm25": 1}}, "the weight of vector is"),
        ({"weights": {"vector": "much", "bm25": 1}}, "a finite number such as 0.3 or 1/3"),
        ({"weights": {"vector": "1/0", "bm25": 1}}, "a finite number such as 0.3 or 1/3"),
        ({"weights": {"vector": "1e-999999999", "bm25": 1}}, "a number such as 0.3 or 1/3"),
        ({"weights": {"vector": True, "bm25": 1}}, "the weight of vector is True"),
    ],
)
def test_what_has_no_score_is_refused_in_words(changed: dict[str, Any], words: str) -> None:
    """Never 0 for an undefined score, and never a silent guess."""
    case = {
        "ranks": {"vector": 1},
        "weights": {"vector": 1, "bm25": 1},
        "k": 60,
        "active": {"vector", "bm25"},
        **changed,
    }
    for score in (fused_score, exact_score):
        with pytest.raises(ValueError, match=words):
            score(**case)


def test_a_ceiling_of_an_idle_ranker_is_refused() -> None:
    """A ranker that returned nothing has found nothing."""
    with pytest.raises(
        ValueError, match="recency found the hit but is not among the active rankers"
    ):
        ceiling({"recency"}, weights=EQUAL, active={"vector"})


@pytest.mark.parametrize("floor", ["0", 0, "-0.1"], ids=repr)
def test_a_floor_of_zero_has_no_last_rank(floor: Any) -> None:
    """Without a floor every rank passes."""
    with pytest.raises(ValueError, match="no last rank"):
        deepest_rank("vector", floor=floor, weights=EQUAL, k=60, active=RANKERS)


@given(
    weights=st.fixed_dictionaries(dict.fromkeys(RANKERS, WEIGHTS)),
    k=st.integers(1, 200),
    active=SETS,
    floor=st.fractions(Fraction(1, 20), 1, max_denominator=1000),
)
def test_the_deepest_rank_is_the_last_that_passes(
    weights: dict[str, Fraction], k: int, active: set[str], floor: Fraction
) -> None:
    """The closed form agrees with the scores on both sides of it."""
    for ranker in active:
        deepest = deepest_rank(ranker, floor=floor, weights=weights, k=k, active=active)
        scores = [
            exact_score({ranker: rank}, weights=weights, k=k, active=active)
            for rank in (deepest, deepest + 1)
            if rank
        ]
        assert [score >= floor for score in scores] == [True, False][-len(scores) :]


@given(
    weights=st.fixed_dictionaries(dict.fromkeys(RANKERS, WEIGHTS)),
    k=st.integers(0, 1000),
    ranks=st.dictionaries(st.sampled_from(RANKERS), st.integers(1, 1000), min_size=1),
    active=SETS,
)
def test_laws_of_fusion(
    weights: dict[str, Fraction], k: int, ranks: dict[str, int], active: set[str]
) -> None:
    """Doubles follow the fractions; silence of a ranker never lowers others; scale of weights is nothing; first everywhere is 1."""
    found = {name: rank for name, rank in ranks.items() if name in active}
    exact = exact_score(found, weights=weights, k=k, active=active)
    assert fused_score(found, weights=weights, k=k, active=active) == pytest.approx(
        float(exact), rel=1e-14
    )
    assert 0 <= exact <= (ceiling(found, weights=weights, active=active) if found else 0)
    for silent in active - set(found):
        if active - {silent}:
            assert exact_score(found, weights=weights, k=k, active=active - {silent}) >= exact
    scaled = {name: weight * 7 for name, weight in weights.items()}
    assert exact_score(found, weights=scaled, k=k, active=active) == exact
    first = dict.fromkeys(active, 1)
    assert exact_score(first, weights=weights, k=k, active=active) == 1
    assert fused_score(first, weights=weights, k=k, active=active) == 1.0


@pytest.mark.slow
def test_a_hundred_thousand_random_setups_agree_with_their_scores() -> None:
    """The closed form is exact, and a double disagrees with the fraction only within 1e-12 of the floor."""
    dice = random.Random(60)
    for _ in range(100_000):
        weights = {
            name: Fraction(dice.randint(1, 1000), 100) for name in RANKERS[: dice.randint(1, 3)]
        }
        k, floor = dice.randint(1, 1000), Fraction(dice.randint(1, 1000), 1000)
        deepest = deepest_rank("vector", floor=floor, weights=weights, k=k, active=set(weights))
        rank = max(1, deepest + dice.randint(0, 1))
        exact = exact_score({"vector": rank}, weights=weights, k=k, active=set(weights))
        assert (exact >= floor) == (rank <= deepest)
        double = fused_score({"vector": rank}, weights=weights, k=k, active=set(weights))
        if (double >= float(floor)) != (exact >= floor):
            assert abs(exact - floor) < Fraction(1, 10**12)
