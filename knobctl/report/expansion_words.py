"""How floors stand to the confidence gate and to the expansion pass that it calls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Self

from knobctl.fusion.numbers import number_text
from knobctl.knobs.fusion_setup import DISABLED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.fusion import Reach
    from knobctl.knobs import Catalogue, KnobValue

PRACTICALLY_NONE: Final = Fraction(1, 1000)
"""Up to this part of the best score a score knob is switched off on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionKnobs:
    """What the confidence gate and the expansion pass do, by role; a name is empty where the schema has no such knob."""

    floor_name: str
    floor: Fraction
    expanded_name: str
    expanded: Fraction
    confident_name: str
    confident: Fraction
    gate_name: str
    enabled: bool
    multiplier: Fraction

    @classmethod
    def found_in(
        cls,
        catalogue: Catalogue,
        values: Mapping[str, KnobValue],
        exact: Callable[[str], Fraction],
    ) -> Self:
        """Look the knobs up by role among effective values."""

        def named(role: str) -> str:
            return catalogue.by_role[role].name if role in catalogue.by_role else ""

        def number(role: str, otherwise: int) -> Fraction:
            return exact(named(role)) if named(role) else Fraction(otherwise)

        gate = named("gate")
        return cls(
            floor_name=named("floor.fused"),
            floor=number("floor.fused", 0),
            expanded_name=named("floor.expansion"),
            expanded=number("floor.expansion", 0),
            confident_name=named("gate.confident"),
            confident=number("gate.confident", 0),
            gate_name=gate,
            enabled=not gate or values[gate] != DISABLED,
            multiplier=number("expansion.depth", 1),
        )

    def widened(self, depth: int) -> int:
        """How many rows a ranker contributes in the expansion pass."""
        return math.floor(depth * self.multiplier)


def of_fused(expansion: ExpansionKnobs) -> list[tuple[str, str]]:
    """How the assembly floor stands to the floor of the expansion pass."""
    name, expanded = expansion.expanded_name, number_text(expansion.expanded)
    if not name:
        return []
    if not expansion.enabled:
        off = f"no query is expanded, so {name} {expanded} cuts nothing"
        return [("expansion", f"{expansion.gate_name} is DISABLED: {off}")]
    floor = expansion.floor
    stands = _stands(floor, expansion.expanded, name)
    return [("expansion", f"{stands}: {_follows(expansion, number_text(floor))}")]


def of_expanded(expansion: ExpansionKnobs) -> list[tuple[str, str]]:
    """How the floor of the expansion pass stands to the assembly floor."""
    lines = []
    if not expansion.enabled:
        off = "no query is expanded, so this floor cuts nothing"
        lines.append(("gate", f"{expansion.gate_name} is DISABLED: {off}"))
    if expansion.multiplier != 1:
        times = number_text(expansion.multiplier)
        widens = f"the expansion pass widens the lists {times} times; the table counts with that"
        lines.append(("depths", widens))
    stands = _stands(expansion.expanded, expansion.floor, expansion.floor_name)
    return [*lines, ("assembly", f"{stands}: {_follows(expansion, 'the lower floor')}")]


def _stands(asked: Fraction, other: Fraction, name: str) -> str:
    """How a floor stands to the other one: `above gate_expanded_floor 0.3`."""
    if asked == other:
        return f"equal to {name}"
    return f"{'above' if asked > other else 'below'} {name} {number_text(other)}"


def _follows(expansion: ExpansionKnobs, lower: str) -> str:
    """What follows for an expanded query from how the two floors stand to one another."""
    floor, expanded = number_text(expansion.floor), number_text(expansion.expanded)
    if expansion.floor > expansion.expanded:
        return f"what expansion admits from {expanded} up to {floor} is thrown away afterwards; set both alike"
    if expansion.floor < expansion.expanded:
        return f"an expanded query is cut at {expanded} first, which {lower} cannot rescue; set both alike"
    return "what expansion admits is kept, so the pipeline agrees with itself"


def of_confident(expansion: ExpansionKnobs, reached: Reach) -> list[tuple[str, str]]:
    """Which first passes the gate accepts, and what the others cost."""
    if not expansion.enabled:
        every = "every first pass is accepted, whatever this says"
        return [("gate", f"{expansion.gate_name} is DISABLED: {every}")]
    if is_practically_none(reached):
        return [("gate", "accepts every first pass on purpose: no query is expanded")]
    if reached.never_empty:
        always = "the best row always reaches it, whichever rankers are live: no query is expanded"
        return [("gate", always)]
    each = "each query under it issues an expansion: more searches, wider lists, more time"
    return [("cost", each)]


def is_practically_none(reached: Reach) -> bool:
    """Whether a floor is one that nobody means: so small a part of the best score there is."""
    return reached.setup.floor <= PRACTICALLY_NONE * reached.best_score


def gate_order(expansion: ExpansionKnobs) -> list[tuple[str, str]]:
    """Whether surviving expansion is harder than needing none."""
    if not (expansion.enabled and expansion.confident_name and expansion.expanded_name):
        return []
    confident, expanded = number_text(expansion.confident), number_text(expansion.expanded)
    names = f"{expansion.expanded_name} {expanded}", f"{expansion.confident_name} {confident}"
    if not expansion.expanded > expansion.confident > PRACTICALLY_NONE:
        return []
    easier = "accepting without expansion is easier than surviving it (gate-order)"
    return [("order", f"{names[0]} is above {names[1]}: {easier}")]
