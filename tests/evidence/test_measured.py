"""A recording speaks only for the fusion that it was measured with."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from knobctl.evidence.fitting import fit
from knobctl.evidence.recording import Label, Why
from knobctl.fusion import Formula, Scale, Setup
from tests.evidence.recordings import (
    CATALOGUE,
    SHIPPED,
    heading,
    measured,
    question,
    read,
    recording,
)


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"recency_ranker_mode": "DISABLED"}, "vector, bm25 and recency taking part; here vector and bm25 do"),
        ({"rrf_weight_vector": 2.0}, "weights vector 1 bm25 1 recency 1; here they are vector 2 bm25 1 recency 1"),
        ({"rrf_k": 10}, "a rank constant of 60; here it is 10"),
    ],
)  # fmt: skip
def test_another_fusion_is_refused_in_words(knobs: dict[str, Any], told: str) -> None:
    """No curve of another tenant's scores."""
    found = measured(read(SHIPPED), **knobs)
    assert not found.holds
    assert any(told in words for words in found.fit.refusals)


def test_only_ratios_of_weights_matter() -> None:
    """Where the sum is divided by the best one."""
    found = measured(
        read(SHIPPED), rrf_weight_vector=2.0, rrf_weight_bm25=2.0, rrf_weight_recency=2.0
    )
    assert found.holds


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"retrieval_vector_top_k": 100}, "retrieval_vector_top_k 50 (here 100)"),
        ({"gate_mode": "DISABLED"}, "gate_mode ENABLED (here DISABLED)"),
        ({"expansion_max_queries": 1}, "expansion_max_queries 3 (here 1)"),
    ],
)
def test_what_else_differs_is_said(knobs: dict[str, Any], told: str) -> None:
    """The curve is drawn, and a caution stands beside it."""
    found = measured(read(SHIPPED), tenant="squad2-dev", **knobs)
    assert found.holds
    assert any(told in words for words in found.fit.cautions)


def test_what_comes_after_the_floor_is_no_matter() -> None:
    """Nor are the floors themselves, which are what is asked about."""
    found = measured(
        read(SHIPPED), tenant="squad2-dev", assembly_max_chunks=24, retrieval_min_score=0.7
    )
    assert found.fit.cautions == ()


def test_another_tenant_is_said() -> None:
    """It can be laid over all the same."""
    assert measured(read(SHIPPED), tenant="acme").fit.cautions == (
        "it was measured for squad2-dev",
    )


def test_another_scale_is_refused() -> None:
    """A raw sum says nothing of a divided one, and ranks from 0 are other ranks."""
    weights = dict.fromkeys(("vector",), Fraction(1))
    made = heading(0, weights=weights, formula=Formula(scale=Scale.RAW))
    here = Setup(floor=Fraction(1, 3), k=60, weights=weights, depths={})
    asked: dict[str, Any] = {"tenant": None, "catalogue": CATALOGUE, "values": CATALOGUE.defaults}
    assert "a raw sum" in fit(made, here, **asked).refusals[0]
    raw = Setup(floor=Fraction(1, 99), k=60, weights=weights, depths={}, formula=made.formula)
    assert fit(made, raw, **asked).refusals == ()
    twice = {"vector": Fraction(2)}
    heavier = Setup(floor=Fraction(1, 99), k=60, weights=twice, depths={}, formula=made.formula)
    assert "weights" in fit(made, heavier, **asked).refusals[0]
    from_zero = Formula(scale=Scale.RAW, first_rank=0)
    other = Setup(floor=Fraction(1, 99), k=60, weights=weights, depths={}, formula=from_zero)
    assert "in another way" in fit(made, other, **asked).refusals[0]


def test_what_it_holds_is_counted() -> None:
    """Labels, silent rankers, what is in no figure, what scores the floor itself."""
    live = ("vector", "recency")
    found = measured(
        recording(
            [
                question(0, 0.5, Label.ANSWERABLE, live=live),
                question(1, 1 / 3, live=("vector", "bm25", "recency")),
                question(2, None, why=Why.FAILED),
            ]
        )
    )
    assert list(found.by_label) == [Label.ANSWERABLE]
    assert found.silent == {"bm25": 1}
    assert found.left_out == {Why.FAILED: 1}
    assert found.within(Fraction(1, 3), Fraction(1, 10**9)) == 1
    assert sum(map(sum, found.reckoned().by_band(Fraction(1), 20).by_label.values())) == 2
