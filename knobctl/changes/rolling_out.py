"""Carries out a push in waves: writes one, watches it, and goes on or takes back what was written."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from knobctl.changes.apply import apply_plan
from knobctl.changes.journal_writing import JournalError
from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.rollout import Rolled
from knobctl.changes.taking_back import back_of, still_written, take_back
from knobctl.changes.watching import unwatched, watched
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.changes.apply import Push
    from knobctl.changes.guard_metrics import Wave
    from knobctl.changes.plan import TenantPlan
    from knobctl.changes.rollout import Rollout
    from knobctl.changes.watching import Watch


def roll_out(
    rollout: Rollout, push: Push, watch: Watch, progress: Callable[[TenantOutcome], object]
) -> Rolled:
    """Write wave by wave, watch each, and go on or take back what this run has written.

    A wave that could not be written whole is taken back too: it shows nothing. One of which every
    tenant had moved, and was skipped, is passed over; but the rest is never written where no wave
    was watched. A run that is asked to stop leaves what it has written.

    Raises:
        JournalError: If the journal cannot be written; nothing was sent.
    """
    push.journal.begin(rollout.as_record())
    outcomes: dict[str, TenantOutcome] = {}
    waves = [unwatched(group, "not begun") for group in rollout.groups]
    for index, group in enumerate(rollout.groups):
        written = apply_plan(group.tenants, push, progress)
        outcomes |= {one.tenant: one for one in written}
        waves[index] = watched(index + 1, written, rollout, push, watch)
        if waves[index].verdict not in {"held", "passed over"}:
            return _ended(rollout, push, watch, outcomes, waves, waves[index].why)
        with suppress(JournalError):  # then nothing more is sent
            push.journal.begin({"kind": "judged", "wave": index + 1})
    if all(wave.verdict == "passed over" for wave in waves):
        return _ended(rollout, push, watch, outcomes, waves, None)
    rest = apply_plan(rollout.rest, push, progress)
    return Rolled(rollout=rollout, outcomes=(*outcomes.values(), *rest), waves=tuple(waves))


def _ended(
    rollout: Rollout,
    push: Push,
    watch: Watch,
    outcomes: dict[str, TenantOutcome],
    waves: list[Wave],
    why: str | None,
) -> Rolled:
    """Write nothing more; where there is a reason to, take back what was written."""
    planned = {one.tenant: one for group in rollout.groups for one in group.tenants}
    unbegun = [one for name, one in planned.items() if name not in outcomes]
    behind = [_unbegun(one) for one in (*unbegun, *rollout.rest)]
    back = _backs(planned, outcomes, push)
    if why is None or not back:
        return Rolled(rollout=rollout, outcomes=(*outcomes.values(), *behind), waves=tuple(waves))
    watch.tell(f"{why}; taking back {count(len(back), 'tenant')}")
    returned = take_back(back, push, why)
    outcomes |= {one.tenant: one for one in returned}
    return Rolled(
        rollout=rollout,
        outcomes=(*outcomes.values(), *behind),
        waves=tuple(waves),
        taken_back=why,
        stuck=still_written(returned),
    )


def _backs(
    planned: Mapping[str, TenantPlan], outcomes: Mapping[str, TenantOutcome], push: Push
) -> list[TenantPlan]:
    return [
        back_of(planned[one.tenant], one.revision, push.catalogue)
        for one in outcomes.values()
        if one.outcome is Outcome.APPLIED
    ]


def _unbegun(tenant: TenantPlan) -> TenantOutcome:
    if tenant.changes:
        return TenantOutcome(tenant=tenant.tenant, outcome=Outcome.SKIPPED)
    return TenantOutcome(
        tenant=tenant.tenant, outcome=Outcome.UNCHANGED, revision=tenant.base_revision
    )
