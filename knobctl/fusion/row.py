"""What a floor does to hits that one set of rankers found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

Names: TypeAlias = tuple[str, ...]


class Verdict(StrEnum):
    """What a floor does to hits found by one set of rankers."""

    SELECTIVE = "selective"
    """Some ranks pass, some do not."""
    UNREACHABLE = "unreachable"
    """No rank passes."""
    VACUOUS = "vacuous"
    """Every row that the lists hold passes."""
    ON_EDGE = "on_edge"
    """The floor is the ceiling, within 1e-9: rank 1 passes or fails by summation order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a floor does to hits found by exactly `found_by` while `live` are the rankers that answered."""

    live: Names
    found_by: Names
    ceiling: Fraction
    """Best reachable score: first in each of the rankers that found it."""
    lowest: Fraction
    """Score of a hit that is last in each of the lists; 0 where a depth is unknown."""
    deepest_rank: int
    """Last rank, counted from 1, that passes, the same in each list when there are several; 0 if none does."""
    depth: int | None
    """The last rank that all of the lists hold; None where it is unknown."""
    within_depth: bool
    """Whether every rank that all of the lists hold passes ("all")."""
    unreachable: bool
    vacuous: bool
    """Whether every row passes, wherever it stands in the lists."""
    on_edge: bool

    @property
    def verdict(self) -> Verdict:
        """The one word for the row: the edge comes before yes and no."""
        if self.on_edge:
            return Verdict.ON_EDGE
        if self.unreachable:
            return Verdict.UNREACHABLE
        return Verdict.VACUOUS if self.vacuous else Verdict.SELECTIVE
