"""Reads back what was written, and says what became of a write: equal bit for bit, or not established."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.changes.diff import diff_sets
from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.changes.plan import TenantPlan
    from knobctl.engine.interface import Engine, LiveSet, Receipt
    from knobctl.errors import UnknownOutcomeError
    from knobctl.knobs import Catalogue, KnobValue

READ_BACK_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5)
"""Waits before a set that reads back differently is read again: another process of the engine may
answer from a moment ago. About three seconds in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How sets are read back."""

    engine: Engine
    catalogue: Catalogue
    pause: Callable[[float], object]
    """Waits for some seconds."""


def read_back(tenant: TenantPlan, receipt: Receipt, reading: Reading) -> TenantOutcome:
    """Read a set that the engine says it has written, and compare it with what was sent."""
    live = _read_until(tenant, receipt.revision, reading)
    if live is None:
        message = "written, and could not be read back"
        return TenantOutcome(tenant=tenant.tenant, outcome=Outcome.UNKNOWN, message=message)
    if same_set(live.knobs, tenant.desired):
        return _applied(tenant, receipt.revision, _disagreement(tenant, receipt))
    if _was_overwritten(tenant, receipt.revision, live, reading):
        who = f" by {live.updated_by}" if live.updated_by else ""
        return _applied(tenant, receipt.revision, f"written, and changed again since{who}")
    return TenantOutcome(
        tenant=tenant.tenant,
        outcome=Outcome.UNKNOWN,
        message="written, and reads back differently",
        theirs=diff_sets(reading.catalogue, tenant.desired, live.knobs),
        by=live.updated_by,
        at=live.updated_at,
    )


def established(tenant: TenantPlan, error: UnknownOutcomeError, reading: Reading) -> TenantOutcome:
    """Find out what became of a write whose answer was lost, by reading."""
    live = _read_until(tenant, None, reading)
    if live is not None and same_set(live.knobs, tenant.desired):
        note = "the answer was lost; established by reading back"
        return _applied(tenant, live.revision, note)
    why = error.message.removeprefix(f"{tenant.tenant}: ")
    message = f"{why}; what became of the write could not be established"
    return TenantOutcome(tenant=tenant.tenant, outcome=Outcome.UNKNOWN, message=message)


def resent(tenant: TenantPlan) -> TenantOutcome:
    """The outcome of a write that was sent again and not taken, where the tenant holds what was sent.

    An engine with revisions knows its own writes by their key, so that this one was somebody else's;
    of one without, reading back is all there is.
    """
    if tenant.base_revision is None:
        return _applied(tenant, None, "written before the run ended; established by reading back")
    return TenantOutcome(
        tenant=tenant.tenant,
        outcome=Outcome.UNCHANGED,
        message="it holds the planned set already",
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


def _read_until(tenant: TenantPlan, written: str | None, reading: Reading) -> LiveSet | None:
    """Read a tenant until it holds the planned set or was overwritten, for a bounded time.

    Returns:
        What it held last; None where it could not be read.
    """
    live: LiveSet | None = None
    for pause_s in (0.0, *READ_BACK_PAUSES_S):
        if pause_s:
            reading.pause(pause_s)
        try:
            live = reading.engine.read(tenant.tenant)
        except EngineError:
            continue
        if same_set(live.knobs, tenant.desired) or _was_overwritten(tenant, written, live, reading):
            return live
    return live


def _was_overwritten(
    tenant: TenantPlan, written: str | None, live: LiveSet, reading: Reading
) -> bool:
    """Whether somebody wrote after us: the audit log has our write whole, and the set moved on."""
    if written is None or live.revision in {None, written, tenant.base_revision}:
        return False
    try:
        ours = [
            event
            for event in reading.engine.audit_events(tenant.tenant)
            if event["revision"] == written
        ]
    except EngineError:
        return False
    catalogue = reading.catalogue
    return any(
        event["after"].keys() <= catalogue.by_name.keys()
        and same_set(catalogue.canonical(event["after"]), tenant.desired)
        for event in ours
    )


def same_set(left: Mapping[str, KnobValue], right: Mapping[str, KnobValue]) -> bool:
    """Whether two canonical sets are equal bit for bit: the type of a value counts, nothing is rounded."""
    return left.keys() == right.keys() and all(
        type(left[name]) is type(right[name]) and left[name] == right[name] for name in left
    )
