"""Makes the setup that a command line asks about, from what was typed and what is in force."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.errors import UsageError
from knobctl.fusion import Scale, Setup, exact
from knobctl.knobs.fusion_setup import InForce
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.knobs.catalogue import Catalogue
    from knobctl.knobs.knob import Knob, KnobValue

OFF: Final = "off"
"""Stands in a list of weights for a ranker that takes no part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a command line says instead of the effective values, as it was typed; None where it is silent."""

    floor: str | None = None
    k: str | None = None
    weights: str | None = None
    """One a ranker, with commas between; `off` for a ranker that takes no part."""
    depths: str | None = None


def asked_setup(
    catalogue: Catalogue,
    values: Mapping[str, KnobValue],
    exact_value: Callable[[str], Fraction],
    asked: Asked,
) -> Setup:
    """Make the setup that a command line asks about; what it leaves out is as the values have it.

    Raises:
        UsageError: If something typed is no such number, or the schema does not say what is missing.
    """
    in_force = InForce(catalogue, values, exact_value)
    weights, depths = in_force.weights, in_force.depths
    if not catalogue.rankers:
        raise UsageError(
            "the schema names no ranker",
            hint="give a knob the role fusion.weight.NAME or depth.NAME in its x-knob",
        )
    if asked.weights is not None:
        weights = _typed_weights(asked.weights, catalogue)
        depths = {name: depth for name, depth in in_force.all_depths.items() if name in weights}
    if asked.depths is not None:
        typed = _typed_depths(asked.depths, catalogue)
        depths = {name: typed[name] for name in weights}
    floor = _own_floor(in_force) if asked.floor is None else typed_floor(asked.floor, catalogue)
    k = (
        in_force.k
        if asked.k is None
        else _whole(asked.k, "--k", "the rank constant", catalogue.by_role.get("fusion.k"))
    )
    try:
        return Setup(floor=floor, k=k, weights=weights, depths=depths, formula=catalogue.formula)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _own_floor(in_force: InForce) -> Fraction:
    if "floor.fused" not in in_force.catalogue.by_role:
        raise UsageError(
            "no knob of the schema has the role floor.fused", hint="give the floor: --floor 0.3"
        )
    floor = in_force.by_role("floor.fused")
    if not floor:
        name = in_force.catalogue.by_role["floor.fused"].name
        example = "0.3" if in_force.catalogue.formula.scale is Scale.NORMALISED else "0.01"
        raise UsageError(
            f"{name} is 0, so no floor is in force", hint=f"give one: --floor {example}"
        )
    return floor


def typed_floor(text: str, catalogue: Catalogue, option: str = "--floor") -> Fraction:
    """Read a floor as it was typed on the command line: `0.3`, `1/3`, `3e-1`.

    Raises:
        UsageError: If it is no number above 0 and up to 1; says what to write.
    """
    bounded = catalogue.formula.scale is Scale.NORMALISED
    must = (
        "a floor is a number above 0 and up to 1, such as 0.3 or 1/3"
        if bounded
        else "a floor is a number above 0, such as 0.01 or 1/61"
    )
    try:
        floor = exact(text, option)
    except ValueError as error:
        raise UsageError(f"{option} {text[:40]} is no number", hint=_meant(text) or must) from error
    if floor > 1 and bounded:
        meant = f"if {text} % is meant, write {float(floor) / 100:.12g}; " if floor <= 100 else ""
        raise UsageError(
            f"{option} {text[:40]} is above 1, the best score there is", hint=meant + must
        )
    if floor <= 0 or float(floor) == 0.0:
        raise UsageError(f"{option} {text[:40]} is no floor above 0", hint=_zero(catalogue, must))
    return floor


def _zero(catalogue: Catalogue, must: str) -> str:
    knob = catalogue.by_role.get("floor.fused")
    if knob is None or not knob.zero_surprises:
        return must
    return f'as a knob, 0 is the platform default {spelled(knob.default)}, not "no floor"; practically none is 0.0001'


def _meant(text: str) -> str | None:
    """What a number in another spelling may have been meant to be."""
    candidate, share = text.strip().replace(",", "."), Fraction(1)
    if candidate.endswith("%"):
        candidate, share = candidate[:-1], Fraction(1, 100)
    try:
        value = float(exact(candidate) * share)
    except ValueError:
        return None
    return f"write {value:.12g}"


def _typed_weights(text: str, catalogue: Catalogue) -> dict[str, Fraction]:
    weights: dict[str, Fraction] = {}
    for name, part in _one_each(text, "--weights", catalogue).items():
        if part == OFF:
            continue
        try:
            weights[name] = exact(part)
        except ValueError as error:
            raise UsageError(
                f"--weights: {part[:40]} is no weight of {name}", hint="such as 1,1,0.5 or 1,1,off"
            ) from error
        knob = catalogue.by_role.get(f"fusion.weight.{name}")
        may_be_zero = knob is not None and knob.unset is None
        if weights[name] < 0 or not (weights[name] or may_be_zero):
            raise UsageError(
                f"--weights: {part[:40]} is no weight of {name}; a weight is {'0 or more' if may_be_zero else 'above 0'}",
                hint=f"{'' if may_be_zero else 'as a knob, 0 is the platform default; '}to leave {name} out of fusion write {OFF}",
            )
    if not weights:
        raise UsageError(
            "--weights leaves no ranker", hint="give at least one a weight, such as 1,1,off"
        )
    return weights


def _typed_depths(text: str, catalogue: Catalogue) -> dict[str, int]:
    parts = _one_each(text, "--depths", catalogue)
    return {
        name: _whole(
            part,
            "--depths",
            f"the number of rows of {name}",
            catalogue.by_role.get(f"depth.{name}"),
        )
        for name, part in parts.items()
    }


def _one_each(text: str, option: str, catalogue: Catalogue) -> dict[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != len(catalogue.rankers):
        raise UsageError(
            f"{option} has {len(parts)} values for {len(catalogue.rankers)} rankers",
            hint=f"one each, with commas and a decimal point: {option} {','.join(name.upper() for name in catalogue.rankers)}",
        )
    return dict(zip(catalogue.rankers, parts, strict=True))


def _whole(text: str, option: str, what: str, knob: Knob | None) -> int:
    number = text.strip()
    if not (number.isascii() and number.isdigit() and len(number) < 10 and int(number) > 0):
        hint = f"{what} counts from 1"
        if number == "0" and knob and knob.zero_surprises:
            hint += f"; as a knob, 0 is the platform default {spelled(knob.default)}"
        raise UsageError(f"{option} {number[:40]} is no whole number from 1", hint=hint)
    return int(number)
