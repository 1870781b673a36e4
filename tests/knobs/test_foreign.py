"""What another engine's schema may say of its knobs, and what is refused with words that help."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.errors import InputError
from knobctl.fusion import Formula, Scale, Weighs
from knobctl.knobs import Knob, load_catalogue
from knobctl.knobs.fusion_setup import fusion_setup
from tests.knobs.foreign import write_foreign_schema

if TYPE_CHECKING:
    from pathlib import Path


def number(minimum: float = 0, maximum: float = 1, **says: Any) -> dict[str, Any]:
    """A number's property."""
    return {"type": "number", "minimum": minimum, "maximum": maximum, "x-knob": says}


def loaded(folder: Path, **knobs: Any) -> Knob:
    """The one knob named `asked`, of a schema with some properties replaced."""
    return load_catalogue(write_foreign_schema(folder, **knobs))["asked"]


def test_a_schema_that_says_nothing_of_its_formula_has_ours(tmp_path: Path) -> None:
    """Normalised, ranks from 1, weights that multiply."""
    catalogue = load_catalogue(write_foreign_schema(tmp_path))
    assert catalogue.formula == Formula()
    assert not catalogue.ceilings_move
    assert load_catalogue().formula == Formula()


def test_a_formula_is_read_from_the_knobs_of_fusion(tmp_path: Path) -> None:
    """The floor has the scale, the rank constant the first rank, the weights what they do."""
    constant = {
        "type": "integer",
        "minimum": 1,
        "maximum": 99,
        "x-knob": {"default": 2, "role": "fusion.k", "first_rank": 0},
    }
    weights = {
        f"{ranker}_share": number(
            0, 9, default=1, role=f"fusion.weight.{ranker}", weighs="rank", unset=None
        )
        for ranker in ("dense", "sparse")
    }
    floor = number(0, 9, default=0.4, role="floor.fused", scale="rrf_raw, of two lists")
    catalogue = load_catalogue(
        write_foreign_schema(tmp_path, cutoff=floor, constant=constant, **weights)
    )
    assert catalogue.formula == Formula(Scale.RAW, first_rank=0, weighs=Weighs.RANK)
    assert catalogue.ceilings_move
    setup = fusion_setup(
        catalogue, catalogue.defaults, lambda name: Fraction(str(catalogue.defaults[name]))
    )
    assert setup is not None
    assert (setup.formula, setup.k) == (catalogue.formula, 2)


def test_a_knob_may_keep_its_zero(tmp_path: Path) -> None:
    """unset: null says that only leaving the knob out means the default."""
    knob = loaded(tmp_path, asked=number(0, 1, default=1, unset=None))
    assert knob.unset is None
    assert not knob.zero_surprises
    assert knob.accepts(0)
    catalogue = load_catalogue(
        write_foreign_schema(tmp_path, asked=number(0, 1, default=1, unset=None))
    )
    assert catalogue.canonical({"asked": 0}) == {"asked": 0.0}
    assert catalogue.effective(catalogue.canonical({"asked": 0}))["asked"] == 0


def test_a_zero_outside_the_range_is_then_none(tmp_path: Path) -> None:
    """Where 0 is no word for the default, it is judged like any other number; -0.0 is none."""
    knob = loaded(tmp_path, asked=number(1, 9, default=5, unset=None))
    assert not knob.accepts(0)
    assert knob.accepts(1)
    assert not loaded(tmp_path, asked=number(0, 9, default=5, unset=None)).accepts(-0.0)


def test_a_mode_may_keep_its_first_choice(tmp_path: Path) -> None:
    """All of its choices can be set."""
    mode = {"enum": ["rrf", "dbsf"], "x-knob": {"default": "rrf", "unset": None}}
    knob = loaded(tmp_path, asked=mode)
    assert (knob.unset, knob.settable, knob.range_text) == (None, ("rrf", "dbsf"), "rrf, dbsf")


def test_a_default_is_held_in_its_knob_s_own_type(tmp_path: Path) -> None:
    """A policy that adds two doubles is not told that one of them is whole."""
    assert type(loaded(tmp_path, asked=number(0, 2, default=1)).default) is float


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("asked", {"role": "floor.dense", "direction": "lower_is_better"}),
        ("min_distance", {"direction": "lower_is_better"}),
        ("minimum_l2", {"direction": "lower_is_better"}),
        ("asked", {"role": "floor.dense", "unit": "cosine distance"}),
        ("asked_min", {"scale": "distance 0..2"}),
        ("distance", {"role": "floor.fused", "scale": "rrf_raw"}),
    ],
)
def test_a_minimum_on_a_distance_is_refused(
    tmp_path: Path, name: str, says: dict[str, Any]
) -> None:
    """With what it keeps and drops, and what a maximum does; a role is no excuse, nor is silence on the direction."""
    knobs: dict[str, Any] = {name: number(0, 2, default=0.6, **says)}
    if says.get("role") == "floor.fused":
        knobs["cutoff"] = None
    with pytest.raises(InputError) as refused:
        load_catalogue(write_foreign_schema(tmp_path, **knobs))
    assert f"knob {name} " in str(refused.value)
    assert "a minimum on a distance is a maximum" in str(refused.value)
    assert "a minimum keeps 0.9, the far one, and drops 0.1" in str(refused.value)
    assert "a maximum keeps 0.1 and drops 0.9" in str(refused.value)
    assert "1 - distance for cosine" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("max_distance", {"direction": "lower_is_better"}),
        ("min_score", {"direction": "higher_is_better", "unit": "1 - distance"}),
        ("max_distance", {"unit": "distance"}),
        ("admin_limit", {"unit": "distance"}),
    ],
)
def test_a_bound_on_a_distance_that_is_no_floor_is_fine(
    tmp_path: Path, name: str, says: dict[str, Any]
) -> None:
    """A maximum, a similarity that is made of a distance, and a name that only holds the letters."""
    path = write_foreign_schema(tmp_path, **{name: number(0, 2, default=0.6, **says)})
    assert name in load_catalogue(path)


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        (
            {"cutoff": number(default=0.4, role="floor.fused", scale="min_max 0..1")},
            "fused scores are on rrf_normalised or rrf_raw",
        ),
        (
            {"more": number(default=0.4, role="floor.expansion", scale="rrf_raw")},
            "more than one x-knob.scale: cutoff rrf_normalised, more rrf_raw",
        ),
        (
            {"dense_share": number(default=1, role="fusion.weight.dense", weighs="rank")},
            "more than one x-knob.weighs: dense_share rank, sparse_share score",
        ),
        ({"asked": number(default=1, first_rank=0)}, "for the role fusion.k alone"),
        ({"asked": number(default=1, weighs="rank")}, "for the role fusion.weight.NAME alone"),
        ({"asked": number(default=1, direction="up")}, "is not one of"),
        ({"asked": number(default=1, unset=0)}, "is not of type 'null'"),
        ({"asked": number(default=1, first_rank=2)}, "is not one of"),
    ],
)
def test_what_contradicts_itself_is_refused(
    tmp_path: Path, knobs: dict[str, Any], words: str
) -> None:
    """One fusion has one formula, and only the knobs of fusion speak of it."""
    with pytest.raises(InputError, match=words):
        load_catalogue(write_foreign_schema(tmp_path, **knobs))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"type": "number", "minimum": 1}, "ranks are whole numbers"),
        ({"minimum": -1}, "takes -1"),
        ({"minimum": 0, "x-knob": {"first_rank": 0, "unset": None}}, "takes 0"),
        ({"x-knob": {"role": "fusion.weight.vector"}, "type": "number", "minimum": -1}, "takes -1"),
        ({"x-knob": {"role": "depth.vector"}, "type": "number", "minimum": 1}, "whole numbers"),
    ],
)
def test_values_with_which_nothing_can_be_computed_are_refused(
    tmp_path: Path, more: dict[str, Any], words: str
) -> None:
    """A tenant with such a one would pass every policy that asks for the arithmetic."""
    knob = {"type": "integer", "maximum": 100, **more}
    knob["x-knob"] = {"role": "fusion.k", "default": 60, **more.get("x-knob", {})}
    path = tmp_path / "engine.json"
    path.write_text(json.dumps({"properties": {"asked": knob}}))
    with pytest.raises(InputError, match=words):
        load_catalogue(path)
