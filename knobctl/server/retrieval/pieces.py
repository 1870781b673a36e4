"""Cuts long texts into pieces that an embedder reads whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.server.retrieval.tokens import MOST_TOKENS_A_CHARACTER, counting

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES: Final = 32_000
"""Largest piece, in UTF-8: a distributed index takes 65,535 bytes in a field."""
LONGEST_WORD: Final = 4_000
"""In characters: what is longer is no word (a file in base64, say) and is cut anywhere."""

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
    parts = list(_parts(text, 0, len(text), longest, level=-1))
    if len(parts) < 2:
        return [text]
    pieces, begun, end, tokens = [], parts[0].start, parts[0].end, parts[0].tokens
    for part in parts[1:]:
        if tokens + part.tokens > longest or _bytes(text[begun : part.end]) > MOST_BYTES:
            pieces.append(text[begun:end])
            begun, tokens = part.start, 0
        tokens, end = tokens + part.tokens, part.end
    return [*pieces, text[begun:end]]


def _parts(text: str, start: int, end: int, longest: int, *, level: int) -> Iterator[_Part]:
    """The largest parts of a stretch that fit, none of them blank."""
    if level + 1 < len(_BORDERS):
        fits = end - start <= MOST_BYTES and _part(text, start, end)
        if fits and fits.tokens <= longest and _bytes(text[start:end]) <= MOST_BYTES:
            yield fits
            return
        for first, last in _between(text, start, end, _BORDERS[level + 1]):
            yield from _parts(text, first, last, longest, level=level + 1)
    else:
        yield from _of_a_word(text, start, end, longest)


def _between(text: str, start: int, end: int, border: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The stretches between borders."""
    begun = start
    for found in border.finditer(text, start, end):
        if found.start() > begun:
            yield begun, found.start()
        begun = found.end()
    if end > begun:
        yield begun, end


def _of_a_word(text: str, start: int, end: int, longest: int) -> Iterator[_Part]:
    """Parts of what has no white space: whole if it fits, else between signs, else between characters."""
    for first in range(start, end, LONGEST_WORD):
        last = min(first + LONGEST_WORD, end)
        whole = _part(text, first, last)
        if whole.tokens <= longest:
            yield whole
        else:
            yield from _between_signs(text, first, last, longest)


def _between_signs(text: str, start: int, end: int, longest: int) -> Iterator[_Part]:
    encoding = counting().encode(text[start:end], add_special_tokens=False)
    begun: dict[int, int] = {}
    for word, (offset, _) in zip(encoding.word_ids, encoding.offsets, strict=True):
        if word is not None:
            begun.setdefault(word, offset)
    starts = [start, *sorted(start + offset for offset in begun.values() if offset)]
    for first, last in zip(starts, [*starts[1:], end], strict=True):
        whole = _part(text, first, last)
        if whole.tokens <= longest:
            yield whole
            continue
        # Counted as full: beside another part its tokens would not add up.
        step = longest // MOST_TOKENS_A_CHARACTER
        for at in range(first, last, step):
            yield _Part(at, min(at + step, last), longest)


def _part(text: str, start: int, end: int) -> _Part:
    return _Part(start, end, len(counting().encode(text[start:end], add_special_tokens=False)))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
