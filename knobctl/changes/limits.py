"""What bounds a push: the limits of a fleet document and of the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from knobctl.documents.model import exact_number
from knobctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.documents.model import Document


@dataclass(frozen=True, slots=True)
class Bound:
    """A number that a push must not exceed, and where it is set."""

    value: Fraction
    text: str
    """The number as it is written: `500`, `10%`, `0.1`."""
    setter: str
    """Who sets it, for people: `fleet production` or `--max-tenants`."""
    place: str = ""
    """Where: `fleet.yaml:4`; empty for a flag."""

    def says(self, what: str) -> str:
        """Say a limit: `the limit of fleet production is 500 (fleet.yaml:4)`."""
        return (
            f"the {what} of {self.setter} is {self.text}{f' ({self.place})' if self.place else ''}"
        )


@dataclass(frozen=True, slots=True)
class Freeze:
    """A span of time in which nothing is pushed, both ends included."""

    name: str
    start: datetime
    end: datetime
    place: str


@dataclass(frozen=True, slots=True)
class TicketRule:
    """That a push must name a ticket."""

    setter: str
    """Who demands it, and where."""
    pattern: str | None = None
    """What the whole of its name must match; None for any name."""

    @property
    def what(self) -> str:
        """What is demanded: `a ticket that matches OPS-[0-9]+`."""
        return f"a ticket that matches {self.pattern}" if self.pattern else "a ticket"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRules:
    """What a named engine demands of those who push to it."""

    name: str
    production: bool = False
    """Whether it is marked production: then it demands a reason, a ticket and consent."""
    ticket_pattern: str | None = None
    """What a ticket must match; where it is given, one is demanded."""

    @property
    def marked(self) -> str | None:
        """The context in words, if it is marked production."""
        return f"context {self.name} (marked production)" if self.production else None

    @property
    def tickets(self) -> tuple[TicketRule, ...]:
        """What it demands of a ticket."""
        if not (self.production or self.ticket_pattern):
            return ()
        return (TicketRule(self.marked or f"context {self.name}", self.ticket_pattern),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Everything that bounds a push. Empty where neither a fleet nor a flag sets anything."""

    max_tenants: tuple[Bound, ...] = ()
    max_share: tuple[Bound, ...] = ()
    """Shares of the managed tenants, from 0 to 1."""
    max_pruned: tuple[Bound, ...] = ()
    """How many tenants without a document may be reset; none where nothing says."""
    largest_step: Mapping[str, Bound] = field(default_factory=dict)
    """By knob, how far its effective value may move."""
    protected: Mapping[str, str] = field(default_factory=dict)
    """By tenant, where it is protected."""
    freezes: tuple[Freeze, ...] = ()
    reason_required: str | None = None
    """Where a reason is demanded; None where it is not."""
    tickets: tuple[TicketRule, ...] = ()
    """What a ticket must be, where one is demanded."""
    consent_required: str | None = None
    """Where even a reviewed plan needs `--yes`; None where it does not."""

    def as_json(self) -> dict[str, Any]:
        """The limits as a plan records them: for those who review it, not for `apply`."""
        return {
            "max_tenants": _bounds_json(self.max_tenants),
            "max_share": _bounds_json(self.max_share),
            **({"max_pruned": _bounds_json(self.max_pruned)} if self.max_pruned else {}),
            "largest_step": {knob: bound.text for knob, bound in self.largest_step.items()},
            "protected": sorted(self.protected),
            "freezes": [freeze.name for freeze in self.freezes],
            "reason_required": self.reason_required is not None,
            **({"tickets": [rule.pattern for rule in self.tickets]} if self.tickets else {}),
        }


def _bounds_json(bounds: Sequence[Bound]) -> list[dict[str, str]]:
    return [
        {
            "limit": bound.text,
            "set_by": f"{bound.setter} ({bound.place})" if bound.place else bound.setter,
        }
        for bound in bounds
    ]


def limits_of(
    fleet: Document | None,
    *,
    max_tenants: int | None = None,
    max_share: str | None = None,
    max_pruned: int | None = None,
    context: ContextRules | None = None,
) -> Limits:
    """Gather the limits of a push.

    Args:
        fleet: The fleet document, validated; None for no limits of a fleet.
        max_tenants: The flag; it bounds beside the fleet's number and cannot loosen it.
        max_share: The flag, such as `10%`.
        max_pruned: The flag.
        context: What the context demands.

    Raises:
        UsageError: If a flag's value is no share.
        InputError: If a time of the fleet is none.
    """
    flags = Limits(
        max_tenants=(Bound(Fraction(max_tenants), str(max_tenants), "--max-tenants"),)
        if max_tenants is not None
        else (),
        max_share=(Bound(share(max_share), max_share, "--max-share"),)
        if max_share is not None
        else (),
        max_pruned=(Bound(Fraction(max_pruned), str(max_pruned), "--max-pruned"),)
        if max_pruned is not None
        else (),
    )
    marked = context.marked if context else None
    written = _fleet_limits(fleet) if fleet else Limits()
    return Limits(
        max_tenants=(*written.max_tenants, *flags.max_tenants),
        max_share=(*written.max_share, *flags.max_share),
        max_pruned=(*written.max_pruned, *flags.max_pruned),
        largest_step=written.largest_step,
        protected=written.protected,
        freezes=written.freezes,
        reason_required=written.reason_required or marked,
        tickets=(*written.tickets, *(context.tickets if context else ())),
        consent_required=marked,
    )


def share(text: str) -> Fraction:
    """Read a share such as `10%` or `2.5%`.

    Raises:
        UsageError: If it is no percentage from 0 to 100.
    """
    try:
        value = Fraction(text.removesuffix("%").strip()) / 100
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if not text.endswith("%") or not 0 <= value <= 1:
        raise UsageError(f"{text!r} is no share; write a percentage such as 10%")
    return value


def _fleet_limits(fleet: Document) -> Limits:
    limits: Any = fleet.value.get("limits") or {}
    return Limits(
        max_tenants=tuple(_bounds(fleet, limits, "max_tenants")),
        max_share=tuple(_bounds(fleet, limits, "max_share")),
        max_pruned=tuple(_bounds(fleet, limits, "max_pruned")),
        largest_step={
            knob: _step(fleet, knob, step)
            for knob, step in (limits.get("largest_step") or {}).items()
        },
        protected={
            tenant: _place(fleet, "protected", index)
            for index, tenant in enumerate(_list(fleet, "protected"))
        },
        freezes=tuple(
            Freeze(
                str(window["name"]),
                moment(str(window["from"])),
                moment(str(window["to"])),
                _place(fleet, "freeze", index),
            )
            for index, window in enumerate(_list(fleet, "freeze"))
        ),
        reason_required=_place(fleet, "reason_required")
        if fleet.value.get("reason_required") is True
        else None,
        tickets=(TicketRule(_place(fleet, "ticket_pattern"), str(fleet.value["ticket_pattern"])),)
        if "ticket_pattern" in fleet.value
        else (),
    )


def _bounds(fleet: Document, limits: Mapping[str, Any], name: str) -> list[Bound]:
    if name not in limits:
        return []
    text = str(limits[name])
    value = share(text) if name == "max_share" else Fraction(text)
    return [_bound(fleet, value, text, "limits", name)]


def _step(fleet: Document, knob: str, step: float) -> Bound:
    """As it is written: 0.1 is a tenth, and with more digits than a double has it is what they say."""
    literal = fleet.literal("limits", "largest_step", knob)
    return _bound(fleet, exact_number(literal, step), literal, "limits", "largest_step", knob)


def _bound(fleet: Document, value: Fraction, text: str, *path: str) -> Bound:
    place = f"{fleet.source}:{fleet.location(*path).line}"
    return Bound(value, text, f"fleet {fleet.name}", place)


def _list(fleet: Document, name: str) -> Sequence[Any]:
    value = fleet.value.get(name)
    return value if isinstance(value, list) else []


def _place(fleet: Document, *path: str | int) -> str:
    return f"fleet {fleet.name} ({fleet.source}:{fleet.location(*path).line})"


def moment(text: str) -> datetime:
    """Read an RFC 3339 time; a date alone is its first moment in UTC.

    Raises:
        InputError: If it is no time, or has a time of day without an offset.
    """
    try:
        value = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{text!r} is no RFC 3339 time") from error
    if value.tzinfo is None:
        if len(text) > len("2099-12-20"):
            raise InputError(f"{text!r} has no offset; write one, such as +01:00 or Z")
        return value.replace(tzinfo=UTC)
    return value
