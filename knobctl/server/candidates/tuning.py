"""Finds out how widely a graph must be searched to find what a scan finds.

That depends on the corpus: texts in tight clusters, each larger than the search is wide, can hide whole clusters from it
(0.86 of the ten nearest were found in one corpus of 200,000 with the width that gave 0.98 in another).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import numpy as np

from knobctl.server.candidates.nearest import SAME, products

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from knobctl.server.candidates.graph import Coverage

WIDTHS: Final = (64, 96, 128, 192, 256, 384, 512)
"""The last one costs about a tenth of a scan of 200,000 chunks."""
WANTED: Final = 0.98
"""Share of the nearest that shall be found; queries are a little harder than the chunks that are asked for here."""
SAMPLE: Final = 100
NEAREST: Final = 10
_LOGGER: Final = logging.getLogger("knobctl.server.candidates")


def tune(
    coverage: Coverage,
    matrix: NDArray[np.float32],
    rows: NDArray[np.intp],
    *,
    wanted: float = WANTED,
) -> float:
    """Have the graph searched as widely as it must be, and no wider.

    Args:
        coverage: The graph with the rows that it speaks of.
        matrix: Of all rows.
        rows: Those that are compared.
        wanted: Share of the nearest that shall be found.

    Returns:
        The share of the nearest chunks that it finds then.
    """
    sample = rows[np.linspace(0, len(rows) - 1, min(SAMPLE, len(rows))).astype(np.intp)]
    lowest = [_lowest_of_the_nearest(products(matrix, matrix[row])[rows]) for row in sample]
    share = 0.0
    for width in WIDTHS:
        coverage.graph.widen(width)
        share = _share_found(coverage, matrix, sample, lowest)
        if share >= wanted:
            return share
    _LOGGER.warning("a graph finds %.2f of the nearest chunks, however widely searched", share)
    return share


def _lowest_of_the_nearest(scores: NDArray[np.float32]) -> float:
    count = min(NEAREST, len(scores))
    return float(np.partition(scores, len(scores) - count)[len(scores) - count])


def _share_found(
    coverage: Coverage,
    matrix: NDArray[np.float32],
    sample: NDArray[np.intp],
    lowest: Sequence[float],
) -> float:
    found = 0
    wanted = min(NEAREST, len(coverage.graph.keys))
    for row, least in zip(sample, lowest, strict=True):
        near = coverage.rows_near(matrix[row], wanted)
        found += int(np.count_nonzero(products(matrix[near], matrix[row]) >= least - SAME))
    return found / (wanted * len(sample))
