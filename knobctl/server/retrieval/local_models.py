"""Embedders of packages that are installed beside knobctl: fastembed and sentence-transformers."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import EngineError
from knobctl.server.retrieval.embedder import EmbedderUnavailableError
from knobctl.server.retrieval.tokens import FRAME
from knobctl.server.store.corpus import EmbedderIdentity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.server.retrieval.embedder import Vectors

LONGEST: Final = 254
"""Most tokens of a text, in our tokens; both packages cut at 256 or more of their own."""


class LocalModel:
    """A model of an installed package, loaded with the first text, from files that are there already."""

    def __init__(self, package: str, model: str) -> None:
        """Name the model without loading it.

        Args:
            package: `fastembed` or `sentence_transformers`.
            model: As the package calls it.

        Raises:
            EngineError: If the package is not installed.
        """
        if find_spec(package) is None:
            name = package.replace("_", "-")
            raise EngineError(
                f"the embedder {name}:{model} needs {name}", hint=f"pip install {name}"
            )
        self._package = package
        self._model = model
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._dimensions: int | None = None

    @property
    def longest(self) -> int:
        """Most tokens that the model reads.

        Raises:
            EngineError: If the model cannot be loaded.
        """
        with self._lock:
            return self._ready().longest

    @property
    def identity(self) -> EmbedderIdentity:
        """Which model; how long its vectors are is learnt from the first."""
        if self._dimensions is None:
            self.embed(["dimensions"])
        assert self._dimensions is not None
        return EmbedderIdentity(
            model=self._model, revision=self._package, pooling="", dimensions=self._dimensions
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of unit length per text.

        Raises:
            EngineError: If the model cannot be loaded.
            EmbedderUnavailableError: If it gives no vectors.
        """
        from knobctl.server.retrieval.vectors import unit_vectors

        with self._lock:  # neither package says that a model may be asked by two threads at once
            ready = self._ready()
            try:
                rows = ready.embed(texts)
            except (RuntimeError, ValueError) as error:
                raise EmbedderUnavailableError(f"{self._model} failed: {error}") from error
        vectors = unit_vectors(rows, texts=len(texts), dimensions=self._dimensions)
        self._dimensions = vectors.shape[1]
        return vectors

    def _ready(self) -> _Loaded:
        load = _fastembed if self._package == "fastembed" else _sentence_transformers
        try:
            self._loaded = self._loaded or load(self._model)
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            raise EngineError(
                f"the model {self._model} of {self._package} cannot be loaded: {error}",
                hint="fetch it with that package first; nothing is downloaded here",
            ) from error
        return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    embed: Callable[[Sequence[str]], Any]
    longest: int = LONGEST


def _fastembed(model: str) -> _Loaded:
    loaded = import_module("fastembed").TextEmbedding(model_name=model, local_files_only=True)
    return _Loaded(lambda texts: list(loaded.embed(list(texts))))


def _sentence_transformers(model: str) -> _Loaded:
    loaded = import_module("sentence_transformers").SentenceTransformer(
        model, local_files_only=True
    )
    read: int = loaded.max_seq_length or LONGEST
    return _Loaded(
        lambda texts: loaded.encode(list(texts), show_progress_bar=False),
        min(LONGEST, read - FRAME),
    )
