"""A navigable graph (HNSW, by usearch) over the vectors of one tenant: built once, never changed, kept in a file.

A vector's key in the graph is a digest of its chunk's id and of the vector itself. So a graph says by itself which
chunks it speaks of, whatever happened to the corpus since: a file of another store, or of an older version of
this one, has keys that mean nothing here, and chunks that it does not know are scanned.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import onnxruntime  # noqa: F401  loaded after usearch (2.26 with 1.32) it crashes the process
from usearch.compiled import MetricKind, ScalarKind
from usearch.index import Index

from knobctl.server.candidates.nearest import SAME, best_rows, cosines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

CONNECTIVITY: Final = 16
EXPANSION_ADD: Final = 128
_OUTDATED: Final = 0.1
"""Share of the rows."""
_SPARE: Final = 8
"""Rows fetched beyond those wanted: half-precision distances order them roughly, and ties shall be seen."""
_BLOCK: Final = 2_000
"""Vectors added between two looks at whether building shall stop: about a second."""


class Graph:
    """An index that answers keys. Searches queue: usearch gives each a place, and has few."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.keys: NDArray[np.uint64] = np.sort(np.asarray(index.keys, np.uint64))
        self._lock = threading.Lock()

    def widen(self, width: int) -> None:
        """Search so many places at once from now on."""
        self.index.expansion_search = width  # type: ignore[misc]  # usearch defines it twice

    def nearest(self, vector: NDArray[np.float32], count: int) -> NDArray[np.uint64]:
        """Keys of about the nearest vectors."""
        with self._lock:
            found = self.index.search(vector, count, threads=1)
        return np.asarray(found.keys, np.uint64)


def keys_of(
    ids: Sequence[str], matrix: NDArray[np.float32], rows: NDArray[np.intp]
) -> NDArray[np.uint64]:
    """A key for each of these rows."""
    digests = b"".join(
        hashlib.blake2b(ids[row].encode() + b"\0" + matrix[row].tobytes(), digest_size=8).digest()
        for row in rows.tolist()
    )
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def build(
    keys: NDArray[np.uint64],
    matrix: NDArray[np.float32],
    rows: NDArray[np.intp],
    *,
    stop: Callable[[], bool],
) -> Graph | None:
    """Build a graph, with one thread: searches go on meanwhile, and the same rows give the same graph.

    Returns:
        The graph; None where it was to stop.
    """
    index = Index(
        ndim=matrix.shape[1],
        metric=MetricKind.IP,
        dtype=ScalarKind.F16,
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
    )
    _, first = np.unique(keys, return_index=True)  # two chunks with one key: one is scanned instead
    order = np.sort(first)
    for begin in range(0, len(order), _BLOCK):
        if stop():
            return None
        places = order[begin : begin + _BLOCK]
        index.add(keys[places], matrix[rows[places]], threads=1)
    return Graph(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which rows a graph speaks of."""

    graph: Graph
    rows: NDArray[np.intp]
    """For each of the graph's sorted keys its row; -1 where there is none."""
    uncovered: NDArray[np.intp]
    """Rows that it does not know, of those that were there when this was made."""
    upto: int
    """How many rows were there; those behind are not known to it either."""

    def is_outdated(self, usable: NDArray[np.bool_]) -> bool:
        """Whether so much is not in the graph, or in it and gone, that another should be built."""
        rows = self.rows[self.rows >= 0]
        good = int(np.count_nonzero(usable[rows]))
        there = int(np.count_nonzero(usable))
        return len(self.rows) - good + there - good > _OUTDATED * there

    def rows_near(self, vector: NDArray[np.float32], count: int) -> NDArray[np.intp]:
        """The rows of so many keys that the graph finds; fewer where it knows more than is there."""
        keys = self.graph.nearest(vector, count)
        rows = self.rows[np.searchsorted(self.graph.keys, keys)]
        return rows[rows >= 0]

    def nearest(
        self,
        matrix: NDArray[np.float32],
        usable: NDArray[np.bool_],
        vector: NDArray[np.float32],
        *,
        limit: int,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The rows that are about the nearest, with their cosines; what the graph does not know is scanned."""
        rows, scores = self._from_graph(matrix, usable, vector, limit)
        behind = np.arange(self.upto, len(matrix))
        for unknown in (self.uncovered, behind):
            if len(unknown):
                part = matrix[self.upto :] if unknown is behind else matrix[unknown]
                near = best_rows(part, vector, limit=limit, admitted=usable[unknown])
                rows = np.concatenate((rows, unknown[near]))
                scores = np.concatenate((scores, cosines(matrix, unknown[near], vector)))
        return rows, scores

    def _from_graph(
        self,
        matrix: NDArray[np.float32],
        usable: NDArray[np.bool_],
        vector: NDArray[np.float32],
        limit: int,
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """From the graph: more where many are gone, or where the last one wanted may tie with others."""
        most = len(self.graph.keys)
        count = min(limit + _SPARE, most)
        while True:
            rows = self.rows_near(vector, count)
            rows = rows[usable[rows]]
            scores = cosines(matrix, rows, vector)
            if count == most or _has_the_ties(scores, limit):
                return rows, scores
            count = min(2 * count, most)


def cover(graph: Graph, keys: NDArray[np.uint64], rows: NDArray[np.intp], *, upto: int) -> Coverage:
    """Find out which of these rows, with these keys, a graph speaks of."""
    places = np.minimum(np.searchsorted(graph.keys, keys), len(graph.keys) - 1)
    known = graph.keys[places] == keys
    row_of = np.full(len(graph.keys), -1, np.intp)
    row_of[places[known]] = rows[known]
    covered = known & (row_of[places] == rows)
    return Coverage(graph=graph, rows=row_of, uncovered=rows[~covered], upto=upto)


def _has_the_ties(scores: NDArray[np.float64], limit: int) -> bool:
    """Whether there are as many as wanted, and a worse one behind them."""
    if len(scores) <= limit or limit < 1:
        return limit < 1
    last = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    return bool(scores.min() < last - SAME)
