"""Normalised reciprocal rank fusion: the scores themselves, and what a floor on them reaches.

    score(d) = sum over the rankers that hold d of w/(k + rank)  /  sum over active rankers of w/(k + 1)

Ranks count from 1. A ranker is active when it returned at least one row. A score equal to the floor
passes. The reference engine, `reach`, `explain` and the policies all stand on this room. Engines that
do not divide the sum, count ranks from 0 or let a weight divide the rank are a `Formula` of a `Setup`.
"""

from knobctl.fusion.formula import NORMALISED, Formula, Scale, Weighs
from knobctl.fusion.numbers import Number, exact
from knobctl.fusion.reach import Reach, reach
from knobctl.fusion.row import Row, Verdict
from knobctl.fusion.scores import ceiling, deepest_rank, exact_score, fused_score
from knobctl.fusion.setup import Setup

__all__ = [
    "NORMALISED",
    "Formula",
    "Number",
    "Reach",
    "Row",
    "Scale",
    "Setup",
    "Verdict",
    "Weighs",
    "ceiling",
    "deepest_rank",
    "exact",
    "exact_score",
    "fused_score",
    "reach",
]
