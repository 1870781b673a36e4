"""Two measurements of the same questions: by how much they differ on average, and whether chance would do that. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError
from knobctl.evidence.rates import beta_quantile

try:
    import numpy as np
except ImportError as error:
    raise EngineError("evidence needs numpy", hint="pip install 'knobctl[engine]'") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SHUFFLES: Final = 9_999
_CONFIDENCE: Final = 0.95
_CELLS: Final = 4_000_000
"""So many numbers are drawn at once."""
_SAME: Final = 1e-9
"""Of sums of the same numbers in another order."""


@dataclass(frozen=True, slots=True)
class Shift:
    """How a mean moved from one measurement to the other."""

    before: float
    after: float
    low: float
    """The ends of the 95 % interval of the difference; see `shift_of`."""
    high: float
    p_value: float
    """How often chance alone moves it at least as far, were it chance which measurement is which."""
    questions: int

    @property
    def difference(self) -> float:
        """After less before."""
        return self.after - self.before


def shift_of(
    before: Sequence[float], after: Sequence[float], *, span: float, seed: int
) -> Shift | None:
    """Compare means over the same questions.

    Args:
        before: A value a question.
        after: The same questions in the same order.
        span: The furthest that a question can move: 1 for measures from 0 to 1.
        seed: Of the test's shuffles: the same values give the same answer.

    Returns:
        None where there are no questions.

    Source: the interval is the adjusted one of Bonett and Price 2012 (for proportions), with Student's
    quantile: one imagined question that moves all the way up and one that moves all the way down are
    counted with the others, so that it does not vanish where few questions moved, or none. The test is the two-sided
    paired randomisation test (Fisher 1935; for retrieval Smucker, Allan and Carterette 2007), with
    the measured assignment counted among the shuffled ones.
    """
    if not before:
        return None
    differences = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    low, high = _interval(differences, span)
    return Shift(
        before=float(np.mean(before)),
        after=float(np.mean(after)),
        low=low,
        high=high,
        p_value=_randomised(differences, np.random.default_rng(seed)),
        questions=len(before),
    )


def _interval(differences: NDArray[np.float64], span: float) -> tuple[float, float]:
    if span <= 0:
        return 0.0, 0.0
    number = len(differences) + 2
    middle = float(differences.sum()) / number
    squares = float((differences**2).sum()) + 2 * span**2
    half = _student(number - 1) * math.sqrt(max(squares / number - middle**2, 0.0) / number)
    return max(middle - half, -span), min(middle + half, span)


def _student(freedom: int) -> float:
    """How many standard errors an interval reaches: a quantile of Student's distribution, by that of a beta."""
    share = beta_quantile(_CONFIDENCE, 0.5, freedom / 2)
    return math.sqrt(freedom * share / (1 - share))


def _randomised(differences: NDArray[np.float64], chance: np.random.Generator) -> float:
    sizes, numbers = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    measured = abs(float(differences.sum()))
    as_far = 0
    for block in _blocks(SHUFFLES, max(len(sizes), 1)):
        # Of so many differences of one size, how many keep their sign.
        kept = chance.binomial(numbers, 0.5, (block, len(numbers)))
        sums = (2 * kept - numbers) @ sizes
        as_far += int((np.abs(sums) >= measured - _SAME).sum())
    return (as_far + 1) / (SHUFFLES + 1)


def _blocks(wanted: int, width: int) -> list[int]:
    size = max(1, min(wanted, _CELLS // width))
    return [min(size, wanted - at) for at in range(0, wanted, size)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values of several measures that were tested together; in their order.

    Whoever calls everything at or below a share significant errs in any of them that often at most.

    Source: Holm 1979, as adjusted p-values.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for place, index in enumerate(order):
        least = max(least, min(1.0, p_values[index] * (len(p_values) - place)))
        adjusted[index] = least
    return adjusted
