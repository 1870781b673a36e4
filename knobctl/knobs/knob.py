"""One knob, as its property in the schema describes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

KnobValue: TypeAlias = int | float | str
"""A value of a knob: an `int`, a finite `float`, or the name of a mode."""


class Direction(StrEnum):
    """What is better on the scale of a bound."""

    HIGHER = "higher_is_better"
    LOWER = "lower_is_better"
    """As of a distance: the bound is the most that passes."""


class KnobType(StrEnum):
    """What a knob holds, by its name in protobuf."""

    DOUBLE = "double"
    INT32 = "int32"
    MODE = "KnobMode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One knob. Everything here is read from the schema; nothing is known of a knob elsewhere."""

    name: str
    """Canonical snake_case name, and its field path in audit events."""
    json_name: str
    """lowerCamelCase name on the wire."""
    type: KnobType
    minimum: int | float | None
    """Smallest value that may be set; None for a mode."""
    maximum: int | float | None
    choices: tuple[str, ...]
    """The values of a mode, the unset one first; empty for a number."""
    default: KnobValue
    """The platform default: what 0, UNSPECIFIED or leaving it out means."""
    title: str
    description: str
    zero: str
    """What a literal 0 means, in words."""
    off: str
    """How to write "practically off"."""
    known: str
    """What is known, and not known, about the default."""
    unit: str
    scope: str
    """Which calls of the engine obey the knob; empty where the schema does not say."""
    scale: str | None
    group: str
    role: str | None
    """What the knob is for, by which the arithmetic and the policies find it."""
    read_clearance: int
    edit_clearance: int
    field_number: int
    needs_evidence: bool
    interacts_with: tuple[str, ...]
    origin: str
    is_absent_when_unset: bool = False
    """Whether only leaving the knob out means the default: a 0, or the first choice, is a value like others."""
    direction: Direction | None = None
    """Of a bound on scores: what is better on its scale; None where the schema does not say."""
    first_rank: int = 1
    """Of the rank constant: the rank of a first row as the engine counts."""
    weighs: str = "score"
    """Of a weight: what it does to what its ranker adds to a score; a value of `fusion.Weighs`."""

    @property
    def unset(self) -> KnobValue | None:
        """The wire's value for "platform default"; None where only leaving the knob out means that."""
        if self.is_absent_when_unset:
            return None
        return self.choices[0] if self.type is KnobType.MODE else 0

    @property
    def zero_surprises(self) -> bool:
        """Whether a literal 0 becomes something else than 0."""
        return (
            self.type is not KnobType.MODE and self.default != 0 and not self.is_absent_when_unset
        )

    @property
    def settable(self) -> tuple[str, ...]:
        """The values of a mode that are no other word for the default."""
        return self.choices if self.is_absent_when_unset else self.choices[1:]

    @property
    def range_text(self) -> str:
        """The values that may be set, for people: `0 .. 1` or `ENABLED, DISABLED`."""
        if self.type is KnobType.MODE:
            return ", ".join(self.settable)
        return f"{self.minimum} .. {self.maximum}"

    def accepts(self, value: object) -> bool:
        """Whether the engine takes this value: unset, or of the type and inside the range.

        Booleans, text, NaN, the infinities and -0.0 are no values of a number;
        8.0 is a value of an integer knob.
        """
        if self.type is KnobType.MODE:
            return isinstance(value, str) and value in self.choices
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        if value == 0 and not (self.is_absent_when_unset and math.copysign(1, value) > 0):
            return math.copysign(1, value) > 0
        if self.type is KnobType.INT32 and isinstance(value, float) and not value.is_integer():
            return False
        assert self.minimum is not None
        assert self.maximum is not None
        return self.minimum <= value <= self.maximum

    def canonical(self, value: KnobValue) -> KnobValue:
        """Spell an accepted value in the knob's own type: 8.0 is 8 for an integer, 1 is 1.0 for a double."""
        match self.type:
            case KnobType.INT32:
                return int(value)
            case KnobType.DOUBLE:
                return float(value)
            case KnobType.MODE:
                return value
