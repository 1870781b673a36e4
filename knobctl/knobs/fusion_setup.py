"""Finds by role what fusion does under one set of effective values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.fusion import Setup
from knobctl.knobs.knob import KnobType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.knobs.catalogue import Catalogue
    from knobctl.knobs.knob import KnobValue

USUAL_K: Final = 60
DISABLED: Final = "DISABLED"
"""The value of a ranker's mode with which it takes no part in fusion."""


def fusion_setup(
    catalogue: Catalogue,
    values: Mapping[str, KnobValue],
    exact: Callable[[str], Fraction],
    *,
    floor: Fraction | None = None,
) -> Setup | None:
    """Read floor, k, weights and depths of the enabled rankers by the roles of their knobs.

    Args:
        catalogue: The knobs; a weight that it does not offer is 1, a k that it does not offer is 60.
        values: The effective value of every knob.
        exact: Gives a numeric knob's effective value exactly as it is written.
        floor: Asked about instead of the floor that is in force.

    Returns:
        None where the schema has no fused floor, or these values leave none in force: a floor of 0,
        no enabled ranker, or weights that are all 0.
    """
    if "floor.fused" not in catalogue.by_role:
        return None
    in_force = InForce(catalogue, values, exact)
    try:
        return Setup(
            floor=in_force.by_role("floor.fused") if floor is None else floor,
            k=in_force.k,
            weights=in_force.weights,
            depths=in_force.depths,
            formula=catalogue.formula,
        )
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class InForce:
    """The effective values, found by role."""

    catalogue: Catalogue
    values: Mapping[str, KnobValue]
    exact: Callable[[str], Fraction]
    """Gives a number among them exactly as it is written."""

    def by_role(self, role: str, otherwise: Fraction = Fraction(1)) -> Fraction:
        """The value of the knob with a role; something else where the schema has none."""
        knob = self.catalogue.by_role.get(role)
        return self.exact(knob.name) if knob else otherwise

    @property
    def k(self) -> int:
        """The rank constant."""
        return int(self.by_role("fusion.k", Fraction(USUAL_K)))

    @property
    def weights(self) -> dict[str, Fraction]:
        """The weights of the rankers that take part."""
        taking_part = filter(self._takes_part, self.catalogue.rankers)
        return {name: self.by_role(f"fusion.weight.{name}") for name in taking_part}

    @property
    def depths(self) -> dict[str, int]:
        """How many rows each ranker that takes part contributes, where the schema says."""
        return {name: depth for name, depth in self.all_depths.items() if self._takes_part(name)}

    @property
    def all_depths(self) -> dict[str, int]:
        """The same for every ranker, whether it takes part or not."""
        roles = {name: f"depth.{name}" for name in self.catalogue.rankers}
        return {
            name: int(self.by_role(role))
            for name, role in roles.items()
            if role in self.catalogue.by_role
        }

    def _takes_part(self, ranker: str) -> bool:
        mode = self.catalogue.by_role.get(f"ranker.{ranker}")
        return mode is None or mode.type is not KnobType.MODE or self.values[mode.name] != DISABLED
