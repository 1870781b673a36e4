"""A schema with all that it refers to inside it says what the schemas beside each other say."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from knobctl.documents.bundling import bundled_schema
from knobctl.shipped import shipped
from tests.cli.outputs import faults_of

NAMES = sorted(path.name.partition(".")[0] for path in shipped("schemas").glob("*.schema.json"))
DOCUMENTS: list[Any] = [
    {"tenant": "acme", "labels": {"tier": "x"}, "knobs": {"retrieval_min_score": 0.3}},
    {"tenant": "acme", "knobs": {"retrieval_min_score": 3}},
    {"tenant": "acme", "layers": ["Not A Name"]},
    {"layer": "eu", "knobs": {"rrf_k": "60"}},
    {"policy": "x", "severity": "error", "when": "true", "message": "m", "examples": {"pass": [{}]}},
    {"policy": "x", "severity": "error", "when": "true", "message": "m", "examples": {"pass": [3]}},
    {"waiver": "w", "rule": "r", "tenants": ["-"]},
    {"fleet": "f", "protected": ["acme"]},
    {"tenant": "acme", "fleet": "f"},
    {},
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_leads_inside(name: str) -> None:
    """Each shipped schema bundles into one in which every reference resolves."""
    bundle = bundled_schema(name)
    Draft202012Validator.check_schema(bundle)
    for reference in re.findall(r'"\$ref": "([^"]*)"', json.dumps(bundle)):
        node: Any = bundle
        assert reference.startswith("#"), reference
        for step in filter(None, reference[1:].split("/")):
            node = node[step]


@pytest.mark.parametrize("document", DOCUMENTS, ids=json.dumps)
def test_the_bundle_judges_as_the_schemas_do(document: Any) -> None:
    """The same faults, one for one."""
    validator = Draft202012Validator(bundled_schema("knob-set"))
    found = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
    assert found == faults_of(document, "knob-set.v1.schema.json")
