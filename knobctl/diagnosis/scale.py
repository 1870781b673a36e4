"""What scores can be while certain rankers are live, and what a score tells of the hit that has it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

from knobctl.fusion import Setup, exact, reach
from knobctl.fusion.scores import fused_score, last_rank
from knobctl.text import decimal_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.diagnosis.answer import Answer, Row
    from knobctl.diagnosis.tenant_knobs import TenantKnobs
    from knobctl.fusion import Reach
    from knobctl.fusion import Row as FusionRow
    from knobctl.fusion.row import Names

SLACK: Final = 1e-9
"""Scores of other summation orders and of float32 apart, two scores this near are one."""
_MOST_LIVE: Final = 6


@dataclass(frozen=True)
class Scale:
    """The fused scale of one answer: live rankers with their weights, k, and how many rows each gave."""

    live: Names
    """In summation order; empty where nothing was live."""
    stated: bool
    """Whether the answer says which were live; else all that take part are assumed."""
    weights: Mapping[str, Fraction]
    """Of the live ones."""
    k: int
    depths: Mapping[str, int]

    @classmethod
    def of(cls, answer: Answer, knobs: TenantKnobs) -> Self:
        """Find the scale: what the answer says, else what the knobs say."""
        in_force = knobs.in_force
        live, stated = _live(answer, tuple(in_force.weights))
        widening = (knobs.number("expansion.depth") or Fraction(1)) if answer.expanded else 1
        depths = {name: math.floor(depth * widening) for name, depth in in_force.all_depths.items()}
        for name, state in (answer.rankers or {}).items():
            depths[name] = state.rows - min(state.removed_by_cosine, state.rows)
        return cls(
            live=live,
            stated=stated,
            weights={name: in_force.by_role(f"fusion.weight.{name}") for name in live},
            k=in_force.k,
            depths={name: depths[name] for name in live if depths.get(name)},
        )

    def reach(self, floor: Fraction) -> Reach | None:
        """What a floor does to hits of the live rankers; None where there is no score."""
        try:
            return reach(Setup(floor=floor, k=self.k, weights=self.weights, depths=self.depths))
        except ValueError:
            return None

    @cached_property
    def classes(self) -> Mapping[Names, Fraction]:
        """The ceiling of each set of live rankers that can have found a hit, small sets first."""
        return {row.found_by: row.ceiling for row in self._rows}

    @cached_property
    def lowest(self) -> Mapping[Names, Fraction]:
        """The lowest score of each of these sets, where the depths are known; else 0."""
        return {row.found_by: row.lowest for row in self._rows}

    @cached_property
    def _rows(self) -> list[FusionRow]:
        """What the arithmetic says of each of these sets; nothing where there are too many."""
        reached = self.reach(Fraction(1))
        if reached is None or len(self.live) > _MOST_LIVE:
            return []
        return [row for row in reached.rows if row.live == self.live]

    def by_size(self) -> dict[int, list[Fraction]]:
        """The distinct ceilings of hits that one, two, ... rankers found."""
        sizes: dict[int, list[Fraction]] = {}
        for found_by, ceiling in self.classes.items():
            known = sizes.setdefault(len(found_by), [])
            if ceiling not in known:
                known.append(ceiling)
        return sizes

    def can_score(self, score: float) -> list[Names]:
        """The sets of rankers whose hits can have a score."""
        slack = Fraction(rounding(score))
        value = exact(score)
        return [
            found_by
            for found_by, ceiling in self.classes.items()
            if self.lowest[found_by] - slack <= value <= ceiling + slack
        ]

    def equal_rank(self, found_by: Names, score: float) -> int:
        """The rank which a hit at that same rank in each list would have to have, at least 1."""
        floor = exact(score) - Fraction(rounding(score))
        return max(1, last_rank(self.classes[found_by], floor=floor, k=self.k))

    def two_ranks(self, found_by: Names, score: float) -> tuple[int, int] | None:
        """The two ranks of a hit that exactly two rankers found, if only one pair of ranks fits."""
        first, second = (self.weights[name] for name in found_by)
        total = sum(self.weights.values())
        slack, fits = rounding(score), set()
        for rank in range(1, self.depths.get(found_by[0], 50) + 1):
            rest = score * float(total) / (self.k + 1) - float(first) / (self.k + rank)
            if rest <= 0:
                continue
            for other in (round(float(second) / rest) - self.k + step for step in (-1, 0, 1)):
                ranks = {found_by[0]: rank, found_by[1]: other}
                if 1 <= other <= self.depths.get(found_by[1], 50) and (
                    abs(self.score(ranks) - score) <= slack
                ):
                    fits.add((rank, other) if first != second else tuple(sorted((rank, other))))
        return next(iter(fits)) if len(fits) == 1 else None  # type: ignore[return-value]  # sorted() of two gives two

    def score(self, ranks: Mapping[str, int]) -> float:
        """The fused score of a hit."""
        return fused_score(ranks, weights=self.weights, k=self.k, active=self.live)

    def agrees(self, row: Row) -> bool | None:
        """Whether a returned row has the score that follows from its ranks; None where that is not told."""
        if row.score is None or not row.ranks or not self.live or not any(self.weights.values()):
            return None
        if not set(row.ranks) <= set(self.live):
            return False
        return abs(self.score(row.ranks) - row.score) <= max(rounding(row.score), 1e-6)


def rounding(score: float) -> float:
    """How far a score as it is written can be from the one that was meant: half of its last decimal."""
    decimals = decimal_text(score).partition(".")[2]
    return max(SLACK, 0.5 * 10.0 ** -len(decimals)) if "e" not in decimals else SLACK


def _live(answer: Answer, enabled: Names) -> tuple[Names, bool]:
    if answer.live is not None:
        return answer.live, True
    seen = {name for row in answer.rows for name in row.ranks}
    names = [*enabled, *sorted(seen - set(enabled))]
    return tuple(names), False
