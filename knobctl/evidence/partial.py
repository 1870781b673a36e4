"""A replay that is under way, on the disk: what was scored is not asked again after an interruption."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final

from knobctl.errors import AnswerError, InputError
from knobctl.evidence.private_files import write_private
from knobctl.evidence.reading import recording_at
from knobctl.evidence.recording import Why, question_line, written
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from knobctl.evidence.recording import Heading, Question, Recording

_BOUND: Final = (
    "tenant",
    "engine",
    "encoder",
    "corpus",
    "knobs",
    "weights",
    "k",
    "depths",
    "formula",
    "top_k",
)
"""What must be equal so that a score of one replay is one of another."""


def partial_path(output: Path) -> Path:
    """Where the scores of a replay lie while it is under way."""
    return output.with_name(f"{output.name}.partial")


def known_scores(
    path: Path, heading: Heading, ids: Iterable[str], *, whole: bool
) -> dict[str, Question]:
    """Read the scores of an earlier replay that hold for this one; what failed then is asked again.

    Args:
        path: Its file.
        heading: What is asked now.
        ids: The questions that are asked now.
        whole: Whether it must have been finished.

    Raises:
        InputError: If it is none, or was made under something else: naming that.
    """
    recording = recording_at(path, whole=whole)
    assert_same_measurement(recording, heading)
    wanted = set(ids)
    return {
        one.id: one for one in recording.questions if one.id in wanted and one.why is not Why.FAILED
    }


def assert_same_measurement(recording: Recording, heading: Heading) -> None:
    """See that scores of a recording are scores of what is asked now.

    Raises:
        InputError: Naming what is another.
    """
    for name in _BOUND:
        if getattr(recording.heading, name) != getattr(heading, name):
            raise InputError(
                f"{visible(recording.source)} was measured under another {_WORDS.get(name, name)}",
                hint="its scores say nothing here; ask anew, without it",
            )


_WORDS: Final[Mapping[str, str]] = {
    "corpus": "state of the corpus",
    "knobs": "knob set",
    "k": "rank constant",
    "formula": "fusion formula",
    "top_k": "--top-k",
}


@contextmanager
def noting(
    path: Path, heading: Heading, known: Iterable[Question]
) -> Iterator[Callable[[Question], None]]:
    """Write each question's scores to the disk as they come, from whatever thread; the file stays.

    Args:
        path: The file. It is replaced by one that holds what is known, whole or not at all.
        heading: What is asked.
        known: What was scored already.

    Yields:
        What takes a question.

    Raises:
        AnswerError: If the disk or the permissions do not allow it.
    """
    lock = Lock()
    write_private(path, (line.encode() for line in written(heading, known)))
    try:
        with path.open("a", encoding="utf-8") as file:

            def note(question: Question) -> None:
                line = question_line(question)
                with lock:
                    file.write(line)
                    file.flush()

            yield note
    except OSError as error:
        raise AnswerError(f"{visible(str(path))} could not be written: {error.strerror}") from error
