"""Looks at a knob schema that is not ours before anything is derived from it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import InputError
from knobctl.fusion.formula import Scale, Weighs, scale_named
from knobctl.knobs.knob import Direction, KnobType
from knobctl.shipped import shipped
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jsonschema.exceptions import SchemaError, ValidationError

    from knobctl.knobs.knob import Knob

FORM: Final = "knob-schema.v1.schema.json"
"""The JSON Schema of schemas of knobs."""
_OF_NUMBERS: Final = ("floor.", "fusion.", "depth.", "gate.", "expansion.")
"""Roles of knobs with which something is computed."""
_FUSED: Final = ("floor.fused", "floor.expansion", "gate.confident")
"""Roles of knobs that fused scores are compared with."""
_A_MINIMUM: Final = re.compile(r"(?:^|[_.-])min(?:imum)?(?:[_.-]|$)", re.IGNORECASE).search
_WIDE: Final = 1e6
"""A range wider than this is no range that examples of rows can be taken from."""


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


def verify_knobs(knobs: Sequence[Knob], source: str) -> None:
    """Refuse knobs that contradict themselves or one another.

    Raises:
        InputError: For a default that the knob does not accept, a role given twice, an enum in the
            role of a number, a floor on a distance, a fusion that none of our formulas is, or values that
            none of them can take.
    """
    roles: dict[str, str] = {}
    for knob in knobs:
        where = f"{source}: knob {knob.name}"
        if not knob.accepts(knob.default):
            raise InputError(f"{where} has a default that it does not take: {knob.default!r}")
        _verify_direction(knob, where)
        _verify_formula(knob, where)
        _verify_range(knob, where)
        if knob.role is None:
            continue
        if knob.role in roles:
            raise InputError(
                f"{source} gives the role {knob.role} to {roles[knob.role]} and {knob.name}; a role names one knob"
            )
        roles[knob.role] = knob.name
        if knob.type is KnobType.MODE and knob.role.startswith(_OF_NUMBERS):
            raise InputError(f"{where} is an enum; the role {knob.role} is that of a number")
    _verify_alike(knobs, source)


def _verify_direction(knob: Knob, where: str) -> None:
    """Refuse a minimum on a distance: it keeps what is far and drops what is near."""
    floor = (knob.role or "").startswith("floor.")
    named = _A_MINIMUM(knob.name)
    says = f"{knob.name} {knob.unit} {knob.scale or ''}".lower()
    distance = knob.direction is Direction.LOWER
    if not (floor or named) or not (distance or (knob.direction is None and "distance" in says)):
        return
    what = f"has the role {knob.role}" if floor else "is called a minimum"
    scale = "lower is better on its scale" if distance else "its scale is a distance"
    bound, near, far = _three_values(knob)
    raise InputError(
        f"{where} {what}, and {scale}: a minimum on a distance is a maximum. "
        f"Of two rows at {near} and {far} with {bound}, a minimum keeps {far}, the far one, and drops {near}; "
        f"a maximum keeps {near} and drops {far}",
        hint="write a maximum (max_distance, direction lower_is_better, no role floor.*), or give the floor "
        "on a similarity (direction higher_is_better), such as 1 - distance for cosine",
    )


def _three_values(knob: Knob) -> tuple[str, str, str]:
    """A bound of the knob, and a row on either side of it."""
    low, high = float(knob.minimum or 0), float(knob.maximum or 1)
    low, high = (low, high) if high - low < _WIDE else (0.0, 2.0)
    bound = low + (high - low) * 0.3
    near, far = low + (high - low) * 0.05, low + (high - low) * 0.45
    return spelled(round(bound, 6)), spelled(round(near, 6)), spelled(round(far, 6))


def _verify_formula(knob: Knob, where: str) -> None:
    """Refuse what says of a knob's fusion something that its role has no use for, or that is no scale."""
    role = knob.role or ""
    if knob.first_rank != 1 and role != "fusion.k":
        raise InputError(f"{where} has first_rank; that is for the role fusion.k alone")
    if knob.weighs != Weighs.SCORE and not role.startswith("fusion.weight."):
        raise InputError(f"{where} has weighs; that is for the role fusion.weight.NAME alone")
    if role in _FUSED:
        try:
            scale_named(knob.scale)
        except ValueError as error:
            known = " or ".join(Scale)
            raise InputError(
                f"{where} has the role {role} and the scale {knob.scale!r}; fused scores are on {known}",
                hint="leave the role out where scores are fused in another way: a score that is computed "
                "from the other hits of its list has no ceiling to hold a floor against",
            ) from error


def _verify_range(knob: Knob, where: str) -> None:
    """Refuse a range with values with which nothing can be computed: policies would be asked about nothing."""
    role = knob.role or ""
    if role != "fusion.k" and not role.startswith(("fusion.weight.", "depth.")):
        return
    if not role.startswith("fusion.weight.") and knob.type is not KnobType.INT32:
        raise InputError(f"{where} has the role {role}; ranks are whole numbers: type integer")
    least = 1 - knob.first_rank if role == "fusion.k" else 0
    means_default = knob.minimum == knob.unset == 0
    if knob.minimum is None or (knob.minimum < least and not means_default):
        raise InputError(
            f"{where} has the role {role} and takes {'any number' if knob.minimum is None else spelled(knob.minimum)}",
            hint=f"give it a minimum of {least} or more: below, "
            + (
                "the first row divides by 0" if role == "fusion.k" else "there is nothing to reckon"
            ),
        )


def _verify_alike(knobs: Sequence[Knob], source: str) -> None:
    """Refuse scales or weights that differ where one formula fuses."""
    groups = (
        (
            "scale",
            [(knob.name, scale_named(knob.scale)) for knob in knobs if knob.role in _FUSED],
        ),
        (
            "weighs",
            [
                (knob.name, knob.weighs)
                for knob in knobs
                if (knob.role or "").startswith("fusion.weight.")
            ],
        ),
    )
    for what, values in groups:
        if len({value for _, value in values}) > 1:
            said = ", ".join(f"{name} {value}" for name, value in values)
            raise InputError(f"{source} gives one fusion more than one x-knob.{what}: {said}")
