"""Looks at a knob schema that is not ours before anything is derived from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import InputError
from knobctl.knobs.knob import KnobType
from knobctl.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jsonschema.exceptions import SchemaError, ValidationError

    from knobctl.knobs.knob import Knob

FORM: Final = "knob-schema.v1.schema.json"
"""The JSON Schema of schemas of knobs."""
_OF_NUMBERS: Final = ("floor.", "fusion.", "depth.", "gate.", "expansion.")
"""Roles of knobs with which something is computed."""


def verify_schema(document: Any, source: str) -> None:  # noqa: ANN401  any JSON may come
    """Refuse what is no JSON Schema 2020-12 of knobs.

    Raises:
        InputError: Naming the place in the schema and what must stand there.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, best_match

    try:
        Draft202012Validator.check_schema(document)
    except SchemaError as error:
        raise InputError(f"{source} is no JSON Schema 2020-12: {_said(error)}") from error
    if not isinstance(document, dict) or not isinstance(document.get("properties"), dict):
        raise InputError(f"{source} has no `properties`: a knob is one property of the schema")
    form = json.loads((shipped("schemas") / FORM).read_bytes())
    fault = best_match(Draft202012Validator(form).iter_errors(document))
    if fault:
        raise InputError(
            f"{source} is no schema of knobs: {_said(fault)}",
            hint="what a knob may say of itself: knobctl schema knob-schema",
        )
    for name, prop in document["properties"].items():
        _verify_knob(name, prop, source)


def _said(fault: ValidationError | SchemaError) -> str:
    place = "/".join(str(part) for part in fault.absolute_path) or "the root"
    return f"{place}: {fault.message}"


def _verify_knob(name: str, prop: Mapping[str, Any], source: str) -> None:
    where = f"{source}: knob {name}"
    if "$ref" in prop:
        raise InputError(f"{where} uses $ref; write the knob out, nothing is fetched")
    if "enum" not in prop and prop.get("type") not in {"number", "integer"}:
        raise InputError(
            f"{where} has the type {prop.get('type')!r}; knobs are number, integer or enum"
        )
    extra = prop.get("x-knob", {})
    if "default" not in extra and "default" not in prop:
        raise InputError(f"{where} has no default; write x-knob.default")
    on_wire = extra.get("proto", {}).get("type")
    if on_wire and (on_wire == KnobType.MODE) is not ("enum" in prop):
        raise InputError(f"{where} is {on_wire} on the wire; an enum is KnobMode, nothing else is")


def verify_knobs(knobs: Iterable[Knob], source: str) -> None:
    """Refuse knobs that contradict themselves or one another.

    Raises:
        InputError: For a default that the knob does not accept, a role given twice, or an enum in the
            role of a number.
    """
    roles: dict[str, str] = {}
    for knob in knobs:
        where = f"{source}: knob {knob.name}"
        if not knob.accepts(knob.default):
            raise InputError(f"{where} has a default that it does not take: {knob.default!r}")
        if knob.role is None:
            continue
        if knob.role in roles:
            raise InputError(
                f"{source} gives the role {knob.role} to {roles[knob.role]} and {knob.name}; a role names one knob"
            )
        roles[knob.role] = knob.name
        if knob.type is KnobType.MODE and knob.role.startswith(_OF_NUMBERS):
            raise InputError(f"{where} is an enum; the role {knob.role} is that of a number")
