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
                    found[str(value["id"])] = _outcome(value["outcome"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
        return found

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, MODE)
            size = os.fstat(handle).st_size
            is_torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            self._file = os.fdopen(handle, "a", encoding="utf-8")
            if (
                is_torn
            ):  # a run was killed there; what is appended to its line would be lost with it
                self._file.write("\n")
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def note(self, id_: str, outcome: Outcome) -> None:
        """Keep an outcome; from any thread.

        Raises:
            AnswerError: If the disk does not allow it.
        """
        values = {name: getattr(outcome, name) for name in Outcome.__slots__}
        line = json.dumps({"key": self.key, "id": id_, "outcome": values}) + "\n"
        with self._lock:
            if self._file:
                try:
                    self._file.write(line)
                    self._file.flush()
                except OSError as error:
                    raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> AnswerError:
        return AnswerError(f"{visible(str(self._path))} cannot be written: {error.strerror}")


def _outcome(value: Any) -> Outcome:  # noqa: ANN401  any JSON may stand there
    """Read one as it was written.

    Raises:
        KeyError: If something is missing.
        TypeError: If it is none.
    """
    verdicts = (value["answerable"], value["second"])
    counts = (value["input_tokens"], value["output_tokens"], value["calls"])
    costs = (value["cost_usd"], value["answer_cost_usd"])
    if not (
        isinstance(value["declined"], bool)
        and all(one is None or isinstance(one, bool) for one in verdicts)
        and all(type(one) is int and one >= 0 for one in counts)
        and all(one is None or (type(one) in {int, float} and one >= 0) for one in costs)
    ):
        raise TypeError("no outcome")
    return Outcome(**value)
