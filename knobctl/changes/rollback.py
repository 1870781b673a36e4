"""Finds the set to which a tenant is rolled back, in its audit events or in a run's journal. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knobctl.chain import is_whole
from knobctl.changes.outcomes import Outcome
from knobctl.changes.plan import schema_digest
from knobctl.changes.read_back import same_set
from knobctl.errors import ConflictError, RefusedError, UsageError
from knobctl.text import count, joined, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.changes.journal import Run
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
                _refuse_damaged(tenant, event)
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
            _refuse_damaged(tenant, event)
            return Target(
                tenant=tenant,
                knobs=_accepted(tenant, event["before"], catalogue),
                revision=updates[index - 1]["revision"] if index else None,
                undone=event["revision"],
            )
    raise UsageError(f"nothing of {tenant} was ever changed; there is nothing to take back")


def _refuse_damaged(tenant: str, event: Mapping[str, Any]) -> None:
    """Refuse to believe an event that is not what its hash was made of."""
    if event["hash"] and not is_whole(event):
        raise RefusedError(
            f"the audit event of {tenant} at {visible(event['revision'])} is not what was noted then: its content does "
            "not give its hash; nothing was written.",
            hint=f"look at the log: knobctl history {tenant} --verify; the journal of the run that changed it has the "
            f"set before, too: knobctl rollback {tenant} --run RUN",
        )


def written_by(run: Run, tenants: Sequence[str]) -> list[str]:
    """The tenants that a run has written, or may have: those named, or all of them.

    Raises:
        UsageError: If it wrote none, or not one of those that are named.
    """
    written = {
        name
        for name, progress in run.tenants.items()
        if progress.may_be_written
        or (progress.outcome is not None and progress.outcome.outcome is Outcome.APPLIED)
    }
    strangers = [tenant for tenant in dict.fromkeys(tenants) if tenant not in written]
    if strangers or not written:
        what = visible(", ".join(strangers)) or "anything"
        raise UsageError(
            f"run {run.heading.run} has not written {what}",
            hint=f"see what became of each tenant: knobctl runs {run.heading.run}",
        )
    return sorted(tenants or written)


def run_targets(run: Run, live: Mapping[str, LiveSet], catalogue: Catalogue) -> list[Target]:
    """The sets that tenants held before a run wrote them, from its journal.

    Args:
        run: The run.
        live: By tenant, what it holds: what the run wrote, or still what it held before.
        catalogue: The knobs: each set must be one that they accept today.

    Raises:
        ConflictError: If somebody has changed one since: their change would be lost.
        RefusedError: If a set of then is none that the engine's schema accepts now.
    """
    planned = {one["tenant"]: one for one in run.planned_tenants() if one["tenant"] in live}
    theirs = [name for name, one in live.items() if not _is_ours(run, one, planned[name])]
    if theirs:
        raise ConflictError(
            f"{joined(theirs)} {'was' if len(theirs) == 1 else 'were'} changed since run {run.heading.run}; "
            "nothing was written.",
            hint="name the tenants that shall go back, and look at the others: knobctl history TENANT",
        )
    refuse_invalid({name: planned[name]["base"] for name in live}, run.heading.run, catalogue)
    return [
        Target(
            tenant=name,
            knobs=catalogue.canonical(planned[name]["base"]),
            revision=planned[name]["base_revision"] or None,
            undone=_written_revision(run, name),
        )
        for name in live
    ]


def defaults_words(run: Run, catalogue: Catalogue) -> str | None:
    """Say that the schema of the knobs was another one when a run was begun; None where it was not."""
    if run.plan["schema_digest"] == schema_digest(catalogue):
        return None
    return (
        f"the schema of the knobs is not the one of run {run.heading.run}: its sets come back exactly as they were, "
        "and what they leave out has the default of today"
    )


def refuse_invalid(
    sets: Mapping[str, Mapping[str, KnobValue]], run: str, catalogue: Catalogue
) -> None:
    """Refuse all where the schema does not accept one of them now: nobody goes back by halves.

    Args:
        sets: By tenant, what it shall hold again.
        run: The run that is taken back.
        catalogue: The knobs.

    Raises:
        RefusedError: Naming the first, and how the others can go back.
    """
    faults = [fault for name, one in sets.items() if (fault := _fault(name, one, catalogue))]
    if not faults:
        return
    first, *more = faults
    also = f" {count(len(more), 'tenant')} more had what is not accepted now." if more else ""
    others = f"; the others go back by name: knobctl rollback --run {run} TENANT..."
    raise RefusedError(
        f"{first.message}{also}", hint=f"{first.hint}{others if len(faults) < len(sets) else ''}"
    )


def _is_ours(run: Run, live: LiveSet, planned: Mapping[str, Any]) -> bool:
    """Whether a tenant holds what a run wrote, or what it held before it."""
    written = _written_revision(run, live.tenant)
    if written is not None and live.revision is not None:
        return live.revision == written
    return same_set(live.knobs, planned["set"]) or same_set(live.knobs, planned["base"])


def _written_revision(run: Run, tenant: str) -> str | None:
    outcome = run.tenants[tenant].outcome
    return outcome.revision if outcome else None


def _accepted(
    tenant: str, values: Mapping[str, KnobValue], catalogue: Catalogue
) -> dict[str, KnobValue]:
    if fault := _fault(tenant, values, catalogue):
        raise fault
    return catalogue.canonical(values)


def _fault(
    tenant: str, values: Mapping[str, KnobValue], catalogue: Catalogue
) -> RefusedError | None:
    """Why a set of then is none that the schema accepts now; None where it is one."""
    for name, value in values.items():
        if name not in catalogue:
            return RefusedError(
                f"{tenant} then had {visible(name)}, which the schema does not know now; nothing was written.",
                hint="use the knob schema of that engine: --schema FILE, or set the knobs by hand",
            )
        if not catalogue[name].accepts(value):
            return RefusedError(
                f"{tenant} then had {name} {visible(spelled(value))}; it must lie in {catalogue[name].range_text} now; "
                "nothing was written.",
                hint=f"set what is wanted: knobctl set {tenant} KNOB=VALUE",
            )
    return None
