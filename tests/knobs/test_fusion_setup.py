"""What fusion does for a tenant is found by role, in any engine's schema."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from knobctl.fusion import Setup, deepest_rank, reach
from knobctl.knobs import Catalogue, KnobValue, load_catalogue
from knobctl.knobs.fusion_setup import fusion_setup
from tests.knobs.foreign import write_foreign_schema

if TYPE_CHECKING:
    from pathlib import Path


def setup_for(catalogue: Catalogue, **written: KnobValue) -> Setup | None:
    """The setup of a tenant that writes these knobs."""
    values = catalogue.effective(written)
    return fusion_setup(catalogue, values, lambda name: Fraction(str(values[name])))


def test_the_shipped_defaults_make_three_equal_rankers() -> None:
    """Floor 0.3, k 60, weights 1, depths 50, 50 and 20, in summation order."""
    found = setup_for(load_catalogue())
    assert found is not None
    assert (found.floor, found.k) == (Fraction(3, 10), 60)
    assert list(found.weights.items()) == [
        (name, Fraction(1)) for name in ("vector", "bm25", "recency")
    ]
    assert found.depths == {"vector": 50, "bm25": 50, "recency": 20}


def test_a_disabled_ranker_takes_no_part() -> None:
    """So the ceilings of the others rise from 1/3 to 1/2."""
    found = setup_for(load_catalogue(), recency_ranker_mode="DISABLED")
    assert found is not None
    assert reach(found).enabled == ("vector", "bm25")
    assert reach(found).vector_ceiling == Fraction(1, 2)
    assert "recency" not in found.depths


def test_numbers_are_exact_as_written() -> None:
    """Weights .5 .3 .2 are tenths, not the doubles beside them."""
    found = setup_for(
        load_catalogue(), rrf_weight_vector=0.5, rrf_weight_bm25=0.3, rrf_weight_recency=0.2
    )
    assert found is not None
    assert reach(found).row(reach(found).enabled, ("bm25",)).on_edge


def test_another_engine_s_rankers_are_found_by_role(tmp_path: Path) -> None:
    """dense and sparse; a k that is not offered is 60, a depth that is not offered is unknown."""
    found = setup_for(load_catalogue(write_foreign_schema(tmp_path)))
    assert found is not None
    assert (found.floor, found.k, found.depths) == (Fraction(2, 5), 60, {"dense": 100})
    assert found.weights == {"dense": Fraction(3, 4), "sparse": Fraction(1, 4)}
    assert reach(found).row(("dense", "sparse"), ("dense",)).deepest_rank == deepest_rank(
        "dense", floor="0.4", weights=found.weights, k=60, active=("dense", "sparse")
    )


def test_a_weight_that_is_not_offered_is_one(tmp_path: Path) -> None:
    """The depth alone makes a ranker known."""
    found = setup_for(load_catalogue(write_foreign_schema(tmp_path, dense_share=None)))
    assert found is not None
    assert found.weights["dense"] == 1


@pytest.mark.parametrize(
    "written",
    [{"cutoff": 0}, {"dense_share": 0, "sparse_share": 0}],
    ids=["no floor", "no weights"],
)
def test_where_no_floor_is_in_force_there_is_no_setup(
    tmp_path: Path, written: dict[str, KnobValue]
) -> None:
    """A floor of 0, or weights that give no score."""
    assert setup_for(load_catalogue(write_foreign_schema(tmp_path)), **written) is None


def test_a_schema_without_a_fused_floor_has_no_setup(tmp_path: Path) -> None:
    """Nothing is guessed from names."""
    assert setup_for(load_catalogue(write_foreign_schema(tmp_path, cutoff=None))) is None
