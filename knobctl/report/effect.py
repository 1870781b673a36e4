"""What a value of a knob does, and what is known when that is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from knobctl.report.expansion_words import ExpansionKnobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from knobctl.fusion import Reach
    from knobctl.knobs import Catalogue, Knob, KnobValue

    Values: TypeAlias = tuple[Mapping[str, KnobValue], Callable[[str], Fraction]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a value does."""

    headline: str
    statements: tuple[tuple[str, str], ...] = ()
    table: str = ""
    reached: Reach | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known when a value is asked about: the knob, and the floor's reach without and with the value."""

    catalogue: Catalogue
    knob: Knob
    old: Reach | None
    new: Reach | None
    after: Values

    @property
    def value(self) -> KnobValue:
        """The value that is asked about."""
        return self.after[0][self.knob.name]

    @property
    def expansion(self) -> ExpansionKnobs:
        """The confidence gate and the expansion pass under it."""
        return ExpansionKnobs.found_in(self.catalogue, *self.after)
