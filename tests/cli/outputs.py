"""Holds real output against the schema that ships for it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from knobctl.shipped import shipped


def faults_of(answer: Any, schema_name: str) -> list[str]:
    """What a shipped schema, with the schemas beside it, says against an answer; empty if nothing.

    A field that the schema does not document is a fault, though readers are to let it pass.
    """
    return [
        f"{error.json_path}: {error.message}"
        for error in _validator(schema_name).iter_errors(answer)
    ]


@cache
def _validator(schema_name: str) -> Draft202012Validator:
    schemas = {
        path.name: _closed(json.loads(path.read_bytes()))
        for path in shipped("schemas").glob("*.json")
    }
    registry: Any = Registry().with_resources(
        (name, DRAFT202012.create_resource(schema)) for name, schema in schemas.items()
    )
    Draft202012Validator.check_schema(schemas[schema_name])
    return Draft202012Validator(schemas[schema_name], registry=registry)


def _closed(schema: Any) -> Any:
    """The schema without room for what it does not name."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: _closed(part) for key, part in schema.items()}
    is_whole = isinstance(parts.get("properties"), dict) and "allOf" not in parts
    return {"additionalProperties": False, **parts} if is_whole else parts
