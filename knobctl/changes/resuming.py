"""Looks at an unfinished run again: what is left to write, to find out, or holds the planned set by now. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.plan import unknown_fields
from knobctl.changes.read_back import same_set
from knobctl.changes.replanning import moved_since

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.changes.journal import Intent, Run
    from knobctl.changes.plan import Plan
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What is left of a run."""

    plan: Plan
    """The tenants to be written, or to be found out about by sending the same write again."""
    sent: Mapping[str, Intent]
    """Of those, by tenant, the writes that may have arrived."""
    settled: tuple[TenantOutcome, ...]
    """What earlier attempts noted, of which nothing is left to do."""
    found: tuple[TenantOutcome, ...]
    """Tenants that were not begun and hold the planned set already: a fresh apply was there before."""
    moved: tuple[TenantOutcome, ...]
    """Tenants that were not begun and that somebody else has changed."""


def rest_of(run: Run, plan: Plan, live: Mapping[str, LiveSet], catalogue: Catalogue) -> Rest:
    """Sort the tenants of a run by what is to be done.

    Args:
        run: The run.
        plan: Its plan.
        live: What the engine holds for the tenants that are left.
        catalogue: The knobs.
    """
    sent = {
        name: progress.intent
        for name, progress in run.tenants.items()
        if progress.intent and progress.may_be_written
    }
    fresh = [one for one in plan.tenants if one.tenant in live and one.tenant not in sent]
    found = [
        TenantOutcome(
            tenant=one.tenant,
            outcome=Outcome.UNCHANGED,
            revision=live[one.tenant].revision,
            message="it holds the planned set already",
        )
        for one in fresh
        if same_set(live[one.tenant].knobs, one.desired)
    ]
    held = {one.tenant for one in found}
    unbegun = tuple(one for one in fresh if one.tenant not in held)
    moved = moved_since(replace(plan, tenants=unbegun), live, catalogue)
    left_out = held | {one.tenant for one in moved}
    tenants = tuple(
        replace(one, unknown=unknown_fields(live[one.tenant]))
        for one in plan.tenants
        if one.tenant in live and one.tenant not in left_out
    )
    return Rest(
        plan=replace(plan, tenants=tenants),
        sent=sent,
        settled=tuple(one for one in run.outcomes() if one.tenant not in live),
        found=tuple(found),
        moved=tuple(moved),
    )
