"""What a bound on scores is compared with: where in the pipeline, which side it keeps, and other engines' readings."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from knobctl.knobs.knob import Direction
from knobctl.text import joined, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.knobs import Catalogue, Knob


def stage_words(knob: Knob, catalogue: Catalogue) -> str:
    """Where in the pipeline a floor is compared, with what, and how it joins the other floors."""
    kind, _, part = (knob.role or "").partition(".")
    if kind != "floor":
        return ""
    if part in catalogue.rankers:
        fused = catalogue.by_role.get("floor.fused")
        then = (
            f"; {fused.name} is another number on another scale, and is applied to what is left (and)"
            if fused
            else ""
        )
        return f"before fusion, on the rows of {part} alone; a row dropped here may still come through another ranker (or){then}"
    if part in {"fused", "expansion"}:
        legs = [
            other.name
            for role, other in catalogue.by_role.items()
            if role.removeprefix("floor.") in catalogue.rankers and role.startswith("floor.")
        ]
        before = (
            f"; {joined(legs)} {'is' if len(legs) == 1 else 'are'} compared before fusion, on another scale"
            if legs
            else ""
        )
        return f"after fusion, on the fused score of each hit{before}"
    return ""


def bound_words(knob: Knob) -> str:
    """What passes at the bound itself, and which side of it is kept."""
    if knob.direction is Direction.LOWER:
        return "lower is better: a row passes at this value or less; the value itself passes"
    if (knob.role or "").startswith(("floor.", "gate.confident")):
        return "a score equal to it passes"
    return "higher is better" if knob.direction is Direction.HIGHER else ""


def distance_words(knob: Knob, value: float) -> list[tuple[str, str]]:
    """What a bound on a distance keeps and drops, and what switches it off."""
    assert knob.minimum is not None
    assert knob.maximum is not None
    near = (knob.minimum + value) / 2
    lines = [("kept", f"a row at {spelled(round(near, 6))}; at {spelled(value)} itself too")]
    if value < knob.maximum:
        far = (value + min(knob.maximum, 2 * value + 1)) / 2
        lines.append(
            ("dropped", f"a row at {spelled(round(far, 6))}, the worse one: lower is better")
        )
        lines.append(
            (
                "off",
                f"{spelled(knob.maximum)}, the most that there is; {spelled(value)} still filters",
            )
        )
    return lines


def elsewhere(knob: Knob, value: float) -> list[tuple[str, str]]:
    """The same bound as engines with another scale report it, formula and number side by side."""
    words = f"{knob.scale or ''}"
    for named, readings in _READINGS.items():
        if re.match(named, words):
            told = [f"{formula} = {give(value):.4f}" for formula, give in readings.items()]
            return [
                ("scale", f"{words}; an engine with another scale calls it {' or '.join(told)}")
            ]
    return []


_READINGS: Final[Mapping[str, Mapping[str, Callable[[float], float]]]] = {
    r"cosine(?! distance)": {
        "(1 + cosine)/2": lambda cosine: (1 + cosine) / 2,
        "cosine distance 1 - cosine": lambda cosine: 1 - cosine,
    },
    r"\(1 ?\+ ?cos": {"cosine 2s - 1": lambda score: 2 * score - 1},
    r"logit": {"sigmoid 1/(1 + e^-x)": lambda logit: 1 / (1 + math.exp(-logit))},
}
"""By how a scale begins, other readings of one of its numbers."""
