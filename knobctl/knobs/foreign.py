"""Looks at a knob schema that is not ours before anything is derived from it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from knobctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


def verify_schema(document: Any, source: str) -> None:  # noqa: ANN401  any JSON may come
    """Refuse what is no JSON Schema 2020-12 of knobs.

    Raises:
        InputError: Naming the place in the schema and what must stand there.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(document)
    except SchemaError as error:
        place = "/".join(str(part) for part in error.absolute_path) or "the root"
        raise InputError(f"{source} is no JSON Schema 2020-12: {place}: {error.message}") from error
    if not isinstance(document, dict) or not isinstance(document.get("properties"), dict):
        raise InputError(f"{source} has no `properties`: a knob is one property of the schema")
    for name, prop in document["properties"].items():
        _verify_knob(name, prop, source)
    roles = Counter(
        prop["x-knob"]["role"]
        for prop in document["properties"].values()
        if "role" in prop.get("x-knob", {})
    )
    for role, uses in roles.items():
        if uses > 1:
            raise InputError(
                f"{source} gives the role {role} to {uses} knobs; a role names one knob"
            )


def _verify_knob(name: str, prop: Mapping[str, Any] | bool, source: str) -> None:
    where = f"{source}: knob {name}"
    if not isinstance(prop, dict):
        raise InputError(f"{where} must be an object with type, range and x-knob")
    if "$ref" in prop:
        raise InputError(f"{where} uses $ref; write the knob out, nothing is fetched")
    if "enum" not in prop and prop.get("type") not in {"number", "integer"}:
        raise InputError(
            f"{where} has the type {prop.get('type')!r}; knobs are number, integer or enum"
        )
    extra = prop.get("x-knob", {})
    if not isinstance(extra, dict):
        raise InputError(f"{where}: x-knob must be an object")
    if "default" not in extra and "default" not in prop:
        raise InputError(f"{where} has no default; write x-knob.default")
