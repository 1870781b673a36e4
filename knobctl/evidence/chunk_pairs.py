"""How alike chunks are among themselves: mean and spread of the cosine of two, over pairs drawn by a seed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError

try:
    import numpy as np
except ImportError as error:
    raise EngineError("evidence needs numpy", hint="pip install 'knobctl[engine]'") from error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knobctl.evidence.closest import Chunks

MOST_PAIRS: Final = 200_000
"""Of more pairs so many are drawn."""
_AT_ONCE: Final = 1024
"""Pairs whose vectors stay in the processor's cache: twice as fast as all of them together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs of chunks with their cosines."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    cosines: NDArray[np.float64]

    @property
    def mu(self) -> float | None:
        """Their mean; None where there is no pair."""
        return float(self.cosines.mean()) if len(self.cosines) else None

    @property
    def sigma(self) -> float | None:
        """Their standard deviation, as of a population; None where there is no pair."""
        return float(self.cosines.std()) if len(self.cosines) else None


def drawn_pairs(chunks: Chunks, seed: int, most: int = MOST_PAIRS) -> Pairs:
    """Draw pairs of different chunks, each at most once; all of them where there are no more.

    A fixed step through the pairs in the order of their ids would meet the pattern in which ids are
    given; a draw does not.

    Args:
        chunks: In the order of their ids.
        seed: Of the draw.
        most: How many.
    """
    number = len(chunks.ids)
    whole = number * (number - 1) // 2
    if whole <= most:
        picked = np.arange(whole)
    else:
        picked = np.sort(np.random.default_rng(seed).choice(whole, most, replace=False))
    first, second = _members(picked, number)
    return Pairs(first=first, second=second, cosines=_cosines(chunks, first, second))


def _members(
    numbers: NDArray[np.int64], chunks: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two chunks of each pair, where pairs are numbered row by row above the diagonal."""
    starts = np.concatenate([[0], np.cumsum(np.arange(chunks - 1, 0, -1))]).astype(np.int64)
    first = np.searchsorted(starts, numbers, side="right") - 1
    return first, numbers - starts[first] + first + 1


def _cosines(
    chunks: Chunks, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    matrix, lengths = chunks.matrix, chunks.lengths.astype(np.float64)
    found = np.empty(len(first))
    for at in range(0, len(first), _AT_ONCE):
        one, other = first[at : at + _AT_ONCE], second[at : at + _AT_ONCE]
        found[at : at + _AT_ONCE] = np.einsum("ij,ij->i", matrix[one], matrix[other])
    return np.clip(found / (lengths[first] * lengths[second]), -1, 1)


def copies(chunks: Chunks) -> int:
    """How many chunks have exactly the vector of one before them."""
    if not chunks.ids:
        return 0
    # The first two components tell nearly all apart; only those that share them are compared whole.
    heads = np.ascontiguousarray(chunks.matrix[:, :2])
    keys = heads.view(f"V{heads.dtype.itemsize * heads.shape[1]}").ravel()
    _, kinds, numbers = np.unique(keys, return_inverse=True, return_counts=True)
    alike = np.flatnonzero(numbers[kinds] > 1)
    return len(alike) - len({chunks.matrix[place].tobytes() for place in alike})
