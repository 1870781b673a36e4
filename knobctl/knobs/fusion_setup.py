"""Finds by role what fusion does under one set of effective values."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from knobctl.fusion import Setup
from knobctl.knobs.knob import KnobType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.knobs.catalogue import Catalogue
    from knobctl.knobs.knob import KnobValue

USUAL_K = 60


def fusion_setup(
    catalogue: Catalogue, values: Mapping[str, KnobValue], exact: Callable[[str], Fraction]
) -> Setup | None:
    """Read floor, k, weights and depths of the enabled rankers by the roles of their knobs.

    Args:
        catalogue: The knobs; a weight that it does not offer is 1, a k that it does not offer is 60.
        values: The effective value of every knob.
        exact: Gives a numeric knob's effective value exactly as it is written.

    Returns:
        None where the schema has no fused floor, or these values leave none in force: a floor of 0,
        no enabled ranker, or weights that are all 0.
    """
    role = catalogue.by_role
    if "floor.fused" not in role:
        return None
    enabled = [name for name in catalogue.rankers if _is_enabled(catalogue, values, name)]
    depths = {name: role[f"depth.{name}"] for name in enabled if f"depth.{name}" in role}
    try:
        return Setup(
            floor=exact(role["floor.fused"].name),
            k=int(exact(role["fusion.k"].name)) if "fusion.k" in role else USUAL_K,
            weights={name: _weight(catalogue, exact, name) for name in enabled},
            depths={name: int(exact(knob.name)) for name, knob in depths.items()},
        )
    except ValueError:
        return None


def _weight(catalogue: Catalogue, exact: Callable[[str], Fraction], ranker: str) -> Fraction:
    knob = catalogue.by_role.get(f"fusion.weight.{ranker}")
    return exact(knob.name) if knob else Fraction(1)


def _is_enabled(catalogue: Catalogue, values: Mapping[str, KnobValue], ranker: str) -> bool:
    mode = catalogue.by_role.get(f"ranker.{ranker}")
    if mode is None or mode.type is not KnobType.MODE:
        return True
    return values[mode.name] != "DISABLED"
