"""The variable `reach`: what each fact stands on, and the words for messages."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.checks.fact_roles import roles_of
from knobctl.checks.reach_facts import every_fact, facts_named
from knobctl.fusion import Setup, reach

RANKERS = ("vector", "bm25", "recency")


@st.composite
def setups(draw: st.DrawFn) -> Setup:
    """What fusion may do for a tenant: two or three rankers, any weights."""
    names = draw(st.sampled_from([RANKERS, RANKERS[:2]]))
    weights = st.sampled_from(
        [Fraction(1), Fraction(1, 2), Fraction(3, 10), Fraction(29), Fraction(29, 100)]
    )
    return Setup(
        floor=draw(
            st.sampled_from(["0.15", "0.3", "1/3", "0.45", "0.5", "0.7", "1"]).map(Fraction)
        ),
        k=draw(st.sampled_from([1, 10, 60])),
        weights={name: draw(weights) for name in names},
        depths={name: draw(st.sampled_from([1, 7, 50])) for name in names},
    )


@given(setups(), setups())
@settings(max_examples=150)
def test_a_fact_changes_only_with_the_knobs_that_it_stands_on(one: Setup, other: Setup) -> None:
    """What a policy reads is exactly what can change its answer: memory, standing and places go by it."""
    facts = every_fact(reach(one))
    for name, value in facts.items():
        stands_on = roles_of(name)

        def is_read(role: str, stands_on: tuple[str, ...] = tuple(stands_on)) -> bool:
            return any(fnmatchcase(role, pattern) for pattern in stands_on)

        mixed = replace(
            one,
            floor=one.floor if is_read("floor.fused") else other.floor,
            k=one.k if is_read("fusion.k") else other.k,
            depths=one.depths
            if is_read("depth.vector")
            else {ranker: other.depths.get(ranker, 3) for ranker in one.depths},
        )
        if is_read("fusion.weight.vector"):
            assert every_fact(reach(mixed))[name] == value, name
        else:
            changed = replace(mixed, weights=other.weights, depths=other.depths)
            assert every_fact(reach(changed))[name] == value, name


@given(setups())
@settings(max_examples=60)
def test_one_fact_is_the_same_as_among_all(setup: Setup) -> None:
    """Computed alone or with the others; a name that is none is left out."""
    facts = every_fact(reach(setup))
    assert facts_named(reach(setup), [*facts, "nope"]) == facts


@pytest.mark.parametrize(
    ("weights", "floor", "text"),
    [
        ("1 1 1", "0.45", "found by two rankers: to rank 30 each; by all three: to rank 75"),
        ("1 1 1", "0.7", "found by all three: to rank 27 each"),
        ("1 1", "0.6", "found by both rankers: to rank 41 each"),
        ("2 1 1", "0.7", "found by vector and bm25: to rank 5 each; by all three: to rank 27"),
        ("1", "0.5", "nothing"),
    ],
)
def test_what_is_kept_is_said_with_its_ranks(weights: str, floor: str, text: str) -> None:
    """By how many rankers, or by which where their weights differ, and down to which rank."""
    setup = Setup(
        floor=Fraction(floor),
        k=60,
        weights=dict(zip(RANKERS, map(Fraction, weights.split()), strict=False)),
        depths={},
    )
    assert facts_named(reach(setup), ["kept_text"]) == {"kept_text": text}


@pytest.mark.parametrize(
    ("weights", "floor", "text"),
    [
        (
            "1 1 1",
            "1/3",
            "1/3, the most that a match found by vector alone, bm25 alone or recency alone can score",
        ),
        ("5 3 2", "0.3", "3/10, the most that a match found by bm25 alone can score"),
        ("5 3 2", "0.8", "4/5, the most that a match found by vector and bm25 can score"),
    ],
)
def test_the_ceiling_that_a_floor_touches_is_named(weights: str, floor: str, text: str) -> None:
    """Of one ranker or of several together."""
    setup = Setup(
        floor=Fraction(floor),
        k=60,
        weights=dict(zip(RANKERS, map(Fraction, weights.split()), strict=True)),
        depths={},
    )
    assert facts_named(reach(setup), ["edge_text"]) == {"edge_text": text}


def test_the_way_off_an_edge_leads_to_no_other_one() -> None:
    """With shares 1/150, 50/150 and 99/150 the edge at 2/3 has another one at 0.66 beside it."""
    weights = {"vector": Fraction(1), "bm25": Fraction(50), "recency": Fraction(99)}
    setup = Setup(floor=Fraction("0.6666666666666666"), k=60, weights=weights, depths={})
    facts = facts_named(reach(setup), ["on_edge", "edge_under_text", "edge_over_text"])
    assert facts == {"on_edge": True, "edge_under_text": "0.65", "edge_over_text": "0.67"}


def test_a_floor_near_zero_gives_numbers_that_a_policy_can_hold() -> None:
    """Ranks of three hundred digits are no whole numbers of CEL, and no words for people."""
    weights = dict.fromkeys(("vector", "bm25", "recency"), Fraction(1))
    setup = Setup(floor=Fraction("1e-300"), k=60, weights=weights, depths={})
    facts: Any = every_fact(reach(setup))
    assert facts["vector_depth"] == facts["without_recency"]["two_equal_depth"] == 2**63 - 1
    assert facts["depths_text"].startswith("vector over 1,000,000,000, ")


def test_many_rankers_are_looked_at_in_bounded_time() -> None:
    """Forty rankers have a million million sets; those of all, all but one, and one are looked at."""
    weights = {f"ranker{number}": Fraction(number + 1) for number in range(40)}
    setup = Setup(floor=Fraction(1, 820), k=60, weights=weights, depths={})
    facts = facts_named(reach(setup), ["edge_text"])
    assert facts["edge_text"] == "1/820, the most that a match found by ranker0 alone can score"
