"""How widely a graph is searched."""

from __future__ import annotations

import logging
from typing import TypeAlias

import numpy as np
import pytest

from knobctl.server.candidates.graph import Coverage, build, cover, keys_of
from knobctl.server.candidates.tuning import WIDTHS, tune

Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float32]]
ROWS = np.arange(3_000)


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    """Vectors without any order in them: what a graph has most trouble with."""
    noise = np.random.default_rng(1).normal(size=(len(ROWS), 96))
    length = np.linalg.norm(noise, axis=1, keepdims=True)
    vectors: Matrix = np.divide(noise, length).astype(np.float32)
    return vectors


@pytest.fixture(scope="module")
def coverage(matrix: Matrix) -> Coverage:
    keys = keys_of([str(row) for row in ROWS], matrix, ROWS)
    graph = build(keys, matrix, ROWS, stop=lambda: False)
    assert graph
    return cover(graph, keys, ROWS, upto=len(ROWS))


@pytest.mark.parametrize(("wanted", "wider"), [(0.9, False), (0.997, True)])
def test_it_is_as_wide_as_it_must_be(
    coverage: Coverage,
    matrix: Matrix,
    wanted: float,
    wider: bool,
) -> None:
    """Measured against a scan, the narrowest that finds enough."""
    share = tune(coverage, matrix, ROWS, wanted=wanted)
    assert wanted <= share <= 1
    assert (coverage.graph.index.expansion_search > WIDTHS[0]) is wider


def test_what_no_width_finds_is_said(
    coverage: Coverage,
    matrix: Matrix,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In the log; the widest search is used."""
    with caplog.at_level(logging.WARNING, "knobctl.server.candidates"):
        tune(coverage, matrix, ROWS, wanted=1.1)
    assert "of the nearest chunks" in caplog.text
    assert coverage.graph.index.expansion_search == WIDTHS[-1]
