"""What the given package makes of a measurement: the floor in use, who gets the text, and its words for z. Pure.

Kept as it is for comparison: a measurement of few notes falls back to numbers that belong to the length of a vector
and not to a model, and of other embedders nothing is noticed. The default mode does neither.

Worked cases: tests/data/noisefloor.json.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.evidence.noise_floor import (
    MIN_CALIB_NOTES,
    MIN_CALIB_PAIRS,
    Tier,
    clamp_sigma,
    default_dispersion,
    default_noise_floor,
    is_tight,
    relevance,
)
from knobctl.server.retrieval.off_topic import is_cosine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.evidence.calibrating import Calibration
    from knobctl.evidence.noise_floor import Measurement, Relevance

_GAPS: Final = ((0.05, Tier.STRONG), (0.015, Tier.MODERATE), (0.005, Tier.WEAK))


@dataclass(frozen=True, slots=True, kw_only=True)
class InUse:
    """What a query is held against."""

    noise_floor: float
    sigma: float
    """Clamped."""
    default_noise_floor: float
    tight: bool
    measured: bool
    """Whether it is what was measured, and not what is shipped for vectors of that length."""


def in_use(measurement: Measurement | None, dims: int) -> InUse:
    """Choose between what was measured and what is shipped.

    Args:
        measurement: None where there is none.
        dims: Of the query's embedder.
    """
    default = default_noise_floor(dims)
    trusted = (
        measurement is not None
        and measurement.notes >= MIN_CALIB_NOTES
        and measurement.pairs >= MIN_CALIB_PAIRS
    )
    if not trusted or measurement is None:
        return InUse(
            noise_floor=default,
            sigma=clamp_sigma(default_dispersion(dims)),
            default_noise_floor=default,
            tight=False,
            measured=False,
        )
    return InUse(
        noise_floor=measurement.noise_floor,
        sigma=clamp_sigma(measurement.sigma),
        default_noise_floor=default,
        tight=is_tight(measurement.mu),
        measured=True,
    )


def given_label(found: Calibration, cosine: float) -> Relevance | None:
    """Label as the given package does, over what the default mode measured: the largest maximum is its floor.

    Args:
        found: What was measured.
        cosine: Of a query.

    Returns:
        None where sigma or the maxima are not known, or it is no cosine.
    """
    sigma = found.among.sigma if found.among else None
    if sigma is None or found.highest is None or not is_cosine(cosine):
        return None
    return relevance(cosine, max(found.highest, 0.0), clamp_sigma(sigma), 0.0)


@dataclass(frozen=True, slots=True)
class Delivery:
    """Whether the text of a hit is given out."""

    delivered: bool
    reason: str
    """Why not; empty where it is."""
    too_small: bool
    """Whether there are too few notes for a verdict; the text is given out then."""


def delivery(
    tier: Tier | None,
    *,
    tight: bool,
    notes: int,
    ids_only: bool = False,
    floor_applied: bool = True,
) -> Delivery:
    """Decide as the given package does.

    Args:
        tier: Of the hit; None where it has none.
        tight: Whether the corpus is; there a weak hit is often the best there is.
        notes: How many the corpus has; 0 where nobody knows.
        ids_only: Whether the caller wants no text.
        floor_applied: Whether the tier comes of the noise floor, and not of the gap between two scores.
    """
    too_small = floor_applied and 0 < notes < MIN_CALIB_NOTES
    if ids_only:
        return Delivery(delivered=False, reason="pointers_only", too_small=too_small)
    below = tier is Tier.NO_MATCH or (tier is Tier.WEAK and not tight)
    if below and not too_small:
        return Delivery(delivered=False, reason="below_floor", too_small=too_small)
    return Delivery(delivered=True, reason="", too_small=too_small)


def gap_tier(scores: Sequence[float]) -> Tier | None:
    """Label by the relative gap between the two best fused scores, where no cosine is known.

    It tells how far two candidates are apart, and nothing of their relevance.

    Args:
        scores: Fused, best first.

    Returns:
        None where there are fewer than two, or the best is not above 0.
    """
    if len(scores) < 2 or scores[0] <= 0:
        return None
    first, second = scores[:2]
    gap = (first - second) / first if math.isfinite(first) else math.nan
    return next((tier for least, tier in _GAPS if gap >= least), Tier.NO_MATCH)


def z_words(z: float) -> str:
    """Write z as the given package does: `+0.80, 0.8 sigma above the off-topic floor`."""
    side = "below" if z < 0 else "above"
    return f"{z:+.2f}, {abs(z):.1f} sigma {side} the off-topic floor"
