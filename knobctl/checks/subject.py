"""Whom policies are asked about: one tenant, with what was before."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from knobctl.checks.reach_facts import every_fact, facts_named
from knobctl.checks.reading import ARITHMETIC
from knobctl.documents.model import exact_number
from knobctl.fusion import reach
from knobctl.knobs.catalogue import Same
from knobctl.knobs.fusion_setup import fusion_setup
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from knobctl.documents.model import Document, Effective
    from knobctl.fusion import Reach
    from knobctl.knobs import Catalogue, KnobValue


class AsWritten(dict[str, tuple[str, "KnobValue", bool] | None]):
    """Knobs as a tenant and its layers write them: characters, value, and whether that hides others.

    Where they are equal, so is what is in force. One that is not written is None: at its default.
    """

    def __missing__(self, _: str) -> None:
        """Nothing is written."""


class Subject:
    """One tenant: what its documents write, what is in force, and what was before."""

    def __init__(  # noqa: PLR0913  each is a fact that policies can ask for
        self,
        document: Document,
        resolve: Callable[[Document], Effective],
        *,
        base: Effective | None = None,
        unchanged: bool = False,
        revision: str = "",
        live: Mapping[str, KnobValue] | None = None,
        fleet: Mapping[str, object] | None = None,
        today: str = "",
        faulty: Collection[str] = (),
        evidence: Callable[[Effective], list[dict[str, object]]] = lambda _: [],
    ) -> None:
        """Describe a tenant.

        Args:
            document: Its document.
            resolve: Resolves its layers; called where something is asked that needs it.
            base: Its layers resolved at the revision that is compared with.
            unchanged: Whether that revision has it just as it is, so that nothing needs to be compared.
            revision: What that revision is called.
            live: The canonical set that the engine holds; None where that is not known.
            fleet: The fleet document that applies.
            today: The date, as 2026-11-29.
            faulty: Knobs whose written value is none: nothing is said about what they decide.
            evidence: Tells what the evidence that bears on the tenant says of a set.
        """
        self.document = document
        self._resolve = resolve
        self._base = base
        self.unchanged = unchanged
        self.revision = revision
        self.live = live
        self.fleet = fleet or {}
        self.today = today
        self.faulty = faulty
        self._evidence = evidence
        self._facts: dict[str, dict[str, object]] = {}

    @cached_property
    def effective(self) -> Effective:
        """Its layers resolved."""
        return self._resolve(self.document)

    @property
    def base(self) -> Effective | None:
        """Its layers resolved at the revision that is compared with; None where there is none."""
        return self.effective if self.unchanged else self._base

    @cached_property
    def as_written(self) -> AsWritten:
        """How its knobs are written."""
        return AsWritten(
            (name, (chain[0].literal, chain[0].value, len(chain) > 1))
            for name, chain in self.effective.origins.items()
        )

    @cached_property
    def literals(self) -> Mapping[str, str]:
        """By knob that is written, how."""
        return _literals(self.effective)

    @property
    def catalogue(self) -> Catalogue:
        """The knobs of the engine."""
        return self.effective.catalogue

    @cached_property
    def values(self) -> Mapping[str, KnobValue]:
        """What is in force."""
        return self.effective.values

    @cached_property
    def reached(self) -> Reach | None:
        """What its floor reaches; None where no floor is in force."""
        floor = self.catalogue.by_role.get("floor.fused")
        desired = self.effective.desired
        written = tuple(
            (knob.name, self.as_written[knob.name])
            for knob in self.catalogue.arithmetic
            if knob.name in desired and knob is not floor
        )
        over = _reach_over(Same(self.catalogue), written)
        if floor is None or over is None or (exact := self.exact(floor.name)) <= 0:
            return None
        return over.under_floor(exact)

    @cached_property
    def omitted(self) -> Mapping[str, KnobValue]:
        """The knobs that a push would reset: set on the engine, or where that is not asked at the base, and written no more."""
        if self.live is not None:
            held = self.live
        else:
            held = {} if self.unchanged or self.base is None else self.base.desired
        if not held:
            return held
        known = self.catalogue.by_name
        return {
            name: value
            for name, value in held.items()
            if name not in self.effective.origins and name in known
        }

    @cached_property
    def evidence(self) -> list[dict[str, object]]:
        """What the evidence that bears on it says."""
        return self._evidence(self.effective)

    @cached_property
    def before(self) -> Mapping[str, KnobValue] | None:
        """What was in force before: at the base revision, else on the engine; None where neither is known.

        A knob that the base's schema lacks was at its default.
        """
        if self.base is not None:
            return {**self.catalogue.defaults, **self.base.values}
        return None if self.live is None else self.catalogue.effective(self.live)

    @cached_property
    def reached_before(self) -> Reach | None:
        """What its floor reached before; None where that is not known."""
        if self.unchanged:
            return self.reached
        before = self.before
        if before is None:
            return None
        base = self.base
        if base is not None:
            setup = fusion_setup(base.catalogue, base.values, base.exact)
        else:
            setup = fusion_setup(
                self.catalogue, before, lambda name: exact_number("", before[name])
            )
        return reach(setup) if setup else None

    @cached_property
    def changed(self) -> dict[str, dict[str, KnobValue]]:
        """By knob whose value in force differs from before: before and after."""
        before = None if self.unchanged else self.before
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
        if self.unchanged:
            return ()
        if self.base is None:
            return self.effective.origins
        then = _literals(self.base)
        return {
            name
            for name in self.literals.keys() | then.keys()
            if self.literals.get(name) != then.get(name)
        }

    def text(self, name: str) -> str:
        """A knob's value in force as it is written, or as the default is spelled."""
        effective = self.effective
        if name in effective.desired:
            literal = effective.origins[name][0].literal
            if len(literal) <= _READABLE:
                return literal
        return spelled(self.values[name])

    def variable(self, name: str, keys: frozenset[str] | None = None) -> object:
        """A variable of CEL by its name, as plain values.

        Args:
            name: The variable.
            keys: Of a map, the keys that are asked for: CEL copies what it is given. None for all.
        """
        if name in ARITHMETIC:
            reached = self.reached if name == "reach" else self.reached_before
            if reached is None:
                return {}
            if keys is None:
                return every_fact(reached)
            facts = self._facts.setdefault(name, {})
            facts |= facts_named(reached, keys - facts.keys())
            return {key: facts[key] for key in keys if key in facts}
        if name in _BY_ROLE:
            roles, give = self.catalogue.by_role, _BY_ROLE[name]
            asked = roles if keys is None else keys & roles.keys()
            return {role: give(self, roles[role].name) for role in asked}
        whole = _VARIABLES[name](self)
        if keys is None or not isinstance(whole, dict):
            return whole
        return {key: whole[key] for key in keys if key in whole}

    def exact(self, name: str) -> Fraction:
        """A numeric knob's value in force, exactly as it is written."""
        effective = self.effective
        literal = effective.origins[name][0].literal if name in effective.desired else ""
        return _exact(literal, self.values[name])


@lru_cache(maxsize=4096)
def _reach_over(
    same: Same, written: tuple[tuple[str, tuple[str, KnobValue, bool] | None], ...]
) -> Reach | None:
    """What a floor of 1 reaches, by the other knobs of the arithmetic as they are written: many share them."""
    literals = {name: how[0] for name, how in written if how}
    values = same.catalogue.effective({name: how[1] for name, how in written if how})

    def exact(name: str) -> Fraction:
        return _exact(literals.get(name, ""), values[name])

    setup = fusion_setup(same.catalogue, values, exact, floor=Fraction(1))
    return reach(setup) if setup else None


@lru_cache(maxsize=65536)
def _exact(literal: str, value: KnobValue) -> Fraction:
    return exact_number(literal, value)


def _literals(effective: Effective) -> dict[str, str]:
    return {
        name: chain[0].literal if len(chain) == 1 else f"{chain[0].literal} over others"
        for name, chain in effective.origins.items()
    }


_READABLE: Final = 40
"""A number of more characters is shown as the double that it is."""
_BY_ROLE: Final[Mapping[str, Callable[[Subject, str], object]]] = {
    "role": lambda subject, name: subject.values[name],
    "name": lambda _, name: name,
    "text": lambda subject, name: subject.text(name),
    "default": lambda subject, name: subject.catalogue[name].default,
}
_VARIABLES: Final[Mapping[str, Callable[[Subject], object]]] = {
    "effective": lambda subject: subject.values,
    "knobs": lambda subject: {
        name: chain[0].value for name, chain in subject.effective.origins.items()
    },
    "live": lambda subject: dict(subject.live or {}),
    "changed": lambda subject: subject.changed,
    "fleet": lambda subject: dict(subject.fleet),
    "labels": lambda subject: dict(subject.document.labels),
    "owner": lambda subject: subject.document.owner or "",
    "tenant": lambda subject: subject.document.name,
    "today": lambda subject: subject.today,
    "evidence": lambda subject: subject.evidence,
}
