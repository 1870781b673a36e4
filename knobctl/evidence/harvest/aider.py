"""aider: one Markdown file a project, in which the person's lines are headings of the fourth level."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knobctl.evidence.harvest.asked import CLI_QUERY, USER_PROMPT, Asked, Census, Names
from knobctl.evidence.harvest.calls import questions_in
from knobctl.evidence.harvest.lines import lines_of
from knobctl.evidence.harvest.times import time_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

PATTERN: Final = ".aider.chat.history.md"
_STARTED: Final = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_RUN: Final = re.compile(r"[/!](?:run |test )?\s*")
_TYPED: Final = "#### "


def read(path: Path, names: Names, census: Census) -> Iterator[Asked]:
    """See `formats.Reader`."""
    at: datetime | None = None
    typed: list[str] = []
    for found in lines_of(path, census):
        line = found.raw.decode("utf-8", "replace").rstrip()
        if line.startswith(_TYPED):
            typed.append(line.removeprefix(_TYPED).strip())
            continue
        yield from _message(typed, names, at)
        typed = []
        if started := _STARTED.match(line):
            at = time_of(started[1])
    yield from _message(typed, names, at)


def _message(typed: list[str], names: Names, at: datetime | None) -> Iterator[Asked]:
    """What the person typed in one go: a prompt, or a command that asks."""
    text = "\n".join(typed)
    if not text:
        return
    if text.startswith(("/run ", "!")):
        for question in questions_in(_RUN.sub("", text, count=1), names):
            yield Asked(source=CLI_QUERY, text=question, at=at)
    else:
        yield Asked(source=USER_PROMPT, text=text, at=at)
