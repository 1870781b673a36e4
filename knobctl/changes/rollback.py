"""Finds the set to which a tenant is rolled back, in its audit events. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knobctl.errors import ConflictError, RefusedError, UsageError
from knobctl.text import spelled, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue, KnobValue

UPDATED = "config.updated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The set that a tenant shall hold again."""

    tenant: str
    knobs: Mapping[str, KnobValue]
    """The canonical set."""
    revision: str | None
    """The revision that held it; None for the set before the first event."""
    undone: str | None = None
    """The revision whose change is taken back, where one was not named."""


def rollback_target(
    live: LiveSet, events: Sequence[Mapping[str, Any]], catalogue: Catalogue, *, to: str | None
) -> Target:
    """Find what a rollback brings back.

    Args:
        live: The set that the tenant holds.
        events: All its audit events, oldest first, in the shape of the contract.
        catalogue: The knobs: the set must be one that they accept today.
        to: The revision to go back to; None for the set before the last change.

    Raises:
        UsageError: If the tenant never had that revision, or nothing was ever changed.
        RefusedError: If the set of then is none that the engine's schema accepts now.
        ConflictError: If the events do not end at the live set: somebody wrote meanwhile.
    """
    tenant = live.tenant
    updates = [event for event in events if event["type"] == UPDATED]
    if updates and live.revision and updates[-1]["revision"] != live.revision:
        raise ConflictError(
            f"{tenant} was written while its history was read; nothing was written.",
            hint=f"look and decide again: knobctl history {tenant}",
        )
    if to is not None:
        for event in updates:
            if event["revision"] == to:
                return Target(
                    tenant=tenant, knobs=_accepted(tenant, event["after"], catalogue), revision=to
                )
        known = ", ".join(visible(str(event["revision"])) for event in updates[-5:])
        raise UsageError(
            f"{tenant} never had the revision {visible(to)}",
            hint=f"its last ones: {known}"
            if known
            else f"it has no audit events; see: knobctl history {tenant}",
        )
    for index in range(len(updates) - 1, -1, -1):
        event = updates[index]
        if event["changed_field_paths"]:
            return Target(
                tenant=tenant,
                knobs=_accepted(tenant, event["before"], catalogue),
                revision=updates[index - 1]["revision"] if index else None,
                undone=event["revision"],
            )
    raise UsageError(f"nothing of {tenant} was ever changed; there is nothing to take back")


def _accepted(
    tenant: str, values: Mapping[str, KnobValue], catalogue: Catalogue
) -> dict[str, KnobValue]:
    for name, value in values.items():
        if name not in catalogue:
            raise RefusedError(
                f"{tenant} then had {visible(name)}, which the schema does not know now; nothing was written.",
                hint="use the knob schema of that engine: --schema FILE, or set the knobs by hand",
            )
        if not catalogue[name].accepts(value):
            raise RefusedError(
                f"{tenant} then had {name} {visible(spelled(value))}; it must lie in {catalogue[name].range_text} now; "
                "nothing was written.",
                hint=f"set what is wanted: knobctl set {tenant} KNOB=VALUE",
            )
    return catalogue.canonical(values)
