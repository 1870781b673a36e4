"""What doubles do at a ceiling: the given measurements hold for our own function."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from knobctl.fusion import deepest_rank, fused_score
from knobctl.fusion.doubles import float_outcomes
from tests.fusion.vectors import EQUAL, RANKERS, VECTORS, reached

EDGES: dict[str, Any] = VECTORS["float_edges"]

ORDERED = [
    # given rows, weights, ranks by ranker
    ("vector_rank1_vs_one_third_k60", EQUAL, {"vector": 1}),
    ("vector_rank1_vs_one_third_k60_weights_one_third", dict.fromkeys(RANKERS, "1/3"), {"vector": 1}),
    ("two_of_three_rank1_vs_two_thirds_k60", EQUAL, {"vector": 1, "bm25": 1}),
    ("ranks_1_and_62_vs_half_k60", EQUAL, {"vector": 1, "bm25": 62}),
    ("ranks_62_62_62_vs_half_k60", EQUAL, dict.fromkeys(RANKERS, 62)),
    ("all_rank1_vs_one_k60", EQUAL, dict.fromkeys(RANKERS, 1)),
    ("weights_.5_.3_.2_all_rank1_vs_one", dict(zip(RANKERS, (0.5, 0.3, 0.2), strict=True)), dict.fromkeys(RANKERS, 1)),
    ("weights_.5_.3_.2_vector_bm25_rank1_vs_0.8", dict(zip(RANKERS, (0.5, 0.3, 0.2), strict=True)), {"vector": 1, "bm25": 1}),
    ("weights_.5_.3_.2_bm25_rank1_vs_0.3", dict(zip(RANKERS, (0.5, 0.3, 0.2), strict=True)), {"bm25": 1}),
    ("weights_.7_.2_.1_vector_rank1_vs_0.7", dict(zip(RANKERS, (0.7, 0.2, 0.1), strict=True)), {"vector": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "weights", "ranks"), ORDERED, ids=[row[0] for row in ORDERED])
def test_every_order_of_summation_gives_the_measured_double(
    name: str, weights: dict[str, Any], ranks: dict[str, int]
) -> None:
    """Rankers under other names are summed as listed, so every order can be asked for."""
    for row in EDGES[name]["rows"]:
        renamed = {f"{ranker} list": weights[ranker] for ranker in row["order"]}
        score = fused_score(
            {f"{ranker} list": rank for ranker, rank in ranks.items()},
            weights=renamed,
            k=60,
            active=set(renamed),
        )
        assert score == row["float64"] == float.fromhex(row["float64_hex"])


@pytest.mark.parametrize(
    ("name", "weights", "ranks", "floor"),
    [
        ("scan_vector_rank1_vs_1/3", EQUAL, {"vector": 1}, Fraction(1, 3)),
        ("scan_two_rank1_vs_2/3", EQUAL, {"vector": 1, "bm25": 1}, Fraction(2, 3)),
        ("scan_three_rank1_vs_1", EQUAL, dict.fromkeys(RANKERS, 1), Fraction(1)),
        ("scan_weights_one_third_rank1_vs_1/3", dict.fromkeys(RANKERS, 1 / 3), {"vector": 1}, Fraction(1, 3)),
        ("scan_two_active_rank1_vs_1/2", {"vector": 1, "bm25": 1}, {"vector": 1}, Fraction(1, 2)),
    ],
)  # fmt: skip
def test_a_best_hit_never_falls_below_its_ceiling_at_any_k(
    name: str, weights: dict[str, Any], ranks: dict[str, int], floor: Fraction
) -> None:
    """With equal weights the engine's formula keeps the first row at a floor that is the ceiling, for k from 1 to 1000."""
    scores = {
        k: fused_score(ranks, weights=weights, k=k, active=set(weights)) for k in range(1, 1001)
    }
    assert (
        [k for k, score in scores.items() if score < float(floor)]
        == EDGES[name]["float64_falls_below"]
        == []
    )
    assert (
        sum(score > float(floor) for score in scores.values()) == EDGES[name]["float64_lands_above"]
    )


@pytest.mark.parametrize(
    "case",
    EDGES["other_float64_formulations"],
    ids=lambda case: f"{case['form']} {case['hits']} of {case['of']}",
)
def test_where_other_formulations_lose_the_first_row_ours_keeps_it(case: dict[str, Any]) -> None:
    """A reciprocal or a joint denominator is no rewriting of the formula: it drops rows at these k."""
    weights = dict.fromkeys(RANKERS[: case["of"]], 1)
    ranks = dict.fromkeys(RANKERS[: case["hits"]], 1)
    for k in case["k_from_1_to_1000_below_floor"]:
        score = fused_score(ranks, weights=weights, k=k, active=set(weights))
        assert score >= float(Fraction(case["floor"]))


@pytest.mark.parametrize(
    "case", EDGES["typed_decimal_floors_against_exact_1/3"], ids=lambda case: case["typed"]
)
def test_a_third_as_people_type_it(case: dict[str, Any]) -> None:
    """Exactly, 0.3333333333333333 lies under a third and 0.33333333333333337 above; doubles agree but for the last bit."""
    deepest = deepest_rank("vector", floor=case["typed"], weights=EQUAL, k=60, active=RANKERS)
    assert (deepest >= 1) == case["vector_rank1_passes_exact"]
    score = fused_score({"vector": 1}, weights=EQUAL, k=60, active=RANKERS)
    assert (score >= float(case["typed"])) == case["vector_rank1_passes_naive_float64"]


def test_doubles_differ_from_fractions_only_on_the_edge() -> None:
    """Where the exact verdict and the double's differ, the row is called on the edge."""
    for case in EDGES["typed_decimal_floors_against_exact_1/3"]:
        row = reached(case["typed"]).row(RANKERS, ("vector",))
        if case["vector_rank1_passes_exact"] != case["vector_rank1_passes_naive_float64"]:
            assert row.on_edge


def test_an_edge_says_what_the_engine_and_other_orders_do() -> None:
    """bm25 alone at weights .5 .3 .2 and floor 0.3 fails in two of six orders, the engine's own among them."""
    found = reached("0.3", weights={"vector": "0.5", "bm25": "0.3", "recency": "0.2"})
    row = found.row(RANKERS, ("bm25",))
    score, passes = float_outcomes(row, found.setup)
    assert (row.on_edge, score) == (True, 0.29999999999999993)
    assert (passes[RANKERS], list(passes.values()).count(False), len(passes)) == (False, 2, 6)
