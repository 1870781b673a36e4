"""What a number means on the scale of its scores: the arithmetic of a hit, stages, and other engines' readings."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.fusion import Scale, Weighs
from knobctl.fusion.numbers import fraction_text, number_text
from knobctl.knobs.knob import Direction
from knobctl.text import all_of, joined, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.fusion import Reach
    from knobctl.knobs import Catalogue, Knob


def worked(reached: Reach) -> list[tuple[str, str]]:
    """The arithmetic of a hit that is first in one list alone, and of one that is first in all."""
    names, floor = reached.enabled, reached.setup.floor
    told = []
    for found_by in dict.fromkeys((names[:1], names)):
        who = f"{visible(found_by[0])} alone" if len(found_by) == 1 else all_of(len(found_by))
        score = reached.ceiling(names, found_by)
        fate = "passes" if score >= floor else "is dropped"
        sum_of = " + ".join(first_row(reached, name) for name in found_by)
        told.append(
            f"first in {who}: {_divided(reached, sum_of, found_by)} = {_score(reached, found_by)}, which {fate}"
        )
    return [("worked", "; ".join(told))]


def first_row(reached: Reach, ranker: str) -> str:
    """Write what the first row of a ranker adds, as the engine computes it."""
    setup = reached.setup
    weight, rank = number_text(setup.weights[ranker]), setup.formula.first_rank
    if setup.formula.weighs is Weighs.SCORE or setup.weights[ranker] in {0, 1}:
        return f"{weight}/({setup.k} + {rank})"
    return f"1/({setup.k} + 1/{weight}{' - 1' if rank == 0 else ''})"


def _divided(reached: Reach, sum_of: str, found_by: tuple[str, ...]) -> str:
    """The sum, and on the normalised scale what it is divided by."""
    if reached.setup.formula.scale is Scale.RAW:
        return sum_of
    if found_by == reached.enabled:
        return "the same sum above and below"
    setup = reached.setup
    if setup.formula.weighs is Weighs.SCORE:
        total = number_text(sum(setup.weights.values(), Fraction(0)))
        return f"{sum_of} divided by {total}/({setup.k} + {setup.formula.first_rank})"
    return (
        f"{sum_of} divided by ({' + '.join(first_row(reached, name) for name in reached.enabled)})"
    )


def _score(reached: Reach, found_by: tuple[str, ...]) -> str:
    score = reached.ceiling(reached.enabled, found_by)
    text = fraction_text(score)
    if reached.setup.formula.scale is Scale.RAW:
        return reached.told(score)
    return f"{text} ({float(score):.4g})" if "/" in text else text


def of_best(reached: Reach) -> list[tuple[str, str]]:
    """How a floor on raw sums stands to the best score there is: they are small numbers that mean much."""
    if reached.setup.formula.scale is Scale.NORMALISED:
        return []
    best, floor = reached.best_score, reached.setup.floor
    share, written = f"{float(floor / best):.3g}", number_text(floor)
    says = f"the best score there is, first in every ranker, is {reached.told(best)}"
    if floor > best:
        return [("scale", f"{says}: {written} is {share} times that, and no hit can have it")]
    return [("scale", f"{says}; an engine that divides by it calls this floor {share}")]


def nonsense(catalogue: Catalogue) -> list[tuple[str, str]]:
    """Why a floor on ranks is no test of relevance, and which knobs are one."""
    own = [knob.name for role, knob in catalogue.by_role.items() if role in _RELEVANCE]
    instead = f"; what looks at the match itself is {joined(own, 'or')}" if own else ""
    return [
        (
            "ranks",
            "every list has a first row, whatever was asked: a floor on ranks cannot tell nonsense from sense"
            + instead,
        )
    ]


_RELEVANCE: Final = ("floor.vector", "floor.no_match")


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


def ranks_from(catalogue: Catalogue, k: int) -> str:
    """What the same rank constant is called where ranks count from the other end."""
    if catalogue.formula.first_rank == 0:
        return f"ranks count from 0 here: {k} is {k - 1} of an engine that counts from 1"
    return f"ranks count from 1 here: {k} is {k + 1} of an engine that counts from 0"
