"""Reads recorded score files strictly, a line at a time: the first bad line is told with its place."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from knobctl.documents.strict_json import read_json
from knobctl.errors import InputError
from knobctl.evidence.line_files import line_validators
from knobctl.evidence.recording import (
    FORMAT,
    FORMAT_VERSION,
    Recording,
    arithmetic_fault,
    heading_of,
    question_line,
    question_of,
)
from knobctl.fusion import exact, reach
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knobctl.evidence.recording import Heading, Question
    from knobctl.fusion import Reach

SCHEMA: Final = "replay-scores.v1.schema.json"
MOST_LINE: Final = 64 * 1024
"""Bytes of a line; a question takes some two hundred."""
_MOST_SAID: Final = 160


class _BadLineError(Exception):
    """A line is not what it must be; says why."""


def read_recording(stream: BinaryIO, source: str, *, whole: bool = True) -> Recording:
    """Read a recorded score file.

    Args:
        stream: Its bytes.
        source: Its name, for people.
        whole: Whether all of its questions must be there; a file that is still being written, or was
            when somebody pulled the plug, may end anywhere.

    Raises:
        InputError: At the first line that is not as its schema, or the heading, or arithmetic says.
    """
    lines = _Lines(stream)
    try:
        heading = _heading(next(lines, b""))
        questions = tuple(_questions(lines, heading, whole=whole))
    except _BadLineError as error:
        raise InputError(
            f"{visible(source)}:{lines.number}: {visible(str(error))}",
            hint="what a line must hold: knobctl schema replay-scores",
        ) from error
    except OSError as error:
        why = (error.strerror or "it cannot be read").lower()
        raise InputError(f"{visible(source)}: {why}") from error
    return Recording(
        source=source, digest=lines.digest.hexdigest(), heading=heading, questions=questions
    )


def recording_at(path: Path, *, whole: bool = True) -> Recording:
    """Read the recorded score file at a path; see `read_recording`."""
    try:
        with path.open("rb") as stream:
            return read_recording(stream, str(path), whole=whole)
    except OSError as error:
        raise InputError(f"{visible(str(path))} cannot be read: {error.strerror}") from error


def _questions(lines: _Lines, heading: Heading, *, whole: bool) -> Iterator[Question]:
    """The questions, as many as the heading says, each once, each as arithmetic has it."""
    reached = reach(heading.setup(exact(heading.floor)))
    seen = set[str]()
    for line in lines:
        if not (whole or line.endswith(b"\n")):
            return
        if len(seen) == heading.questions:
            raise _BadLineError(f"one more than the {heading.questions:,} of the heading")
        value = _read(line)
        _judge(value, "question")
        question = question_of(value)
        if fault := arithmetic_fault(heading, reached, question):
            raise _BadLineError(fault)
        if question.id in seen:
            raise _BadLineError(f"id: {question.id} stands here a second time")
        seen.add(question.id)
        yield question
    if whole and len(seen) < heading.questions:
        raise _BadLineError(f"it ends after {len(seen):,} of {heading.questions:,} questions")


def fault_of(heading: Heading, reached: Reach, question: Question) -> str | None:
    """Say why a question could not stand in a recorded score file; None where it can.

    Args:
        heading: Of the file.
        reached: What follows from its fusion, whatever the floor.
        question: What an engine's answer was read as.
    """
    try:
        _judge(_read(question_line(question).encode()), "question")
    except (_BadLineError, TypeError, ValueError) as error:
        return str(error)
    return arithmetic_fault(heading, reached, question)


class _Lines:
    """The lines of a stream, split at line feeds alone, none longer than may be; and where we are."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.digest = sha256()
        self.number = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        self.number += 1
        line = self._stream.readline(MOST_LINE + 1)
        if not line:
            raise StopIteration
        if len(line) > MOST_LINE:
            raise _BadLineError(f"a line of more than {MOST_LINE:,} bytes")
        self.digest.update(line)
        return line


def is_recording(first: bytes) -> bool:
    """Whether a file's first line says that it is one, sound or not."""
    return FORMAT.encode() in first[:MOST_LINE]


def _heading(line: bytes) -> Heading:
    if not line:
        raise _BadLineError("the file is empty; the first line is the heading")
    value = _read(line)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _BadLineError(f'no heading of recorded scores: it begins with {{"format":"{FORMAT}"')
    if value.get("format_version") != FORMAT_VERSION:
        raise _BadLineError(
            f"format_version: {_short(value.get('format_version'))}; this knobctl reads {FORMAT_VERSION}"
        )
    _judge(value, "heading")
    try:
        return heading_of(value, datetime.fromisoformat(value["made_at"]))
    except (ValueError, ZeroDivisionError) as error:
        raise _BadLineError(str(error)) from error


def _read(line: bytes) -> Any:  # noqa: ANN401  any JSON may come
    if line.startswith(b"\xef\xbb\xbf"):
        raise _BadLineError("it begins with a byte-order mark")
    try:
        return read_json(line)
    except UnicodeDecodeError as error:
        raise _BadLineError(f"no UTF-8 at byte {error.start}") from error
    except ValueError as error:
        raise _BadLineError(f"no JSON: {_short(error)}") from error


def _judge(value: object, what: str) -> None:
    validator = line_validators(SCHEMA)[what]
    if validator.is_valid(value):
        return
    fault = next(iter(validator.iter_errors(value)))
    where = ".".join(map(str, fault.instance_path))
    raise _BadLineError(f"{where + ': ' if where else ''}{_short(fault.message)}")


def _short(words: object) -> str:
    text = str(words)
    return text if len(text) <= _MOST_SAID else f"{text[: _MOST_SAID - 1]}…"
