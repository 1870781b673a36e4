"""Carries out a plan: bounded-parallel writes, each guarded, read back and answered for."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING, Final

from knobctl.changes.diff import diff_sets
from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.plan import digest
from knobctl.engine.interface import EngineRefusedError, TenantNotFoundError
from knobctl.errors import ConflictError, EngineError, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.changes.plan import TenantPlan
    from knobctl.engine.interface import Engine, LiveSet, Receipt
    from knobctl.knobs import Catalogue, KnobValue

READ_BACK_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5)
"""Waits before a set that reads back differently is read again: another process of the engine may
answer from a moment ago. About three seconds in all."""


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
    run: str
    """Tells this run from others in idempotency keys, where the engine has no revisions to do so."""
    parallelism: int = 4
    on_conflict: OnConflict = OnConflict.STOP
    stop: Event = field(default_factory=Event)
    """Set from outside: finish the writes in flight, begin none."""


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
    if not tenant.changes:
        return TenantOutcome(
            tenant=tenant.tenant, outcome=Outcome.UNCHANGED, revision=tenant.base_revision
        )
    if push.stop.is_set() or halt.is_set():
        return TenantOutcome(tenant=tenant.tenant, outcome=Outcome.SKIPPED)
    outcome, goes_on = _write(tenant, push)
    if not goes_on:
        halt.set()
    return outcome


def _write(tenant: TenantPlan, push: Push) -> tuple[TenantOutcome, bool]:
    """Write one tenant.

    Returns:
        What became of it, and whether the run may go on.
    """
    try:
        receipt = push.engine.replace(
            tenant.tenant,
            tenant.desired,
            expected_revision=tenant.base_revision,
            reason=push.reason,
            idempotency_key=idempotency_key(tenant, push.run),
            expected_knobs=tenant.existing,
        )
    except ConflictError:
        return _conflict(tenant, push), push.on_conflict is OnConflict.SKIP
    except UnknownOutcomeError as error:
        return _established(tenant, push, error)
    except EngineError as error:
        return _failed(tenant, error), _concerns_tenant_alone(error)
    outcome = _read_back(tenant, receipt, push)
    return outcome, outcome.outcome is Outcome.APPLIED


def _concerns_tenant_alone(error: EngineError) -> bool:
    if isinstance(error, EngineRefusedError):
        return error.code != "unauthenticated"
    return isinstance(error, TenantNotFoundError)


def idempotency_key(tenant: TenantPlan, run: str) -> str:
    """The key of one write: the same for the same set on the same base, so that a retry writes once.

    Where the engine has no revisions a base may come back, and with it an honest repetition: there
    the run is part of the key.
    """
    base = f"revision {tenant.base_revision}" if tenant.base_revision is not None else f"run {run}"
    text = f"{tenant.tenant}\n{base}\n{digest(dict(tenant.desired))}"
    return f"knobctl-{hashlib.sha256(text.encode()).hexdigest()[:48]}"


def _conflict(tenant: TenantPlan, push: Push) -> TenantOutcome:
    """Say what somebody else changed, and never at which revision that left the tenant."""
    try:
        live = push.engine.read(tenant.tenant)
    except EngineError:
        return moved(tenant, None, push.catalogue)
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


def _established(
    tenant: TenantPlan, push: Push, error: UnknownOutcomeError
) -> tuple[TenantOutcome, bool]:
    """Find out what became of a write whose answer was lost, by reading."""
    live = _read_until(tenant, push)
    wrote = live is not None and same_set(live.knobs, tenant.desired)
    if (
        live is not None
        and wrote
        and (live.revision is None or live.revision != tenant.base_revision)
    ):
        return _applied(
            tenant, live.revision, "the answer was lost; established by reading back"
        ), True
    message = f"{error.message}; what became of the write could not be established"
    return TenantOutcome(tenant=tenant.tenant, outcome=Outcome.UNKNOWN, message=message), False


def _read_back(tenant: TenantPlan, receipt: Receipt, push: Push) -> TenantOutcome:
    live = _read_until(tenant, push)
    if live is None:
        message = "written, and could not be read back"
        return TenantOutcome(tenant=tenant.tenant, outcome=Outcome.UNKNOWN, message=message)
    if same_set(live.knobs, tenant.desired):
        return _applied(tenant, receipt.revision, _disagreement(tenant, receipt))
    return TenantOutcome(
        tenant=tenant.tenant,
        outcome=Outcome.UNKNOWN,
        message="written, and reads back differently",
        theirs=diff_sets(push.catalogue, tenant.desired, live.knobs),
        by=live.updated_by,
        at=live.updated_at,
    )


def _applied(tenant: TenantPlan, revision: str | None, message: str | None) -> TenantOutcome:
    return TenantOutcome(
        tenant=tenant.tenant,
        outcome=Outcome.APPLIED,
        changed_field_paths=tenant.changed_field_paths,
        revision=revision,
        message=message,
    )


def _disagreement(tenant: TenantPlan, receipt: Receipt) -> str | None:
    said = receipt.changed_field_paths
    if said is None or tuple(sorted(said)) == tuple(sorted(tenant.changed_field_paths)):
        return None
    return f"the engine reports other changed fields: {', '.join(said) or 'none'}"


def _read_until(tenant: TenantPlan, push: Push) -> LiveSet | None:
    """Read a tenant until it holds the planned set, for a bounded time; None where it cannot be read."""
    live: LiveSet | None = None
    for pause_s in (0.0, *READ_BACK_PAUSES_S):
        if pause_s:
            push.pause(pause_s)
        try:
            live = push.engine.read(tenant.tenant)
        except EngineError:
            continue
        if same_set(live.knobs, tenant.desired):
            return live
    return live


def same_set(left: Mapping[str, KnobValue], right: Mapping[str, KnobValue]) -> bool:
    """Whether two canonical sets are equal bit for bit: the type of a value counts, nothing is rounded."""
    return left.keys() == right.keys() and all(
        type(left[name]) is type(right[name]) and left[name] == right[name] for name in left
    )
