"""The table of formats: add one with a file and a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from knobctl.evidence.harvest import aider, claude, codex, gemini, lists

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knobctl.evidence.harvest.asked import Asked, Census, Names


class Reader(Protocol):
    """Reads one file."""

    def __call__(self, path: Path, names: Names, census: Census) -> Iterator[Asked]:
        """Give what was asked, as it stands there.

        Args:
            path: The file.
            names: How an engine is asked.
            census: Told what was read and what was passed over.

        Raises:
            OSError: If it cannot be read.
        """


@dataclass(frozen=True, slots=True)
class Format:
    """How one kind of transcript is found and read."""

    pattern: str
    """Of the files' names, under a folder."""
    read: Reader
    home: str | None = None
    """Where its program keeps them, under the user's home; None for lists."""


FORMATS: Final = {
    "claude": Format(claude.PATTERN, claude.read, ".claude/projects"),
    "codex": Format(codex.PATTERN, codex.read, ".codex/sessions"),
    "gemini": Format(gemini.PATTERN, gemini.read, ".gemini/tmp"),
    "aider": Format(aider.PATTERN, aider.read),
    "lines": Format(lists.PATTERNS["lines"], lists.read_lines),
    "jsonl": Format(lists.PATTERNS["jsonl"], lists.read_jsonl),
    "csv": Format(lists.PATTERNS["csv"], lists.read_csv),
    "log": Format(lists.PATTERNS["log"], lists.read_log),
}
