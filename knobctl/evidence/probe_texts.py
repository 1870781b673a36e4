"""Files of probes, a text a line: questions that a corpus says nothing about, or those that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from knobctl.errors import InputError
from knobctl.evidence.judged_files import lines_of
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST: Final = 10_000
"""Lines of a file."""
LONGEST: Final = 10_000
"""Characters of a line: more is no question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTexts:
    """Texts to embed; they are kept and shown nowhere."""

    texts: tuple[str, ...]
    version: int | None = None
    """Of the shipped set; None for somebody's own."""
    repeated: int = 0
    """Lines that stand there twice count once: copies are no further probes."""

    @property
    def digest(self) -> str:
        """SHA-256 over the texts, whatever their order; lower-case hex."""
        return texts_digest(self.texts)


def texts_digest(texts: Sequence[str]) -> str:
    """Name a set of texts without a word of it."""
    whole = sha256()
    for text in sorted(texts):
        raw = text.encode(errors="surrogatepass")
        whole.update(b"%d:%b" % (len(raw), raw))
    return whole.hexdigest()


def read_probe_texts(path: Path) -> ProbeTexts:
    """Read a file of texts, a line each; blank lines are passed over.

    Raises:
        InputError: If it cannot be read, holds no text, or more or longer ones than anybody means.
    """
    name = visible(str(path))
    lines = [line.strip() for line in lines_of(path)]
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST:
            raise InputError(f"{name}:{number} is longer than {LONGEST:,} characters")
    texts = [line for line in lines if line]
    if not texts:
        raise InputError(f"{name} holds no text", hint="write one a line")
    if len(texts) > MOST:
        raise InputError(f"{name} holds {count(len(texts), 'text')}; {MOST:,} are the most")
    once = tuple(dict.fromkeys(texts))
    return ProbeTexts(texts=once, repeated=len(texts) - len(once))
