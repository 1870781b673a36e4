"""The noise floor of a corpus, as the given package has it, bit for bit: what off-topic queries reach. Pure.

N is the largest cosine that any of eight off-topic probes has to any note; mu and sigma are mean and spread
of note-to-note cosines. Sums run in index order and in double precision over single-precision inputs, so that
every CPU gives the same bits.

The band limits above the floor are PROVISIONAL: they were fitted on two corpora. The floor is the robust part.

Source: the Go package noisefloor (documented public behaviour). Worked cases: tests/data/noisefloor.json.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from knobctl.errors import EngineError
from knobctl.server.retrieval.off_topic_probes import GIVEN_PROBES

try:
    import numpy as np
except ImportError as error:
    raise EngineError("evidence needs numpy", hint="pip install 'knobctl[engine]'") from error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Numbers: TypeAlias = Sequence[float] | NDArray[np.float32]

SIGMA_FLOOR: Final = 0.03
"""Below it z would explode: near-duplicate notes, or very few."""
SIGMA_CEIL: Final = 0.12
"""Above it a spread is taken for a broken measurement."""
MIN_CALIB_NOTES: Final = 30
MIN_CALIB_PAIRS: Final = 100
"""A measurement of fewer is not trusted."""
FLOOR_SIGMA_MARGIN: Final = 0.5
"""So many sigma below N a match is still weak and not silenced."""
WEAK_MAX_Z: Final = 1.0
MODERATE_MAX_Z: Final = 2.5
TIGHT_VAULT_MU: Final = 0.58
"""From this mean on the notes are so alike that a correct match often reads weak. PROVISIONAL."""
PROBE_SET_VERSION: Final = 1
DEFAULT_PROBES: Final = GIVEN_PROBES
"""Everyday subjects that no corpus of work should match; part of the definition, with its version."""
MAX_PAIRS: Final = 200_000
"""Of more pairs every so-manieth is kept."""
_DEFAULTS: Final = {1024: (0.45, 0.073)}
"""By dimensions, N and sigma as shipped; of all others nothing is known."""
_PAIRS_AT_ONCE: Final = 1 << 15


class Tier(StrEnum):
    """How relevant a hit is."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"
    NO_MATCH = "no_match"


@dataclass(frozen=True, slots=True)
class Relevance:
    """What a cosine means beside the noise floor."""

    z: float
    """By how many sigma it clears N; 0 where that is not finite."""
    tier: Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What was measured over a corpus."""

    noise_floor: float
    """N, at least 0."""
    mu: float
    sigma: float
    """Population standard deviation of the kept pairs, not clamped."""
    pairs: int
    """Kept pairs."""
    notes: int
    dims: int
    probes: int
    probe_set_version: int = PROBE_SET_VERSION


def relevance(
    top_cosine: float, noise_floor: float, sigma: float, default_noise_floor: float
) -> Relevance:
    """Label a cosine.

    The cut-off is a cosine, not a z: the lower one of N - 0.5 sigma and the embedder's default, so that a
    measurement can only relax it. A cosine at the cut-off is no match.

    Args:
        top_cosine: Of the query with its top hit.
        noise_floor: N.
        sigma: Clamped, see `clamp_sigma`.
        default_noise_floor: The embedder's, see `default_noise_floor`.
    """
    z = _divided(top_cosine - noise_floor, sigma)
    if not math.isfinite(z):
        return Relevance(0.0, Tier.NO_MATCH)
    if top_cosine <= _lower(noise_floor - FLOOR_SIGMA_MARGIN * sigma, default_noise_floor):
        return Relevance(z, Tier.NO_MATCH)
    if z <= WEAK_MAX_Z:
        return Relevance(z, Tier.WEAK)
    return Relevance(z, Tier.MODERATE if z <= MODERATE_MAX_Z else Tier.STRONG)


def _divided(numerator: float, denominator: float) -> float:
    """Divide as IEEE has it; Python raises at zero."""
    if denominator:
        return numerator / denominator
    if not numerator or math.isnan(numerator):
        return math.nan
    return math.copysign(math.inf, numerator) * math.copysign(1, denominator)


def _lower(one: float, other: float) -> float:
    """The lower of two as Go has it: -Inf before all, then NaN; of two zeros the negative one."""
    if -math.inf in {one, other}:
        return -math.inf
    if math.isnan(one) or math.isnan(other):
        return math.nan
    if one == other == 0:
        return one if math.copysign(1, one) < 0 else other
    return min(one, other)


def clamp_sigma(sigma: float) -> float:
    """Bring a spread into its sane range; what is no number, or not positive, to the lower end."""
    if math.isnan(sigma) or sigma < SIGMA_FLOOR:
        return SIGMA_FLOOR
    return min(sigma, SIGMA_CEIL)


def is_tight(mu: float) -> bool:
    """Whether notes are so alike that a weak label often means "best available match"."""
    return mu >= TIGHT_VAULT_MU


def default_noise_floor(dims: int) -> float:
    """The noise floor shipped for embedders of so many dimensions; 0 where none is known."""
    return _DEFAULTS.get(dims, (0.0, 0.0))[0]


def default_dispersion(dims: int) -> float:
    """The sigma shipped for them; 0, which `clamp_sigma` lifts, where none is known."""
    return _DEFAULTS.get(dims, (0.0, 0.0))[1]


def measure(
    vectors: Mapping[str, Numbers],
    probe_vectors: Sequence[Numbers],
    dims: int | None = None,
) -> Measurement:
    """Measure a corpus, whatever the order of the mapping.

    Args:
        vectors: By note, its vector; rounded to single precision.
        probe_vectors: Of the probes, in their order; one of another length counts as 0.
        dims: What the embedder declares; the length of the first probe's vector if None.

    Raises:
        ValueError: If there is no vector, or one has other dimensions than declared.
    """
    if not vectors:
        raise ValueError("there are no vectors to measure")
    if dims is None:
        dims = len(probe_vectors[0]) if probe_vectors else 0
    ordered = [vectors[name] for name in sorted(vectors, key=str.encode)]
    odd = next((len(vector) for vector in ordered if len(vector) != dims), None)
    if odd is not None:
        raise ValueError(f"a vector has {odd} dimensions where the embedder has {dims}")
    notes = np.array(ordered, dtype=np.float32).astype(np.float64).reshape(len(ordered), dims)
    norms = _norms(notes)
    mu, sigma, pairs = _spread(notes, norms)
    return Measurement(
        noise_floor=_highest(notes, norms, probe_vectors),
        mu=mu,
        sigma=sigma,
        pairs=pairs,
        notes=len(notes),
        dims=dims,
        probes=len(probe_vectors),
    )


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Give the cosine of two vectors; 0 where lengths differ, or one has no length. Nothing is clipped."""
    if len(one) != len(other) or not one:
        return 0.0
    rows = np.array([one, other], dtype=np.float32).astype(np.float64)
    norms = _norms(rows)
    return float(_cosines(rows[:1], norms[:1], rows[1:], norms[1:])[0])


def _norms(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The squared lengths of rows, summed in index order."""
    total = np.zeros(len(rows))
    with np.errstate(all="ignore"):
        for column in rows.T:
            total += column * column
    return total


def _cosines(
    left: NDArray[np.float64],
    left_norms: NDArray[np.float64],
    right: NDArray[np.float64],
    right_norms: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The cosines of rows with rows of the same place, or with one, summed in index order."""
    dot = np.zeros(max(len(left), len(right)))
    with np.errstate(all="ignore"):
        for column in range(left.shape[1]):
            dot += left[:, column] * right[:, column]
        found: NDArray[np.float64] = dot / (np.sqrt(left_norms) * np.sqrt(right_norms))
    found[(left_norms == 0) | (right_norms == 0)] = 0.0
    return found


def _highest(
    notes: NDArray[np.float64],
    norms: NDArray[np.float64],
    probe_vectors: Sequence[Numbers],
) -> float:
    """N: the largest cosine of any probe with any note, at least 0; what is no number wins nothing."""
    highest = 0.0
    for probe in probe_vectors:
        if len(probe) != notes.shape[1] or not len(probe):
            continue
        row = np.array([probe], dtype=np.float32).astype(np.float64)
        found = _cosines(notes, norms, row, _norms(row))
        above = found[found > highest]
        highest = float(above.max()) if len(above) else highest
    return highest


def _spread(notes: NDArray[np.float64], norms: NDArray[np.float64]) -> tuple[float, float, int]:
    """Mean and spread over the kept pairs, and how many there are; nothing below two notes."""
    number = len(notes)
    all_pairs = number * (number - 1) // 2
    if not all_pairs:
        return 0.0, 0.0, 0
    stride = -(-all_pairs // MAX_PAIRS) if all_pairs > MAX_PAIRS else 1
    kept = np.arange(0, all_pairs, stride)
    first, second = _pair(kept, number)
    found = np.concatenate(
        [
            _cosines(notes[one], norms[one], notes[other], norms[other])
            for at in range(0, len(kept), _PAIRS_AT_ONCE)
            for one, other in ((first[at : at + _PAIRS_AT_ONCE], second[at : at + _PAIRS_AT_ONCE]),)
        ]
    )
    with np.errstate(all="ignore"):
        mu = float(np.cumsum(found)[-1] / len(found))
        spread = found - mu
        sigma = math.sqrt(float(np.cumsum(spread * spread)[-1] / len(found)))
    return mu, sigma, len(found)


def _pair(numbers: NDArray[np.int64], notes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two notes of each pair, where pairs are numbered row by row above the diagonal."""
    starts = np.concatenate([[0], np.cumsum(np.arange(notes - 1, 0, -1))])
    first = np.searchsorted(starts, numbers, side="right") - 1
    return first, numbers - starts[first] + first + 1
