"""The catalogue: what the shipped schema says is what was given, and another engine's schema is read the same way."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import knobctl
from knobctl.errors import InputError
from knobctl.fusion import ceiling
from knobctl.knobs import Catalogue, Knob, KnobType, KnobValue, load_catalogue
from knobctl.knobs.catalogue import SHIPPED_SCHEMA
from knobctl.shipped import shipped
from tests.knobs.foreign import foreign_schema, write_foreign_schema

CATALOGUE: Final = load_catalogue()
GIVEN: Final[list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent.parent / "data" / "knobs.json").read_bytes()
)
SENSELESS_EXTRAS: tuple[dict[str, object], ...] = (
    {"role": []},
    {"role": 5},
    {"role": "fusion.weight."},
    {"off": 5},
    {"clearance": "L4"},
    {"clearance": {"read": "high"}},
    {"proto": []},
    {"proto": {"type": "string"}},
    {"unit": ["a"]},
    {"known": 7},
    {"interacts_with": 5},
)


def test_there_are_twenty_five_knobs_in_the_given_order() -> None:
    """Numbered as their fields are on the wire."""
    assert [knob.name for knob in CATALOGUE] == [row["name"] for row in GIVEN]
    assert [knob.field_number for knob in CATALOGUE] == list(range(1, 26))
    assert len(CATALOGUE) == 25


def ours(text: str) -> str:
    """Some notes say leg where the project says ranker."""
    return re.sub(r"\bleg\b", "ranker", text)


@pytest.mark.parametrize("row", GIVEN, ids=lambda row: row["name"])
def test_every_knob_is_as_given(row: dict[str, Any]) -> None:
    """Names, type, range, default, unit, zero rule, scale, role, clearances, evidence and neighbours."""
    knob = CATALOGUE[row["name"]]
    assert (knob.json_name, knob.type, knob.default) == (
        row["json_name"],
        row["proto_type"],
        row["platform_default"],
    )
    assert (knob.unit, knob.group, knob.description) == (
        row["unit"],
        row["group"],
        ours(row["meaning"]),
    )
    assert (knob.zero, knob.off) == (ours(row["zero_semantics"]), ours(row["how_to_write_off"]))
    assert (knob.scale, knob.role) == (row.get("scale"), row.get("role"))
    assert (f"L{knob.read_clearance}", f"L{knob.edit_clearance}") == (
        row["read_clearance"],
        row["edit_clearance"],
    )
    assert knob.needs_evidence == row.get("needs_evidence", False)
    assert knob.interacts_with == tuple(row["interacts_with"])
    if knob.type is not KnobType.MODE:
        assert [knob.minimum, knob.maximum] == row["range"]


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_every_knob_speaks_for_itself(knob: Knob) -> None:
    """A title, a description, what is known of the default, and neighbours that exist."""
    assert knob.title
    assert knob.description.endswith(".")
    assert knob.known
    assert set(knob.interacts_with) <= set(CATALOGUE.by_name)
    assert knob.accepts(knob.default)
    assert knob.accepts(knob.unset)


def values_around(knob: Knob) -> list[Any]:
    """Values at, inside and outside the bounds, and everything that is no number of the knob."""
    odd: list[Any] = [
        "0.3",
        "",
        True,
        False,
        None,
        [],
        {},
        0,
        0.0,
        -1,
        1e308,
        2**31,
        -(2**31) - 1,
        "ENABLED",
        "KNOB_MODE_UNSPECIFIED",
    ]
    if knob.type is KnobType.MODE:
        return [*odd, *knob.choices, "enabled", 1]
    assert knob.minimum is not None
    assert knob.maximum is not None
    low, high = knob.minimum, knob.maximum
    step: float = 1 if knob.type is KnobType.INT32 else 1e-6
    return [
        *odd,
        low,
        high,
        low + step,
        high - step,
        low - step,
        high + step,
        float(low),
        float(high),
        (low + high) / 2,
        low + 0.5,
    ]


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_knob_and_schema_accept_the_same_values(knob: Knob) -> None:
    """`Knob.accepts`, the fast judge and the explaining one agree, value by value."""
    prop = CATALOGUE.schema["properties"][knob.name]
    judge, explainer = jsonschema_rs.validator_for(prop), Draft202012Validator(prop)
    for value in values_around(knob):
        verdicts = {knob.accepts(value), judge.is_valid(value), explainer.is_valid(value)}
        assert len(verdicts) == 1, (value, verdicts)


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_no_knob_takes_what_is_no_number(knob: Knob) -> None:
    """NaN, the infinities and a negative zero: JSON has no word for them, so no schema can refuse them."""
    for value in (math.nan, math.inf, -math.inf, -0.0):
        assert not knob.accepts(value)


@given(st.sampled_from(list(CATALOGUE)), st.floats() | st.integers() | st.text())
def test_an_accepted_value_keeps_its_meaning_in_canonical_spelling(knob: Knob, value: Any) -> None:
    """8.0 is 8 for an integer knob and 1 is 1.0 for a double; spelling twice changes nothing."""
    if knob.accepts(value):
        canonical = knob.canonical(value)
        assert canonical == value
        assert knob.canonical(canonical) == canonical
        assert (
            type(canonical)
            is {KnobType.INT32: int, KnobType.DOUBLE: float, KnobType.MODE: str}[knob.type]
        )


def test_the_default_floor_is_the_expansion_floor_and_lies_under_a_third() -> None:
    """0.3 for no better reason than these two: it moves with its twin, and never above 1/3.

    If this is red, one of the two defaults moved alone: read "Why the default is 0.3" again.
    """
    floor = CATALOGUE.by_role["floor.fused"]
    expansion = CATALOGUE.by_role["floor.expansion"]
    assert floor.default == expansion.default
    shares = {
        name: CATALOGUE.by_role[f"fusion.weight.{name}"].default for name in CATALOGUE.rankers
    }
    highest = ceiling({"vector"}, weights=shares, active=shares)
    assert highest == Fraction(1, 3)
    assert Fraction(str(floor.default)) <= highest
    assert floor.default == 0.3


@pytest.mark.parametrize("role", ["floor.fused", "floor.expansion"])
def test_the_schema_says_that_the_floors_are_not_tuned(role: str) -> None:
    """The number is arithmetically defensible, and nothing more is claimed."""
    assert "not tuned" in CATALOGUE.by_role[role].known


def test_rankers_are_listed_in_summation_order() -> None:
    """vector, bm25, recency: the order in which doubles are summed."""
    assert CATALOGUE.rankers == ("vector", "bm25", "recency")


def test_zero_surprises_only_where_the_default_is_not_zero() -> None:
    """Two cosines are off by default, and a mode has no zero."""
    calm = {knob.name for knob in CATALOGUE if not knob.zero_surprises}
    modes = {knob.name for knob in CATALOGUE if knob.type is KnobType.MODE}
    assert calm == {"vector_min_cosine", "no_match_min_cosine"} | modes


def test_a_mistyped_name_finds_its_neighbour() -> None:
    """In either spelling; nothing where nothing is near."""
    assert CATALOGUE.nearest("retrieval_min_scor") == "retrieval_min_score"
    assert CATALOGUE.nearest("retrievalMinScor") == "retrievalMinScore"
    assert CATALOGUE.nearest("banana") is None


def test_a_set_on_the_wire_leaves_out_what_is_unset() -> None:
    """Zeros and UNSPECIFIED mean the platform default, like absence; names and types are canonical."""
    written: dict[str, KnobValue] = {
        "retrievalVectorTopK": 32.0,
        "retrieval_min_score": 0,
        "gate_mode": "KNOB_MODE_UNSPECIFIED",
        "mmr_lambda": 1,
    }
    canonical = CATALOGUE.canonical(written)
    assert canonical == {"retrieval_vector_top_k": 32, "mmr_lambda": 1.0}
    assert list(map(type, canonical.values())) == [int, float]
    effective = CATALOGUE.effective(canonical)
    assert (effective["retrieval_vector_top_k"], effective["retrieval_min_score"]) == (32, 0.3)
    assert len(effective) == 25


def test_ranges_read_as_people_write_them() -> None:
    """Two numbers for a number, the words for a mode."""
    assert CATALOGUE["rrf_k"].range_text == "1 .. 1000"
    assert CATALOGUE["gate_mode"].range_text == "ENABLED, DISABLED"


def test_the_public_door_gives_the_same_catalogue(tmp_path: Path) -> None:
    """`knobctl.load_catalogue`, with and without another schema."""
    assert knobctl.load_catalogue() is CATALOGUE
    other = knobctl.load_catalogue(write_foreign_schema(tmp_path))
    assert "cutoff" in other
    assert "retrieval_min_score" not in other


@pytest.fixture
def other(tmp_path: Path) -> Catalogue:
    """Another engine's knobs."""
    return load_catalogue(write_foreign_schema(tmp_path))


def test_another_engine_s_schema_is_read_by_role(other: Catalogue) -> None:
    """Rankers of any name, wire names and field numbers by convention, defaults from either place."""
    assert other.by_role["floor.fused"].name == "cutoff"
    assert other.rankers == ("dense", "sparse")
    assert (other["dense_share"].json_name, other["dense_share"].field_number) == ("denseShare", 2)
    assert (other["retries"].default, other["retries"].type) == (2, KnobType.INT32)
    assert other["sparse_mode"].unset == "UNSET"
    assert [knob.accepts(2**31 - 1) for knob in (other["retries"], other["dense_rows"])] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cutoff": {"type": "string", "default": "x"}}, "knob cutoff has the type 'string'"),
        ({"cutoff": {"type": "number"}}, "knob cutoff has no default"),
        ({"cutoff": {"$ref": "http://elsewhere/x.json"}}, "knob cutoff uses \\$ref"),
        ({"cutoff": True}, "properties/cutoff: True is not of type 'object'"),
        ({"cutoff": {"type": "number", "x-knob": 3}}, "cutoff/x-knob: 3 is not of type 'object'"),
        ({"cutoff": {"type": 7}}, "is no JSON Schema 2020-12: properties/cutoff/type"),
        ({"twin": foreign_schema()["properties"]["cutoff"]}, "gives the role floor.fused to cutoff and twin"),
        ({"a\x1b[31m": {"type": "number", "default": 1}}, "is no schema of knobs: properties: "),
        ({"cutoff": {"type": "number", "default": "x"}}, "has a default that it does not take: 'x'"),
        ({"cutoff": {"type": "number", "maximum": 1, "minimum": 0, "default": 7}}, "does not take: 7"),
        ({"cutoff": {"type": "integer", "default": 6.5}}, "does not take: 6.5"),
        ({"mode": {"enum": ["UNSET", "ON"], "default": "OFF"}}, "does not take: 'OFF'"),
        ({"mode": {"enum": []}}, "mode/enum"),
        ({"mode": {"enum": ["UNSET", 2], "default": 2}}, "mode/enum/1: 2 is not of type 'string'"),
        ({"cutoff": {"enum": ["U", "A"], "x-knob": {"default": "A", "role": "floor.fused"}}}, "is an enum; the role floor.fused"),
        *(({"cutoff": {"type": "number", "x-knob": {"default": 0.4, **extra}}}, "is no schema of knobs: properties/cutoff/x-knob/")
          for extra in SENSELESS_EXTRAS),
        ({"cutoff": {"type": "number", "x-knob": {"default": 0.4, "proto": {"type": "KnobMode"}}}}, "is KnobMode on the wire"),
    ],
)  # fmt: skip
def test_a_schema_that_holds_no_knobs_is_refused_with_the_place(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    """Nothing is derived from what cannot be read as knobs."""
    with pytest.raises(InputError, match=words):
        load_catalogue(write_foreign_schema(tmp_path, **changes))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no JSON"),
        ('{"properties":' + "[" * 100_000, "is no JSON"),
        ("[]", "is no JSON Schema|has no `properties`"),
        ('{"type": "object"}', "has no `properties`"),
    ],
)
def test_a_file_that_is_no_schema_is_refused(tmp_path: Path, content: str, words: str) -> None:
    """Named with the file, and with what must stand in it."""
    path = tmp_path / "broken.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        load_catalogue(path)


def test_a_schema_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """With the system's own reason."""
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_catalogue(tmp_path / "nowhere.json")


def test_the_shipped_schema_fits_what_is_asked_of_others() -> None:
    """It is read without being verified, so a test does."""
    path = shipped("schemas") / SHIPPED_SCHEMA
    assert load_catalogue(path).knobs == load_catalogue().knobs
