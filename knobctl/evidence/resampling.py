"""How far figures of a corpus hang on the chunks that happen to be in it: its chunks are drawn anew, with return. Pure.

Chunks are drawn and not pairs: the pairs of one chunk are not independent. A resample holds 63 % of the chunks, so
that a largest cosine can only fall in it: the interval of a noise floor lies at and below the floor that was measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.errors import EngineError

try:
    import numpy as np
except ImportError as error:
    raise EngineError("evidence needs numpy", hint="pip install 'knobctl[engine]'") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from knobctl.evidence.chunk_pairs import Pairs
    from knobctl.evidence.closest import Closest

RESAMPLES: Final = 500
_TAILS: Final = (2.5, 97.5)
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """Intervals, 95 %, each None where there is nothing to resample."""

    noise_floor: Interval | None
    mu: Interval | None
    sigma: Interval | None


def resampled(
    closest: Closest, pairs: Pairs | None, *, place: int, seed: int, resamples: int = RESAMPLES
) -> Resampled:
    """Draw the chunks again and again, and reckon anew.

    Args:
        closest: What the floor is made of.
        pairs: What mu and sigma are made of; None where the vectors are not known.
        place: Which of the maxima, counted from the largest, is the floor; 0 for none.
        seed: Of the draws.
        resamples: How many.
    """
    chance = np.random.default_rng(seed)
    around = _around(pairs) if pairs is not None and len(pairs.cosines) else None
    floors: list[float] = []
    spreads: list[Interval] = []
    for _ in range(resamples):
        drawn = np.bincount(
            chance.integers(closest.chunks, size=closest.chunks), minlength=closest.chunks
        )
        if place:
            floors.append(_floor(closest, drawn, place))
        if around is not None and (spread := _spread(around, drawn)):
            spreads.append(spread)
    return Resampled(
        noise_floor=_interval(floors),
        mu=_interval([mu for mu, _ in spreads]),
        sigma=_interval([sigma for _, sigma in spreads]),
    )


def _floor(closest: Closest, drawn: NDArray[np.int64], place: int) -> float:
    # Where an engine told of few chunks, which ones they are among all of them does not matter.
    there = (drawn[closest.places] > 0) & (closest.places >= 0)
    cosines = np.where(there, closest.cosines, -np.inf)
    # None of a probe's closest was drawn: the least of them is what is known, and no more than the truth.
    lowest = np.where(np.isfinite(closest.cosines), closest.cosines, np.inf).min(axis=1)
    maxima = np.maximum(cosines.max(axis=1), lowest)
    return float(np.partition(maxima, -place)[-place])


class _Around(NamedTuple):
    """Pairs, as far from their mean as they are; in single precision, which an interval needs no more of."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    mean: float
    off: NDArray[np.float32]
    squares: NDArray[np.float32]


def _around(pairs: Pairs) -> _Around:
    mean = float(pairs.cosines.mean())
    off = (pairs.cosines - mean).astype(np.float32)
    return _Around(pairs.first, pairs.second, mean, off, np.square(off))


def _spread(pairs: _Around, drawn: NDArray[np.int64]) -> Interval | None:
    """Mean and standard deviation over the pairs whose chunks were both drawn, as often as they were."""
    often = drawn.astype(np.float32)
    weights = often[pairs.first] * often[pairs.second]
    total = float(weights.sum())
    if not total:
        return None
    off = float(weights @ pairs.off) / total
    variance = float(weights @ pairs.squares) / total - off * off
    return pairs.mean + off, math.sqrt(max(variance, 0.0))


def _interval(values: Sequence[float]) -> Interval | None:
    if not values:
        return None
    low, high = np.percentile(values, _TAILS)
    return float(low), float(high)
