"""The noise floor of a corpus with what is uncertain about it: how near off-topic probes come, and what that hangs on. Pure.

The floor is a conformal quantile of the probes' maxima, at a stated share of off-topic queries that may pass it; the
given package's is the largest of eight (`noise_floor`, and what is wrong with it, in docs/noise-floor.md).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from knobctl.evidence.chunk_pairs import copies, drawn_pairs
from knobctl.evidence.closest import closest_of
from knobctl.evidence.rates import CONFIDENCE, Rate, beta_quantile
from knobctl.evidence.resampling import RESAMPLES, Resampled, resampled
from knobctl.evidence.separation import area_under_curve
from knobctl.server.retrieval.off_topic import (
    ALPHA,
    FEWEST_CHUNKS,
    OffTopic,
    Relevance,
    Tier,
    from_above,
    mean_and_deviation,
)
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from knobctl.evidence.chunk_pairs import Pairs
    from knobctl.evidence.closest import Chunks, Closest


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is wanted of a measurement."""

    alpha: float = ALPHA
    """Share of off-topic queries that may pass the floor, in (0, 1)."""
    seed: int = 0
    """Of the pairs and the resamples."""
    resamples: int = RESAMPLES


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseAccept:
    """The share of off-topic queries that pass the floor: over the choice of probes it has a beta distribution."""

    expected: float
    low: float
    high: float
    """The middle 95 % of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attained:
    """What the floor stands on."""

    probe: int
    """Whose maximum it is: its place among the probes, from 1."""
    chunk: str
    """That probe's closest chunk."""
    without_probe: float | None
    """The floor if one of the probes at or above it came nowhere near; None where none is left.

    Taking it out of the set is another thing: of one probe less another place is the floor.
    """
    without_chunk: float | None
    """The floor if that chunk were not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """The chunk that is closest to the most probes."""

    chunk: str
    probes: int
    """To how many."""
    without: float | None
    """The floor if it were not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Among:
    """How alike the chunks are among themselves."""

    mu: float | None
    """Mean cosine of two; None where there is no pair."""
    sigma: float | None
    """Standard deviation."""
    pairs: int
    """So many were looked at."""
    copies: int
    """Chunks whose vector another one has too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTopic:
    """Questions that the corpus is about, beside the floor."""

    at_or_under: Rate | None
    """Those that the floor would silence; None where there is no floor."""
    auc: float | None
    """How well the best cosine tells them from the probes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was measured of a corpus."""

    off_topic: OffTopic
    repeated: int
    """Probes that are as near to every chunk as another one: they count once."""
    asked: Asked
    doubts: tuple[str, ...]
    """What speaks against the corpus itself, at any alpha."""
    faults: tuple[str, ...]
    """Why nothing can be said of a query, those doubts among it; empty where it can."""
    noise_floor: float | None
    """None where there are faults."""
    false_accept: FalseAccept | None
    highest: float | None
    """The largest maximum, which the given package takes for the floor; None where there is none."""
    mean: float | None
    deviation: float | None
    """Of the maxima."""
    attained: Attained | None
    hub: Hub | None
    among: Among | None
    """None where the vectors are not known."""
    intervals: Resampled | None
    """None where nothing was resampled."""
    on_topic: OnTopic | None = None

    def relevance(self, cosine: float, alpha: float | None = None) -> Relevance:
        """Label a query by its cosine to the closest chunk; not measurable wherever that is doubtful.

        Args:
            cosine: Of the query.
            alpha: Share of off-topic queries that may pass; the one that was asked for if None.
        """
        if self.doubts:
            return Relevance(Tier.NOT_MEASURABLE)
        return self.off_topic.relevance(cosine, self.asked.alpha if alpha is None else alpha)

    def faults_at(self, alpha: float) -> tuple[str, ...]:
        """Why nothing can be said of a query where another share of off-topic ones may pass."""
        return (*self.doubts, *faults_of(self.off_topic, alpha))

    def floor_at(self, alpha: float) -> float | None:
        """The noise floor for another share; None where nothing can be said."""
        return None if self.faults_at(alpha) else self.off_topic.cut_off(alpha)


def from_vectors(
    chunks: Chunks,
    probes: NDArray[np.float32],
    asked: Asked,
    on_topic: NDArray[np.float32] | None = None,
) -> Calibration:
    """Measure with the vectors at hand.

    Args:
        chunks: One at least.
        probes: Shape (probes, dimensions); each has a direction.
        asked: What is wanted.
        on_topic: The vectors of questions that the corpus is about.

    Raises:
        ValueError: If no chunk has a direction.
    """
    if not chunks.ids:
        raise ValueError("there are no vectors to measure")
    near = closest_of(chunks, on_topic).maxima if on_topic is not None else ()
    copied = copies(chunks)
    return calibrated(
        closest_of(chunks, probes),
        asked,
        pairs=drawn_pairs(chunks, asked.seed),
        copied=copied,
        doubts=tuple(_doubts(chunks, copied)),
        on_topic=[float(one) for one in near],
    )


def calibrated(
    closest: Closest,
    asked: Asked,
    *,
    pairs: Pairs | None = None,
    copied: int = 0,
    doubts: Sequence[str] = (),
    on_topic: Sequence[float] = (),
) -> Calibration:
    """Reckon what the closest chunks of the probes come to.

    Args:
        closest: Of each probe, its closest chunks.
        asked: What is wanted.
        pairs: Of chunks; None where the vectors are not known.
        copied: How many chunks have the vector of another.
        doubts: What speaks against the corpus itself.
        on_topic: The best cosines of questions that the corpus is about.
    """
    given, closest = len(closest.probes), closest.different()
    off_topic = OffTopic(tuple(map(float, closest.maxima)), closest.chunks)
    faults = (*doubts, *faults_of(off_topic, asked.alpha))
    place = 0 if faults else from_above(asked.alpha, len(off_topic.maxima))
    floor = off_topic.cut_off(asked.alpha) if place else None
    sound = [one for one in off_topic.maxima if math.isfinite(one)]
    spread = mean_and_deviation(tuple(sound)) if len(sound) > 1 else (None, None)
    again = resampled(closest, pairs, place=place, seed=asked.seed, resamples=asked.resamples)
    return Calibration(
        off_topic=off_topic,
        repeated=given - len(closest.probes),
        asked=asked,
        doubts=tuple(doubts),
        faults=faults,
        noise_floor=floor,
        false_accept=_false_accept(place, len(sound)) if place else None,
        highest=max(sound, default=None),
        mean=spread[0],
        deviation=spread[1],
        attained=None if floor is None else _attained(closest, floor, place),
        hub=_hub(closest, place),
        among=None if pairs is None else _among(pairs, copied),
        intervals=again if asked.resamples else None,
        on_topic=_on_topic(on_topic, sound, floor) if len(on_topic) else None,
    )


def _doubts(chunks: Chunks, copied: int) -> Iterator[str]:
    """What speaks against a corpus: copies of a few chunks are no more than those few."""
    if chunks.unusable:
        yield no_vectors(chunks.unusable)
    different = len(chunks.ids) - copied
    if different < FEWEST_CHUNKS <= len(chunks.ids):
        yield f"{count(different, 'different vector')} among {len(chunks.ids):,} chunks; {FEWEST_CHUNKS} are the fewest"


def no_vectors(unusable: int) -> str:
    """The doubt about a corpus some of whose chunks have no direction."""
    return f"{count(unusable, 'chunk')} without a vector to compare: all zeros, or not finite"


def faults_of(off_topic: OffTopic, alpha: float) -> tuple[str, ...]:
    """Say why nothing can be said of a query; nothing where it can.

    Args:
        off_topic: What the probes came to.
        alpha: Share of off-topic queries that may pass.
    """
    found = []
    if off_topic.chunks < FEWEST_CHUNKS:
        found.append(f"{count(off_topic.chunks, 'chunk')}; {FEWEST_CHUNKS} are the fewest")
    different = len(set(off_topic.maxima))
    if not from_above(alpha, different):
        needed = probes_needed(alpha)
        found.append(
            f"{count(different, 'probe')} of different maxima; a share of {float(alpha):g} takes"
            f" {needed:,}: {needed - different:,} more"
        )
    if not found and not off_topic.speaks_at(alpha):
        found.append("the probes come to cosines that are no distribution")
    return tuple(found)


def probes_needed(alpha: float) -> int:
    """How many probes a share of off-topic queries takes at least: 1/alpha - 1."""
    return math.ceil(1 / Fraction(str(alpha)) - 1)


def _false_accept(place: int, probes: int) -> FalseAccept:
    tail = (1 - CONFIDENCE) / 2
    rest = probes + 1 - place
    return FalseAccept(
        expected=place / (probes + 1),
        low=beta_quantile(tail, place, rest),
        high=beta_quantile(1 - tail, place, rest),
    )


def _attained(closest: Closest, floor: float, place: int) -> Attained:
    maxima = [float(one) for one in closest.maxima]
    probe = maxima.index(floor)
    chunk = int(closest.places[probe, 0])
    below = sorted(maxima)[-place - 1] if place < len(maxima) else None
    return Attained(
        probe=closest.probes[probe],
        chunk=closest.ids[chunk],
        without_probe=below,
        without_chunk=_without(closest, chunk, place),
    )


def _hub(closest: Closest, place: int) -> Hub | None:
    told = [int(one) for one in closest.places[:, 0] if one >= 0]
    if not told:
        return None
    # Of chunks that are closest to equally many the first by id.
    chunk, probes = max(Counter(told).items(), key=lambda one: (one[1], -one[0]))
    without = _without(closest, chunk, place) if place else None
    return Hub(chunk=closest.ids[chunk], probes=probes, without=without)


def _without(closest: Closest, chunk: int, place: int) -> float | None:
    floor = sorted(float(one) for one in closest.without(chunk))[-place]
    return floor if math.isfinite(floor) else None


def _among(pairs: Pairs, copied: int) -> Among:
    return Among(mu=pairs.mu, sigma=pairs.sigma, pairs=len(pairs.cosines), copies=copied)


def _on_topic(cosines: Sequence[float], off_topic: Sequence[float], floor: float | None) -> OnTopic:
    silenced = None if floor is None else Rate(sum(one <= floor for one in cosines), len(cosines))
    return OnTopic(at_or_under=silenced, auc=area_under_curve(cosines, off_topic))
