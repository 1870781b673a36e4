"""The knobs by which an answer is explained, found by role."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from knobctl.fusion import exact
from knobctl.fusion.numbers import number_text
from knobctl.knobs.fusion_setup import DISABLED, InForce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.knobs import Catalogue, KnobValue


@dataclass(frozen=True, slots=True)
class TenantKnobs:
    """A tenant's effective values as they are now, or the platform defaults where no tenant is named."""

    catalogue: Catalogue
    values: Mapping[str, KnobValue]
    tenant: str | None = None
    """None for the platform defaults, which are then an assumption."""

    @classmethod
    def defaults(cls, catalogue: Catalogue) -> TenantKnobs:
        """The platform defaults."""
        return cls(catalogue, catalogue.defaults)

    @property
    def in_force(self) -> InForce:
        """Weights, k and depths."""
        return InForce(self.catalogue, self.values, self._exact)

    def _exact(self, name: str) -> Fraction:
        value = self.values[name]
        return Fraction(0) if isinstance(value, str) else exact(value)

    def name(self, role_or_name: str) -> str:
        """The knob with a role, or of this name; empty where the schema has none."""
        knob = self.catalogue.by_role.get(role_or_name) or self.catalogue.by_name.get(role_or_name)
        return knob.name if knob else ""

    def number(self, role_or_name: str) -> Fraction | None:
        """The value of the knob with a role, or of this name; None where the schema has none."""
        name = self.name(role_or_name)
        return self._exact(name) if name else None

    def default(self, role: str) -> Fraction | None:
        """The platform default of the knob with a role."""
        knob = self.catalogue.by_role.get(role)
        return None if knob is None or isinstance(knob.default, str) else exact(knob.default)

    def said(self, role_or_name: str) -> str:
        """A knob with its value: `gate_expanded_floor 0.3`; where no tenant is known, `gate_expanded_floor (default 0.3)`.

        Without the value where it is 0: that means off, and what an answer tells of was on.
        """
        name, value = self._named(role_or_name)
        if not value:
            return name
        return f"{name} {value}" if self.tenant else f"{name} (default {value})"

    def noted(self, role_or_name: str) -> str:
        """The same for between parentheses: `gate_expanded_floor, default 0.3`."""
        name, value = self._named(role_or_name)
        if not value:
            return name
        return f"{name} {value}" if self.tenant else f"{name}, default {value}"

    def _named(self, role_or_name: str) -> tuple[str, str]:
        name = self.name(role_or_name)
        value = self._exact(name) if name else None
        return name or role_or_name, number_text(value) if value else ""

    def disabled(self, ranker: str) -> bool:
        """Whether the tenant has switched a ranker off."""
        name = self.name(f"ranker.{ranker}")
        return bool(name) and self.values[name] == DISABLED

    def on_scale_of(self, role: str) -> list[str]:
        """The knobs that are compared with the same score as the knob with a role."""
        scale = getattr(self.catalogue.by_role.get(role), "scale", None)
        return [knob.name for knob in self.catalogue if scale and knob.scale == scale]
