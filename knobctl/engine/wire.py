"""The engine's JSON and our values: proto3's JSON mapping, read with suspicion."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from knobctl.engine.answers import NonsenseError
from knobctl.engine.interface import LiveSet
from knobctl.knobs import KnobType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.knobs import Catalogue, Knob, KnobValue

_NUMBER: Final = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_HUMP: Final = re.compile(r"(?<!^)([A-Z])")
_EMPTY_EVENT: Final[Mapping[str, Any]] = {
    "event_id": "",
    "type": "",
    "tenant_id": "",
    "actor": "",
    "reason": "",
    "occurred_at": "",
    "revision": "",
    "changed_field_paths": [],
    "before": {},
    "after": {},
    "previous_hash": "",
    "hash": "",
}
"""An audit event at the zero values that proto3's JSON leaves out."""


def live_set(
    answer: Mapping[str, Any], catalogue: Catalogue, *, tenant: str, revision: str | None
) -> LiveSet:
    """Read one tenant's set from the answer to Get, or from one item of List.

    Args:
        answer: The JSON object.
        catalogue: The knobs that we know.
        tenant: Whose set it is.
        revision: What an answer without a revision means: `NEVER_WRITTEN` where the engine has
            revisions, None where it has none.

    Raises:
        NonsenseError: If there is no config in it, or a field has another type than it must have.
    """
    config = answer.get("config")
    if not isinstance(config, dict):
        raise NonsenseError("the answer holds no config")
    if text_field(answer, "tenantId", "tenant_id") not in {"", tenant}:
        raise NonsenseError("the set of another tenant than the one asked for")
    knobs, unknown = read_config(config, catalogue)
    return LiveSet(
        tenant=tenant,
        knobs=knobs,
        revision=text_field(answer, "revision", "revision") or revision,
        updated_at=text_field(answer, "updatedAt", "updated_at") or None,
        updated_by=text_field(answer, "updatedBy", "updated_by") or None,
        unknown=unknown,
        last_good=bool(answer.get("lastGood", answer.get("last_good"))),
    )


def read_config(
    config: Mapping[str, Any], catalogue: Catalogue
) -> tuple[dict[str, KnobValue], dict[str, Any]]:
    """Split a config into the canonical set and what the schema does not know.

    Returns:
        The set, and the rest raw: unknown fields by their name on the wire; a knob whose value the
        schema does not take, or that stands there in both spellings, by its canonical name.
    """
    values: dict[str, KnobValue] = {}
    unknown: dict[str, Any] = {}
    seen: set[str] = set()
    for name, raw in config.items():
        knob = catalogue.by_any_name.get(name)
        if knob is None:
            unknown[name] = raw
            continue
        if raw is None and knob.unset is None and knob.name not in seen:
            seen.add(knob.name)
            continue
        value = knob_value(knob, raw)
        if value is None or knob.name in seen:
            unknown[knob.name] = raw
            values.pop(knob.name, None)
        else:
            values[knob.name] = value
        seen.add(knob.name)
    return catalogue.canonical(values), unknown


def knob_value(knob: Knob, raw: Any) -> KnobValue | None:  # noqa: ANN401  any JSON may come
    """Read one value as proto3's JSON mapping allows it; None if the schema does not take it.

    Numbers may come as text, enum values as numbers, and null is the zero value.
    """
    value: Any = raw
    if value is None:
        value = knob.unset
    elif knob.type is KnobType.MODE:
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and 0 <= value < len(knob.choices)
        ):
            value = knob.choices[value]
    elif isinstance(value, str) and _NUMBER.match(value):
        value = float(value) if knob.type is KnobType.DOUBLE else _integer(value)
    if not isinstance(value, str) and value == 0:
        value = 0 if not isinstance(value, bool) else value
    return value if knob.accepts(value) else None


def _integer(text: str) -> int | float:
    return int(text) if text.lstrip("+-").isdigit() and len(text) < 20 else float(text)


def wire_config(knobs: Mapping[str, KnobValue], catalogue: Catalogue) -> dict[str, KnobValue]:
    """Spell a canonical set as the wire wants it, every value checked once more before it leaves.

    Raises:
        ValueError: If a value is none that the knob takes; such a set never passes validation.
    """
    for name, value in knobs.items():
        if name not in catalogue or not catalogue[name].accepts(value):
            raise ValueError(f"{name} = {value!r} is no value to send")
    return {catalogue[name].json_name: value for name, value in catalogue.canonical(knobs).items()}


def text_field(answer: Mapping[str, Any], *names: str) -> str:
    """Read a text field by any of its spellings; the empty string where it is absent.

    Raises:
        NonsenseError: If it is no text.
    """
    for name in names:
        value = answer.get(name)
        if value is not None:
            if not isinstance(value, str):
                raise NonsenseError(f"{name} is no text")
            return value
    return ""


def list_field(answer: Mapping[str, Any], *names: str) -> list[Any]:
    """Read a repeated field by any of its spellings; an empty list where it is absent.

    Raises:
        NonsenseError: If it is no list.
    """
    for name in names:
        value = answer.get(name)
        if value is not None:
            if not isinstance(value, list):
                raise NonsenseError(f"{name} is no list")
            return value
    return []


def audit_event(raw: Any, catalogue: Catalogue) -> dict[str, Any]:  # noqa: ANN401  any JSON may come
    """Read an audit event into the snake_case shape of the contract, over which its hash is made.

    Raises:
        NonsenseError: If it is no object, or a field has another type than it must have.
    """
    if not isinstance(raw, dict):
        raise NonsenseError("an audit event is no object")
    event = dict(_EMPTY_EVENT) | {
        snake_case(name): value for name, value in raw.items() if value is not None
    }
    for name, empty in _EMPTY_EVENT.items():
        if type(event[name]) is not type(empty):
            raise NonsenseError(f"the audit event's {name} has the wrong type")
    for name in ("before", "after"):
        event[name] = {_knob_name(key, catalogue): value for key, value in event[name].items()}
    if not all(isinstance(path, str) for path in event["changed_field_paths"]):
        raise NonsenseError("the audit event's changed_field_paths holds something else than texts")
    return event


def _knob_name(name: str, catalogue: Catalogue) -> str:
    knob = catalogue.by_any_name.get(name)
    return knob.name if knob else snake_case(name)


def snake_case(name: str) -> str:
    """Turn the wire's lowerCamelCase into snake_case."""
    return _HUMP.sub(r"_\1", name).lower()
