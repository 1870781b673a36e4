"""Whether a recording speaks for a tenant: scores hold only for the fusion that they were measured with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.fusion.numbers import number_text
from knobctl.text import count, joined, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from knobctl.evidence.recording import Heading
    from knobctl.fusion import Setup
    from knobctl.knobs import Catalogue, Knob, KnobValue

_OWN_MATTER: Final = ("floor.fused", "floor.expansion", "floor.no_match", "ranker.timeout")
"""Roles of knobs that may differ: the floors are what is asked about, and which rankers answered is recorded."""
_ALWAYS_SAME: Final = ("fusion.", "ranker.")
"""Prefixes of roles whose difference refuses by itself."""
_LATER: Final = ("assembly", "cache")
"""Groups of knobs that act on what the floor has let through."""
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What stands between a recording and a tenant."""

    refusals: tuple[str, ...] = ()
    """Why its curve would be another tenant's: it is not drawn."""
    cautions: tuple[str, ...] = ()
    """What else differs: the curve is drawn, and this is said beside it."""

    @property
    def holds(self) -> bool:
        """Whether the curve may be drawn for the tenant."""
        return not self.refusals


def fit(
    heading: Heading,
    setup: Setup,
    *,
    tenant: str | None,
    catalogue: Catalogue,
    values: Mapping[str, KnobValue],
) -> Fit:
    """Compare what was measured with what is asked about.

    Args:
        heading: Of the recording.
        setup: The fusion asked about, under any floor.
        tenant: Whose it is, where it is somebody's.
        catalogue: The knobs.
        values: The effective values asked about.
    """
    return Fit(
        refusals=tuple(_refusals(heading, setup)),
        cautions=tuple(_cautions(heading, setup, tenant, catalogue, values)),
    )


def _refusals(heading: Heading, setup: Setup) -> Iterator[str]:
    if heading.formula != setup.formula:
        yield (
            f"its scores are {_scale(heading.formula.scale.value)}, this engine's are "
            f"{_scale(setup.formula.scale.value)}"
            if heading.formula.scale is not setup.formula.scale
            else "its engine counts ranks or weighs them in another way"
        )
        return
    measured, here = heading.rankers, tuple(setup.weights)
    if set(measured) != set(here):
        yield f"it was measured with {joined(measured)} taking part; here {joined(here)} do"
        return
    if not _alike(heading.weights, setup.weights, setup):
        yield (
            f"it was measured with weights {_weights(heading.weights)}; here they are "
            f"{_weights(setup.weights)}"
        )
    if heading.k != setup.k:
        yield f"it was measured with a rank constant of {heading.k}; here it is {setup.k}"


def _alike(measured: Mapping[str, Fraction], here: Mapping[str, Fraction], setup: Setup) -> bool:
    """Whether weights give the same scores: where the sum is divided only their ratios matter."""
    from knobctl.fusion import NORMALISED

    if setup.formula != NORMALISED:
        return dict(measured) == dict(here)
    one, other = sum(measured.values()), sum(here.values())
    return all(measured[name] * other == here[name] * one for name in measured)


def _cautions(
    heading: Heading,
    setup: Setup,
    tenant: str | None,
    catalogue: Catalogue,
    values: Mapping[str, KnobValue],
) -> Iterator[str]:
    if tenant is not None and heading.tenant != tenant:
        yield f"it was measured for {heading.tenant}"
    known = {name: depth for name, depth in heading.depths.items() if name in setup.depths}
    deeper = [name for name, depth in known.items() if setup.depths[name] != depth]
    differ = [
        f"{visible(name)} {visible(spelled(written))} (here {visible(spelled(values[name]))})"
        for name, written in heading.knobs.items()
        if name in catalogue and _matters(catalogue[name]) and values[name] != written
    ]
    differ = differ or [
        f"a depth of {heading.depths[name]} for {name} (here {setup.depths[name]})"
        for name in deeper
    ]
    if differ:
        more = len(differ) - _MOST_NAMED
        rest = f" and {count(more, 'other knob')}" if more > 0 else ""
        yield f"it was measured with {', '.join(differ[:_MOST_NAMED])}{rest}"


def _matters(knob: Knob) -> bool:
    """Whether a knob can move the best score of a question; what comes after the floor cannot."""
    role = knob.role or ""
    return (
        role not in _OWN_MATTER and not role.startswith(_ALWAYS_SAME) and knob.group not in _LATER
    )


def _scale(name: str) -> str:
    return "a raw sum" if name == "rrf_raw" else "divided by the best reachable one"


def _weights(weights: Mapping[str, Fraction]) -> str:
    return " ".join(f"{visible(name)} {number_text(one)}" for name, one in weights.items())
