"""What engines that sum doubles make of a hit whose score is the floor."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from knobctl.fusion.formula import Scale, Weighs

if TYPE_CHECKING:
    from knobctl.fusion.row import Names, Row
    from knobctl.fusion.setup import Setup


def float_outcomes(row: Row, setup: Setup) -> tuple[float, dict[Names, bool]]:
    """Fuse a row's best hit in doubles, in the engine's own order and in every other.

    Returns:
        The engine's score of a hit that is first in each list of the row, and by order of summation
        whether it passes the floor (as a double).
    """
    floor = float(setup.floor)
    divided = setup.formula.scale is Scale.NORMALISED
    firsts = {name: _first_row(setup, name) for name in row.live}

    def score(order: Names) -> float:
        above = below = 0.0
        for name in order:
            below += firsts[name]
            above += firsts[name] if name in row.found_by else 0.0
        return above / below if divided else above

    return score(row.live), {order: score(order) >= floor for order in permutations(row.live)}


def _first_row(setup: Setup, ranker: str) -> float:
    """What a ranker's first row adds, in doubles as engines compute it."""
    weight, k = float(setup.weights[ranker]), setup.k + setup.formula.first_rank
    if setup.formula.weighs is Weighs.SCORE:
        return weight / k
    return 1 / (1 / weight + k - 1) if weight else 0.0
