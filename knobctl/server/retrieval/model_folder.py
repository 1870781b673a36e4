"""A sentence transformer from a folder of one's own: `model.onnx` and `tokenizer.json`, mean pooling."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError
from knobctl.server.retrieval.minilm import LONGEST
from knobctl.server.retrieval.tokens import FRAME
from knobctl.server.store.corpus import EmbedderIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knobctl.server.retrieval.embedder import Vectors
    from knobctl.server.retrieval.transformer import Transformer


class FolderModel:
    """The model of a folder, loaded when it is first asked for."""

    longest: Final = LONGEST - FRAME

    def __init__(self, folder: Path) -> None:
        """Name the folder without reading it."""
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: tuple[Transformer, EmbedderIdentity] | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        """The folder's name, and the digest of its weights as the revision.

        Raises:
            EngineError: If the folder holds no model.
        """
        return self._model()[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of unit length per text.

        Raises:
            EngineError: If the folder holds no model.
        """
        return self._model()[0].embed(texts)

    def _model(self) -> tuple[Transformer, EmbedderIdentity]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Transformer, EmbedderIdentity]:
        from tokenizers import Tokenizer

        from knobctl.server.retrieval.transformer import Transformer

        try:
            weights = (self._folder / "model.onnx").read_bytes()
            text = (self._folder / "tokenizer.json").read_text(encoding="utf-8")
        except OSError as error:
            raise EngineError(
                f"the embedder's {error.filename} cannot be read: {error.strerror}"
            ) from error
        try:
            model = Transformer(weights, Tokenizer.from_str(text), longest=LONGEST)
        except Exception as error:  # neither library raises anything narrower
            raise EngineError(f"{self._folder} holds no model: {error}") from error
        identity = EmbedderIdentity(
            model=self._folder.resolve().name,
            revision=f"sha256-{hashlib.sha256(weights).hexdigest()[:12]}",
            pooling="mean",
            dimensions=model.embed(["dimensions"]).shape[1],
        )
        return model, identity
