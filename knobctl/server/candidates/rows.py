"""The chunks of one tenant as rows: appended, never moved, so that readers of an older moment are not disturbed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from knobctl.server.store.corpus import Changes, Chunk

_ROOM: Final = 1.25
"""How much larger the matrix gets than it must be. Memory that is not written to costs nothing."""
_FEWEST: Final = 64
_Kind = TypeVar("_Kind", bound=np.generic)


@dataclass(slots=True)
class Rows:
    """What a follower writes to. Row numbers are given once; a chunk that is replaced gets a new row."""

    dimensions: int
    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Emptied where the row is dead."""
    row_of: dict[str, int] = field(default_factory=dict)
    source_numbers: dict[str, int] = field(default_factory=dict)
    matrix: NDArray[np.float32] = field(init=False)
    sources: NDArray[np.int32] = field(init=False)
    alive: NDArray[np.bool_] = field(init=False)
    usable: NDArray[np.bool_] = field(init=False)
    """Alive and with a vector that can be compared."""

    def __post_init__(self) -> None:
        self.matrix = np.empty((0, self.dimensions), np.float32)
        self.sources = np.empty(0, np.int32)
        self.alive = np.empty(0, np.bool_)
        self.usable = np.empty(0, np.bool_)

    @property
    def size(self) -> int:
        """How many rows were ever given, dead ones included."""
        return len(self.ids)

    def make_room(self, rows: int) -> None:
        """Let there be room for so many rows in all."""
        capacity = len(self.alive)
        if rows <= capacity:
            return
        wanted = max(int(rows * _ROOM), _FEWEST)
        self.matrix = _grown(self.matrix, wanted)
        self.sources = _grown(self.sources, wanted)
        self.alive = _grown(self.alive, wanted)
        self.usable = _grown(self.usable, wanted)

    def apply(self, changes: Changes) -> bool:
        """Take in changes, and say whether a text that was there is no more."""
        lost = [row for name in changes.removed if (row := self.row_of.pop(name, None)) is not None]
        fresh = []
        for chunk in changes.written:
            row = self.row_of.get(chunk.chunk_id)
            if row is None:
                fresh.append(chunk)
            elif not self._holds(row, chunk):
                lost.append(row)
                fresh.append(chunk)
        self._kill(lost)
        self._append(fresh)
        return bool(lost)

    def _holds(self, row: int, chunk: Chunk) -> bool:
        """Whether only what is not indexed changed: the time, the metadata, the document."""
        return (
            self.texts[row] == chunk.text
            and self.sources[row] == self.source_numbers.get(chunk.source_id)
            and self.matrix[row].astype("<f4").tobytes() == chunk.vector
        )

    def _kill(self, rows: list[int]) -> None:
        self.alive[rows] = False
        self.usable[rows] = False
        for row in rows:
            self.texts[row] = ""

    def _append(self, chunks: Sequence[Chunk]) -> None:
        first, last = self.size, self.size + len(chunks)
        self.make_room(last)
        vectors, good = _vectors(chunks, self.dimensions)
        self.matrix[first:last] = vectors
        self.usable[first:last] = good
        self.alive[first:last] = True
        for row, chunk in enumerate(chunks, first):
            number = self.source_numbers.setdefault(chunk.source_id, len(self.source_numbers))
            self.sources[row] = number
            self.row_of[chunk.chunk_id] = row
            self.texts.append(chunk.text)
        self.ids.extend(chunk.chunk_id for chunk in chunks)


def _grown(array: NDArray[_Kind], rows: int) -> NDArray[_Kind]:
    larger = np.empty((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _vectors(
    chunks: Sequence[Chunk], dimensions: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The vectors as a matrix, and which are of the right length and finite; the others are zeros."""
    length = 4 * dimensions
    fits = np.fromiter((len(chunk.vector) == length for chunk in chunks), np.bool_, len(chunks))
    nothing = bytes(length)
    joined = b"".join(
        chunk.vector if fit else nothing for chunk, fit in zip(chunks, fits, strict=True)
    )
    vectors = np.frombuffer(joined, "<f4").reshape(len(chunks), dimensions)
    good = fits & np.isfinite(vectors).all(axis=1)
    return np.where(good[:, None], vectors, np.float32(0)), good
