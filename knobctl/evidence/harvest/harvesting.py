"""From transcripts to a held-out set: read, redact, find the questions, merge what was asked twice."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knobctl.evidence.harvest.asked import SOURCES, USER_PROMPT, Question
from knobctl.evidence.harvest.formats import FORMATS
from knobctl.evidence.harvest.redaction import redacted
from knobctl.evidence.harvest.typed import may_ask, questions_typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from knobctl.evidence.harvest.asked import Asked, Census, Names


_UNSOUND: Final = re.compile("[\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which questions are kept."""

    names: Names
    prompts: bool = True
    """Whether typed prompts are read, or explicit questions only."""
    since: datetime | None = None
    """Only those asked at or after it; a file without times counts by its own."""
    project: str | None = None
    """Only files whose path holds it."""


@dataclass(slots=True)
class HeldOut:
    """The questions of a set, by id."""

    questions: dict[str, Question] = field(default_factory=dict)

    def add(self, question: Question) -> None:
        """Take a question; asked before, it is merged."""
        id_ = question.question_id
        other = self.questions.get(id_)
        self.questions[id_] = other.merged(question) if other else question

    def in_order(self) -> list[Question]:
        """All of them, by id: the order says nothing of who asked when."""
        return [self.questions[id_] for id_ in sorted(self.questions)]


def transcripts(kind: str, place: Path) -> Iterator[Path]:
    """The files of one format at a place, by path: the place itself where it is a file."""
    if place.is_file():
        yield place
        return
    yield from sorted(path for path in place.rglob(FORMATS[kind].pattern) if path.is_file())


def harvest_file(
    path: Path,
    kind: str,
    wanted: Wanted,
    census: Census,
    *,
    modified_at: datetime,
) -> Iterator[Question]:
    """Find the questions of one file.

    Args:
        path: The file.
        kind: Its format.
        wanted: What is kept.
        census: Told what was met.
        modified_at: When the file was last written, for a question that bears no time.

    Raises:
        OSError: If it cannot be read.
    """
    census.files += 1
    for asked in FORMATS[kind].read(path, wanted.names, census):
        if asked.source == USER_PROMPT and not wanted.prompts:
            continue
        if wanted.since and (asked.at or modified_at) < wanted.since:
            census.skipped["asked before --since"] += 1
            continue
        yield from _questions(asked, wanted.names, census)


def _questions(asked: Asked, names: Names, census: Census) -> Iterator[Question]:
    """The questions of one text, secrets taken out of all of it and of each once more."""
    if asked.source == USER_PROMPT and not may_ask(asked.text):
        return
    text = _sound(redacted(asked.text, census.redacted))
    texts: Iterable[str] = (text,)
    if asked.source == USER_PROMPT:
        texts = questions_typed(text, names, census.skipped)
    elif asked.refused is not None:
        census.answered += 1
        census.refused += asked.refused
    for one in texts:
        census.found[asked.source] += 1
        yield Question(
            question=redacted(one, census.redacted).strip(),
            source=asked.source,
            historical_refused=asked.refused,
        )


def _sound(text: str) -> str:
    """Characters that UTF-8 and a line of JSON can carry, in place of those that they cannot."""
    return _UNSOUND.sub(lambda one: " " if one[0] in "\u2028\u2029" else "\ufffd", text)


def by_source(questions: Iterable[Question]) -> dict[str, int]:
    """How many of each source, the most explicit first."""
    counted = Counter(one.source for one in questions)
    return {source: counted[source] for source in SOURCES if counted[source]}
