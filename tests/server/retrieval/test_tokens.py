"""Tokens are counted by the vocabulary that ships."""

from __future__ import annotations

import hashlib

import pytest

from knobctl.server.retrieval.tokens import VOCABULARY, count_tokens, wordpiece

DIGEST = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def test_the_vocabulary_is_that_of_bert() -> None:
    """Byte for byte, with its licence and its origin beside it."""
    assert hashlib.sha256(VOCABULARY.read_bytes()).hexdigest() == DIGEST
    assert "Apache License" in (VOCABULARY.parent / "LICENSE").read_text()
    assert DIGEST in (VOCABULARY.parent / "ORIGIN.md").read_text()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("Hello, World!", ["hello", ",", "world", "!"]),
        ("unaffable embeddings", ["una", "##ffa", "##ble", "em", "##bed", "##ding", "##s"]),
        ("Crème brûlée", ["cr", "##eme", "br", "##ule", "##e"]),
        ("東京", ["東", "京"]),
        ("x" * 101, ["[UNK]"]),
        ("a\x00b\u00a0c", ["ab", "c"]),
    ],
)
def test_texts_are_cut_as_bert_cuts_them(text: str, tokens: list[str]) -> None:
    """Lower case, no accents, the longest known beginning of a word first."""
    assert wordpiece().encode(text, add_special_tokens=False).tokens == tokens
    assert count_tokens(text) == len(tokens)


def test_an_input_is_framed() -> None:
    """[CLS] text [SEP], by the numbers of the vocabulary."""
    assert wordpiece().encode("hello").ids == [101, 7592, 102]
