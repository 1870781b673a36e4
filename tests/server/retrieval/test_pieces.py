"""Long texts are cut at the best border that there is, and nothing of them is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.server.retrieval.pieces import MOST_BYTES, split
from knobctl.server.retrieval.tokens import count_tokens

TEXTS = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from(
            ["word", "sentence. ", "Ends? ", "“Quoted.” ", "\n\n", "\n", " ", "東京都。", "안녕하세요", "x" * 300, "http://a.b/c?d=e", "İ", "\x0c"]
        ),
    ),
    max_size=80,
).map("".join)  # fmt: skip


@given(TEXTS, st.integers(16, 60))
@settings(deadline=None, max_examples=100)
def test_nothing_is_lost_and_every_piece_fits(text: str, longest: int) -> None:
    """The pieces hold the characters of the text in its order, and their words are its words."""
    pieces = split(text, longest)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    if len(pieces) > 1:
        assert all(piece.strip() for piece in pieces)
    assert all(count_tokens(piece) <= longest for piece in pieces)
    assert split(text, longest) == pieces
    at = 0
    for piece in pieces:
        at = text.index(piece, at) + len(piece)


@given(st.lists(st.sampled_from(["cat", "dogs", "unaffable", "it's", "end."]), max_size=200))
@settings(deadline=None, max_examples=50)
def test_words_stay_whole(words: list[str]) -> None:
    """The pieces' words are the text's words."""
    pieces = split(" ".join(words), 16)
    assert [word for piece in pieces for word in piece.split()] == words


def test_a_text_that_fits_is_left_as_it_is() -> None:
    """White space and all."""
    assert split("  a text\n\nof two paragraphs ", 254) == ["  a text\n\nof two paragraphs "]


def test_a_paragraph_that_fits_stays_whole() -> None:
    """Neither cut nor begun in the piece before it."""
    first, second, third = ("one " * 12).strip(), ("two " * 12).strip(), ("three " * 3).strip()
    assert split(f"{first}\n\n{second}\n \n{third}", 16) == [first, f"{second}\n \n{third}"]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    """Behind the sign that ends them, and the quotation mark behind it."""
    one, two, three = "He came in. ", "“Where were you?” ", "She said nothing at all to that!"
    assert split(one * 3 + two * 2 + three, 16) == [
        "He came in. He came in. He came in.",
        "“Where were you?” “Where were you?”",
        three,
    ]


def test_a_long_sentence_is_cut_between_words() -> None:
    """As many as fit."""
    assert split("word " * 40, 16) == [
        ("word " * 16).strip(),
        ("word " * 16).strip(),
        ("word " * 8).strip(),
    ]


def test_a_script_without_spaces_is_cut_between_signs() -> None:
    """Every sign is a token."""
    pieces = split("東" * 100, 32)
    assert [len(piece) for piece in pieces] == [32, 32, 32, 4]


def test_what_is_no_word_is_cut_anywhere() -> None:
    """A file in hexadecimal is one unknown word for the tokenizer, and too large for one field."""
    pieces = split("deadbeef" * 30_000, 254)
    assert "".join(pieces) == "deadbeef" * 30_000
    assert max(len(piece) for piece in pieces) <= MOST_BYTES


@pytest.mark.parametrize("unit", ["A sentence of a few words. ", "word ", "x", "東", "line\n"])
def test_a_large_text_is_cut(unit: str) -> None:
    """However it is made."""
    text = unit * (300_000 // len(unit.encode()))
    pieces = split(text, 254)
    assert sum(len(piece.split()) for piece in pieces) >= len(text.split())
    assert "".join("".join(pieces).split()) == "".join(text.split())
