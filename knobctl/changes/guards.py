"""The guards of a push: what stops it before any write, and what acknowledges it all the same. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.changes.audit_reasons import audit_reason
from knobctl.documents.model import exact_number
from knobctl.documents.patterns import matches_whole
from knobctl.errors import UsageError
from knobctl.text import count, decimal_text, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from knobctl.changes.diff import Change
    from knobctl.changes.limits import Bound, Limits
    from knobctl.changes.plan import TenantPlan
    from knobctl.changes.stop_marks import Mark

NUMBERS: Final = ("max_tenants", "max_share", "max_pruned", "largest_step")
"""The guards that are acknowledged by a number."""
GUARDS: Final = (*NUMBERS, "protected", "freeze", "stop")
"""The guards that `--allow GUARD=VALUE` can acknowledge."""
_NAMED: Final = 5
"""How many tenants a refusal names."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One guard that stops the push."""

    guard: str
    message: str
    value: str | None = None
    """What `--allow GUARD=VALUE` must name to go on; None where no flag helps."""
    remedy: str | None = None
    """What to do instead, where no `--allow` helps."""

    @property
    def allowance(self) -> str | None:
        """The acknowledging text, `max_tenants=812`."""
        return f"{self.guard}={self.value}" if self.value is not None else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guards say of a push."""

    refusals: tuple[Refusal, ...]
    allowed: tuple[Refusal, ...]
    """Refusals that were acknowledged; they go into the audit reason."""

    @property
    def allowances(self) -> tuple[str, ...]:
        """What was acknowledged, as `--allow` names it."""
        return tuple(one.allowance for one in self.allowed if one.allowance)

    def reason(self, given: str | None, ticket: str | None = None) -> str:
        """The audit reason: what the person gave, the ticket, and what was acknowledged."""
        return audit_reason(given, ticket, self.allowances)


def read_allowances(texts: Iterable[str]) -> frozenset[str]:
    """Read `--allow GUARD=VALUE`.

    Raises:
        UsageError: If the guard is unknown or there is no value.
    """
    found = set()
    for text in texts:
        guard, sign, value = text.partition("=")
        if guard not in GUARDS or not sign or not value:
            raise UsageError(
                f"--allow {text!r} must be GUARD=VALUE, GUARD one of {', '.join(GUARDS)}",
                hint="a refusal prints the one that fits",
            )
        found.add(f"{guard}={_normal(guard, value)}")
    return frozenset(found)


def _normal(guard: str, value: str) -> str:
    """Spell a number in one way, so that 5,000 and 5000 acknowledge the same."""
    try:
        match guard:
            case "max_tenants" | "max_pruned":
                return str(int(value.replace(",", "").replace("_", "")))
            case "max_share":
                return percent(Fraction(value.removesuffix("%")) / 100)
            case _:
                return value
    except ValueError as error:
        raise UsageError(f"--allow {guard}={value} names no number") from error


def judge(  # noqa: PLR0913  all that a push is judged by
    tenants: Sequence[TenantPlan],
    limits: Limits,
    *,
    managed: int,
    now: datetime,
    reason: str | None,
    allowances: frozenset[str] = frozenset(),
    ticket: str | None = None,
    stopped: Mark | None = None,
    whole: Sequence[TenantPlan] | None = None,
) -> Verdict:
    """Judge a push by its limits.

    Args:
        tenants: What is planned; tenants without changes count for nothing.
        limits: What bounds it.
        managed: Tenants that the fleet has documents for, the base of a share.
        now: The time, with an offset.
        reason: The reason given, if any.
        allowances: What was acknowledged, see `read_allowances`.
        ticket: The ticket named, if any.
        stopped: The stop of all runs, if there is one.
        whole: What the run changes in all, where these are the rest of one.

    Returns:
        The refusals, gravest kind first, and those that were acknowledged.
    """
    changed = [tenant for tenant in tenants if tenant.changes]
    refused: list[Refusal] = []
    allowed: list[Refusal] = []
    if changed:
        found = [
            *([stop_refusal(stopped)] if stopped else []),
            *_refusals(changed, limits, managed, now, whole or changed),
            *unsaid(limits, reason, ticket),
        ]
        for refusal in found:
            (allowed if refusal.allowance in allowances else refused).append(refusal)
    return Verdict(tuple(refused), tuple(allowed))


def _refusals(
    changed: Sequence[TenantPlan],
    limits: Limits,
    managed: int,
    now: datetime,
    whole: Sequence[TenantPlan],
) -> Iterator[Refusal]:
    yield from _unknown_fields(changed)
    yield from _freezes(limits, now)
    yield from _protected(changed, limits.protected)
    pruned = [one.tenant for one in whole if one.pruned]
    asked_for = len(whole) - len(pruned)
    yield from _max_tenants(len(whole), limits.max_tenants)
    yield from _max_share(asked_for, max(managed, asked_for), limits.max_share)
    yield from _max_pruned(pruned, limits.max_pruned)
    yield from _largest_steps(changed, limits.largest_step)


def stop_refusal(mark: Mark) -> Refusal:
    """The refusal of whatever writes while all runs are stopped."""
    return Refusal(
        "stop",
        f"all runs are stopped since {mark.since} ({mark.path}).",
        mark.since,
        remedy="to let all runs begin again: knobctl runs --lift",
    )


def unsaid(limits: Limits, reason: str | None, ticket: str | None) -> Iterator[Refusal]:
    """What must be said and was not; nothing acknowledges it away."""
    if limits.reason_required and not (reason or "").strip():
        yield Refusal(
            "reason",
            f"{limits.reason_required} demands a reason.",
            remedy="say why, for the audit event: --reason TEXT",
        )
    for rule in limits.tickets:
        if not ticket:
            yield Refusal(
                "ticket",
                f"{rule.setter} demands {rule.what}.",
                remedy="name it, for the audit event: --ticket ID",
            )
        elif rule.pattern and not matches_whole(rule.pattern, ticket):
            yield Refusal(
                "ticket",
                f"the ticket is {ticket}; {rule.setter} demands {rule.what}.",
                remedy="name the ticket as it is demanded: --ticket ID",
            )


def _unknown_fields(changed: Sequence[TenantPlan]) -> Iterator[Refusal]:
    for tenant in changed:
        if tenant.unknown:
            names = ", ".join(f"{name} ({value})" for name, value in sorted(tenant.unknown.items()))
            yield Refusal(
                "unknown_fields",
                f"{tenant.tenant} holds {count(len(tenant.unknown), 'field')} that the schema does not know: {names}. "
                "A push replaces the whole set and would lose them.",
                remedy="use the knob schema of that engine: --schema FILE, or a newer knobctl",
            )


def _freezes(limits: Limits, now: datetime) -> Iterator[Refusal]:
    for freeze in limits.freezes:
        if freeze.start <= now <= freeze.end:
            yield Refusal(
                "freeze",
                f"freeze {freeze.name} of {freeze.place} lasts until {freeze.end.isoformat()}.",
                freeze.name,
            )


def _protected(changed: Sequence[TenantPlan], protected: Mapping[str, str]) -> Iterator[Refusal]:
    for tenant in changed:
        if tenant.tenant in protected:
            yield Refusal(
                "protected",
                f"{tenant.tenant} would change ({count(len(tenant.changes), 'field')}) and is protected by "
                f"{protected[tenant.tenant]}.",
                tenant.tenant,
            )


def _max_tenants(number: int, bounds: Sequence[Bound]) -> Iterator[Refusal]:
    broken = [bound for bound in bounds if number > bound.value]
    if broken:
        tightest = min(broken, key=lambda bound: bound.value)
        yield Refusal(
            "max_tenants",
            f"{count(number, 'tenant')} would change, {tightest.says('limit')}.",
            str(number),
        )


def _max_share(number: int, managed: int, bounds: Sequence[Bound]) -> Iterator[Refusal]:
    found = Fraction(number, managed) if number else Fraction(0)
    broken = [bound for bound in bounds if found > bound.value]
    if broken:
        tightest = min(broken, key=lambda bound: bound.value)
        yield Refusal(
            "max_share",
            f"{number:,} of {count(managed, 'managed tenant')} would change ({percent(found)}), "
            f"{tightest.says('limit')}.",
            percent(found),
        )


def _max_pruned(pruned: Sequence[str], bounds: Sequence[Bound]) -> Iterator[Refusal]:
    broken = [bound for bound in bounds if len(pruned) > bound.value]
    if broken or (pruned and not bounds):
        why = "nothing allows any: neither limits.max_pruned of a fleet nor --max-pruned is set"
        if broken:
            why = min(broken, key=lambda bound: bound.value).says("limit of pruned tenants")
        shown = ", ".join(pruned[:_NAMED]) + (", ..." if len(pruned) > _NAMED else "")
        yield Refusal(
            "max_pruned",
            f"{count(len(pruned), 'tenant')} without a document would be reset ({shown}), and {why}.",
            str(len(pruned)),
        )


def percent(value: Fraction) -> str:
    """Write a share in percent, rounded up to two decimals, so that it never understates."""
    return f"{decimal_text(math.ceil(value * 10_000) / 100)}%"


def _largest_steps(changed: Sequence[TenantPlan], bounds: Mapping[str, Bound]) -> Iterator[Refusal]:
    for knob, bound in bounds.items():
        steps = [
            (step, tenant.tenant, change)
            for tenant in changed
            for change in tenant.changes
            if change.knob == knob and (step := step_of(change)) > bound.value
        ]
        if steps:
            step, tenant, change = max(steps, key=lambda found: found[0])
            more = f" (and {count(len(steps) - 1, 'other tenant')})" if len(steps) > 1 else ""
            text = decimal_text(float(step))
            yield Refusal(
                "largest_step",
                f"{tenant}{more}: {knob} moves by {text}, from {spelled(change.effective_before)} to "
                f"{spelled(change.effective_after)}; {bound.says('largest step')}.",
                f"{knob}:{text}",
            )


def step_of(change: Change) -> Fraction:
    """How far a knob's effective value moves, exactly; 0 for a mode."""
    if isinstance(change.effective_before, str) or isinstance(change.effective_after, str):
        return Fraction(0)
    return abs(exact_number("", change.effective_after) - exact_number("", change.effective_before))
