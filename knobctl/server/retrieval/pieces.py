"""Cuts long texts into pieces that an embedder reads whole."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from knobctl.server.retrieval.tokens import MOST_TOKENS_A_CHARACTER, counting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokenizers import Encoding

_Span: TypeAlias = tuple[int, int]

MOST_BYTES: Final = 32_000
"""Largest piece, in UTF-8: a distributed index takes 65,535 bytes in a field."""
LONGEST_WORD: Final = 4_000
"""In characters: what is longer is no word (a file in base64, say) and is cut anywhere."""
_BLOCK: Final = 16_000
"""Characters whose tokens are counted in one call."""

_SPACE: Final = r"[ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""What separates words for the tokenizer too, so that the tokens of neighbours add up."""
_BORDERS: Final = (
    re.compile(rf"{_SPACE}*\n{_SPACE}*\n{_SPACE}*"),
    re.compile(
        rf"(?<=[.!?\u2026][\"'\u201d\u2019\u00bb)\]]){_SPACE}+|(?<=[.!?\u2026]){_SPACE}+|(?<=[\u3002\uff01\uff1f])"
    ),
    re.compile(rf"{_SPACE}+"),
)
"""Behind paragraphs, sentences and words; the first that gives parts which fit is used."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of a text that is not cut, and its tokens."""

    start: int
    end: int
    tokens: int


def split(text: str, longest: int) -> list[str]:
    """Cut a text into pieces; deterministic, in order, nothing lost but white space between pieces.

    A paragraph that fits stays whole, else a sentence that fits, else a word.

    Args:
        text: Any text.
        longest: Most tokens of a piece, >= 16.

    Returns:
        The text itself where it fits.
    """
    parts = list(_parts(text, [(0, len(text))], longest, _BORDERS))
    if len(parts) < 2:
        return [text]
    pieces, begun, end, tokens = [], parts[0].start, parts[0].end, parts[0].tokens
    for part in parts[1:]:
        if tokens + part.tokens > longest or _bytes(text[begun : part.end]) > MOST_BYTES:
            pieces.append(text[begun:end])
            begun, tokens = part.start, 0
        tokens, end = tokens + part.tokens, part.end
    pieces.append(text[begun:end])
    return [piece for piece in map(str.strip, pieces) if piece] or [text]


def _parts(
    text: str, spans: Iterable[_Span], longest: int, borders: Sequence[re.Pattern[str]]
) -> Iterator[_Part]:
    """Give the spans that fit as they are, and the largest parts of the others that do."""
    for part in _counted(text, spans):
        if part.tokens <= longest and _bytes(text[part.start : part.end]) <= MOST_BYTES:
            yield part
        elif borders:
            inner = _between(text, part.start, part.end, borders[0])
            yield from _parts(text, inner, longest, borders[1:])
        else:
            yield from _of_a_word(text, part.start, part.end, longest)


def _between(text: str, start: int, end: int, border: re.Pattern[str]) -> Iterator[_Span]:
    """The spans between borders."""
    begun = start
    for found in border.finditer(text, start, end):
        if found.start() > begun:
            yield begun, found.start()
        begun = found.end()
    if end > begun:
        yield begun, end


def _counted(text: str, spans: Iterable[_Span]) -> Iterator[_Part]:
    """Count the tokens of spans, many at once: one call for each is ten times slower.

    What is too large to be a piece anyway is not counted.
    """
    block: list[_Span] = []
    for start, end in spans:
        if block and end - block[0][0] > _BLOCK:
            yield from _counted_together(text, block)
            block = []
        if end - start > MOST_BYTES:
            yield _Part(start, end, end - start)
        else:
            block.append((start, end))
    yield from _counted_together(text, block)


def _counted_together(text: str, block: Sequence[_Span]) -> Iterator[_Part]:
    if not block:
        return
    first = block[0][0]
    offsets = _encoded(text[first : block[-1][1]]).offsets
    starts = [first + start for start, _ in offsets]
    for start, end in block:
        yield _Part(start, end, bisect_left(starts, end) - bisect_left(starts, start))


def _of_a_word(text: str, start: int, end: int, longest: int) -> Iterator[_Part]:
    """Parts of what has no white space: whole if it fits, else between signs, else between characters."""
    for first in range(start, end, LONGEST_WORD):
        last = min(first + LONGEST_WORD, end)
        encoding = _encoded(text[first:last])
        if len(encoding) <= longest:
            yield _Part(first, last, len(encoding))
        else:
            yield from _between_signs(first, last, longest, encoding)


def _between_signs(start: int, end: int, longest: int, encoding: Encoding) -> Iterator[_Part]:
    tokens = Counter(word for word in encoding.word_ids if word is not None)
    begins = {
        word: start + offset
        for word, (offset, _) in reversed(
            list(zip(encoding.word_ids, encoding.offsets, strict=True))
        )
        if word is not None
    }
    words = sorted(begins)
    firsts = [start, *(begins[word] for word in words[1:])]
    for word, first, last in zip(words, firsts, [*firsts[1:], end], strict=True):
        if tokens[word] <= longest:
            yield _Part(first, last, tokens[word])
            continue
        # Counted as full: beside another part its tokens would not add up.
        step = longest // MOST_TOKENS_A_CHARACTER
        for at in range(first, last, step):
            yield _Part(at, min(at + step, last), longest)


def _encoded(text: str) -> Encoding:
    return counting().encode(text, add_special_tokens=False)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
