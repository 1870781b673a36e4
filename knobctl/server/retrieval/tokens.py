"""WordPiece tokens: what the default embedder reads, and what a token budget is counted in."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VOCABULARY: Final = Path(__file__).with_name("wordpiece") / "vocab.txt"
"""BERT's, uncased; see ORIGIN.md beside it."""
FRAME: Final = 2
"""Tokens that are put around a text: [CLS] and [SEP]."""
MOST_TOKENS_A_CHARACTER: Final = 4
"""A Hangul syllable is taken apart into up to three letters, each of which may be a token."""
MOST_COUNTED: Final = 1_000
"""Texts whose tokens are remembered: chunks come again and again, and none is longer than its embedder reads."""


@lru_cache(maxsize=MOST_COUNTED)
def count_tokens(text: str) -> int:
    """How many tokens a text has, whatever the embedder; its frame is not counted."""
    return len(counting().encode(text, add_special_tokens=False))


@cache
def counting() -> Tokenizer:
    """The tokenizer that cuts nothing off."""
    return wordpiece()


def wordpiece() -> Tokenizer:
    """Make BERT's uncased tokenizer from the vocabulary: [CLS] text [SEP]."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece

    words = VOCABULARY.read_text(encoding="utf-8").rstrip("\n").split("\n")
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(
        WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100)  # noqa: S106  a token of text
    )
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"])
    )
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return tokenizer
