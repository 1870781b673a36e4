"""What fusion does for one tenant, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knobctl.fusion.formula import NORMALISED, Formula
from knobctl.fusion.scores import exact_shares

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What fusion does for one tenant.

    Raises:
        ValueError: If the floor is not above 0, k divides by 0, or the weights give no score.
    """

    floor: Fraction
    k: int
    """The rank constant as the engine is told it: it counts from the engine's own first rank."""
    weights: Mapping[str, Fraction]
    """Enabled rankers only, each >= 0, in summation order."""
    depths: Mapping[str, int]
    """How many rows each ranker contributes; a ranker without a known depth is left out."""
    formula: Formula = NORMALISED

    def __post_init__(self) -> None:
        if self.floor.numerator <= 0:
            raise ValueError(f"the floor is {self.floor}; it must be above 0")
        least = 1 - self.formula.first_rank
        if self.k < least:
            raise ValueError(f"k is {self.k}; the rank constant must be {least} or more")
        signs = [weight.numerator for weight in self.weights.values()]  # fractions compare slowly
        if not any(signs) or min(signs) < 0:
            exact_shares(self.weights, self.weights)  # says what is wrong
