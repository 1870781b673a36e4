"""A sentence transformer as an ONNX graph: tokens in, the mean of the last hidden states out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnxruntime as ort

from knobctl.server.retrieval.vectors import unit_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

    from knobctl.server.retrieval.embedder import Vectors

BATCH: Final = 32
"""Most texts in one run. Larger ones were no faster on two cores, and hold more memory."""
RUN_TOKENS: Final = 8
"""What a run costs beside its tokens, padding included: some 2 ms, of 0.26 ms a token."""


class Transformer:
    """One loaded graph. Safe to call from several threads."""

    def __init__(self, weights: bytes, tokenizer: Tokenizer, *, longest: int) -> None:
        """Load the graph.

        Args:
            weights: The ONNX file.
            tokenizer: Makes its input; truncation and padding are set here.
            longest: Most tokens of an input, its frame included.
        """
        options = ort.SessionOptions()
        # Its threads would wait busily for the next text, on the cores that scan for this one: a search
        # took 43 ms of CPU instead of 25, and under load twice the time.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._inputs = {one.name for one in self._session.get_inputs()}
        tokenizer.no_padding()
        tokenizer.enable_truncation(longest)
        self._tokenizer = tokenizer

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of unit length per text, in the order of the texts.

        Texts of about one length run together, so that little is padding; with which others a text runs does
        not change its vector.
        """
        rows = [one.ids for one in self._tokenizer.encode_batch_fast(list(texts))]
        found = [
            (batch, self._run([rows[number] for number in batch]))
            for batch in batches([len(row) for row in rows])
        ]
        vectors = np.empty((len(rows), found[0][1].shape[1] if found else 0), np.float32)
        for batch, part in found:
            vectors[batch] = part
        return vectors

    def _run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """The unit vectors of one batch, shape (rows, dimensions)."""
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        offered = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        inputs: dict[str, Any] = {name: offered[name] for name in self._inputs}
        hidden = self._session.run(None, inputs)[0]
        weight = mask[:, :, None].astype(np.float32)
        mean = (hidden * weight).sum(axis=1) / weight.sum(axis=1)
        return unit_vectors(mean, texts=len(rows), dimensions=None)


def batches(lengths: Sequence[int]) -> list[list[int]]:
    """Which texts run together, by number, shortest first.

    A new run begins where padding all before would cost more than that.

    Args:
        lengths: Of the texts, in tokens.
    """
    found: list[list[int]] = []
    last = 0
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        length = lengths[number]
        if not found or len(found[-1]) == BATCH or len(found[-1]) * (length - last) > RUN_TOKENS:
            found.append([])
        found[-1].append(number)
        last = length
    return found
