"""Exact cosines over rows of unit vectors: the same for the same two vectors, wherever their rows stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SAME: Final = 1e-5
"""More than float32 products of a whole matrix are off; the last bits depend on where a row stands in it."""
_FEW: Final = 8
"""One admitted row in so many: from here on it costs less to gather them than to scan all."""


def cosines(
    matrix: NDArray[np.float32], rows: NDArray[np.intp], vector: NDArray[np.float32]
) -> NDArray[np.float64]:
    """The cosine of a vector with each of these rows, in [-1, 1]."""
    # Not `astype` first: the copies cost six times the product itself.
    parts = np.multiply(matrix[rows], vector, dtype=np.float64)
    clipped: NDArray[np.float64] = np.clip(parts.sum(axis=1), -1.0, 1.0)
    return clipped


def products(matrix: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of a vector with every row, about.

    Not `matrix @ vector`: that gains nothing from its threads, which wait for memory, and has them spin
    for some 50 ms afterwards, on the cores that the other rankers need (11 ms against 27 at 200,000 rows).
    """
    found: NDArray[np.float32] = np.vecdot(matrix, vector)
    return found


def best_rows(
    matrix: NDArray[np.float32],
    vector: NDArray[np.float32],
    *,
    limit: int,
    admitted: NDArray[np.bool_] | None,
) -> NDArray[np.intp]:
    """The rows that are among the nearest, with all that could tie with the last of them; in no order."""
    if admitted is None:
        return _at_the_top(products(matrix, vector), limit)
    count = int(np.count_nonzero(admitted))
    if count * _FEW < len(matrix):
        rows = np.flatnonzero(admitted)
        return rows[_at_the_top(products(matrix[rows], vector), limit)]
    scores = products(matrix, vector)
    scores[~admitted] = -np.inf
    return _at_the_top(scores, min(limit, count))


def ranked(
    ids: Sequence[str],
    rows: NDArray[np.intp],
    scores: NDArray[np.float64],
    *,
    limit: int,
) -> list[tuple[str, float]]:
    """Ids with their cosines, best first, then by id."""
    found = sorted(
        (-score, ids[row]) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
    )
    return [(name, -score) for score, name in found[:limit]]


def _at_the_top(scores: NDArray[np.float32], limit: int) -> NDArray[np.intp]:
    if limit < 1:
        return np.empty(0, np.intp)
    if limit >= len(scores):
        return np.flatnonzero(scores > -np.inf)
    place = len(scores) - limit
    last = np.partition(scores, place)[place]
    return np.flatnonzero(scores >= last - SAME)
