"""The variable `reach` of policies: exact arithmetic as plain values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from knobctl.fusion.numbers import exact, fraction_text, rounded_down, safely_below
from tests.fusion.vectors import RANKERS, reached


def test_the_facts_of_the_shipped_setup() -> None:
    """Seven of fifty vector rows pass, nothing is above a ceiling, and a result is never empty."""
    facts = reached("0.3").policy_facts()
    assert {key: value for key, value in facts.items() if not isinstance(value, dict)} == {
        "floor": 0.3,
        "floor_text": "0.3",
        "above_vector_ceiling": False,
        "above_two_ranker_ceiling": False,
        "above_best_score": False,
        "best_score_text": "1",
        "best_reachable_floor_text": "0.99",
        "on_edge": False,
        "vacuous": False,
        "never_empty": True,
        "never_empty_whichever_live": True,
        "two_ranker_ceiling": 2 / 3,
        "two_ranker_ceiling_text": "2/3",
        "two_equal_depth": 75,
        "three_equal_depth": 143,
        "vector_depth": 7,
        "vector_ceiling": 1 / 3,
        "vector_ceiling_text": "1/3",
        "vector_reachable_floor_text": "0.33",
        "vector_keep_all_floor_text": "0.1848",
        "bm25_depth": 7,
        "bm25_ceiling": 1 / 3,
        "bm25_ceiling_text": "1/3",
        "bm25_reachable_floor_text": "0.33",
        "bm25_keep_all_floor_text": "0.1848",
        "recency_depth": 7,
        "recency_ceiling": 1 / 3,
        "recency_ceiling_text": "1/3",
        "recency_reachable_floor_text": "0.33",
        "recency_keep_all_floor_text": "0.2541",
    }


def test_the_facts_of_fewer_rankers_stand_beside_them() -> None:
    """A ranker that falls silent loosens the floor: 7, then 41, then 143."""
    facts: Any = reached("0.3").policy_facts()
    assert facts["without_recency"]["vector_depth"] == 41
    assert facts["without_bm25"]["vector_depth"] == 41
    assert facts["vector_alone"]["vector_depth"] == 143
    assert facts["without_vector"]["vector_ceiling_text"] == "0"
    assert facts["without_vector"]["above_vector_ceiling"] is False


@pytest.mark.parametrize(
    ("floor", "above_vector", "above_two", "edge"),
    [
        ("0.33", False, False, False),
        ("1/3", False, False, True),
        ("0.3333333333333333", False, False, True),
        ("0.3333333333333334", True, False, True),
        ("0.34", True, False, False),
        ("2/3", True, False, True),
        ("0.7", True, True, False),
        ("1", True, True, False),
    ],
)
def test_the_verdicts_at_the_ceilings(
    floor: str, above_vector: bool, above_two: bool, edge: bool
) -> None:
    """Compared exactly; 1 is no edge, since a hit that is first everywhere scores 1.0 in any order."""
    facts = reached(floor).policy_facts()
    verdicts = [
        facts[key] for key in ("above_vector_ceiling", "above_two_ranker_ceiling", "on_edge")
    ]
    assert verdicts == [above_vector, above_two, edge]


def test_a_disabled_ranker_has_facts_too() -> None:
    """So that a policy may always ask for `reach.without_recency`: there it changes nothing."""
    facts: Any = reached("0.3", weights={"vector": 1, "bm25": 1}).policy_facts()
    assert (facts["recency_depth"], facts["recency_ceiling"]) == (0, 0.0)
    alike = ("vector_depth", "vector_ceiling", "vacuous", "never_empty")
    assert [facts["without_recency"][key] for key in alike] == [facts[key] for key in alike]
    nobody = facts["recency_alone"]
    assert not any(
        nobody[key] for key in ("vacuous", "never_empty", "on_edge", "above_two_ranker_ceiling")
    )


def test_the_best_two_shares_make_the_two_ranker_ceiling() -> None:
    """Weights 2, 1, 1: three quarters."""
    facts = reached("0.3", weights=dict(zip(RANKERS, (2, 1, 1), strict=True))).policy_facts()
    assert facts["two_ranker_ceiling_text"] == "3/4"
    assert (facts["vector_ceiling_text"], facts["vector_depth"]) == ("1/2", 41)


def test_a_floor_that_removes_nothing_is_vacuous() -> None:
    """0.15 with lists of 32 rows: the lowest row scores 0.2210."""
    depths = dict.fromkeys(RANKERS, 32)
    assert reached("0.15", depths=depths).policy_facts()["vacuous"] is True
    assert reached("0.2211", depths=depths).policy_facts()["vacuous"] is False


def test_facts_hold_only_plain_values() -> None:
    """Booleans, ints, doubles and short texts: what a policy language knows."""

    def leaves(facts: Any) -> list[Any]:
        return [
            leaf
            for value in facts.values()
            for leaf in (leaves(value) if isinstance(value, dict) else [value])
        ]

    for leaf in leaves(
        reached("1/7", weights={"dense": 3, "sparse": "1/7"}, depths={}).policy_facts()
    ):
        assert type(leaf) in {bool, int, float, str}
        assert not isinstance(leaf, float) or math.isfinite(leaf)


@pytest.mark.parametrize(
    ("value", "down", "below"),
    [
        ("61/330", "0.1848", "0.18"),
        ("1/3", "0.3333", "0.33"),
        ("1/2", "0.5", "0.49"),
        ("1/102", "0.0098", "0.009"),
        ("1/2000", "0.0005", "0.0004"),
        ("1", "1", "0.99"),
    ],
)
def test_a_floor_to_write_is_never_above_its_limit(value: str, down: str, below: str) -> None:
    """Rounding goes down, and what should lie under a ceiling does not lie on its edge."""
    limit = Fraction(value)
    assert (rounded_down(limit), safely_below(limit, Fraction(1, 10**9))) == (down, below)


def test_fractions_are_written_as_people_read_them() -> None:
    """Small denominators as fractions, unwieldy ones as decimals."""
    assert [fraction_text(Fraction(text)) for text in ("1/3", "1", "10/21", "123456/1000003")] == [
        "1/3",
        "1",
        "10/21",
        "0.1235",
    ]


def test_an_exponent_without_end_is_refused_at_once() -> None:
    """1e-999999999 would fill the memory as a fraction."""
    with pytest.raises(ValueError, match="must be a number"):
        exact("1e-999999999", "the floor")
