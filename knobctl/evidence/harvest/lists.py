"""Lists of questions, and an engine's own log of them. What stands in them is a question as it is."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knobctl.evidence.harvest.asked import ENGINE_LOG, QUESTION_LIST, SOURCES, Asked, Census, Names
from knobctl.evidence.harvest.lines import lines_of, records
from knobctl.evidence.harvest.times import time_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PATTERNS: Final = {"lines": "*.txt", "jsonl": "*.jsonl", "csv": "*.csv", "log": "*.jsonl"}
_COLUMNS: Final = ("question", "query", "task", "text", "prompt")
_TIMES: Final = ("timestamp", "time", "asked_at")
_OUTCOMES: Final = ("outcome", "retrievalOutcome", "retrieval_outcome")
_REFUSED: Final = "below_threshold"


def read_lines(path: Path, names: Names, census: Census) -> Iterator[Asked]:
    """A question a line. See `formats.Reader`."""
    del names
    for line in lines_of(path, census):
        if text := line.raw.decode("utf-8", "replace").strip():
            yield Asked(source=QUESTION_LIST, text=text)


def read_jsonl(path: Path, names: Names, census: Census) -> Iterator[Asked]:
    """An object a line with `question`, `query`, `text` or `prompt`. See `formats.Reader`."""
    del names
    for record in records(path, census, lambda _: True):
        yield from _row(record, census)


def read_csv(path: Path, names: Names, census: Census) -> Iterator[Asked]:
    """A table whose head names such a column. See `formats.Reader`."""
    del names
    lines = (line.raw.decode("utf-8", "replace") for line in lines_of(path, census))
    try:
        for row in csv.DictReader(lines):
            yield from _row(row, census)
    except csv.Error:
        census.skipped["no CSV"] += 1


def read_log(path: Path, names: Names, census: Census) -> Iterator[Asked]:
    """What an engine was asked: an object a line with `query` or `task`, and the outcome. See `formats.Reader`."""
    del names
    for record in records(path, census, lambda _: True):
        for asked in _row(record, census):
            outcome = next((record[key] for key in _OUTCOMES if key in record), None)
            refused = None if outcome is None else outcome == _REFUSED
            yield replace(asked, source=ENGINE_LOG, refused=refused)


def _row(row: Mapping[str, object], census: Census) -> Iterator[Asked]:
    text = next((row[name] for name in _COLUMNS if isinstance(row.get(name), str)), None)
    if not isinstance(text, str) or not text.strip():
        census.skipped["no question in the row"] += 1
        return
    source, refused = row.get("source"), row.get("historical_refused")
    yield Asked(
        source=source if isinstance(source, str) and source in SOURCES else QUESTION_LIST,
        text=text.strip(),
        refused=refused if isinstance(refused, bool) else None,
        at=time_of(next((row[key] for key in _TIMES if row.get(key)), None)),
    )
