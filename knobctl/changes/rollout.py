"""A push in waves: which tenants come first, what their probes must still be answered, and the way back."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from knobctl.changes.apply import OnConflict, apply_plan
from knobctl.changes.diff import diff_sets
from knobctl.changes.journal_writing import JournalError
from knobctl.changes.limits import share
from knobctl.changes.outcomes import Outcome, TenantOutcome, taken_back
from knobctl.changes.plan import TenantPlan
from knobctl.changes.probing import Answers, Question, answers_in_force, answers_under
from knobctl.engine.interface import NotOfferedError
from knobctl.errors import EngineError, RefusedError, UsageError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.changes.apply import Push
    from knobctl.changes.journal import Run
    from knobctl.changes.probing import Probes
    from knobctl.engine.interface import Engine
    from knobctl.knobs import Catalogue

EVERY_S: Final = 30.0
"""How long after one round of questions the next one begins."""
LOOK_S: Final = 0.2
"""How often a bake looks whether it was asked to stop."""
_DURATION: Final = re.compile(r"([0-9]+)([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """What the command line asks for."""

    sizes: tuple[str, ...]
    """How many of the changing tenants are written by the end of each wave: `5`, `10%`."""
    bake: str
    max_worse: str

    @property
    def bake_s(self) -> int:
        """How long each wave is watched."""
        return seconds(self.bake)

    @property
    def how_long(self) -> str:
        """Say how often the questions are asked: `every 30 s for 10m`, `once`."""
        return f"every {EVERY_S:.0f} s for {self.bake}" if self.bake_s else "once"

    @property
    def bound(self) -> Fraction:
        """By how much a tenant's metrics may worsen, from 0 to 1."""
        return share(self.max_worse)


def seconds(text: str) -> int:
    """Read a duration such as `30s`, `10m`, `2h`.

    Raises:
        UsageError: If it is none.
    """
    found = _DURATION.fullmatch(text)
    if not found:
        raise UsageError(f"{text!r} is no duration; write a number and s, m, h or d, such as 10m")
    return int(found[1]) * _SECONDS[found[2]]


def size_of(text: str, total: int) -> int:
    """How many tenants of a total a size means: at least one, and no more than there are.

    Raises:
        UsageError: If it is neither a number from 1 nor a percentage above 0.
    """
    number = ceil(share(text) * total) if text.endswith("%") else -1
    if text.endswith("%") and share(text) > 0:
        return min(max(number, 1), total)
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UsageError(
            f"{text!r} is no size of a wave; write a number of tenants or a percentage above 0"
        )
    return min(int(text), total)


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


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric, before and after."""

    metric: str
    questions: int
    """Of so many."""
    before: int
    after: int

    @property
    def worse(self) -> Fraction:
        """By what share of the questions it worsened; negative where it improved."""
        return Fraction(self.after - self.before, self.questions) if self.questions else Fraction()

    def as_json(self) -> dict[str, Any]:
        """The measure as machine-readable output shows it."""
        return {
            "metric": self.metric,
            "questions": self.questions,
            "before": self.before,
            "after": self.after,
        }


def measured(before: Answers, after: Answers) -> tuple[Measure, ...]:
    """The guard metrics of one tenant."""
    total = before.questions
    lost = before.answered - after.answered
    return (
        Measure("below_threshold", total, len(before.below_threshold), len(after.below_threshold)),
        Measure("answers_lost", len(before.answered), 0, len(lost)),
        Measure("empty_contexts", total, len(before.empty), len(after.empty)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """What became of one wave."""

    tenants: tuple[str, ...]
    verdict: str = "not begun"
    """`held`, `worse`, `not written`, `not asked`, `interrupted` or `not begun`; of a dry run the first two."""
    rounds: int = 0
    """How often its questions were asked."""
    measures: Mapping[str, tuple[Measure, ...]] = field(default_factory=dict)
    """By tenant, as last asked."""
    breaches: tuple[tuple[str, Measure], ...] = ()
    """What worsened beyond the bound, by tenant."""
    why: str | None = None
    """Why the run goes back, where it does."""

    @property
    def totals(self) -> tuple[Measure, ...]:
        """The metrics over all tenants of the wave."""
        return tuple(
            Measure(
                same[0].metric,
                sum(one.questions for one in same),
                sum(one.before for one in same),
                sum(one.after for one in same),
            )
            for same in zip(*self.measures.values(), strict=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """What became of a push in waves."""

    outcomes: tuple[TenantOutcome, ...] = ()
    waves: tuple[Wave, ...] = ()
    taken_back: str | None = None
    """Why what was written was to be taken back; None where it was not."""
    stuck: tuple[str, ...] = ()
    """Tenants that were written and could not be taken back."""


def waves_of(
    tenants: Sequence[TenantPlan], sizes: Sequence[str], watched: Callable[[TenantPlan], bool]
) -> list[tuple[TenantPlan, ...]]:
    """Choose the waves that are watched: the same for the same plan, whoever asks.

    Tenants that have probes come first. Among them every kind of change comes once before one comes
    twice, the kind of most tenants first; within a kind those with the most fields changed lead, and
    the digest of the name decides, so that no wave is the beginning of the alphabet.

    Args:
        tenants: Those that change.
        sizes: How many of them are written by the end of each wave.
        watched: Whether a tenant has probes.
    """
    kinds: dict[tuple[tuple[str, str], ...], list[TenantPlan]] = defaultdict(list)
    for one in tenants:
        kinds[tuple((change.field_path, change.op.value) for change in one.changes)].append(one)
    turns: list[tuple[bool, int, int, str, TenantPlan]] = []
    for same in kinds.values():
        seen: Counter[bool] = Counter()
        for one in sorted(same, key=lambda one: _digest(one.tenant)):
            unwatched = not watched(one)
            turns.append((unwatched, seen[unwatched], -len(same), _digest(one.tenant), one))
            seen[unwatched] += 1
    ordered = [one for *_, one in sorted(turns, key=lambda turn: turn[:4])]
    ends = sorted(size_of(size, len(ordered)) for size in sizes)
    starts = [0, *ends]
    return [
        tuple(sorted(ordered[start:end], key=lambda one: one.tenant))
        for start, end in zip(starts, ends, strict=False)
        if end > start
    ]


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


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
        found.append(_judged(wave, rollout.before, after, rollout.canary, rounds=1))
    return Rolled(waves=tuple(found))


def _judged(
    wave: Sequence[TenantPlan],
    before: Mapping[str, Answers],
    after: Mapping[str, Answers],
    canary: Canary,
    *,
    rounds: int,
) -> Wave:
    """Judge each tenant by itself: the whole may look well where one tenant is lost."""
    measures = {name: measured(before[name], after[name]) for name in after}
    bound = canary.bound
    breaches = sorted(
        ((name, one) for name, all_of in measures.items() for one in all_of if one.worse > bound),
        key=lambda found: (-found[1].worse, found[0], found[1].metric != "answers_lost"),
    )
    return Wave(
        tenants=tuple(one.tenant for one in wave),
        verdict="worse" if breaches else "held",
        rounds=rounds,
        measures=measures,
        breaches=tuple(breaches),
        why=breach_words(*breaches[0], canary.max_worse) if breaches else None,
    )


def breach_words(tenant: str, one: Measure, max_worse: str) -> str:
    """Say what worsened: `acme: 4 of 12 answers lost (33%, bound 2%)`."""
    how = f"({float(one.worse):.0%} worse, bound {max_worse})"
    match one.metric:
        case "answers_lost":
            return f"{tenant}: {one.after} of {count(one.questions, 'answer')} lost {how}"
        case "below_threshold":
            what = "below_threshold"
        case _:
            what = "without a context"
    return f"{tenant}: {one.after} of {count(one.questions, 'question')} {what}, {one.before} before {how}"


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


def still_written(returned: Sequence[TenantOutcome]) -> tuple[str, ...]:
    """The tenants of a taking back that do not hold their earlier set."""
    return tuple(one.tenant for one in returned if one.outcome is not Outcome.ROLLED_BACK)


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
    return _judged(asked, before, after, rollout.canary, rounds=rounds)


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


def take_back(tenants: Sequence[TenantPlan], push: Push, why: str) -> list[TenantOutcome]:
    """Write earlier sets again, in the same run; whoever was changed since is left alone.

    Args:
        tenants: Plans of `back_of`.
        push: As they were written; a request to stop does not stop this.
        why: Why, for the journal and the audit events.
    """
    with suppress(JournalError):  # then nothing is sent, and each tenant says so
        push.journal.begin({"kind": "taking_back", "why": why})
    way = replace(
        push,
        reason=f"taken back by the canary of run {push.journal.run}: {visible(why)}"[:500],
        on_conflict=OnConflict.SKIP,
        stop=Event(),
    )
    written = {one.tenant: one.base_revision for one in tenants}
    return [
        taken_back(one, written[one.tenant]) for one in apply_plan(tenants, way, lambda _: None)
    ]


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
        if progress.intent and progress.takes_back:
            found.append(back_of(planned[name], progress.intent.base_revision, catalogue))
        elif progress.outcome:
            found.append(back_of(planned[name], progress.outcome.revision, catalogue))
    return found
