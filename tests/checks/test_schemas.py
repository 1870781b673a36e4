"""The document schemas, and the two judges that go by them."""

from __future__ import annotations

import json
import math
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from knobctl.checks.schema import Judge, document_schemas
from knobctl.documents.kinds import sort_documents
from knobctl.documents.model import Document, Kind
from knobctl.documents.reader import read_text
from knobctl.documents.settings import read_settings
from knobctl.errors import InputError
from knobctl.knobs import Catalogue, Knob, KnobType, load_catalogue
from knobctl.shipped import shipped

CATALOGUE = load_catalogue()
JUDGE = Judge(CATALOGUE)
DOCUMENTS = [f"{kind.value}.v1.schema.json" for kind in Kind]
BIG = 2**31


@cache
def oracle(name: str) -> Draft202012Validator:
    """The jsonschema validator of one shipped schema, references resolved among the files beside it."""
    files = {path.name: json.loads(path.read_bytes()) for path in shipped("schemas").glob("*.json")}
    registry: Any = Registry().with_resources(
        (file, DRAFT202012.create_resource(schema)) for file, schema in files.items()
    )
    return Draft202012Validator(files[name], registry=registry)


def document(value: Any) -> Document:
    """A document of ours with this content; places are of no interest."""
    kind = next(kind for kind in Kind if kind.value in value)
    text = read_text(f"{kind.value}: x\n", "t.yaml")
    (found,) = sort_documents(text, named=True).documents
    return Document(kind, "x", value, text, found.tree)


def values_around(knob: Knob) -> list[object]:
    """Values at, inside and outside the bounds, and everything that is no number."""
    odd: list[object] = [
        0, 0.0, True, False, None, "", "0.3", "1", [], [0.3], {}, math.nan, math.inf, -math.inf,
        1e-320, 1e300, 10**30, -1, 0.5, 8.0, 8.5, BIG, "ENABLED", "DISABLED", "enabled",
        "KNOB_MODE_UNSPECIFIED",
    ]  # fmt: skip
    if knob.type is KnobType.MODE:
        return odd
    assert knob.minimum is not None
    assert knob.maximum is not None
    step = 1 if knob.type is KnobType.INT32 else 1e-6
    near: list[object] = []
    for bound in (knob.minimum, knob.maximum):
        near += [bound, bound - step, bound + step, float(bound)]
    return [*odd, *near, knob.default, (knob.minimum + knob.maximum) // 2]


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_both_judges_and_the_catalogue_accept_the_same_values(knob: Knob) -> None:
    """jsonschema-rs, jsonschema and `Knob.accepts` agree on every value; NaN and -0.0 are told by the reader.

    jsonschema passes NaN, because no comparison with it is true, and every schema passes -0.0.
    """
    for value in values_around(knob):
        content = {"tenant": "x", "knobs": {knob.name: value}}
        fast = JUDGE.accepts(document(content))
        assert fast is knob.accepts(value), value
        if not (isinstance(value, float) and math.isnan(value)):
            assert oracle("tenant.v1.schema.json").is_valid(content) is fast, value


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_negative_zero_is_the_readers_matter(knob: Knob) -> None:
    """A zero with a sign equals 0 for a schema; the catalogue refuses it, and the reader says why."""
    if knob.type is not KnobType.MODE:
        assert not knob.accepts(-0.0)
        assert JUDGE.accepts(document({"tenant": "x", "knobs": {knob.name: -0.0}}))


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 600)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=-2, max_value=200)
    | st.sampled_from(["", "x", "acme", "ENABLED", "2099-03-31", "10%", "error", "written", "../x"]),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["knobs", "rrf_k", "name", "labels", "x-y"]), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip


@st.composite
def contents(draw: st.DrawFn) -> dict[str, Any]:
    """Documents of every kind, most of them wrong somewhere."""
    kind = draw(st.sampled_from(list(Kind)))
    schema = json.loads((shipped("schemas") / f"{kind.value}.v1.schema.json").read_bytes())
    names = [*schema["properties"], "x-mine", "stranger"]
    knobs = st.dictionaries(
        st.sampled_from([*CATALOGUE.by_name, "rrfK", "nope"]), plain, max_size=4
    )
    chosen = draw(st.lists(st.sampled_from(names), max_size=6, unique=True))
    content: dict[str, Any] = {name: draw(plain) for name in chosen}
    if draw(st.booleans()):
        content["knobs"] = draw(knobs)
    others = {other.value for other in Kind} - {kind.value}
    return {
        kind.value: draw(st.sampled_from(["x", "Bad Name", 3])),
        **{
            name: value
            for name, value in content.items()
            if name not in others and name != kind.value
        },
    }


@given(contents())
@settings(max_examples=300)
def test_both_judges_agree_on_documents(content: dict[str, Any]) -> None:
    """The judge of the fleet and the one that explains give one verdict on any document."""
    one = document(content)
    assert JUDGE.accepts(one) is oracle(f"{one.kind.value}.v1.schema.json").is_valid(content)


@given(contents())
@settings(max_examples=100)
def test_the_schema_for_editors_says_the_same_of_every_kind(content: dict[str, Any]) -> None:
    """knob-set accepts exactly what the schema of the document's own kind accepts."""
    kind = next(kind for kind in Kind if kind.value in content)
    expected = oracle(f"{kind.value}.v1.schema.json").is_valid(content)
    assert oracle("knob-set.v1.schema.json").is_valid(content) is expected


def test_a_document_of_two_kinds_or_none_is_refused_by_the_schema_for_editors() -> None:
    """Exactly one kind key says what a document is."""
    judge = oracle("knob-set.v1.schema.json")
    assert not judge.is_valid({"knobs": {}})
    assert not judge.is_valid({"tenant": "a", "layer": "a", "knobs": {}})
    assert not judge.is_valid(None)


@pytest.mark.parametrize(
    "name", [*DOCUMENTS, "knob-set.v1.schema.json", "knobctl-toml.v1.schema.json"]
)
def test_a_schema_resolves_among_the_files_beside_it(name: str) -> None:
    """No $id and no absolute reference: an editor and check-jsonschema find everything on the disk."""
    schema = json.loads((shipped("schemas") / name).read_bytes())
    Draft202012Validator.check_schema(schema)
    assert "$id" not in schema
    for reference in references(schema):
        file = reference.partition("#")[0]
        assert not file or (shipped("schemas") / file).is_file(), reference


def references(schema: object) -> list[str]:
    """Every $ref in a schema."""
    if isinstance(schema, list):
        return [found for item in schema for found in references(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [found for value in schema.values() for found in references(value)]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_editor_has_words_for_every_field(name: str) -> None:
    """Each property has a title, or a reference to something that has; the document itself has both."""
    schema = json.loads((shipped("schemas") / name).read_bytes())
    assert schema["title"]
    assert schema["description"]
    assert schema["additionalProperties"] is False
    for field, about in schema["properties"].items():
        assert "title" in about or "$ref" in about, field
        assert "description" in about or "$ref" in about, field


def foreign(**knob: object) -> Catalogue:
    """A catalogue of one knob."""
    schema = {"type": "object", "additionalProperties": False, "properties": {"a": knob}}
    return Catalogue(knobs=(), schema=schema)


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1:9/x.json", "file:///etc/hostname", "other.json"]
)
def test_nothing_is_fetched(reference: str) -> None:
    """A schema that refers to something outside itself is refused before any document is judged."""
    with pytest.raises(InputError, match="nothing is fetched"):
        Judge(foreign(anyOf=[{"$ref": reference}]))


def test_a_schema_with_a_name_of_its_own_is_used_as_it_is() -> None:
    """Another engine's schema may have an absolute $id and definitions; they resolve inside it."""
    schema = {
        "$id": "https://engine.example/knobs.json",
        "type": "object",
        "additionalProperties": False,
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/small"}]}},
        "$defs": {"small": {"type": "number", "maximum": 3}},
    }
    judge = Judge(Catalogue(knobs=(), schema=schema))
    assert judge.accepts(document({"tenant": "x", "knobs": {"a": 2}}))
    assert not judge.accepts(document({"tenant": "x", "knobs": {"a": 4}}))


def test_the_catalogues_own_schema_judges_the_knobs() -> None:
    """`--schema FILE` changes what a document may write, and nothing else."""
    catalogue = foreign(type="number", maximum=1)
    used = document_schemas(catalogue)["context-engine-knobs.v1.schema.json"]
    assert used["properties"] is catalogue.schema["properties"]
    judge = Judge(catalogue)
    assert judge.accepts(document({"tenant": "x", "knobs": {"a": 1}}))
    assert not judge.accepts(document({"tenant": "x", "knobs": {"rrf_k": 60}}))


@pytest.mark.parametrize(
    "settings_text",
    [
        "",
        (Path(__file__).parent.parent.parent / "examples" / "fleet" / "knobctl.toml").read_text(),
        'skip = ["vendor/**"]\nschema = "engine.json"\n[severity.gate-order]\nseverity = "error"\nreason = "r"\n',
        "[llm]\nprice_per_mtok = {}\n",
        "shema = 'x'\n",
        "[severity.gate-order]\nseverity = 'error'\n",
        "[severity.gate-order]\nseverity = 'fatal'\nreason = 'r'\n",
        "skip = 'vendor'\n",
    ],
)
def test_the_schema_for_settings_says_what_the_reader_of_settings_says(
    settings_text: str, tmp_path: Path
) -> None:
    """An editor marks exactly what stops a run."""
    (tmp_path / "knobctl.toml").write_text(settings_text)
    (tmp_path / "engine.json").write_text("{}")
    try:
        read_settings(tmp_path)
        is_read = True
    except InputError:
        is_read = False
    fits = oracle("knobctl-toml.v1.schema.json").is_valid(tomllib.loads(settings_text))
    assert fits is is_read


def test_an_editor_that_knows_dates_finds_a_day_that_is_none() -> None:
    """Validators that assert formats say what ours says."""
    waiver = {
        "waiver": "w",
        "rule": "gate-order",
        "tenants": ["a"],
        "reason": "r",
        "approved_by": "p",
    }
    judge = oracle("waiver.v1.schema.json").evolve(
        format_checker=Draft202012Validator.FORMAT_CHECKER
    )
    assert judge.is_valid({**waiver, "expires": "2096-02-29"})
    assert not judge.is_valid({**waiver, "expires": "2099-02-29"})
