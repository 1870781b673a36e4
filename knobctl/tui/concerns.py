"""What somebody must look at before one tenant's set is pushed, one thing at a time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from knobctl.changes.guards import NUMBERS
from knobctl.changes.tenant_proposal import Acknowledged
from knobctl.finding import Severity
from knobctl.report.changes import value_words
from knobctl.report.message import advice, costs, headline
from knobctl.text import visible
from knobctl.tui.draft import Cause

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from knobctl.changes.guards import Refusal
    from knobctl.changes.tenant_proposal import TenantProposal
    from knobctl.finding import Finding
    from knobctl.tui.draft import Due, Understood


class Kind(StrEnum):
    """What a concern is about."""

    STOP = "stop"
    """Nothing lifts it here: an error, or a guard without an allowance."""
    REFUSAL = "refusal"
    """A guard that an allowance lifts."""
    RESET = "reset"
    """A knob that the push sends back to its default because nothing names it."""
    DRIFT = "drift"
    """A change that somebody made on the engine, and that the push takes back."""
    WARNING = "warning"
    """What the checks warn of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One thing to acknowledge, or one that stops the push. Two plans that say the same have the same one."""

    kind: Kind
    name: str
    """The rule, the guard, or the knob."""
    message: str
    more: tuple[str, ...] = ()
    """What it costs and what to do about it, a line each."""
    allowance: str | None = None
    """What `--allow` names."""
    knob: str | None = None
    """The knob whose live value can be kept instead."""

    @property
    def sign(self) -> str:
        """The sign before it."""
        match self.kind:
            case Kind.STOP:
                return "x"
            case Kind.RESET:
                return "-"
            case _:
                return "!"


def concerns_of(
    found: TenantProposal, due: Sequence[Due], understood: Understood
) -> tuple[Concern, ...]:
    """What is to be looked at: first what stops the push, then refusals, resets, drift, warnings.

    Args:
        found: The push.
        due: What it changes, and why.
        understood: What was typed, for what is no value.
    """
    each = (
        *_typed(understood),
        *(_of_refusal(one) for one in found.refusals),
        *_of_causes(found, due),
        *(
            _of_finding(one)
            for one in found.findings
            if one.counts and one.field_path not in understood.faults
        ),
        *(Concern(kind=Kind.WARNING, name="fleet", message=words) for words in found.notes),
    )
    order = list(Kind)
    told = dict.fromkeys(one for one in each if one is not None)
    return tuple(sorted(told, key=lambda one: order.index(one.kind)))


def _typed(understood: Understood) -> Iterator[Concern]:
    for knob, faults in understood.faults.items():
        for fault in faults:
            yield Concern(kind=Kind.STOP, name=knob, message=headline(fault.message))
    for knob in understood.strangers:
        yield Concern(kind=Kind.STOP, name=knob, message="is edited and no knob of this schema")


def _of_refusal(refusal: Refusal) -> Concern:
    if refusal.allowance is None:
        remedies = [refusal.remedy] if refusal.remedy else []
        if refusal.guard in {"reason", "ticket"}:
            remedies = ["type :arm and say it"]
        return Concern(
            kind=Kind.STOP, name=refusal.guard, message=refusal.message, more=tuple(remedies)
        )
    how = "with this number" if refusal.guard in NUMBERS else "all the same"
    return Concern(
        kind=Kind.REFUSAL,
        name=refusal.guard,
        message=refusal.message,
        more=(f"acknowledged it goes on {how}: --allow {refusal.allowance}",),
        allowance=refusal.allowance,
    )


def _of_causes(found: TenantProposal, due: Sequence[Due]) -> Iterator[Concern]:
    who = found.wanted.live.updated_by
    for change, cause in due:
        if cause is Cause.RESET:
            now = value_words(change.before, change.effective_before, unset=False)
            after = value_words(change.after, change.effective_after, unset=True)
            message = (
                f"{now} on the engine goes back to {after}: neither the files nor the draft name it"
            )
            yield Concern(kind=Kind.RESET, name=change.knob, message=message, knob=change.knob)
        elif cause is Cause.DRIFT:
            by = f"; {who} wrote it last" if who else ""
            message = f"somebody changed it on the engine{by}: the push takes that back"
            yield Concern(kind=Kind.DRIFT, name=change.knob, message=message, knob=change.knob)


def _of_finding(finding: Finding) -> Concern | None:
    if finding.severity is Severity.INFO:
        return None
    more = [f"{label}  {words}".strip() for label, words in costs(finding.message)]
    more += [f"{label}  {words}" for label, words in advice(finding)]
    return Concern(
        kind=Kind.STOP if finding.severity is Severity.ERROR else Kind.WARNING,
        name=finding.rule,
        message=headline(finding.message),
        more=tuple(more),
    )


def left_of(concerns: Iterable[Concern], acknowledged: Collection[Concern]) -> list[Concern]:
    """What is still to be acknowledged."""
    return [one for one in concerns if one.kind is not Kind.STOP and one not in acknowledged]


def stops_of(concerns: Iterable[Concern]) -> list[Concern]:
    """What nobody can acknowledge."""
    return [one for one in concerns if one.kind is Kind.STOP]


def as_said(concerns: Iterable[Concern]) -> Acknowledged:
    """What was acknowledged, as the push and its audit reason are told."""
    each = list(concerns)
    rules = (
        f"{one.kind.value} {one.name}" if one.kind in {Kind.RESET, Kind.DRIFT} else one.name
        for one in each
        if one.allowance is None
    )
    return Acknowledged(
        allowances=tuple(one.allowance for one in each if one.allowance),
        rules=tuple(dict.fromkeys(map(visible, rules))),
    )
