"""Who follows a platform default and would change with it, and who pins the knob. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.changes.diff import diff_sets
from knobctl.changes.guards import judge
from knobctl.changes.plan import TenantPlan
from knobctl.documents.model import exact_number
from knobctl.fusion import reach
from knobctl.knobs.fusion_setup import fusion_setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from fractions import Fraction

    from knobctl.changes.guards import Verdict
    from knobctl.changes.limits import Limits
    from knobctl.documents.model import Effective
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue, Knob, KnobValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A tenant's set, from its documents or from an engine."""

    tenant: str
    knobs: Mapping[str, KnobValue]
    """The canonical set."""
    effective: Effective | None = None
    """Where it comes from, if documents say."""

    @classmethod
    def of_documents(cls, effective: Effective) -> Holder:
        """The set that a tenant's documents ask for."""
        return cls(tenant=effective.tenant, knobs=effective.desired, effective=effective)

    @classmethod
    def of_live(cls, live: LiveSet) -> Holder:
        """The set that an engine holds."""
        return cls(tenant=live.tenant, knobs=live.knobs)

    def exact(self, name: str, catalogue: Catalogue) -> Fraction:
        """A numeric knob's effective value exactly as it is written."""
        if self.effective and name in self.knobs:
            return self.effective.exact(name)
        return exact_number("", self.knobs.get(name, catalogue[name].default))


@dataclass(frozen=True, slots=True)
class Depth:
    """How deep one ranker alone reaches under the floor: its last rank that passes, 0 for none."""

    ranker: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """A tenant at the platform default: it changes when the default does."""

    tenant: str
    depths: tuple[Depth, ...] = ()
    """What the floor lets through of each enabled ranker alone, where that changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinner:
    """A tenant that sets the knob: it stays when the default moves."""

    tenant: str
    value: KnobValue
    place: str | None = None
    """Where it is written, as file:line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What a new default would change."""

    knob: Knob
    after: KnobValue
    followers: tuple[Follower, ...]
    pinners: tuple[Pinner, ...]

    @property
    def changes(self) -> bool:
        """Whether the default moves at all."""
        return self.after != self.knob.default


def impact_of(
    catalogue: Catalogue, knob: Knob, after: KnobValue, literal: str, holders: Iterable[Holder]
) -> Impact:
    """Find who would change if a platform default became another.

    Args:
        catalogue: The knobs as they are.
        knob: The knob whose default moves.
        after: Its new default.
        literal: The new default as it was typed.
        holders: The tenants.
    """
    later = with_default(catalogue, knob, after)
    followers: list[Follower] = []
    pinners: list[Pinner] = []
    for holder in sorted(holders, key=lambda one: one.tenant):
        if knob.name in holder.knobs:
            pinners.append(_pinner(holder, knob))
        else:
            depths = _depths(catalogue, later, knob, literal, holder)
            followers.append(Follower(tenant=holder.tenant, depths=depths))
    return Impact(knob=knob, after=after, followers=tuple(followers), pinners=tuple(pinners))


def impact_verdict(
    impact: Impact,
    catalogue: Catalogue,
    limits: Limits,
    *,
    managed: int,
    now: datetime,
    allowances: frozenset[str],
) -> Verdict:
    """Judge a moved default by the limits of a push: it changes every tenant that follows it, at once.

    Args:
        impact: Who would change.
        catalogue: The knobs as they are.
        limits: What bounds a push; a default has no audit event, so that no reason and no ticket is asked for.
        managed: The base of a share.
        now: The time, for freezes.
        allowances: What was acknowledged.
    """
    later = with_default(catalogue, impact.knob, impact.after)
    changes = diff_sets(later, {}, {}, earlier=catalogue)
    plans = [
        TenantPlan(
            tenant=one.tenant,
            source="",
            base_revision=None,
            existing={},
            desired={},
            changes=changes,
        )
        for one in impact.followers
    ]
    return judge(
        plans,
        replace(limits, reason_required=None, tickets=()),
        managed=managed,
        now=now,
        reason=None,
        allowances=allowances,
    )


def with_default(catalogue: Catalogue, knob: Knob, default: KnobValue) -> Catalogue:
    """The same knobs with another platform default for one of them."""
    return replace(
        catalogue,
        knobs=tuple(
            replace(one, default=default) if one.name == knob.name else one for one in catalogue
        ),
    )


def _pinner(holder: Holder, knob: Knob) -> Pinner:
    origin = holder.effective.origin(knob.name) if holder.effective else None
    place = f"{origin.location.file}:{origin.location.line}" if origin else None
    return Pinner(tenant=holder.tenant, value=holder.knobs[knob.name], place=place)


def _depths(
    catalogue: Catalogue, later: Catalogue, knob: Knob, literal: str, holder: Holder
) -> tuple[Depth, ...]:
    before = _reached(catalogue, holder, lambda name: holder.exact(name, catalogue))

    def exact_later(name: str) -> Fraction:
        if name == knob.name:
            return exact_number(literal, later[name].default)
        return holder.exact(name, later)

    after = _reached(later, holder, exact_later)
    rankers = [name for name in catalogue.rankers if name in before or name in after]
    found = [Depth(name, before.get(name, 0), after.get(name, 0)) for name in rankers]
    return tuple(depth for depth in found if depth.before != depth.after)


def _reached(
    catalogue: Catalogue, holder: Holder, exact: Callable[[str], Fraction]
) -> dict[str, int]:
    """By enabled ranker, the last rank of a hit that it alone found and that passes the floor."""
    setup = fusion_setup(catalogue, catalogue.effective(holder.knobs), exact)
    if setup is None:
        return {}
    reached = reach(setup)
    return {name: reached.row(reached.enabled, (name,)).deepest_rank for name in reached.enabled}
