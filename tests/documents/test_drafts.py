"""New documents read back as what they were made of, by both versions of YAML."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.documents.canonical import canonical_text
from knobctl.documents.drafts import new_document
from knobctl.documents.model import Kind
from knobctl.documents.order import KEY_ORDER
from knobctl.documents.reader import read_text
from knobctl.knobs import load_catalogue
from knobctl.shipped import shipped

CATALOGUE = load_catalogue()


def test_a_new_document_is_canonical() -> None:
    """Keys and knobs in order, text quoted where a reader could misread it, no exponents."""
    text = new_document(
        Kind.TENANT,
        "no",
        {
            "knobs": {
                "rrf_k": 60,
                "retrieval_min_score": 0.00001,
                "recency_ranker_mode": "DISABLED",
            },
            "layers": ["on", "base"],
            "owner": "a: b",
            "labels": {"tier": "1:30"},
        },
        catalogue=CATALOGUE,
        schema="../s.json",
        comment="pulled\nfrom live",
    )
    assert text == (
        "# yaml-language-server: $schema=../s.json\n# pulled\n# from live\n"
        "tenant: 'no'\nlabels: {tier: '1:30'}\nowner: 'a: b'\nlayers: ['on', base]\n"
        "knobs:\n  retrieval_min_score: 0.00001\n  rrf_k: 60\n  recency_ranker_mode: DISABLED\n"
    )
    assert canonical_text(read_text(text, "t"), CATALOGUE) == text


def test_a_tenant_at_the_defaults_says_so() -> None:
    """`knobs: {}` is a set; no `knobs` at all would be a question."""
    assert (
        new_document(Kind.TENANT, "a", {"knobs": {}}, catalogue=CATALOGUE)
        == "tenant: a\nknobs: {}\n"
    )


@pytest.mark.parametrize(("bound", "line"), [(0.0, "0"), (150.0, "150"), (-3.0, "-3")])
def test_a_whole_number_has_no_tag(bound: float, line: str) -> None:
    """`up_to: 0`, also where it was reckoned as a float: a tag is nothing that a person should read."""
    text = new_document(Kind.WAIVER, "w", {"up_to": bound}, catalogue=CATALOGUE)
    assert text == f"waiver: w\nup_to: {line}\n"


@pytest.mark.parametrize("kind", list(Kind))
def test_every_field_of_a_kinds_schema_has_its_place(kind: Kind) -> None:
    """A field that the schema gains must not end up anywhere."""
    schema = json.loads((shipped("schemas") / f"{kind}.v1.schema.json").read_bytes())
    assert schema["properties"].keys() - {"$schema"} <= set(KEY_ORDER[kind])


def test_what_no_document_can_hold_is_refused() -> None:
    """NaN reads back as trouble."""
    with pytest.raises(ValueError, match="cannot be written"):
        new_document(Kind.TENANT, "a", {"knobs": {"rrf_k": float("nan")}}, catalogue=CATALOGUE)


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp")), max_size=12
) | st.sampled_from(
    [
        "no",
        "1:30",
        "1e3",
        "0x1",
        "null",
        "~",
        "- a",
        "# b",
        "a: b",
        "*x",
        "&x",
        "!x",
        "|",
        "%",
        "@",
        "`",
        "'",
        '"',
        "2020-01-01",
        "<<",
        "=",
        ".inf",
        "a\nb",
        " a",
        "a ",
        "\ta",
    ]
)


@given(labels=st.dictionaries(WORDS, WORDS, max_size=5), owner=WORDS, floor=st.floats(0, 1))
@settings(max_examples=100)
def test_text_and_numbers_survive_in_both_dialects(
    labels: dict[str, str], owner: str, floor: float
) -> None:
    """What PyYAML reads as YAML 1.1 is what we read as YAML 1.2."""
    fields: dict[str, Any] = {
        "labels": labels,
        "owner": owner,
        "knobs": {"retrieval_min_score": floor},
    }
    text = new_document(Kind.TENANT, "acme", fields, catalogue=CATALOGUE)
    (tree,) = read_text(text, "t").trees
    assert tree.value == {"tenant": "acme", **fields}
    assert [trouble.rule for trouble in tree.troubles if trouble.rule == "ambiguous-scalar"] == []
    old = yaml.safe_load(text)
    assert old["owner"] == owner
    assert old["labels"] == labels
