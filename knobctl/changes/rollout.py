"""A push in waves, before it is made: who is in which, what is asked of whom, and what it would come to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knobctl.changes.guard_metrics import Wave, WaveVerdict, judged
from knobctl.changes.outcomes import Outcome
from knobctl.changes.probing import Answers, Question, answers_under
from knobctl.changes.watching import asked_of
from knobctl.changes.waves import in_turns, waves_of
from knobctl.engine.interface import NotOfferedError
from knobctl.errors import RefusedError
from knobctl.text import count, joined, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.plan import TenantPlan
    from knobctl.changes.probing import Probes
    from knobctl.changes.waves import BegunWaves, Canary, Group
    from knobctl.engine.interface import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A plan in waves, with what its probes are answered before anything is written."""

    canary: Canary
    groups: tuple[Group, ...]
    """The waves that are watched."""
    rest: tuple[TenantPlan, ...]
    """What is written after them, tenants without changes too."""
    nobody: tuple[str, ...] = ()
    """Labels that were asked for and that no tenant has which changes."""
    questions: Mapping[str, tuple[Question, ...]]
    """By tenant of a wave that is asked."""
    before: Mapping[str, Answers]
    """By tenant of a wave that is asked."""
    parallelism: int
    begun: BegunWaves | None = None
    """What an earlier attempt did; None where this is the first."""

    def as_record(self) -> dict[str, Any]:
        """What a run's journal says of it."""
        canary = self.canary
        return {
            "kind": "rollout",
            "waves": [
                {
                    "size": group.size,
                    "label": group.label,
                    "tenants": [one.tenant for one in group.tenants],
                }
                for group in self.groups
            ],
            "sizes": list(canary.sizes),
            "labels": list(canary.labels),
            "bake": canary.bake,
            "max_worse": canary.max_worse,
            "most": canary.most,
        }

    @property
    def behind(self) -> int:
        """How many tenants are written after the waves."""
        return sum(bool(one.changes) for one in self.rest)

    def asked(self, group: Group) -> int:
        """How many questions are asked of a wave."""
        return sum(len(self.questions.get(one.tenant, ())) for one in group.tenants)

    def watched(self, group: Group) -> int:
        """How many tenants of a wave are asked."""
        return sum(one.tenant in self.questions for one in group.tenants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """What became of a push in waves."""

    rollout: Rollout | None = None
    """None where a run only goes on with taking back."""
    outcomes: tuple[TenantOutcome, ...] = ()
    waves: tuple[Wave, ...] = ()
    taken_back: str | None = None
    """Why what was written was to be taken back; None where it was not."""
    stuck: tuple[str, ...] = ()
    """Tenants that were written and could not be taken back."""

    @property
    def unjudged(self) -> tuple[str, ...]:
        """The tenants that are written and were not watched to the end."""
        stopped = {
            name
            for wave in self.waves
            if wave.verdict is WaveVerdict.INTERRUPTED
            for name in wave.tenants
        }
        return tuple(
            one.tenant
            for one in self.outcomes
            if one.tenant in stopped and one.outcome is Outcome.APPLIED
        )


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
        RefusedError: If a wave has no probes that tell something, or the set of one of its tenants
            could not be written again as it is.
        InputError: If a file of questions cannot be read.
    """
    changing = [one for one in tenants if one.changes]
    asked = {one.tenant: probes.questions_for(one.tenant, one.labels) for one in changing}
    groups, nobody = waves_of(changing, canary, lambda one: bool(asked[one.tenant]))
    if not groups:
        raise RefusedError(
            f"no tenant that changes has {joined(nobody, 'or')}: nothing would be watched.",
            hint="Nothing was written. Name a label of tenants that change: --wave LABEL=VALUE",
        )
    for number, group in enumerate(groups, 1):
        _refuse_unwatched(number, group, asked)
    chosen = [one for group in groups for one in group.tenants]
    _refuse_lossy(chosen)
    names = {one.tenant for one in chosen}
    rollout = Rollout(
        canary=canary,
        groups=tuple(groups),
        rest=tuple(one for one in tenants if one.tenant not in names),
        nobody=nobody,
        questions=_questions(groups, canary, asked),
        before={},
        parallelism=parallelism,
    )
    return _asked_before(rollout, engine)


def resumed_rollout(
    begun: BegunWaves,
    tenants: Sequence[TenantPlan],
    probes: Probes,
    engine: Engine,
    *,
    parallelism: int,
) -> Rollout:
    """Take the waves of an earlier attempt up again, and ask their probes under the sets before it.

    Args:
        begun: The waves, and what became of them.
        tenants: What is left to be written.
        probes: The questions, as they are now.
        engine: Who answers.
        parallelism: Tenants asked at a time.

    Raises:
        RefusedError: If a wave that is not judged yet shows nothing.
        InputError: If a file of questions cannot be read.
    """
    chosen = [one for group in begun.groups for one in group.tenants]
    asked = {one.tenant: probes.questions_for(one.tenant, one.labels) for one in chosen}
    for number, group in enumerate(begun.groups, 1):
        if number > begun.judged:
            _refuse_unwatched(number, group, asked)
    _refuse_lossy([one for one in chosen if one.tenant not in begun.settled])
    names = asked.keys()
    rollout = Rollout(
        canary=begun.canary,
        groups=begun.groups,
        rest=tuple(one for one in tenants if one.tenant not in names),
        questions=_questions(begun.groups, begun.canary, asked),
        before={},
        parallelism=parallelism,
        begun=begun,
    )
    return _asked_before(rollout, engine)


def _questions(
    groups: Sequence[Group], canary: Canary, asked: Mapping[str, tuple[Question, ...]]
) -> dict[str, tuple[Question, ...]]:
    """What is asked of whom: of each wave those that have probes, and no more than were asked for."""
    found: dict[str, tuple[Question, ...]] = {}
    for group in groups:
        watched = [one for one in group.tenants if asked[one.tenant]]
        if canary.most is not None:
            watched = in_turns(watched, lambda _: True)[: canary.most]
        found |= {one.tenant: asked[one.tenant] for one in watched}
    return found


def _refuse_unwatched(number: int, group: Group, asked: Mapping[str, tuple[Question, ...]]) -> None:
    """Refuse a wave that shows nothing. Who is chosen by size must have probes; of a label, somebody."""
    unwatched = [one.tenant for one in group.tenants if not asked[one.tenant]]
    if not unwatched or (not group.size and len(unwatched) < len(group.tenants)):
        return
    few = ", ".join(unwatched[:5]) + (", ..." if len(unwatched) > 5 else "")
    having = sum(bool(questions) for questions in asked.values())
    raise RefusedError(
        f"no probe questions for {len(unwatched):,} of the {count(len(group.tenants), 'tenant')} of wave {number}, "
        f"{visible(group.name)} ({few}); a wave that watches nothing is none.",
        hint="Nothing was written. Add questions for them to the fleet's probes"
        + (
            f", or take no more tenants than have some: --canary {having}"
            if having and group.size and not group.label
            else ""
        ),
    )


def _refuse_lossy(chosen: Sequence[TenantPlan]) -> None:
    """Refuse to write over what could not be written again: no taking back would be exact."""
    lossy = next((one.tenant for one in chosen if one.unknown), None)
    if lossy:
        raise RefusedError(
            f"{lossy} holds fields that the schema does not know; once written over, they cannot be taken back.",
            hint="Nothing was written. Use the knob schema of that engine: --schema FILE, or leave out --canary and --wave",
        )


def _asked_before(rollout: Rollout, engine: Engine) -> Rollout:
    """Ask the probes of all waves under the sets before this run.

    Raises:
        RefusedError: If the engine does not answer, or no question of a wave is answered.
    """
    questions = rollout.questions
    watched = [one for group in rollout.groups for one in group.tenants if one.tenant in questions]
    try:
        before = asked_of(
            watched,
            lambda one: answers_under(engine, one.tenant, one.existing, questions[one.tenant]),
            rollout.parallelism,
        )
    except NotOfferedError as error:
        raise RefusedError(
            f"a canary asks questions before and after, which this engine does not answer: {error.message}.",
            hint="Nothing was written. To push all at once: leave out --canary and --wave",
        ) from error
    judged_before = rollout.begun.judged if rollout.begun else 0
    for number, group in enumerate(rollout.groups, 1):
        if number > judged_before and not any(
            before[one.tenant].answered for one in group.tenants if one.tenant in before
        ):
            raise RefusedError(
                f"no question of wave {number} is answered now, so that no change could show.",
                hint="Nothing was written. Name questions that the tenants' documents answer in the fleet's probes",
            )
    return replace(rollout, before=before)


def foreseen(rollout: Rollout, engine: Engine) -> Rolled:
    """Ask the probes of every wave under the sets that are planned; nothing is written."""
    questions = rollout.questions
    found = []
    for group in rollout.groups:
        after = asked_of(
            [one for one in group.tenants if one.tenant in questions],
            lambda one: answers_under(engine, one.tenant, one.desired, questions[one.tenant]),
            rollout.parallelism,
        )
        found.append(judged(group, rollout.before, after, rollout.canary, rounds=1))
    return Rolled(rollout=rollout, waves=tuple(found))
