"""Scans for several vectors at once: the rows and cosines of one scan for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.server.candidates.nearest import SAME, best_rows, best_rows_of_each

if TYPE_CHECKING:
    from numpy.typing import NDArray


def units(rows: int, dimensions: int, seed: int) -> NDArray[np.float32]:
    """Random vectors of unit length."""
    found = np.random.default_rng(seed).standard_normal((rows, dimensions)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 400),
    st.sampled_from([1, 3, 8, 384]),
    st.sampled_from([1, 2, 33]),
    st.sampled_from([0, 1, 5, 1000]),
    st.sampled_from([None, 0.0, 0.05, 0.5, 1.0]),
)
def test_each_vector_finds_what_it_finds_alone(
    rows: int, dimensions: int, vectors: int, limit: int, share: float | None
) -> None:
    """Whatever the shapes, however many rows are admitted; what could tie with the last row is among them."""
    matrix, wanted = units(rows, dimensions, 1), units(vectors, dimensions, 2)
    admitted = None if share is None else np.random.default_rng(3).random(rows) < share
    each = [*best_rows_of_each(matrix, wanted, limit=limit, admitted=admitted)]
    assert len(each) == vectors
    for vector, found in zip(wanted, each, strict=True):
        alone = best_rows(matrix, vector, limit=limit, admitted=admitted)
        # The last bits of a product may differ, and with them whether it lies within SAME of the last.
        scores = matrix @ vector
        last = min(scores[alone], default=0.0)
        assert all(scores[one] <= last + 2 * SAME for one in {*found} ^ {*alone})
        assert admitted is None or admitted[found].all()


@pytest.mark.parametrize("limit", [1, 50, 99])
@pytest.mark.parametrize("rows", [6_399, 12_800, 20_001])
def test_the_top_of_many_rows_is_complete(rows: int, limit: int) -> None:
    """Ties at the cut included, wherever they stand."""
    matrix = units(rows, 4, 4)
    matrix[::7] = matrix[0]
    for vector in (matrix[0], units(1, 4, 5)[0]):
        scores = np.vecdot(matrix, vector)
        expected = np.flatnonzero(scores >= np.sort(scores)[-limit] - SAME)
        assert best_rows(matrix, vector, limit=limit, admitted=None).tolist() == expected.tolist()
