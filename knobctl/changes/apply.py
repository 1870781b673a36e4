"""Carries out a plan: bounded-parallel writes, each guarded, read back and answered for."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING

from knobctl.changes.diff import diff_sets
from knobctl.changes.journal import Intent, not_established
from knobctl.changes.journal_writing import JournalError
from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.plan import digest
from knobctl.changes.read_back import Reading, established, read_back, resent, same_set
from knobctl.engine.interface import EngineRefusedError, TenantNotFoundError
from knobctl.errors import ConflictError, EngineError, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.changes.journal_writing import Journal
    from knobctl.changes.plan import TenantPlan
    from knobctl.engine.interface import Engine, LiveSet
    from knobctl.knobs import Catalogue


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
    on_conflict: OnConflict = OnConflict.STOP
    stop: Event = field(default_factory=Event)
    """Set from outside: finish the writes in flight, begin none."""

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
    halt = Event()
    done: dict[str, TenantOutcome] = {}
    with ThreadPoolExecutor(max_workers=push.parallelism, thread_name_prefix="push") as pool:
        running = [pool.submit(_one_tenant, tenant, push, halt) for tenant in tenants]
        try:
            for future in as_completed(running):
                outcome = future.result()
                done[outcome.tenant] = outcome
                progress(outcome)
        except BaseException:
            halt.set()  # a defect: finish what is in flight, begin nothing more
            raise
    return [done[tenant.tenant] for tenant in tenants]


def _one_tenant(tenant: TenantPlan, push: Push, halt: Event) -> TenantOutcome:
    sent = push.sent.get(tenant.tenant)
    if not (sent or tenant.changes):
        return TenantOutcome(
            tenant=tenant.tenant, outcome=Outcome.UNCHANGED, revision=tenant.base_revision
        )
    if push.stop.is_set() or halt.is_set():
        return not_established(sent) if sent else _skipped(tenant)
    try:
        intent = sent or _intend(tenant, push)
    except JournalError as error:
        halt.set()
        return _skipped(tenant, f"not begun: the journal cannot be written: {error.why}")
    outcome, goes_on = _write(tenant, intent, push)
    push.journal.tell(outcome)
    if not goes_on:
        halt.set()
    return outcome


def _skipped(tenant: TenantPlan, message: str | None = None) -> TenantOutcome:
    return TenantOutcome(tenant=tenant.tenant, outcome=Outcome.SKIPPED, message=message)


def _intend(tenant: TenantPlan, push: Push) -> Intent:
    key = idempotency_key(tenant, push.journal.run)
    intent = Intent.of(tenant, idempotency_key=key, reason=push.reason)
    push.journal.intend(intent)
    return intent


def _write(tenant: TenantPlan, intent: Intent, push: Push) -> tuple[TenantOutcome, bool]:
    """Write one tenant.

    Returns:
        What became of it, and whether the run may go on.
    """
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
    outcome = read_back(tenant, receipt, push.reading)
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
    try:
        live = push.engine.read(tenant.tenant)
    except EngineError:
        return moved(tenant, None, push.catalogue)
    if tenant.tenant in push.sent and same_set(live.knobs, tenant.desired):
        return resent(tenant)
    return moved(tenant, live, push.catalogue)


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
