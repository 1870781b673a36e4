"""Whom policies are asked about: one tenant, with what was before."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from knobctl.checks.reach_facts import reach_facts
from knobctl.documents.model import exact_number
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from knobctl.documents.model import Effective
    from knobctl.knobs import Catalogue, KnobValue


class Subject:
    """One tenant: what its documents write, what is in force, and what was before."""

    def __init__(
        self,
        effective: Effective,
        *,
        base: Effective | None = None,
        live: Mapping[str, KnobValue] | None = None,
        fleet: Mapping[str, object] | None = None,
        today: str = "",
        faulty: Collection[str] = (),
    ) -> None:
        """Describe a tenant.

        Args:
            effective: Its layers resolved.
            base: The same at the revision that is compared with.
            live: The canonical set that the engine holds; None where that is not known.
            fleet: The fleet document that applies.
            today: The date, as 2026-11-29.
            faulty: Knobs whose written value is none: nothing is said about what they decide.
        """
        self.effective = effective
        self.base = base
        self.live = live
        self.fleet = fleet or {}
        self.today = today
        self.faulty = faulty
        self.literals = _literals(effective)
        """By knob that is written, how; two tenants with equal literals get equal answers."""

    @property
    def catalogue(self) -> Catalogue:
        """The knobs of the engine."""
        return self.effective.catalogue

    @cached_property
    def signature(self) -> frozenset[tuple[str, str]]:
        """Equal for tenants that write equal knobs."""
        return frozenset(self.literals.items())

    @cached_property
    def values(self) -> Mapping[str, KnobValue]:
        """What is in force."""
        return self.effective.values

    @cached_property
    def reach(self) -> Mapping[str, object] | None:
        """The arithmetic of the floor; None where there is no floor."""
        return reach_facts(self.catalogue, self.values, self.effective.exact)

    @cached_property
    def before(self) -> Mapping[str, KnobValue] | None:
        """What was in force before: at the base revision, else on the engine; None where neither is known."""
        if self.base is not None:
            return self.base.values
        return None if self.live is None else self.catalogue.effective(self.live)

    @cached_property
    def reach_before(self) -> Mapping[str, object]:
        """The arithmetic before; empty where that is not known."""
        before = self.before
        if before is None:
            return {}
        if self.base is not None:
            return reach_facts(self.catalogue, before, self.base.exact) or {}
        return (
            reach_facts(self.catalogue, before, lambda name: exact_number("", before[name])) or {}
        )

    @cached_property
    def changed(self) -> dict[str, dict[str, KnobValue]]:
        """By knob whose value in force differs from before: before and after."""
        before = self.before
        if before is None:
            return {}
        return {
            name: {"before": before[name], "after": value}
            for name, value in self.values.items()
            if before[name] != value
        }

    @cached_property
    def news(self) -> Collection[str]:
        """The knobs on which an info may speak: those written, or with a base those written otherwise than there."""
        if self.base is None:
            return self.literals
        then = _literals(self.base)
        return {
            name
            for name in self.literals.keys() | then.keys()
            if self.literals.get(name) != then.get(name)
        }

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """By knob, the value in force as it is written, or as the default is spelled."""
        return {
            name: self.effective.origins[name][0].literal
            if name in self.effective.desired
            else spelled(value)
            for name, value in self.values.items()
        }

    def by_role(self, values: Mapping[str, object]) -> dict[str, object]:
        """Values by the role of their knob, where it has one."""
        return {role: values[knob.name] for role, knob in self.catalogue.by_role.items()}

    def variable(self, name: str) -> object:
        """A variable of CEL by its name, as plain values."""
        return _VARIABLES[name](self)


def _literals(effective: Effective) -> dict[str, str]:
    return {
        name: chain[0].literal if len(chain) == 1 else f"{chain[0].literal} over others"
        for name, chain in effective.origins.items()
    }


def _evidence(subject: Subject) -> list[str]:
    named = subject.effective.document.value.get("evidence")
    return [str(item) for item in named] if isinstance(named, list) else []


_VARIABLES: Final[Mapping[str, Callable[[Subject], object]]] = {
    "effective": lambda subject: dict(subject.values),
    "knobs": lambda subject: {
        name: chain[0].value for name, chain in subject.effective.origins.items()
    },
    "live": lambda subject: dict(subject.live or {}),
    "changed": lambda subject: subject.changed,
    "role": lambda subject: subject.by_role(subject.values),
    "name": lambda subject: {role: knob.name for role, knob in subject.catalogue.by_role.items()},
    "text": lambda subject: subject.by_role(subject.texts),
    "default": lambda subject: subject.by_role(subject.catalogue.defaults),
    "reach": lambda subject: dict(subject.reach or {}),
    "reach_before": lambda subject: dict(subject.reach_before),
    "fleet": lambda subject: dict(subject.fleet),
    "labels": lambda subject: dict(subject.effective.document.labels),
    "owner": lambda subject: str(subject.effective.document.value.get("owner", "")),
    "tenant": lambda subject: subject.effective.tenant,
    "today": lambda subject: subject.today,
    "evidence": _evidence,
}
