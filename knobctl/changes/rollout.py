"""A push in waves: write one, watch it, and go on or take back what was written."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from knobctl.changes.apply import OnConflict, apply_plan
from knobctl.changes.guard_metrics import Wave, judged
from knobctl.changes.journal_writing import JournalError
from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.probing import Answers, Question, answers_in_force, answers_under
from knobctl.changes.taking_back import back_of, still_written, take_back
from knobctl.changes.waves import EVERY_S, waves_of
from knobctl.engine.interface import NotOfferedError
from knobctl.errors import EngineError, RefusedError
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.changes.apply import Push
    from knobctl.changes.plan import TenantPlan
    from knobctl.changes.probing import Probes
    from knobctl.changes.waves import Canary
    from knobctl.engine.interface import Engine


LOOK_S: Final = 0.2
"""How often a bake looks whether it was asked to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A plan in waves, with what its probes are answered before anything is written."""

    canary: Canary
    waves: tuple[tuple[TenantPlan, ...], ...]
    """The waves that are watched."""
    rest: tuple[TenantPlan, ...]
    """What is written after them, tenants without changes too."""
    questions: Mapping[str, tuple[Question, ...]]
    """By tenant of a wave."""
    before: Mapping[str, Answers]
    """By tenant of a wave."""
    parallelism: int

    def as_record(self) -> dict[str, Any]:
        """What a run's journal says of it."""
        canary = self.canary
        return {
            "kind": "rollout",
            "waves": len(self.waves),
            "canary": list(canary.sizes),
            "bake": canary.bake,
            "max_worse": canary.max_worse,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """What became of a push in waves."""

    outcomes: tuple[TenantOutcome, ...] = ()
    waves: tuple[Wave, ...] = ()
    taken_back: str | None = None
    """Why what was written was to be taken back; None where it was not."""
    stuck: tuple[str, ...] = ()
    """Tenants that were written and could not be taken back."""


def prepared_rollout(
    canary: Canary,
    tenants: Sequence[TenantPlan],
    probes: Probes,
    engine: Engine,
    *,
    parallelism: int,
) -> Rollout:
    """Choose the waves of a plan, and ask their probes under the sets that tenants hold now.

    Raises:
        RefusedError: If a tenant of a wave has no probes, its questions tell nothing, or its set
            could not be written again as it is.
        InputError: If a file of questions cannot be read.
    """
    changing = [one for one in tenants if one.changes]
    asked = {one.tenant: probes.questions_for(one.tenant, one.labels) for one in changing}
    waves = waves_of(changing, canary.sizes, lambda one: bool(asked[one.tenant]))
    chosen = [one for wave in waves for one in wave]
    _refuse_unwatched([one.tenant for one in chosen if not asked[one.tenant]], len(chosen), asked)
    _refuse_lossy(chosen)
    names = {one.tenant for one in chosen}
    rollout = Rollout(
        canary=canary,
        waves=tuple(waves),
        rest=tuple(one for one in tenants if one.tenant not in names),
        questions={name: asked[name] for name in sorted(names)},
        before={},
        parallelism=parallelism,
    )
    try:
        before = _asked_of(
            chosen,
            lambda one: answers_under(engine, one.tenant, one.existing, asked[one.tenant]),
            parallelism,
        )
    except NotOfferedError as error:
        raise RefusedError(
            f"a canary asks questions before and after, which this engine does not answer: {error.message}.",
            hint="Nothing was written. Without a canary: leave out --canary",
        ) from error
    for number, wave in enumerate(waves, 1):
        if not any(before[one.tenant].answered for one in wave):
            raise RefusedError(
                f"no question of wave {number} is answered now, so that no change could show.",
                hint="Nothing was written. Name questions that the tenants' documents answer in the fleet's probes",
            )
    return replace(rollout, before=before)


def _refuse_unwatched(
    unwatched: Sequence[str], chosen: int, asked: Mapping[str, tuple[Question, ...]]
) -> None:
    if not unwatched:
        return
    few = ", ".join(unwatched[:5]) + (", ..." if len(unwatched) > 5 else "")
    having = sum(bool(questions) for questions in asked.values())
    raise RefusedError(
        f"no probe questions for {len(unwatched):,} of the {count(chosen, 'tenant')} of the canary ({few}); "
        "a canary that watches nothing is no canary.",
        hint="Nothing was written. Add questions for them to the fleet's probes"
        + (f", or take no more tenants than have some: --canary {having}" if having else ""),
    )


def _refuse_lossy(chosen: Sequence[TenantPlan]) -> None:
    """Refuse to write over what could not be written again: no taking back would be exact."""
    lossy = next((one.tenant for one in chosen if one.unknown), None)
    if lossy:
        raise RefusedError(
            f"{lossy} holds fields that the schema does not know; once written over, they cannot be taken back.",
            hint="Nothing was written. Use the knob schema of that engine: --schema FILE, or leave out --canary",
        )


def _asked_of(
    wave: Sequence[TenantPlan], ask: Callable[[TenantPlan], Answers], parallelism: int
) -> dict[str, Answers]:
    with ThreadPoolExecutor(max_workers=parallelism, thread_name_prefix="probe") as pool:
        return dict(zip((one.tenant for one in wave), pool.map(ask, wave), strict=True))


def foreseen(rollout: Rollout, engine: Engine) -> Rolled:
    """Ask the probes of every wave under the sets that are planned; nothing is written."""
    found = []
    for wave in rollout.waves:
        after = _asked_of(
            wave,
            lambda one: answers_under(
                engine, one.tenant, one.desired, rollout.questions[one.tenant]
            ),
            rollout.parallelism,
        )
        found.append(judged(wave, rollout.before, after, rollout.canary, rounds=1))
    return Rolled(waves=tuple(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How a push in waves passes its time."""

    clock: Callable[[], float]
    """Seconds that only grow."""
    pause: Callable[[float], object]
    """Waits for some seconds."""
    tell: Callable[[str], object]
    """Tells the person what is done now."""


def roll_out(
    rollout: Rollout, push: Push, watch: Watch, progress: Callable[[TenantOutcome], object]
) -> Rolled:
    """Write wave by wave, watch each, and go on or take back what this run has written.

    A wave that could not be written whole is taken back too: it shows nothing. A run that is asked
    to stop leaves what it has written.

    Raises:
        JournalError: If the journal cannot be written; nothing was sent.
    """
    push.journal.begin(rollout.as_record())
    outcomes: dict[str, TenantOutcome] = {}
    waves = [Wave(tenants=tuple(one.tenant for one in wave)) for wave in rollout.waves]
    for index, tenants in enumerate(rollout.waves):
        written = apply_plan(tenants, push, progress)
        outcomes |= {one.tenant: one for one in written}
        waves[index] = _watched(index + 1, tenants, written, rollout, push, watch)
        if waves[index].verdict != "held":
            break
        with suppress(JournalError):  # then nothing more is sent
            push.journal.begin({"kind": "judged", "wave": index + 1})
    else:
        rest = apply_plan(rollout.rest, push, progress)
        return Rolled(outcomes=(*outcomes.values(), *rest), waves=tuple(waves))
    begun = outcomes.keys()
    behind = [one for wave in rollout.waves for one in wave if one.tenant not in begun]
    unbegun = [_unbegun(one) for one in (*behind, *rollout.rest)]
    planned = {one.tenant: one for wave in rollout.waves for one in wave}
    back = [
        back_of(planned[one.tenant], one.revision, push.catalogue)
        for one in outcomes.values()
        if one.outcome is Outcome.APPLIED
    ]
    why = waves[index].why if back else None
    stuck: tuple[str, ...] = ()
    if why:
        watch.tell(f"{why}; taking back {count(len(back), 'tenant')}")
        returned = take_back(back, push, why)
        outcomes |= {one.tenant: one for one in returned}
        stuck = still_written(returned)
    return Rolled(
        outcomes=(*outcomes.values(), *unbegun), waves=tuple(waves), taken_back=why, stuck=stuck
    )


def _unbegun(tenant: TenantPlan) -> TenantOutcome:
    if tenant.changes:
        return TenantOutcome(tenant=tenant.tenant, outcome=Outcome.SKIPPED)
    return TenantOutcome(
        tenant=tenant.tenant, outcome=Outcome.UNCHANGED, revision=tenant.base_revision
    )


def _watched(
    number: int,
    wave: Sequence[TenantPlan],
    written: Sequence[TenantOutcome],
    rollout: Rollout,
    push: Push,
    watch: Watch,
) -> Wave:
    names = tuple(one.tenant for one in wave)
    if push.stop.is_set():
        return Wave(tenants=names, verdict="interrupted")
    passed = {Outcome.APPLIED} | (
        {Outcome.CONFLICT} if push.on_conflict is OnConflict.SKIP else set()
    )
    failed = [one for one in written if one.outcome not in passed]
    held = [one for one in written if one.outcome is Outcome.APPLIED]
    if failed or not held:
        what = f"{failed[0].tenant} is {failed[0].outcome.value}" if failed else "nothing of it"
        why = f"wave {number} was not written whole: {what}"
        return Wave(tenants=names, verdict="not written", why=why)
    there = {one.tenant for one in held}
    asked = [one for one in wave if one.tenant in there]
    questions = sum(len(rollout.questions[one.tenant]) for one in asked)
    watch.tell(
        f"wave {number}: {count(len(asked), 'tenant')} written; "
        f"asking {count(questions, 'question')}, {rollout.canary.how_long}"
    )
    return _baked(names, asked, rollout, push, watch)


def _baked(
    names: tuple[str, ...],
    asked: Sequence[TenantPlan],
    rollout: Rollout,
    push: Push,
    watch: Watch,
) -> Wave:
    """Ask again and again until the time is over, something is worse, or the run shall stop."""
    end = watch.clock() + rollout.canary.bake_s
    before = dict(rollout.before)
    found = Wave(tenants=names)
    while True:
        begun = watch.clock()
        try:
            found = _round(asked, before, rollout, push.engine, rounds=found.rounds + 1)
        except EngineError as error:
            why = f"the probes could not be asked: {error.message}"
            return replace(found, tenants=names, verdict="not asked", why=why)
        found = replace(found, tenants=names)
        if found.breaches or watch.clock() >= end:
            return found
        again = min(begun + EVERY_S, end)
        while not push.stop.is_set() and (left := again - watch.clock()) > 0:
            watch.pause(min(LOOK_S, left))
        if push.stop.is_set():
            return replace(found, verdict="interrupted")


def _round(
    asked: Sequence[TenantPlan],
    before: dict[str, Answers],
    rollout: Rollout,
    engine: Engine,
    *,
    rounds: int,
) -> Wave:
    """Ask once. Where documents came or went meanwhile, both sets are asked on what there is now."""
    questions = rollout.questions
    after = _asked_of(
        asked,
        lambda one: answers_in_force(engine, one.tenant, questions[one.tenant]),
        rollout.parallelism,
    )
    moved = [
        one
        for one in asked
        if after[one.tenant].corpus_version != before[one.tenant].corpus_version
    ]
    before |= _asked_of(
        moved,
        lambda one: answers_under(engine, one.tenant, one.existing, questions[one.tenant]),
        rollout.parallelism,
    )
    return judged(asked, before, after, rollout.canary, rounds=rounds)
