"""Watches a wave that is written: asks its probes until the bake is over, or something is worse."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Final

from knobctl.changes.apply import OnConflict
from knobctl.changes.guard_metrics import Wave, WaveVerdict, judged
from knobctl.changes.outcomes import Outcome
from knobctl.changes.probing import (
    Answers,
    AskingStoppedError,
    answers_in_force,
    answers_under,
)
from knobctl.changes.waves import EVERY_S
from knobctl.errors import EngineError
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.changes.apply import Push
    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.plan import TenantPlan
    from knobctl.changes.rollout import Rollout
    from knobctl.changes.waves import Group

TELL_EVERY_S: Final = 300.0
"""How often a long bake says that it is still going on."""
LOOK_S: Final = 0.2
"""How often a bake looks whether it was asked to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How a push in waves passes its time."""

    clock: Callable[[], float]
    """Seconds that only grow."""
    pause: Callable[[float], object]
    """Waits for some seconds."""
    tell: Callable[[str], object]
    """Tells the person what is done now."""


def watched(
    number: int,
    written: Sequence[TenantOutcome],
    rollout: Rollout,
    push: Push,
    watch: Watch,
) -> Wave:
    """Ask the probes of a wave that is written, and judge it.

    One that an earlier attempt found well is asked once more: time has passed since.

    Args:
        number: Which, from 1.
        written: What became of its tenants.
        rollout: All waves.
        push: How they are written.
        watch: How the time passes.
    """
    group = rollout.groups[number - 1]
    if push.stop.is_set():
        return unwatched(group, WaveVerdict.INTERRUPTED)
    skips = push.on_conflict is OnConflict.SKIP
    passed = {Outcome.APPLIED, Outcome.UNCHANGED} | ({Outcome.CONFLICT} if skips else set())
    failed = next((one for one in written if one.outcome not in passed), None)
    if failed:
        why = f"wave {number} was not written whole: {failed.tenant} is {failed.outcome.value}"
        return unwatched(group, WaveVerdict.NOT_WRITTEN, why)
    there = {one.tenant for one in written if one.outcome is not Outcome.CONFLICT}
    if not there:
        return unwatched(group, WaveVerdict.PASSED_OVER)
    there_and_asked = there & rollout.questions.keys()
    asked = [one for one in group.tenants if one.tenant in there_and_asked]
    once_more = rollout.begun is not None and number <= rollout.begun.judged
    if not asked and once_more:
        return unwatched(group, WaveVerdict.HELD)
    if not asked:
        why = f"wave {number} shows nothing: no tenant that has probes was written"
        return unwatched(group, WaveVerdict.NOT_ASKED, why)
    questions = sum(len(rollout.questions[one.tenant]) for one in asked)
    what = f"{count(len(there), 'tenant')} written"
    if len(asked) < len(there):
        what += f", {len(asked):,} of them watched"
    how_long = "once more" if once_more else rollout.canary.how_long
    watch.tell(f"wave {number}: {what}; asking {count(questions, 'question')}, {how_long}")
    bake_s = 0 if once_more else rollout.canary.bake_s
    return _baked(number, asked, rollout, push, watch, bake_s)


def unwatched(group: Group, verdict: WaveVerdict, why: str | None = None) -> Wave:
    """A wave whose probes were not asked."""
    names = tuple(one.tenant for one in group.tenants)
    return Wave(name=group.name, tenants=names, verdict=verdict, why=why)


def _baked(
    number: int,
    asked: Sequence[TenantPlan],
    rollout: Rollout,
    push: Push,
    watch: Watch,
    bake_s: int,
) -> Wave:
    """Ask again and again until the time is over, something is worse, or the run shall stop."""
    group = rollout.groups[number - 1]
    told = watch.clock()
    end = told + bake_s
    before = dict(rollout.before)
    wave = unwatched(group, WaveVerdict.NOT_BEGUN)
    while True:
        begun = watch.clock()
        try:
            after = _round(asked, before, rollout, push)
        except AskingStoppedError:
            return replace(wave, verdict=WaveVerdict.INTERRUPTED)
        except EngineError as error:
            why = f"the probes could not be asked: {error.message}"
            return replace(wave, verdict=WaveVerdict.NOT_ASKED, why=why)
        wave = judged(group, before, after, rollout.canary, rounds=wave.rounds + 1)
        if wave.breaches or watch.clock() >= end:
            return wave
        if begun - told >= TELL_EVERY_S:
            told = begun
            minutes = ceil((end - begun) / 60)
            watch.tell(
                f"wave {number}: asked {wave.rounds:,} times, within the bounds; {minutes:,} min left"
            )
        again = min(begun + EVERY_S, end)
        while not push.stop.is_set() and (left := again - watch.clock()) > 0:
            watch.pause(min(LOOK_S, left))
        if push.stop.is_set():
            return replace(wave, verdict=WaveVerdict.INTERRUPTED)


def _round(
    asked: Sequence[TenantPlan], before: dict[str, Answers], rollout: Rollout, push: Push
) -> dict[str, Answers]:
    """Ask once. Where documents came or went meanwhile, both sets are asked on what there is now."""
    questions, engine, stop = rollout.questions, push.engine, push.stop
    after = asked_of(
        asked,
        lambda one: answers_in_force(engine, one.tenant, questions[one.tenant], stop),
        rollout.parallelism,
    )
    moved = [
        one
        for one in asked
        if after[one.tenant].corpus_version != before[one.tenant].corpus_version
    ]
    before |= asked_of(
        moved,
        lambda one: answers_under(engine, one.tenant, one.existing, questions[one.tenant]),
        rollout.parallelism,
    )
    return after


def asked_of(
    tenants: Sequence[TenantPlan], ask: Callable[[TenantPlan], Answers], parallelism: int
) -> dict[str, Answers]:
    """Ask about tenants, some at a time; by tenant."""
    with ThreadPoolExecutor(max_workers=parallelism, thread_name_prefix="probe") as pool:
        return dict(zip((one.tenant for one in tenants), pool.map(ask, tenants), strict=True))
