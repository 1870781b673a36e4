"""Turns what jsonschema says of a document's fields into words a person can act on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knobctl.text import nearest, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from knobctl.documents.model import Kind


class Fault(NamedTuple):
    """One fault of a document, not yet at a place."""

    path: tuple[str | int, ...]
    rule: str
    message: str
    hint: str | None = None
    at_key: bool = False
    """Whether the key is at fault, not the value."""


class _Error(NamedTuple):
    """What jsonschema says of one place."""

    path: tuple[str | int, ...]
    keyword: str
    wanted: Any
    """What the keyword demands."""
    schema: Mapping[str, Any]
    """The schema in which the keyword stands."""
    instance: Any
    message: str

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path))


_DEFAULTS: Final = "write knobs: {} if every knob shall be at the platform default"
_MUST: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def field_faults(
    kind: Kind, value: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]
) -> Iterator[Fault]:
    """Find every fault that the schema of a kind sees, in the order of the document's paths.

    Args:
        kind: What the document is.
        value: The document, knobs by canonical names.
        schemas: The schemas by file name.
    """
    for error in sorted(
        _errors(kind, value, schemas), key=lambda error: list(map(str, error.path))
    ):
        yield from _BY_KEYWORD.get(error.keyword, _bad_value)(kind, error)


def _errors(
    kind: Kind, value: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]
) -> Iterator[_Error]:
    # jsonschema takes longer to import than a hundred files take to judge.
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    registry: Registry[Any] = Registry().with_resources(
        (name, DRAFT202012.create_resource(schema)) for name, schema in schemas.items()
    )
    validator = Draft202012Validator({"$ref": f"{kind.value}.v1.schema.json"}, registry=registry)
    for error in validator.iter_errors(value):
        schema = error.schema if isinstance(error.schema, dict) else {}
        yield _Error(
            tuple(error.absolute_path),
            str(error.validator),
            error.validator_value,
            schema,
            error.instance,
            error.message,
        )


def _shown(value: object) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "empty"
        case str():
            return f'"{value}"'
        case _:
            return spelled(value)


def _must(schema: Mapping[str, Any]) -> str:
    types = schema.get("type")
    must = schema.get("x-must") or _MUST.get(types if isinstance(types, str) else "", "another")
    for part in (schema, *schema.get("anyOf", ())):
        if "x-must" not in schema and "minimum" in part and "maximum" in part:
            must += f" in {part['minimum']} .. {part['maximum']}"
    return str(must)


def _wrong_type(_kind: Kind, error: _Error) -> Iterator[Fault]:
    must = _must(error.schema)
    hint = None
    if error.wanted == "string" and isinstance(error.instance, (int, float, bool)):
        text = spelled(error.instance)
        if re.search(str(error.schema.get("pattern", "")), text):
            hint = f"quote it: '{text}'"
    elif error.wanted == "array" and isinstance(error.instance, str):
        hint = f"write a list: [{error.instance}]"
    elif error.instance is None and error.path == ("knobs",):
        hint = _DEFAULTS
    elif error.instance is None:
        hint = "write a value, or leave the key out"
    message = f"{error.name} is {_shown(error.instance)}; it must be {must}"
    yield Fault(error.path, "wrong-type", message, hint)


def _missing(kind: Kind, error: _Error) -> Iterator[Fault]:
    """The one property that this error is about: jsonschema gives one error for each."""
    known = error.schema.get("properties", {})
    name = next(
        name for name in error.wanted if name not in error.instance and repr(name) in error.message
    )
    about = known.get(name, {})
    must = about.get("x-must")
    where = error.name or f"the {kind.value}"
    hint = f"add {name}: {must}" if must else f"add {name}"
    yield Fault(
        (*error.path, *((kind.value,) if not error.path else ())),
        "missing-field",
        f"{where} has no {name}",
        hint,
    )


def _unknown(kind: Kind, error: _Error) -> Iterator[Fault]:

    known = list(error.schema.get("properties", ()))
    for name in error.instance:
        if name in known or str(name).startswith("x-"):
            continue
        near = nearest(name, known, cutoff=0.7)
        where = error.name or f"a {kind.value}"
        shown = ", ".join(field for field in known if field[0] != "$")
        hint = (
            f"did you mean {near}?"
            if near
            else f"known are {shown}; keys that begin with x- are yours"
        )
        yield Fault(
            (*error.path, name),
            "unknown-field",
            f"{where} has no field {name}",
            hint,
            True,
        )


def _neither(kind: Kind, error: _Error) -> Iterator[Fault]:
    """One of several fields must be there: knobs or layers, tenants or labels."""
    names = [branch["required"][0] for branch in error.wanted if "required" in branch]
    if len(names) < len(error.wanted):
        yield from _bad_value(kind, error)
        return
    written = [name for name in names if name in error.instance]
    listed = " nor ".join(names) if not written else " and ".join(written)
    message = (
        f"the {kind.value} has neither {listed}"
        if not written
        else f"the {kind.value} has both {listed}"
    )
    hint = f"write one of the two: {' or '.join(names)}"
    if names == ["knobs", "layers"]:
        hint = _DEFAULTS
    at = (written[-1],) if written else (kind.value,)
    yield Fault(at, "bad-value" if written else "missing-field", message, hint, bool(written))


def _repeated(_kind: Kind, error: _Error) -> Iterator[Fault]:
    seen: list[object] = []
    for index, item in enumerate(error.instance):
        if item in seen:
            message = f"{error.name} names {_shown(item)} twice"
            yield Fault((*error.path, index), "bad-value", message, "keep one of the two")
        seen.append(item)


def _bad_value(_kind: Kind, error: _Error) -> Iterator[Fault]:
    message = f"{error.name} is {_shown(error.instance)}; it must be {_must(error.schema)}"
    if not (error.schema.get("x-must") or error.path):
        message = error.message
    yield Fault(error.path, "bad-value", message)


_BY_KEYWORD: Final[Mapping[str, Callable[[Kind, _Error], Iterator[Fault]]]] = {
    "type": _wrong_type,
    "required": _missing,
    "additionalProperties": _unknown,
    "anyOf": _neither,
    "oneOf": _neither,
    "uniqueItems": _repeated,
}
