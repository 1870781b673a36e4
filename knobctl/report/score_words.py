"""The arithmetic of a fused score, worked: a hit that is first, the best there is, what ranks cannot tell."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.fusion import Scale, Weighs
from knobctl.fusion.numbers import fraction_text, number_text
from knobctl.text import all_of, joined, visible

if TYPE_CHECKING:
    from knobctl.fusion import Reach
    from knobctl.knobs import Catalogue


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


def ranks_from(catalogue: Catalogue, k: int) -> str:
    """What the same rank constant is called where ranks count from the other end."""
    if catalogue.formula.first_rank == 0:
        return f"ranks count from 0 here: {k} is {k - 1} of an engine that counts from 1"
    return f"ranks count from 1 here: {k} is {k + 1} of an engine that counts from 0"
