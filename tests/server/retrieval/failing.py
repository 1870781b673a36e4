"""Embedders and indexes that fail or dawdle when a test says so; the rest of the time they are the real ones."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from knobctl.server.candidates.local import LocalCandidates
from tests.server.retrieval.engines import minilm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.server.retrieval.embedder import Vectors
    from knobctl.server.store.corpus import EmbedderIdentity
    from knobctl.server.store.interface import Store


class FragileEmbedder:
    """The real one, with something that happens before each answer."""

    longest = 254

    def __init__(self) -> None:
        self.first: Callable[[], object] = lambda: None
        self.asked = 0

    @property
    def identity(self) -> EmbedderIdentity:
        return minilm().identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += 1
        self.first()
        return minilm().embed(texts)


class FragileIndex(LocalCandidates):
    """The real one, with something that happens before each answer of one half."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, index_folder=None)
        self.first_by_words: Callable[[int], object] = lambda _: None
        self.first_by_vector: Callable[[int], object] = lambda _: None

    def by_words(self, *args: Any, limit: int, **how: Any) -> list[str]:
        self.first_by_words(limit)
        return super().by_words(*args, limit=limit, **how)

    def by_vector(self, *args: Any, limit: int, **how: Any) -> list[tuple[str, float]]:
        self.first_by_vector(limit)
        return super().by_vector(*args, limit=limit, **how)

    def by_vectors(self, *args: Any, limit: int, **how: Any) -> list[list[tuple[str, float]]]:
        self.first_by_vector(limit)
        return super().by_vectors(*args, limit=limit, **how)


def raises(error: Exception) -> Callable[..., object]:
    """Fails with that."""

    def failing(*_: object) -> object:
        raise error

    return failing


def dawdles(seconds: float) -> Callable[..., object]:
    """Takes that long."""
    return lambda *_: time.sleep(seconds)


def nothing(*_: object) -> None:
    """Does not get in the way."""
