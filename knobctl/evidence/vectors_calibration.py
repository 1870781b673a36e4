"""Measures the noise floor of vectors in files; no model is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.errors import InputError
from knobctl.evidence.calibrating import from_vectors
from knobctl.evidence.closest import Chunks, directed
from knobctl.evidence.noise_floor import measure
from knobctl.text import visible

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from knobctl.evidence.calibrating import Asked, Calibration
    from knobctl.evidence.noise_floor import Measurement
    from knobctl.evidence.vectors_file import VectorsFile


def files_compat(chunks: VectorsFile, probes: VectorsFile, dims: int) -> Measurement:
    """Measure as the given package does.

    Raises:
        InputError: If a vector has other dimensions than declared.
    """
    vectors = dict(zip(chunks.ids, chunks.rows, strict=True))
    try:
        return measure(vectors, probes.rows, dims)
    except ValueError as error:
        raise InputError(f"{visible(chunks.name)}: {error}") from error


def files_measured(
    chunks: VectorsFile, probes: VectorsFile, aside: VectorsFile | None, dims: int, asked: Asked
) -> Calibration:
    """Measure in the default mode.

    Args:
        chunks: The corpus.
        probes: Of what it says nothing about.
        aside: Of questions that it is about.
        dims: What the embedder declares.
        asked: What is wanted.

    Raises:
        InputError: If a vector has other dimensions, or that of a probe has no direction.
    """
    rows = Chunks.of(chunks.ids, chunks.matrix(dims))
    try:
        return from_vectors(
            rows, _directed(probes, dims), asked, _directed(aside, dims) if aside else None
        )
    except ValueError as error:
        raise InputError(f"{visible(chunks.name)}: {error}") from error


def _directed(file: VectorsFile, dims: int) -> NDArray[np.float32]:
    """The vectors of a file, each of which must have a direction: one without would stand for no question."""
    matrix = file.matrix(dims)
    _, lengths = directed(matrix)
    for name, length in zip(file.ids, lengths, strict=True):
        if not length > 0 or length == float("inf"):
            raise InputError(
                f"{visible(file.name)}: the vector {visible(name)} is all zeros, or not finite"
            )
    return matrix
