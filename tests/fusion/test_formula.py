"""Other engines' formulas, held against brute force over their own arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.fusion import Formula, Scale, Setup, Weighs, reach
from knobctl.fusion.doubles import float_outcomes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAMES = ("vector", "bm25", "sparse")
FORMULAS = [
    Formula(scale=scale, first_rank=first, weighs=weighs)
    for scale, first, weighs in product(Scale, (0, 1), Weighs)
]
WEIGHTS = st.dictionaries(
    st.sampled_from(NAMES),
    st.sampled_from([Fraction(text) for text in ("0", "0.1", "0.3", "0.7", "1", "2", "3")]),
    min_size=1,
).filter(lambda weights: any(weights.values()))


def added(formula: Formula, k: int, weight: Fraction, row: int) -> Fraction:
    """What one list adds for its row of this number, from 1, written as the engines' own pages have it."""
    rank = row - 1 if formula.first_rank == 0 else row
    if formula.weighs is Weighs.SCORE:
        return weight * Fraction(1, k + rank)
    if weight == 0:
        return Fraction(0)
    if formula.first_rank == 0:
        return 1 / (k + (rank + 1) / weight - 1)
    return 1 / (k + rank / weight)


def score_of(
    formula: Formula,
    k: int,
    weights: Mapping[str, Fraction],
    live: Iterable[str],
    rows: Mapping[str, int],
) -> Fraction | None:
    """The score of a hit; None where the engine has none: a sum is 0, but 0 divided by 0 is nothing."""
    most = sum((added(formula, k, weights[name], 1) for name in live), Fraction(0))
    if not most and formula.scale is Scale.NORMALISED:
        return None
    total = sum((added(formula, k, weights[name], row) for name, row in rows.items()), Fraction(0))
    return total / most if formula.scale is Scale.NORMALISED else total


def subsets(names: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    """Every non-empty subset."""
    return chain.from_iterable(combinations(names, size) for size in range(1, len(names) + 1))


@st.composite
def setups(draw: st.DrawFn, formula: Formula) -> Setup:
    """A few rankers with short lists, and a floor somewhere between nothing and more than the best score."""
    weights, k = draw(WEIGHTS), draw(st.integers(1, 70))
    best = score_of(formula, k, weights, weights, dict.fromkeys(weights, 1))
    assert best is not None
    return Setup(
        floor=best * draw(st.fractions(Fraction(1, 200), Fraction(6, 5), max_denominator=400)),
        k=k,
        weights=weights,
        depths={name: draw(st.integers(1, 5)) for name in weights},
        formula=formula,
    )


@pytest.mark.parametrize(
    "formula",
    FORMULAS,
    ids=lambda one: f"{one.scale}-from-{one.first_rank}-weighs-{one.weighs}",
)
@settings(max_examples=15)
@given(data=st.data())
def test_every_row_is_what_the_engine_s_own_formula_gives(
    formula: Formula, data: st.DataObject
) -> None:
    """A hit passes where its score by the engine's formula reaches the floor, whoever is live and whoever found it."""
    setup = data.draw(setups(formula))
    k, weights, rows_of, floor = setup.k, setup.weights, setup.depths, setup.floor
    names = tuple(weights)
    best = score_of(formula, k, weights, names, dict.fromkeys(names, 1))
    found = reach(setup)
    assert best is not None
    assert found.best_score == best
    assert found.always_empty == (floor > best)
    seen = 0
    for live in subsets(names):
        for found_by in subsets(live):
            if score_of(formula, k, weights, live, {}) is None:
                assert live not in found.live_sets
                continue
            seen += 1
            row = found.row(live, found_by)
            every = [
                score_of(formula, k, weights, live, dict(zip(found_by, rows, strict=True)))
                for rows in product(*(range(1, rows_of[name] + 1) for name in found_by))
            ]
            scores = [score for score in every if score is not None]
            assert (max(scores), min(scores)) == (row.ceiling, row.lowest)
            assert row.unreachable == (not any(score >= floor for score in scores))
            assert row.vacuous == all(score >= floor for score in scores)
            for rank in filter(None, (row.deepest_rank, row.deepest_rank + 1)):
                equal = score_of(formula, k, weights, live, dict.fromkeys(found_by, rank))
                assert (equal is not None and equal >= floor) == (rank == row.deepest_rank)
            assert found.score(live, dict.fromkeys(found_by, 2)) == score_of(
                formula, k, weights, live, dict.fromkeys(found_by, 2)
            )
            assert abs(float_outcomes(row, found.setup)[0] - float(row.ceiling)) < 1e-12
    assert seen == len(found.rows)


@pytest.mark.parametrize(
    "formula",
    FORMULAS,
    ids=lambda one: f"{one.scale}-from-{one.first_rank}-weighs-{one.weighs}",
)
@settings(max_examples=15)
@given(data=st.data())
def test_every_fact_agrees_with_brute_force(formula: Formula, data: st.DataObject) -> None:
    """What policies are told: emptiness, ceilings, what removes nothing, and floors that do what is said of them."""
    setup = data.draw(setups(formula))
    k, weights, rows_of, floor = setup.k, setup.weights, setup.depths, setup.floor
    names = tuple(weights)
    best = score_of(formula, k, weights, names, dict.fromkeys(names, 1))
    assert best is not None
    found = reach(setup)
    facts = found.policy_facts()
    alone = {
        name: [
            score_of(formula, k, weights, names, {name: row}) or Fraction(0)
            for row in range(1, rows_of[name] + 1)
        ]
        for name in names
    }
    assert facts["vacuous"] == all(min(scores) >= floor for scores in alone.values())
    assert facts["above_best_score"] == (floor > best)
    firsts = {
        live: [score_of(formula, k, weights, live, {name: 1}) or Fraction(0) for name in live]
        for live in found.live_sets
    }
    assert facts["never_empty_whichever_live"] == all(
        max(scores) >= floor for scores in firsts.values()
    )
    assert facts["never_empty"] == (max(firsts[names]) >= floor)
    for name in names:
        ceiling = alone[name][0]
        assert facts[f"{name}_ceiling"] == float(ceiling)
        reachable = Fraction(str(facts[f"{name}_reachable_floor_text"]))
        assert reachable < ceiling or not ceiling
        keeps_all = Fraction(str(facts[f"{name}_keep_all_floor_text"]))
        assert keeps_all <= min(alone[name])
        assert keeps_all > min(alone[name]) * Fraction(8, 10) or not ceiling


def test_a_list_that_weighs_nothing_empties_a_raw_sum_that_it_holds_alone() -> None:
    """With weights 0 and 1 no floor is safe: what the first finds while the other finds nothing scores 0."""
    weights = {"vector": Fraction(0), "bm25": Fraction(1)}
    for scale, sets in ((Scale.RAW, 3), (Scale.NORMALISED, 2)):
        formula = Formula(scale)
        floor = Fraction(1, 1000)
        found = reach(Setup(floor=floor, k=60, weights=weights, depths={}, formula=formula))
        assert (len(found.live_sets), found.never_empty) == (sets, scale is Scale.NORMALISED)


def test_a_constant_from_zero_is_one_more_than_from_one() -> None:
    """k 61 with ranks from 0 is k 60 with ranks from 1, rank by rank."""
    weights = dict.fromkeys(NAMES[:2], Fraction(1))
    depths = dict.fromkeys(weights, 50)
    rows = [
        reach(
            Setup(
                floor=Fraction("0.01"),
                k=k,
                weights=weights,
                depths=depths,
                formula=Formula(Scale.RAW, first_rank=first),
            )
        ).rows
        for k, first in ((61, 0), (60, 1))
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(("k", "first_rank"), [(0, 0), (-1, 1)])
def test_a_constant_that_divides_by_zero_is_none(k: int, first_rank: int) -> None:
    """The first row would score infinitely much."""
    with pytest.raises(
        ValueError, match=f"k is {k}; the rank constant must be {1 - first_rank} or"
    ):
        Setup(
            floor=Fraction(1, 2),
            k=k,
            weights={"vector": Fraction(1)},
            depths={},
            formula=Formula(first_rank=first_rank),
        )


@pytest.mark.parametrize(
    ("score", "told"),
    [
        ("2/61", "2/61 (0.0328)"),
        ("1/2", "0.5"),
        ("1", "1"),
        ("0.7/61", "7/610 (0.0115)"),
        ("0", "0"),
    ],
)
def test_a_raw_sum_is_told_with_its_decimal(score: str, told: str) -> None:
    """A fraction that a person cannot place is told with the decimal that they write."""
    above, _, below = score.partition("/")
    assert Formula(Scale.RAW).told(Fraction(above) / Fraction(below or 1)) == told


def test_weights_that_divide_ranks_pull_rows_up() -> None:
    """With 3, the third row scores as the first one does with 1, as Qdrant documents it."""
    setup = Setup(
        floor=Fraction("0.4"),
        k=2,
        weights={"vector": Fraction(3), "sparse": Fraction(1)},
        depths={},
        formula=Formula(Scale.RAW, first_rank=0, weighs=Weighs.RANK),
    )
    found = reach(setup)
    live = found.enabled
    assert found.score_at(live, "vector", 3) == found.score_at(live, "sparse", 1) == Fraction(1, 2)
    assert found.ceiling(live, ("vector",)) == Fraction(3, 4)
    assert found.row(live, live).ceiling == Fraction(5, 4)
