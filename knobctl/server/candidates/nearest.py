"""Exact cosines over rows of unit vectors: the same for the same two vectors, wherever their rows stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

SAME: Final = 1e-5
"""More than float32 products of a whole matrix are off; the last bits depend on where a row stands in it."""
_FEW: Final = 8
"""One admitted row in so many: from here on it costs less to gather them than to scan all."""
_BLOCK: Final = 64
_AT_ONCE: Final = 32
"""Vectors that are scanned for together."""
_OF_ONE_THREAD: Final = 1 << 18
"""Multiplications up to which the linear algebra behind numpy takes no second thread, which would spin afterwards."""


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


def best_rows_of_each(
    matrix: NDArray[np.float32],
    vectors: NDArray[np.float32],
    *,
    limit: int,
    admitted: NDArray[np.bool_] | None,
) -> Iterator[NDArray[np.intp]]:
    """As `best_rows` for each of several vectors: the matrix is read once for many of them."""
    rows = None if admitted is None else np.flatnonzero(admitted)
    if rows is not None:
        limit = min(limit, len(rows))
        if len(rows) * _FEW < len(matrix):
            matrix, admitted = matrix[rows], None
        else:
            rows = None
    for start in range(0, len(vectors), _AT_ONCE):
        for scores in _products_of_each(matrix, vectors[start : start + _AT_ONCE]):
            if admitted is not None:
                scores[~admitted] = -np.inf
            found = _at_the_top(scores, limit)
            yield found if rows is None else rows[found]


def _products_of_each(
    matrix: NDArray[np.float32], vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The product of each vector with every row, about; shape (vectors, rows).

    Block by block of rows, each small enough for one thread: a third of the processor time of
    `vectors @ matrix.T`, whose threads spin, and less of that of one scan a vector (12 and 32 vectors, 28,000 rows).
    """
    rows, dimensions = matrix.shape
    found = np.empty((len(vectors), rows), np.float32)
    block = max(1, _OF_ONE_THREAD // max(1, len(vectors) * dimensions))
    blocks, whole = rows // block, rows // block * block
    np.matmul(
        vectors,
        matrix[:whole].reshape(blocks, block, dimensions).transpose(0, 2, 1),
        out=found[:, :whole].reshape(len(vectors), blocks, block).transpose(1, 0, 2),
    )
    np.matmul(vectors, matrix[whole:].T, out=found[:, whole:])
    return found


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
    likely = _likely(scores, limit)
    of_these = scores if likely is None else scores[likely]
    found = np.flatnonzero(of_these >= _largest(of_these, limit) - SAME)
    return found if likely is None else likely[found]


def _likely(scores: NDArray[np.float32], limit: int) -> NDArray[np.intp] | None:
    """Rows that all at the top are among; None where they are not told apart that way.

    So many blocks hold a score as good as that, so there are at least as many rows. To look through all
    scores for the last one at the top takes four times as long (50 of 28,000).
    """
    blocks = len(scores) // _BLOCK
    if blocks < 2 * limit:
        return None
    best: NDArray[np.float32] = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return np.flatnonzero(scores >= _largest(best, limit) - SAME)


def _largest(scores: NDArray[np.float32], limit: int) -> np.float32:
    """The last of so many that are the largest."""
    place = len(scores) - limit
    found: np.float32 = np.partition(scores, place)[place]
    return found
