"""Judges documents by the JSON Schemas of their kinds; only what fails is looked at twice."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

import jsonschema_rs

from knobctl.documents.model import Kind
from knobctl.errors import InputError
from knobctl.knobs import SHIPPED_SCHEMA
from knobctl.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.documents.model import Document
    from knobctl.knobs import Catalogue
    from knobctl.knobs.catalogue import Same

_BASE: Final = "knobctl:///"
"""A scheme that nothing can fetch: every reference is one of ours or fails."""


def document_schemas(catalogue: Catalogue) -> dict[str, Mapping[str, Any]]:
    """Read the schemas of all kinds by file name, with the catalogue's own schema for the knobs."""
    folder = shipped("schemas")
    names = [f"{kind.value}.v1.schema.json" for kind in Kind]
    schemas: dict[str, Mapping[str, Any]] = {
        name: json.loads((folder / name).read_bytes()) for name in names
    }
    # A knob is a property, whatever the schema says of others: a misspelt one is never let through.
    closed = {"type": "object", "additionalProperties": False, "patternProperties": {}}
    return {**schemas, SHIPPED_SCHEMA: {**catalogue.schema, **closed}}


def schema_name(kind: Kind) -> str:
    """The file that holds the schema of a kind."""
    return f"{kind.value}.v1.schema.json"


class Judge:
    """Says of documents whether the schema of their kind accepts them. Compiled once, then fast.

    Names of knobs must be canonical here; what this refuses, `explanations.explain` has a closer look at.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        """Prepare the schemas.

        Args:
            catalogue: The knobs of the engine.

        Raises:
            InputError: If a schema refers to something outside itself, or to nothing.
        """
        self.schemas = document_schemas(catalogue)
        try:
            self._registry = jsonschema_rs.Registry(
                [(_BASE + name, _without_id(schema)) for name, schema in self.schemas.items()],
                draft=jsonschema_rs.Draft202012,
                retriever=_refuse,
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise InputError(f"the knob schema cannot be used: {error}") from error
        self._validators: dict[Kind, jsonschema_rs.Draft202012Validator] = {}

    def accepts(self, document: Document) -> bool:
        """Whether the schema of its kind accepts a document whose knobs have their canonical names."""
        kind = document.kind
        return (self._validators.get(kind) or self._compiled(kind)).is_valid(document.value)

    def refusal(self, document: Document) -> str:
        """What the judge says of a document that it refuses, in its own words."""
        errors = self._compiled(document.kind).iter_errors(document.value)
        return "; ".join(error.message for error in errors)

    def _compiled(self, kind: Kind) -> jsonschema_rs.Draft202012Validator:
        if kind not in self._validators:
            try:
                self._validators[kind] = jsonschema_rs.Draft202012Validator(
                    {"$ref": _BASE + schema_name(kind)},
                    registry=self._registry,
                    retriever=_refuse,
                )
            except (ValueError, jsonschema_rs.ValidationError) as error:
                raise InputError(f"the knob schema cannot be used: {error.args[0]}") from error
        return self._validators[kind]


@lru_cache(maxsize=8)
def judge_by(same: Same) -> Judge:
    """The judge of a catalogue, compiled once.

    Raises:
        InputError: As `Judge`.
    """
    return Judge(same.catalogue)


def _without_id(schema: Mapping[str, Any]) -> dict[str, Any]:
    # References to it are by its place among ours, whatever it calls itself.
    return {key: value for key, value in schema.items() if key != "$id"}


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is outside the schema; nothing is fetched")
