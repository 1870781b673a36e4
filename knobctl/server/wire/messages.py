"""Sets and events to messages, and configs from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from knobctl.knobs import KnobType
from knobctl.server.wire.knobs_pb import ContextEngineKnobsConfig, KnobMode
from knobctl.server.wire.knobs_service_pb import (
    ConfigAuditEvent,
    GetContextEngineKnobsConfigResponse,
    UpdateContextEngineKnobsConfigResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.knobs import Catalogue, Knob, KnobValue
    from knobctl.server.stored import Stored, Updated


def config_values(
    catalogue: Catalogue, config: ContextEngineKnobsConfig | None
) -> dict[str, KnobValue]:
    """Give every field of a config by its canonical name, as the knob would write its value."""
    return (
        {knob.name: _value(knob, getattr(config, knob.name)) for knob in catalogue}
        if config
        else {}
    )


def _value(knob: Knob, value: float) -> KnobValue:
    if knob.type is not KnobType.MODE:
        return value
    number = int(value)
    return knob.choices[number] if 0 <= number < len(knob.choices) else str(number)


def config_message(catalogue: Catalogue, knobs: Mapping[str, Any]) -> ContextEngineKnobsConfig:
    """Make the config of a set. What no knob takes has no place in it."""
    known = catalogue.by_name
    return _config(
        catalogue,
        {
            name: known[name].canonical(value)
            for name, value in knobs.items()
            if name in known and known[name].accepts(value)
        },
    )


def _config(catalogue: Catalogue, knobs: Mapping[str, KnobValue]) -> ContextEngineKnobsConfig:
    """Make the config of a canonical set; a mode is the only value that is a text."""
    known = catalogue.by_name
    values: dict[str, Any] = {
        name: KnobMode(known[name].choices.index(value)) if isinstance(value, str) else value
        for name, value in knobs.items()
    }
    return ContextEngineKnobsConfig(**values)


def set_message(catalogue: Catalogue, stored: Stored) -> GetContextEngineKnobsConfigResponse:
    """Make the answer of Get, which List repeats."""
    # What comes from the audit log alone has not been looked at knob by knob.
    config = config_message if stored.last_good else _config
    return GetContextEngineKnobsConfigResponse(
        config=config(catalogue, stored.knobs),
        revision=stored.revision,
        updated_at=stored.updated_at or "",
        updated_by=stored.updated_by or "",
        tenant_id=stored.tenant,
        last_good=stored.last_good,
    )


def updated_message(
    catalogue: Catalogue, updated: Updated
) -> UpdateContextEngineKnobsConfigResponse:
    """Make the answer of Update and Revert."""
    stored = updated.stored
    return UpdateContextEngineKnobsConfigResponse(
        config=config_message(catalogue, stored.knobs),
        revision=stored.revision,
        updated_at=stored.updated_at or "",
        updated_by=stored.updated_by or "",
        tenant_id=stored.tenant,
        changed_field_paths=list(updated.changed_field_paths),
    )


def event_message(catalogue: Catalogue, event: Mapping[str, Any]) -> ConfigAuditEvent:
    """Make the message of an audit event; a damaged one becomes a message whose hash does not fit."""
    message = ConfigAuditEvent(
        before=_noted(catalogue, _mapping(event.get("before"))),
        after=_noted(catalogue, _mapping(event.get("after"))),
        changed_field_paths=[str(path) for path in event.get("changed_field_paths") or ()],
    )
    for name in _EVENT_TEXTS:
        setattr(message, name, str(event.get(name, "")))
    return message


def _noted(catalogue: Catalogue, knobs: Mapping[str, Any]) -> ContextEngineKnobsConfig:
    """Make the config of what an event says, whether its knobs would take that today or not.

    A bound that was narrowed since must not turn what was held then into a default.
    """
    known = catalogue.by_name
    held = {name: value for name, value in knobs.items() if _is_held(known.get(name), value)}
    return _config(catalogue, held)


def _is_held(knob: Knob | None, value: object) -> bool:
    """Whether the field of a knob can hold a value."""
    match knob.type if knob else None, value:
        case KnobType.MODE, str():
            return knob is not None and value in knob.choices
        case KnobType.INT32, int() if not isinstance(value, bool):
            return abs(value) < 1 << 31
        case KnobType.DOUBLE, int() | float() if not isinstance(value, bool):
            return math.isfinite(value)
        case _:
            return False


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


_EVENT_TEXTS: Final = (
    "event_id",
    "type",
    "tenant_id",
    "actor",
    "reason",
    "occurred_at",
    "revision",
    "previous_hash",
    "hash",
)
