"""What became of each tenant of a push, and what it means for the exit code. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from knobctl.errors import ExitCode, gravest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.changes.diff import Change
    from knobctl.changes.plan import TenantPlan


class Outcome(StrEnum):
    """What became of one tenant."""

    UNCHANGED = "unchanged"
    """It held the set already: nothing was written, no event was emitted."""
    APPLIED = "applied"
    """Written, and read back equal."""
    CONFLICT = "conflict"
    """Somebody else had written it since the plan; nothing was written."""
    FAILED = "failed"
    """The engine refused or could not be asked; nothing was written."""
    UNKNOWN = "unknown"
    """A write was sent and what became of it could not be established, or it reads back differently."""
    ROLLED_BACK = "rolled_back"
    """Written by this run, and taken back by it: the exact earlier set, read back equal."""
    SKIPPED = "skipped"
    """Not begun: the run had stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantOutcome:
    """What became of one tenant, with what a person needs to go on."""

    tenant: str
    outcome: Outcome
    changed_field_paths: tuple[str, ...] = ()
    """What was written."""
    revision: str | None = None
    """The revision that the write made. Never that of somebody else's write: it would be pasted
    into the next one to overwrite their change."""
    message: str | None = None
    theirs: tuple[Change, ...] = ()
    """What somebody else changed since the plan."""
    by: str | None = None
    """Who they are."""
    at: str | None = None
    """When, RFC 3339."""

    def as_json(self) -> dict[str, Any]:
        """The outcome as machine-readable output shows it."""
        return {
            "tenant": self.tenant,
            "outcome": self.outcome.value,
            "revision": self.revision,
            "changed_field_paths": list(self.changed_field_paths),
            "message": self.message,
            "changed_by_others": [change.as_json() for change in self.theirs],
            "changed_by": self.by,
            "changed_at": self.at,
        }


def unbegun(tenant: TenantPlan, message: str | None = None) -> TenantOutcome:
    """The outcome of a tenant of which no write was begun: skipped, with why, if there was one to make."""
    if tenant.changes:
        return TenantOutcome(tenant=tenant.tenant, outcome=Outcome.SKIPPED, message=message)
    return TenantOutcome(
        tenant=tenant.tenant, outcome=Outcome.UNCHANGED, revision=tenant.base_revision
    )


def taken_back(outcome: TenantOutcome, written: str | None) -> TenantOutcome:
    """Say what became of a tenant whose earlier set was written again.

    Args:
        outcome: Of that write.
        written: The revision of the write that was to be taken back.
    """
    match outcome.outcome:
        case Outcome.APPLIED | Outcome.UNCHANGED:
            return replace(outcome, outcome=Outcome.ROLLED_BACK)
        case Outcome.FAILED | Outcome.SKIPPED:
            why = outcome.message or "not begun"
            message = f"written, and not taken back: {why}"
            return replace(outcome, outcome=Outcome.APPLIED, revision=written, message=message)
        case Outcome.CONFLICT:
            message = "changed since this run wrote it; it was left alone and not taken back"
            return replace(outcome, message=message)
        case _:
            return outcome


def tally(outcomes: Iterable[TenantOutcome], *, unchanged: int = 0) -> dict[str, int]:
    """Count outcomes by name, those that occur, in the order of their definition.

    Args:
        outcomes: What became of each tenant that is listed.
        unchanged: Tenants that need no change and are not listed.
    """
    counts: Counter[Outcome] = Counter(one.outcome for one in outcomes)
    counts[Outcome.UNCHANGED] += unchanged
    return {outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]}


def exit_code(
    outcomes: Iterable[TenantOutcome],
    interrupted: ExitCode | None = None,
    *,
    cut_off: bool = False,
) -> ExitCode:
    """Give the exit code of a push by the precedence of the contract.

    Args:
        outcomes: What became of every tenant.
        interrupted: The code of the signal that stopped the run, if one did.
        cut_off: Whether the journal could not be written any more: what was not begun by then was not
            begun for that.
    """
    seen = {one.outcome for one in outcomes}
    left = seen & {Outcome.CONFLICT, Outcome.FAILED, Outcome.ROLLED_BACK, Outcome.SKIPPED}
    codes = [interrupted] if interrupted else []
    if Outcome.UNKNOWN in seen:
        codes.append(ExitCode.UNKNOWN)
    if Outcome.APPLIED in seen and left:
        codes.append(ExitCode.PARTIAL)
    if Outcome.ROLLED_BACK in left:
        codes.append(ExitCode.ROLLED_BACK)
    if Outcome.CONFLICT in left:
        codes.append(ExitCode.CONFLICT)
    if Outcome.FAILED in left:
        codes.append(ExitCode.ENGINE)
    if cut_off and Outcome.SKIPPED in left:
        codes.append(ExitCode.REFUSED)
    return gravest(codes)
