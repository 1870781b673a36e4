"""What was paid for, on the disk: labels by question, under everything that they depend on. No text."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from knobctl.errors import AnswerError
from knobctl.evidence.private_files import MODE
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import TextIO


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question came to; only what is final is kept."""

    answerable: bool | None
    """None where the verdict was neither yes nor no."""
    declined: bool
    second: bool | None
    """What the second judge said; None where there is none, or it said neither."""
    input_tokens: int
    output_tokens: int
    calls: int
    cost_usd: float | None
    """Of all its calls; None where a price was not known."""
    answer_cost_usd: float | None
    """Of the one that answered: what a refused question saves."""


class Checkpoint:
    """Outcomes of one key; a line each, the later one of two counts."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        """Open it.

        Args:
            path: The file.
            about: All that a label depends on.

        Raises:
            AnswerError: If it cannot be written.
        """
        self._path = path
        self.key = sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
        self._lock = Lock()
        self._file: TextIO | None = None

    def outcomes(self) -> dict[str, Outcome]:
        """What is known, by question id; a line that is torn or of another key is passed over."""
        found: dict[str, Outcome] = {}
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").split("\n")
        except FileNotFoundError:
            return found
        except OSError as error:
            raise AnswerError(
                f"{visible(str(self._path))} cannot be read: {error.strerror}"
            ) from error
        for line in lines:
            try:
                value = json.loads(line)
                if value["key"] == self.key:
                    found[str(value["id"])] = Outcome(**value["outcome"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return found

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, MODE)
        except OSError as error:
            raise AnswerError(
                f"{visible(str(self._path))} cannot be written: {error.strerror}"
            ) from error
        self._file = os.fdopen(handle, "a", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def note(self, id_: str, outcome: Outcome) -> None:
        """Keep an outcome; from any thread."""
        values = {name: getattr(outcome, name) for name in Outcome.__slots__}
        line = json.dumps({"key": self.key, "id": id_, "outcome": values}) + "\n"
        with self._lock:
            if self._file:
                self._file.write(line)
                self._file.flush()
