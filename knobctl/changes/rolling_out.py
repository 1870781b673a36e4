"""Carries out a push in waves: writes one, watches it, and goes on or takes back what was written."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from knobctl.changes.apply import apply_plan
from knobctl.changes.guard_metrics import WaveVerdict
from knobctl.changes.journal import not_established
from knobctl.changes.journal_writing import JournalError
from knobctl.changes.outcomes import Outcome, TenantOutcome, unbegun
from knobctl.changes.rollout import Rolled
from knobctl.changes.taking_back import back_of, still_written, take_back
from knobctl.changes.watching import unwatched, watched
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.changes.apply import Push
    from knobctl.changes.guard_metrics import Wave
    from knobctl.changes.plan import TenantPlan
    from knobctl.changes.rollout import Rollout
    from knobctl.changes.watching import Watch


def roll_out(
    rollout: Rollout, push: Push, watch: Watch, progress: Callable[[TenantOutcome], object]
) -> Rolled:
    """Write wave by wave, watch each, and go on or take back what this run has written.

    A run that is gone on with has its waves looked at again before anything more stays: those that
    were found well once, the one that was not with its whole bake.

    A wave that could not be written whole is taken back too: it shows nothing. One of which every
    tenant had moved, and was skipped, is passed over; but the rest is never written where no wave
    was watched. A run that is asked to stop leaves what it has written.
    """
    judged = rollout.begun.judged if rollout.begun else 0
    settled = rollout.begun.settled if rollout.begun else {}
    outcomes: dict[str, TenantOutcome] = {}
    waves = [unwatched(group, WaveVerdict.NOT_BEGUN) for group in rollout.groups]
    for index, group in enumerate(rollout.groups):
        left = [one for one in group.tenants if one.tenant not in settled]
        outcomes |= {one.tenant: one for one in apply_plan(left, push, progress)}
        there = [settled.get(one.tenant) or outcomes[one.tenant] for one in group.tenants]
        waves[index] = watched(index + 1, there, rollout, push, watch)
        if waves[index].verdict not in {WaveVerdict.HELD, WaveVerdict.PASSED_OVER}:
            return _ended(rollout, push, watch, outcomes, waves, waves[index].why)
        if index >= judged:
            with suppress(JournalError):  # then nothing more is sent
                push.journal.begin({"kind": "judged", "wave": index + 1})
    if all(wave.verdict is WaveVerdict.PASSED_OVER for wave in waves):
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
    """Write nothing more; where there is a reason to, take back what this run has written.

    Args:
        rollout: All waves.
        push: How they are written.
        watch: Whom to tell.
        outcomes: Of this attempt, by tenant.
        waves: What the probes said.
        why: Why it goes back; None where it stays.
    """
    settled = dict(rollout.begun.settled) if rollout.begun else {}
    chosen = [one for group in rollout.groups for one in group.tenants]
    planned = {one.tenant: one for one in (*chosen, *rollout.rest)}
    found = {name: _not_come_to(one, push) for name, one in planned.items()} | settled | outcomes
    written = [one for one in found.values() if one.outcome is Outcome.APPLIED]
    unsure = [one.tenant for one in found.values() if one.outcome is Outcome.UNKNOWN]
    if why is None or not (written or unsure):
        return Rolled(rollout=rollout, outcomes=tuple(found.values()), waves=tuple(waves))
    watch.tell(f"{why}; taking back {count(len(written) + len(unsure), 'tenant')}")
    back = [back_of(planned[one.tenant], one.revision, push.catalogue) for one in written]
    way = replace(push, sent={})  # those writes were forth
    returned = take_back(back, way, why, [planned[name] for name in unsure])
    found |= {one.tenant: one for one in returned}
    return Rolled(
        rollout=rollout,
        outcomes=tuple(found.values()),
        waves=tuple(waves),
        taken_back=why,
        stuck=still_written(returned),
    )


def _not_come_to(tenant: TenantPlan, push: Push) -> TenantOutcome:
    """What became of a tenant that this attempt did not come to."""
    if tenant.tenant in push.sent:
        return not_established(push.sent[tenant.tenant])
    return unbegun(tenant)
