"""Sees that what a model gave can be compared: one finite vector per text, all of one length, made unit length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from knobctl.server.retrieval.embedder import EmbedderUnavailableError

if TYPE_CHECKING:
    from knobctl.server.retrieval.embedder import Vectors


def unit_vectors(rows: object, *, texts: int, dimensions: int | None) -> Vectors:
    """Make vectors of unit length from what a model gave.

    Args:
        rows: Numbers, shape (texts, dimensions).
        texts: How many vectors there must be.
        dimensions: How long they must be; None where that is not known yet.

    Raises:
        EmbedderUnavailableError: If it is anything else, holds NaN or an infinity, or a vector of zeros.
    """
    try:
        vectors = np.asarray(rows, np.float64)
    except (ValueError, TypeError) as error:
        raise EmbedderUnavailableError(
            "the vectors are of unequal lengths or no numbers"
        ) from error
    if vectors.ndim != 2 or vectors.shape[0] != texts or not vectors.shape[1]:
        raise EmbedderUnavailableError(
            f"{texts} vectors were asked for; the shape of the answer is {vectors.shape}"
        )
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise EmbedderUnavailableError(
            f"the vectors have {vectors.shape[1]} dimensions, they had {dimensions} before"
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbedderUnavailableError("a vector holds NaN or an infinity, or is all zeros")
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit
