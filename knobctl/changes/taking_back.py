"""Takes back what a run has written: the exact earlier sets, journalled in the same run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from knobctl.changes.apply import OnConflict, apply_plan
from knobctl.changes.audit_reasons import audit_reason
from knobctl.changes.diff import diff_sets
from knobctl.changes.journal_writing import JournalError
from knobctl.changes.outcomes import Outcome, TenantOutcome, taken_back
from knobctl.changes.plan import TenantPlan
from knobctl.changes.read_back import same_set
from knobctl.changes.rollback import refuse_invalid
from knobctl.errors import EngineError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.changes.apply import Push
    from knobctl.changes.journal import Run
    from knobctl.knobs import Catalogue


def back_of(tenant: TenantPlan, written: str | None, catalogue: Catalogue) -> TenantPlan:
    """The plan that takes a write back: the exact earlier set, in place of just what was written.

    Args:
        tenant: What was planned, and is written.
        written: The revision that the write made.
        catalogue: The knobs.
    """
    return TenantPlan(
        tenant=tenant.tenant,
        source=tenant.source,
        base_revision=written,
        existing=tenant.desired,
        desired=tenant.existing,
        changes=diff_sets(catalogue, tenant.desired, tenant.existing),
        labels=tenant.labels,
        owner=tenant.owner,
    )


def take_back(
    tenants: Sequence[TenantPlan], push: Push, why: str, unsure: Sequence[TenantPlan] = ()
) -> list[TenantOutcome]:
    """Write earlier sets again, in the same run; whoever was changed since is left alone.

    Args:
        tenants: Plans of `back_of`.
        unsure: What was planned for tenants of which it is not known whether they were written.
        push: As they were written; a request to stop does not stop this, the emergency stop does.
        why: Why, for the journal and the audit events.
    """
    with suppress(JournalError):  # then nothing is sent, and each tenant says so
        push.journal.begin({"kind": "taking_back", "why": why})
    said = f"taken back by the canary of run {push.journal.run}: {visible(why)}"[:500]
    way = replace(
        push,
        reason=audit_reason(said, push.ticket),
        on_conflict=OnConflict.SKIP,
        stop=push.emergency,
    )
    found = {one.tenant: _back_of_unsure(one, push) for one in unsure}
    backs = sorted([*tenants, *filter(None, found.values())], key=lambda one: one.tenant)
    written = {one.tenant: one.base_revision for one in backs}
    returned = apply_plan(backs, way, lambda _: None)
    lost = [_not_established(name) for name, back in found.items() if back is None]
    return [*(taken_back(one, written[one.tenant]) for one in returned), *lost]


def _back_of_unsure(tenant: TenantPlan, push: Push) -> TenantPlan | None:
    """The plan that takes back a write that may have arrived; None where that cannot be found out.

    Where the tenant still holds its earlier set, that is written once more: a write that is still
    on its way finds another revision then, and is refused.
    """
    try:
        live = push.engine.read(tenant.tenant)
    except EngineError:
        return None
    back = back_of(tenant, live.revision, push.catalogue)
    if same_set(live.knobs, tenant.desired):
        return back
    stands = same_set(live.knobs, tenant.existing)
    return replace(back, existing=tenant.existing) if stands else None


def _not_established(tenant: str) -> TenantOutcome:
    message = "what became of its write is not established, so that it was not taken back"
    return TenantOutcome(tenant=tenant, outcome=Outcome.UNKNOWN, message=message)


def planned_before(run: Run, catalogue: Catalogue) -> list[TenantPlan]:
    """What was planned for the tenants that are left to be taken back, by the schema of today.

    Raises:
        RefusedError: If an earlier set is none that it accepts; nothing was written.
    """
    left = set(run.left)
    entries = [one for one in run.planned_tenants() if one["tenant"] in left]
    for key in ("set", "base"):
        sets = {one["tenant"]: one[key] for one in entries}
        refuse_invalid(sets, run.heading.run, catalogue)
    found = []
    for one in entries:
        existing, desired = catalogue.canonical(one["base"]), catalogue.canonical(one["set"])
        found.append(
            TenantPlan(
                tenant=one["tenant"],
                source=one["source"],
                base_revision=one["base_revision"],
                existing=existing,
                desired=desired,
                changes=diff_sets(catalogue, existing, desired),
                labels=one["labels"],
                owner=one["owner"],
            )
        )
    return found


def backs_of(run: Run, planned: Mapping[str, TenantPlan], catalogue: Catalogue) -> list[TenantPlan]:
    """What is left to be taken back of a run that was killed while it did that.

    Args:
        run: As its journal tells it; the writes that may have arrived are sent again as they were.
        planned: The run's plan, by tenant.
        catalogue: The knobs.
    """
    found = []
    for name in run.left:
        progress = run.tenants[name]
        if progress.intent and progress.takes_back and progress.may_be_written:
            back = back_of(planned[name], progress.intent.base_revision, catalogue)
            found.append(replace(back, existing=progress.intent.before))
        elif progress.is_written and progress.outcome:
            found.append(back_of(planned[name], progress.outcome.revision, catalogue))
    return found


def unsure_of(run: Run, planned: Mapping[str, TenantPlan]) -> list[TenantPlan]:
    """What was planned for the tenants of such a run of which it is not known whether they were written."""
    return [
        planned[name]
        for name in run.left
        if run.tenants[name].may_be_written and not run.tenants[name].takes_back
    ]


def still_written(returned: Sequence[TenantOutcome]) -> tuple[str, ...]:
    """The tenants of a taking back that do not hold their earlier set."""
    return tuple(one.tenant for one in returned if one.outcome is not Outcome.ROLLED_BACK)
