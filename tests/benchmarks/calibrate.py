"""Calibrating over 28,000 vectors, against the product with the probes and the same number of sampled pairs in numpy.

Run: python -m tests.benchmarks.calibrate

Both in this process, in turn; processor time, so that what else runs on the machine counts little; the first turn warms
up. The peer is what anybody would write: one matrix product, its maxima, and 200,000 random pairs in one call. Ours
orders the chunks, keeps the closest of each probe, measures those in double precision, draws pairs without repetition
and counts copies. The resamples are left out, and timed apart.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from knobctl.evidence.calibrating import Asked, from_vectors
from knobctl.evidence.chunk_pairs import MOST_PAIRS
from knobctl.evidence.closest import Chunks
from knobctl.server.retrieval.off_topic_probes import PROBES
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNKS, DIMENSIONS, TURNS = 28_000, 384, 7


def seconds(work: Callable[[], object]) -> float:
    """How much processor time it takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    """Print the ratio beside its limit."""
    chance = np.random.default_rng(1)
    matrix = chance.standard_normal((CHUNKS, DIMENSIONS), dtype=np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    probes = chance.standard_normal((len(PROBES), DIMENSIONS), dtype=np.float32)
    probes /= np.linalg.norm(probes, axis=1, keepdims=True)
    ids = [f"c{place:06}" for place in range(CHUNKS)]

    def peer() -> object:
        maxima = (probes @ matrix.T).max(axis=1)
        first, second = chance.integers(CHUNKS, size=(2, MOST_PAIRS))
        cosines = np.einsum("ij,ij->i", matrix[first], matrix[second])
        return maxima, cosines.mean(), cosines.std()

    def ours(resamples: int = 0) -> object:
        return from_vectors(Chunks.of(ids, matrix), probes, Asked(resamples=resamples))

    turns = [(seconds(peer), seconds(ours)) for _ in range(TURNS + 1)][1:]
    base, took = (statistics.median(column) for column in zip(*turns, strict=True))
    whole = seconds(lambda: ours(Asked().resamples))
    print(f"{CHUNKS:,} vectors, {len(PROBES)} probes: peer {base:.3f} s, calibrate {took:.3f} s")
    print(f"with {Asked().resamples} resamples {whole:.3f} s")
    print(line("calibrating to the product and the pairs", took / base, 1.5))


if __name__ == "__main__":
    main()
