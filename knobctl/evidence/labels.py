"""Labels by people: which questions the corpus can answer, from a file of labels or from TREC's qrels."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import InputError
from knobctl.evidence.harvest.asked import question_id
from knobctl.evidence.judged_files import IDS, TEXTS, json_rows, lines_of, qrels_rows, query_ids
from knobctl.evidence.recording import Heading, JudgedBy, Judging, Label, Question
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_WORDS: Final = {
    **dict.fromkeys(("true", "yes", "1", "answerable"), True),
    **dict.fromkeys(("false", "no", "0", "unanswerable"), False),
}


def read_labels(path: Path, queries: Path | None = None) -> dict[str, bool]:
    """Read which questions can be answered.

    A file of labels is JSON Lines or CSV: a question by its text or its id, and `answerable` or
    `label`. Qrels are four columns (topic, iteration, document, relevance) or three with a head: a
    question with a relevant document can be answered, one whose judged documents are all irrelevant
    cannot, one without any is not labelled.

    Args:
        path: The file.
        queries: JSON Lines with the id and the text of each query, where the labels name queries by
            ids of their own.

    Returns:
        By question id.

    Raises:
        InputError: At the first line that is none, or says something else of a question than another did.
    """
    texts = query_ids(queries) if queries else {}
    labels: dict[str, bool] = {}
    for number, (named, answerable) in _labelled(path):
        id_ = texts.get(named, named)
        if labels.setdefault(id_, answerable) != answerable:
            raise InputError(
                f"{visible(str(path))}:{number}: {visible(named)} is labelled otherwise above"
            )
    if not labels:
        raise InputError(f"{visible(str(path))} labels no question")
    return labels


def labelled(
    heading: Heading, questions: Sequence[Question], labels: Mapping[str, bool]
) -> tuple[Heading, list[Question]]:
    """Put labels on what was scored; what stood there before is gone."""
    stated = sorted((id_, answerable) for id_, answerable in labels.items())
    digest = sha256(json.dumps(stated).encode()).hexdigest()
    judging = Judging(by=JudgedBy.LABELS, digest=digest)
    found = [
        replace(one, label=_label(labels.get(one.id)), declined=False, excluded=None)
        for one in questions
    ]
    return replace(heading, judging=judging), found


def are_qrels(path: Path) -> bool:
    """Whether a file of labels is qrels: those say by what a question is answered, not only that it is.

    Raises:
        InputError: If it cannot be read.
    """
    first = _first(lines_of(path))
    return bool(first) and not _is_json(first) and "," not in first


def _first(lines: Sequence[str]) -> str:
    return next((line for line in lines if line.strip()), "")


def _is_json(line: str) -> bool:
    return line.lstrip().startswith("{")


def _label(answerable: bool | None) -> Label | None:
    if answerable is None:
        return None
    return Label.ANSWERABLE if answerable else Label.UNANSWERABLE


def _labelled(path: Path) -> Iterator[tuple[int, tuple[str, bool]]]:
    """By line: the question as it is named there, and whether it can be answered."""
    lines = lines_of(path)
    first = _first(lines)
    if _is_json(first):
        for number, row in json_rows(lines, path):
            yield number, _row(row, path, number)
    elif "," in first:
        for number, found in enumerate(csv.DictReader(lines), start=2):
            yield number, _row(found, path, number)
    else:
        yield from _qrels(lines, path)


def _row(row: Mapping[str, Any], path: Path, number: int) -> tuple[str, bool]:
    named = next((row[key] for key in IDS if row.get(key)), None)
    if named is None:
        text = next((row[key] for key in TEXTS if row.get(key)), None)
        named = question_id(text) if isinstance(text, str) else None
    stated = row.get("answerable", row.get("label"))
    answerable = _WORDS.get(str(stated).strip().lower()) if stated is not None else None
    if not isinstance(named, str) or answerable is None:
        raise InputError(
            f"{visible(str(path))}:{number} is no label",
            hint='a line is {"question": "...", "answerable": true}, or has a question_id instead of the text',
        )
    return named, answerable


def _qrels(lines: Sequence[str], path: Path) -> Iterator[tuple[int, tuple[str, bool]]]:
    relevant: dict[str, tuple[int, bool]] = {}
    for number, topic, _, relevance in qrels_rows(lines, path):
        at, before = relevant.get(topic, (number, False))
        relevant[topic] = (at, before or relevance > 0)
    for topic, (at, answerable) in relevant.items():
        yield at, (topic, answerable)
