"""Looks at an unfinished run again: what is left to write, to find out, or holds the planned set by now. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.changes.diff import diff_sets
from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.plan import unknown_fields
from knobctl.changes.read_back import same_set
from knobctl.changes.replanning import moved_since

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.changes.journal import Intent, Run
    from knobctl.changes.plan import Plan, TenantPlan
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
    """Tenants that somebody else has changed: not begun, or of a wave that is looked at again."""


def rest_of(run: Run, plan: Plan, live: Mapping[str, LiveSet], catalogue: Catalogue) -> Rest:
    """Sort the tenants of a run by what is to be done.

    Args:
        run: The run.
        plan: Its plan.
        live: What the engine holds for the tenants that are left, and for those of its waves that
            are written and to be looked at again.
        catalogue: The knobs.
    """
    left, sent = set(run.left), run.sent
    fresh = [one for one in plan.tenants if one.tenant in left and one.tenant not in sent]
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
    moved = [
        *moved_since(replace(plan, tenants=unbegun), live, catalogue),
        *_changed_again(run, plan, live, catalogue),
    ]
    left_out = held | {one.tenant for one in moved}
    tenants = tuple(
        replace(one, unknown=unknown_fields(live[one.tenant]))
        for one in plan.tenants
        if one.tenant in left and one.tenant not in left_out
    )
    return Rest(
        plan=replace(plan, tenants=tenants),
        sent=sent,
        settled=tuple(one for one in run.outcomes() if one.tenant not in left | left_out),
        found=tuple(found),
        moved=tuple(moved),
    )


def _changed_again(
    run: Run, plan: Plan, live: Mapping[str, LiveSet], catalogue: Catalogue
) -> list[TenantOutcome]:
    """The tenants of its waves that hold something else by now than the run wrote."""
    written = set(run.written_in_waves)
    found = []
    for one in plan.tenants:
        if one.tenant not in written:
            continue
        now, noted = live[one.tenant], run.tenants[one.tenant].outcome
        if not _is_as_written(one, noted.revision if noted else None, now):
            found.append(
                TenantOutcome(
                    tenant=one.tenant,
                    outcome=Outcome.CONFLICT,
                    message="it was changed since this run wrote it",
                    theirs=diff_sets(catalogue, one.desired, now.knobs),
                    by=now.updated_by,
                    at=now.updated_at,
                )
            )
    return found


def _is_as_written(tenant: TenantPlan, revision: str | None, live: LiveSet) -> bool:
    if revision is not None and live.revision is not None:
        return live.revision == revision
    return same_set(live.knobs, tenant.desired)
