"""The chunks that come closest to each of some probes, with their cosines: from vectors, or as an engine tells. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError

try:
    import numpy as np
except ImportError as error:
    raise EngineError("evidence needs numpy", hint="pip install 'knobctl[engine]'") from error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MOST: Final = 32
"""So many are kept of each probe: that a resample holds none of them happens once in 10^14 times."""
_SAFE: Final = (1e-15, 1e15)
"""Lengths whose squares single precision holds without loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closest:
    """Of each probe the closest chunks, best first; of equal ones the first by id."""

    ids: tuple[str, ...]
    """Chunks by their places."""
    places: NDArray[np.int64]
    """Shape (probes, rows): which chunk; -1 where there are no more."""
    cosines: NDArray[np.float64]
    """The same shape; -inf where there are no more."""
    chunks: int
    """How many there are in the corpus, told of here or not."""
    probes: tuple[int, ...]
    """Which probe each row is of, from 1."""

    def different(self) -> Closest:
        """The same without probes that are as near to every chunk as one before them: copies are one probe."""
        rows = np.concatenate([self.places.astype(np.float64), self.cosines], axis=1)
        first = {row.tobytes(): place for place, row in reversed([*enumerate(rows)])}
        kept = sorted(first.values())
        if len(kept) == len(rows):
            return self
        return replace(
            self,
            places=self.places[kept],
            cosines=self.cosines[kept],
            probes=tuple(self.probes[place] for place in kept),
        )

    @property
    def maxima(self) -> NDArray[np.float64]:
        """Of each probe, the cosine to the closest chunk."""
        return self.cosines[:, 0]

    def without(self, place: int) -> NDArray[np.float64]:
        """The same maxima where one chunk is not there; -inf where it is the only one known."""
        rest = np.where(self.places == place, -np.inf, self.cosines)
        found: NDArray[np.float64] = rest.max(axis=1)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks:
    """Vectors of chunks, in the order of their ids."""

    ids: tuple[str, ...]
    matrix: NDArray[np.float32]
    """Shape (chunks, dimensions); rows that are no vectors are left out."""
    lengths: NDArray[np.float32]
    """Of the rows."""
    unusable: int
    """How many have no direction: all zeros, or a component that is no finite number."""

    @classmethod
    def of(cls, ids: Sequence[str], matrix: NDArray[np.float32]) -> Chunks:
        """Order them, and set apart what is no vector; a row each."""
        order = sorted(range(len(ids)), key=lambda place: ids[place].encode())
        if order != list(range(len(ids))):
            ids, matrix = [ids[place] for place in order], matrix[order]
        matrix, lengths = directed(matrix)
        sound = np.isfinite(lengths) & (lengths > 0)
        if sound.all():
            return cls(ids=tuple(ids), matrix=matrix, lengths=lengths, unusable=0)
        kept = np.flatnonzero(sound).tolist()
        return cls(
            ids=tuple(ids[place] for place in kept),
            matrix=matrix[kept],
            lengths=lengths[kept],
            unusable=len(ids) - len(kept),
        )


def directed(
    matrix: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Give rows with their lengths; very long and very short ones as unit vectors, whose squares are numbers.

    Args:
        matrix: Shape (rows, dimensions).

    Returns:
        The same rows, and their lengths: not finite or 0 where a row has no direction.
    """
    with np.errstate(all="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        odd = np.flatnonzero(~((lengths > _SAFE[0]) & (lengths < _SAFE[1])))
        if len(odd):
            matrix, wide = matrix.copy(), matrix[odd].astype(np.float64)
            exact = np.sqrt(np.einsum("ij,ij->i", wide, wide))
            matrix[odd] = wide / exact[:, None]
            lengths[odd] = np.where(np.isfinite(exact) & (exact > 0), 1.0, np.nan)
    return matrix, lengths


def closest_of(chunks: Chunks, probes: NDArray[np.float32]) -> Closest:
    """Find them among vectors: chosen in single precision, then measured in double.

    Args:
        chunks: One at least.
        probes: Shape (probes, dimensions), each of them with a direction.
    """
    number = len(chunks.ids)
    kept = min(MOST, number)
    rows, lengths = directed(probes)
    scores = (rows @ chunks.matrix.T) / chunks.lengths
    near = np.argpartition(scores, number - kept, axis=1)[:, number - kept :]
    places = np.empty((len(rows), kept), np.int64)
    cosines = np.empty((len(rows), kept))
    for at, row in enumerate(rows):
        found = np.sort(near[at])
        exact = _exact(chunks.matrix[found], row)
        order = np.argsort(-exact, kind="stable")
        places[at], cosines[at] = found[order], exact[order]
    assert np.isfinite(lengths).all()
    return Closest(
        ids=chunks.ids,
        places=places,
        cosines=cosines,
        chunks=number,
        probes=tuple(range(1, len(rows) + 1)),
    )


def _exact(rows: NDArray[np.float32], probe: NDArray[np.float32]) -> NDArray[np.float64]:
    wide, one = rows.astype(np.float64), probe.astype(np.float64)
    lengths = np.sqrt(np.square(wide).sum(axis=1) * np.square(one).sum())
    found: NDArray[np.float64] = np.clip((wide * one).sum(axis=1) / lengths, -1, 1)
    return found


def closest_told(answers: Sequence[Mapping[str, float]], chunks: int) -> Closest:
    """Make it of what an engine tells of each probe.

    Args:
        answers: Of each probe, the cosines of the chunks that were found, by id; one at least.
        chunks: How many there are in the corpus.
    """
    ids = tuple(sorted({name for found in answers for name in found}, key=str.encode))
    place = {name: at for at, name in enumerate(ids)}
    width = max(map(len, answers))
    places = np.full((len(answers), width), -1, np.int64)
    cosines = np.full((len(answers), width), -np.inf)
    for at, found in enumerate(answers):
        best = sorted(found, key=lambda name: (-found[name], place[name]))
        places[at, : len(best)] = [place[name] for name in best]
        cosines[at, : len(best)] = [found[name] for name in best]
    return Closest(
        ids=ids,
        places=places,
        cosines=cosines,
        chunks=max(chunks, len(ids)),
        probes=tuple(range(1, len(answers) + 1)),
    )
