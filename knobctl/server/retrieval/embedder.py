"""What turns texts into vectors, whichever model does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from knobctl.server.store.corpus import EmbedderIdentity

    Vectors: TypeAlias = "NDArray[np.float32]"


class EmbedderUnavailableError(Exception):
    """The embedder cannot be asked, or answered nonsense. Its text is for the log, not for callers."""


class Embedder(Protocol):
    """One model. Safe to call from several threads."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Which model, kept beside the vectors."""

    @property
    def longest(self) -> int:
        """Most tokens of a text that it reads; what is behind them would not be in the vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Give one vector of unit length per text, shape (texts, dimensions).

        Raises:
            EmbedderUnavailableError: If it cannot be asked.
        """
