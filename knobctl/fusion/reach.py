"""What a floor reaches: for every set of live rankers, and every set of them that found a hit."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, TypeVar

from knobctl.fusion.formula import Scale, Weighs
from knobctl.fusion.numbers import rounded_down, safely_below
from knobctl.fusion.row import Row
from knobctl.fusion.scores import last_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knobctl.fusion.row import Names
    from knobctl.fusion.setup import Setup

EDGE: Final = Fraction(1, 10**9)
"""A floor this near to a ceiling passes or fails by the order in which doubles are summed."""
MOST_DECIMALS: Final = 12
MOST_RANKERS: Final = 6
"""Up to here every set of rankers is looked at (665 rows); beyond, all, all but one, and one alone."""

T = TypeVar("T")


@dataclass(frozen=True)
class Reach:
    """Everything that follows from one setup, in exact fractions. Made by `reach`."""

    setup: Setup
    _reckoned: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)
    """What does not depend on the floor, shared with the same lists under other floors."""

    def _once(self, what: object, reckon: Callable[[], T]) -> T:
        """Reckon once what does not depend on the floor."""
        found: T | None = self._reckoned.get(what)
        if found is None:
            found = self._reckoned[what] = reckon()
        return found

    def under_floor(self, floor: Fraction) -> Reach:
        """The same lists under another floor: of a fleet that differs in its floors, the rest is reckoned once.

        Raises:
            ValueError: If the floor is not above 0.
        """
        return Reach(replace(self.setup, floor=floor), self._reckoned)

    @cached_property
    def enabled(self) -> Names:
        """The rankers that take part, in summation order."""
        return tuple(self.setup.weights)

    @cached_property
    def live_sets(self) -> tuple[Names, ...]:
        """The sets of live rankers under which there is a score, largest first.

        Rankers that all weigh 0 score 0 on a raw sum, and nothing where 0 is divided by 0.
        """
        raw = self.setup.formula.scale is Scale.RAW
        return tuple(live for live in _subsets(self.enabled) if raw or self.scores(live))

    @cached_property
    def units(self) -> Mapping[str, int]:
        """What first rows add, as whole numbers in the same ratios: fractions are slow, and every question starts here."""
        return self._scaled[0]

    @cached_property
    def _scaled(self) -> tuple[Mapping[str, int], int]:
        return self._once("units", self._in_units)

    def _in_units(self) -> tuple[Mapping[str, int], int]:
        """The units, and how many of them are a score of 1 on a raw sum; 0 where the sum is divided."""
        formula, parts = self.setup.formula, self.setup.weights
        raw = formula.scale is Scale.RAW
        if raw or formula.weighs is Weighs.RANK:
            parts = {name: weight / (self.constant(name) + 1) for name, weight in parts.items()}
        whole = math.lcm(*(part.denominator for part in parts.values()))
        units = {name: part.numerator * (whole // part.denominator) for name, part in parts.items()}
        return units, whole if raw else 0

    def constant(self, ranker: str) -> int | Fraction:
        """What the formula adds to a ranker's rank, which counts from 1."""
        setup = self.setup
        return setup.formula.constant(setup.k, setup.weights[ranker])

    def _whole(self, live: Names) -> int:
        """How many units are a score of 1; 0 where there is no score."""
        total = sum(map(self.units.__getitem__, live))
        return self._scaled[1] or total if total else 0

    def scores(self, live: Names) -> bool:
        """Whether there is a score while these rankers are live: their weights are not all 0."""
        return any(map(self.units.__getitem__, live))

    def shares(self, live: Names) -> Mapping[str, Fraction]:
        """What the first row of each live ranker scores alone; empty where the weights are all 0.

        On the normalised scale, where a weight multiplies, it is the weights divided by their sum.
        """
        whole = self._whole(live)
        return {name: Fraction(self.units[name], whole) for name in live} if whole else {}

    def share(self, live: Names, ranker: str) -> Fraction:
        """What one ranker's first row scores alone; 0 where it is not live or there is no score."""
        return self._once((live, ranker), lambda: self._share(live, ranker))

    def _share(self, live: Names, ranker: str) -> Fraction:
        whole = self._whole(live)
        return Fraction(self.units[ranker], whole) if whole and ranker in live else Fraction(0)

    def best(self, live: Names, rankers: int = 1) -> Fraction:
        """The ceiling of hits that are found by the heaviest of the live rankers; 0 where there is no score."""
        return self._once((live, rankers), lambda: self._best(live, rankers))

    def _best(self, live: Names, rankers: int) -> Fraction:
        units = sorted(map(self.units.__getitem__, live))
        whole = self._whole(live)
        return Fraction(sum(units[-rankers:]), whole) if whole else Fraction(0)

    def heaviest(self, live: Names, rankers: int) -> Names:
        """Those of the live rankers whose first rows score most."""
        return tuple(sorted(live, key=lambda name: -self.units[name])[:rankers])

    @cached_property
    def best_score(self) -> Fraction:
        """The best score there is: first in every enabled ranker."""
        return self.best(self.enabled, len(self.enabled))

    def ceiling(self, live: Names, found_by: Names) -> Fraction:
        """What a hit scores that is first in some of the live rankers; 0 where there is no score."""
        return self._once((live, found_by), lambda: self._ceiling(live, found_by))

    def _ceiling(self, live: Names, found_by: Names) -> Fraction:
        whole = self._whole(live)
        return Fraction(sum(map(self.units.__getitem__, found_by)), whole) if whole else Fraction(0)

    def deepest(self, live: Names, found_by: Names) -> int:
        """Give the last rank, the same in each of these lists, at which a hit passes; 0 if none does."""
        if not found_by:
            return 0
        floor = self.setup.floor
        if len(found_by) == 1 or self.setup.formula.weighs is Weighs.SCORE:
            ceiling = self.ceiling(live, found_by)
            return last_rank(ceiling, floor=floor, k=self.constant(found_by[0]))

        def passes(rank: int) -> bool:
            return self.score(live, dict.fromkeys(found_by, rank)) >= floor

        reaches = 1  # constants that differ have no closed form: go past the last one, and halve
        while passes(reaches):
            reaches *= 2
        return bisect_left(range(reaches), True, key=lambda rank: rank > 0 and not passes(rank)) - 1

    def score(self, live: Names, ranks: Mapping[str, int]) -> Fraction:
        """Score of a hit by its rank, from 1, in each live ranker that holds it."""
        scored = (self.score_at(live, name, rank) for name, rank in ranks.items())
        return sum(scored, Fraction(0))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every set of live rankers, largest first, with every set of them that can have found a hit, smallest first."""
        return tuple(
            self.row(live, found_by)
            for live in self.live_sets
            for found_by in sorted(_subsets(live), key=len)
        )

    def row(self, live: Names, found_by: Names) -> Row:
        """What the floor does to hits found by some of the live rankers."""
        setup = self.setup
        ceiling = self.ceiling(live, found_by)
        depths = [setup.depths.get(name) for name in found_by]
        depth = None if None in depths else min(filter(None, depths), default=None)
        deepest = self.deepest(live, found_by)
        lowest = sum(
            (self.score_at(live, name, setup.depths.get(name)) for name in found_by), Fraction(0)
        )
        return Row(
            live=live,
            found_by=found_by,
            ceiling=ceiling,
            lowest=lowest if depth else Fraction(0),
            deepest_rank=deepest,
            depth=depth,
            within_depth=depth is not None and deepest >= depth,
            unreachable=setup.floor > ceiling,
            vacuous=depth is not None and setup.floor <= lowest,
            on_edge=abs(setup.floor - ceiling) < EDGE,
        )

    def edges(self, live: Names, floor: Fraction) -> Mapping[Names, Fraction]:
        """The ceilings of some of the live rankers that a floor touches, those of fewest rankers first.

        On the normalised scale the ceiling of all of them is no edge: there both sums are the same, so
        the score is 1.0 in any order.
        """
        total, held_by = self._once(("edges", live), lambda: self._held(live))
        above, below = floor.as_integer_ratio()
        at, near = above * total, total * below  # all of it times total and below
        return {
            found_by: Fraction(held, total)
            for found_by, held in held_by
            if abs(held * below - at) * EDGE.denominator < near
        }

    def _held(self, live: Names) -> tuple[int, Sequence[tuple[Names, int]]]:
        """How many units are a score of 1, and what sets of live rankers hold that can be an edge."""
        total = self._whole(live)
        every = None if self._scaled[1] else total
        parts = sorted(_subsets(live), key=len)
        held_by = [(part, sum(map(self.units.__getitem__, part))) for part in parts]
        return total, [(part, held) for part, held in held_by if 0 < held != every]

    def score_at(self, live: Names, ranker: str, rank: int | None) -> Fraction:
        """Score of a hit at one rank of one live ranker alone: the highest floor that keeps it.

        With the ranker's depth as rank, it is the highest floor that keeps all of its rows.
        """
        return self._once((live, ranker, rank), lambda: self._score_at(live, ranker, rank))

    def _score_at(self, live: Names, ranker: str, rank: int | None) -> Fraction:
        whole = self._whole(live)
        if rank is None or not whole:
            return Fraction(0)
        constant = self.constant(ranker)
        return Fraction(self.units[ranker] * (constant + 1), whole * (constant + rank))

    def can_be_empty(self, live: Names) -> bool:
        """Whether the floor can remove every row although the live rankers returned some."""
        return self.setup.floor > self.best(live)

    @cached_property
    def never_empty(self) -> bool:
        """Whether the floor can never empty a result, whichever rankers are live."""
        return not any(self.can_be_empty(live) for live in self.live_sets)

    @property
    def always_empty(self) -> bool:
        """Whether no hit at all can pass, whichever rankers are live."""
        return self.setup.floor > self.best_score

    @property
    def least_best_score(self) -> Fraction:
        """The least that the best row scores, whichever rankers are live."""
        return min(self.best(live) for live in self.live_sets)

    def removes_nothing(self, live: Names) -> bool:
        """Whether the floor is at or under the lowest score that any list can hold."""
        depths = self.setup.depths
        return self.scores(live) and all(
            name in depths and self.setup.floor <= self.score_at(live, name, depths[name])
            for name in live
        )

    @property
    def vector_ceiling(self) -> Fraction:
        """The most that a hit of the vector ranker alone scores; 0 where it does not take part."""
        return self.share(self.enabled, "vector")

    @property
    def two_ranker_ceiling(self) -> Fraction:
        """The most that a hit of two enabled rankers scores."""
        return self.best(self.enabled, 2)

    def under(self, limit: Fraction) -> str:
        """Write a floor that lies safely under a limit, with as many decimals as its scale needs."""
        return safely_below(limit, EDGE, self.decimals) if limit > EDGE else "0"

    def down(self, score: Fraction) -> str:
        """Write a score for a floor to be at or under, never above it."""
        return rounded_down(score, max(4, self.decimals + 1))

    @cached_property
    def decimals(self) -> int:
        """Decimals of a floor: two on the normalised scale; of a raw sum three digits of the best score."""
        digits = 2
        while self._scaled[1] and digits < MOST_DECIMALS and self.best_score * 10**digits < 100:
            digits += 1
        return digits

    def told(self, score: Fraction) -> str:
        """Write a score of the engine's scale for people."""
        return self.setup.formula.told(score)

    def policy_facts(self) -> Mapping[str, object]:
        """Everything as plain values for policies: see `knobctl.fusion.facts`."""
        from knobctl.fusion.facts import policy_facts

        return policy_facts(self)


def reach(setup: Setup) -> Reach:
    """Give what follows from a setup."""
    return Reach(setup)


def _subsets(names: Names) -> Iterator[Names]:
    """Every non-empty subset, largest first, each in the order of the names."""
    sizes = range(len(names), 0, -1)
    if len(names) > MOST_RANKERS:
        sizes_few = (len(names), len(names) - 1, 1)
        return (part for size in sizes_few for part in combinations(names, size))
    return (part for size in sizes for part in combinations(names, size))
