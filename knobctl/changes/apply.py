"""Carries out a plan: bounded-parallel writes, each guarded, read back and answered for."""

from __future__ import annotations

import hashlib
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING, Final

from knobctl.changes.diff import diff_sets
from knobctl.changes.journal import Intent, not_established
from knobctl.changes.journal_writing import JournalError
from knobctl.changes.news import News, Step
from knobctl.changes.outcomes import Outcome, TenantOutcome, unbegun
from knobctl.changes.read_back import Reading, established, read_back, resent, same_set
from knobctl.changes.sealing import digest
from knobctl.engine.interface import EngineRefusedError, TenantNotFoundError
from knobctl.errors import ConflictError, EngineError, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knobctl.changes.journal_writing import Journal
    from knobctl.changes.plan import TenantPlan
    from knobctl.engine.interface import Engine, LiveSet
    from knobctl.engine.pace import Pace
    from knobctl.knobs import Catalogue


AHEAD: Final = 4
"""How many writes a worker are noted at a time: one turn of the disk for all of them."""


def _nobody_listens(_: News) -> None:
    """What commands do that answer at the end."""


class OnConflict(StrEnum):
    """What a conflict means for the tenants after it."""

    STOP = "stop"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """How a plan is carried out."""

    engine: Engine
    catalogue: Catalogue
    reason: str
    pause: Callable[[float], object]
    """Waits for some seconds."""
    journal: Journal
    """Where every write is noted before it is sent; its run tells the keys of this run from others."""
    sent: Mapping[str, Intent] = field(default_factory=dict)
    """By tenant, writes of an earlier attempt of which it is not known what became: they are sent
    again just as they were."""
    parallelism: int = 4
    pace: Pace | None = None
    """The turns of all requests of this run; None where nobody limits them."""
    on_conflict: OnConflict = OnConflict.STOP
    stop: Event = field(default_factory=Event)
    """Set from outside: finish the writes in flight, begin none."""
    ticket: str | None = None
    """What the audit reason of whatever else this run writes names too, such as its taking back."""
    emergency: Event = field(default_factory=Event)
    """Set together with `stop` by the emergency stop, which stops taking back too."""
    tell: Callable[[News], object] = _nobody_listens
    """Hears of each step of each write, in the thread that takes it."""

    @property
    def reading(self) -> Reading:
        """How what was written is read back."""
        return Reading(engine=self.engine, catalogue=self.catalogue, pause=self.pause)


def apply_plan(
    tenants: Sequence[TenantPlan], push: Push, progress: Callable[[TenantOutcome], object]
) -> list[TenantOutcome]:
    """Write every tenant that changes, and say what became of each.

    A tenant without changes is not written and emits no event. One tenant's failure leaves the
    others alone, unless it shows that the engine can no longer be relied on.

    Args:
        tenants: The plan.
        push: How.
        progress: Called in the caller's thread as each tenant is done.

    Returns:
        The outcomes in the order of the plan.
    """
    done = {one.tenant: unbegun(one) for one in tenants if not _is_written(one, push)}
    for outcome in done.values():
        progress(outcome)
    for outcome in _written([one for one in tenants if one.tenant not in done], push):
        done[outcome.tenant] = outcome
        progress(outcome)
    return [done[tenant.tenant] for tenant in tenants]


def _is_written(tenant: TenantPlan, push: Push) -> bool:
    return bool(tenant.changes) or tenant.tenant in push.sent


def _written(tenants: Sequence[TenantPlan], push: Push) -> Iterator[TenantOutcome]:
    """Write tenants in parallel, and give what became of each as it is done.

    This thread notes the next writes while the workers send those that are on the disk already, so
    that no worker waits for the disk.
    """
    halt = Event()
    left = iter(tenants)
    running: set[Future[TenantOutcome]] = set()
    with ThreadPoolExecutor(max_workers=push.parallelism, thread_name_prefix="push") as pool:
        try:
            while True:
                if len(running) <= push.parallelism * AHEAD // 2:
                    batch = list(islice(left, push.parallelism * AHEAD))
                    for tenant, intent, unnoted in _noted(batch, push, halt):
                        if intent is None:
                            yield unbegun(tenant, unnoted)
                        else:
                            running.add(pool.submit(_one_tenant, tenant, intent, push, halt))
                    if batch:
                        continue
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        except BaseException:
            halt.set()  # a defect: finish what is in flight, begin nothing more
            raise


def _noted(
    batch: Sequence[TenantPlan], push: Push, halt: Event
) -> Iterator[tuple[TenantPlan, Intent | None, str | None]]:
    """Note the writes of some tenants, all at once.

    Yields:
        Each tenant; its write, None where it is not begun; why it could not be noted, if it could not.
    """
    intents = {one.tenant: push.sent.get(one.tenant) or _intent(one, push) for one in batch}
    unnoted = None
    is_stopped = push.stop.is_set() or halt.is_set()
    if not is_stopped:
        try:
            push.journal.intend(*(one for name, one in intents.items() if name not in push.sent))
        except JournalError as error:
            halt.set()
            unnoted = f"not begun: the journal cannot be written: {error.why}"
        else:
            for name in intents:
                push.tell(News(tenant=name, step=Step.NOTED))
    for tenant in batch:
        begun = not (is_stopped or unnoted) or tenant.tenant in push.sent
        yield tenant, intents[tenant.tenant] if begun else None, unnoted


def _one_tenant(tenant: TenantPlan, intent: Intent, push: Push, halt: Event) -> TenantOutcome:
    if not _may_begin(push, halt):
        if tenant.tenant in push.sent:
            return not_established(intent)
        outcome = unbegun(tenant)
    else:
        outcome, goes_on = _write(tenant, intent, push)
        if not goes_on:
            halt.set()
    push.journal.tell(outcome)
    return outcome


def _may_begin(push: Push, halt: Event) -> bool:
    if push.stop.is_set() or halt.is_set():
        return False
    # What waits for its turn is not in flight yet: a stop is not kept waiting for it.
    return push.pace is None or (push.pace.begin(push.stop) and not halt.is_set())


def _intent(tenant: TenantPlan, push: Push) -> Intent:
    key = idempotency_key(tenant, push.journal.run)
    return Intent.of(tenant, idempotency_key=key, reason=push.reason)


def _write(tenant: TenantPlan, intent: Intent, push: Push) -> tuple[TenantOutcome, bool]:
    """Write one tenant.

    Returns:
        What became of it, and whether the run may go on.
    """
    push.tell(News(tenant=tenant.tenant, step=Step.SENT))
    try:
        receipt = push.engine.replace(
            tenant.tenant,
            tenant.desired,
            expected_revision=tenant.base_revision,
            reason=intent.reason,
            idempotency_key=intent.idempotency_key,
            expected_knobs=tenant.existing,
        )
    except ConflictError:
        outcome = _conflict(tenant, push)
        return outcome, outcome.outcome is not Outcome.CONFLICT or (
            push.on_conflict is OnConflict.SKIP
        )
    except UnknownOutcomeError as error:
        outcome = established(tenant, error, push.reading)
        return outcome, outcome.outcome is Outcome.APPLIED
    except EngineError as error:
        return _failed(tenant, error), _concerns_tenant_alone(error)
    push.tell(News(tenant=tenant.tenant, step=Step.ANSWERED, revision=receipt.revision))
    outcome = read_back(tenant, receipt, push.reading)
    push.tell(News(tenant=tenant.tenant, step=Step.READ_BACK, revision=outcome.revision))
    return outcome, outcome.outcome is Outcome.APPLIED


def _concerns_tenant_alone(error: EngineError) -> bool:
    if isinstance(error, EngineRefusedError):
        return error.code != "unauthenticated"
    return isinstance(error, TenantNotFoundError)


def idempotency_key(tenant: TenantPlan, run: str) -> str:
    """The key of one write: the same whenever it is sent again, so that a retry writes once.

    The run is part of it: two people who make the same change to the same base are two writes, of
    which the second must conflict, not be answered with the first one's result.
    """
    text = f"{run}\n{tenant.tenant}\n{tenant.base_revision}\n{digest(dict(tenant.desired))}"
    return f"knobctl-{hashlib.sha256(text.encode()).hexdigest()[:48]}"


def _conflict(tenant: TenantPlan, push: Push) -> TenantOutcome:
    """Say what somebody else changed, or that an earlier attempt had written it; and never at which revision that left the tenant."""
    live = None
    with suppress(EngineError):
        live = push.engine.read(tenant.tenant)
    if tenant.tenant in push.sent:
        if live and same_set(live.knobs, tenant.desired):
            return resent(tenant)
        if tenant.base_revision is None:
            return _whose(tenant, live, push.catalogue)
    return moved(tenant, live, push.catalogue)


def _whose(tenant: TenantPlan, live: LiveSet | None, catalogue: Catalogue) -> TenantOutcome:
    """The outcome of a write that may have arrived before something else was found there.

    An engine with revisions would know the write by its key. Of one without, nobody can tell
    whether it was stored as another set or never arrived and somebody else wrote.
    """
    return TenantOutcome(
        tenant=tenant.tenant,
        outcome=Outcome.UNKNOWN,
        message="it was being written when the run ended, and holds another set by now",
        theirs=diff_sets(catalogue, tenant.desired, live.knobs) if live else (),
    )


def moved(tenant: TenantPlan, live: LiveSet | None, catalogue: Catalogue) -> TenantOutcome:
    """The outcome of a tenant that is not where the plan left it.

    Args:
        tenant: What was planned.
        live: What it holds now; None where that could not be read.
        catalogue: The knobs.
    """
    theirs = diff_sets(catalogue, tenant.existing, live.knobs) if live else ()
    if live and same_set(live.knobs, tenant.desired):
        message = "it holds the planned set already"
    elif live and not theirs:
        message = "it was written since the plan, with the set that it had"
    else:
        message = "it was changed since the plan"
    return TenantOutcome(
        tenant=tenant.tenant,
        outcome=Outcome.CONFLICT,
        message=message,
        theirs=theirs,
        by=live.updated_by if live else None,
        at=live.updated_at if live else None,
    )


def _failed(tenant: TenantPlan, error: EngineError) -> TenantOutcome:
    details = ""
    if isinstance(error, EngineRefusedError) and error.violations:
        details = ": " + "; ".join(
            f"{one.field_path}: {one.description}" for one in error.violations
        )
    return TenantOutcome(
        tenant=tenant.tenant, outcome=Outcome.FAILED, message=f"{error.message}{details}"
    )
