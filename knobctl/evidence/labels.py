"""Labels by people: which questions the corpus can answer, from a file of labels or from TREC's qrels."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import InputError
from knobctl.evidence.harvest.asked import question_id
from knobctl.evidence.recording import Heading, JudgedBy, Judging, Label, Question
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_TEXTS: Final = ("question", "query", "text", "prompt")
_IDS: Final = ("question_id", "id", "query_id", "qid")
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
    texts = _texts(queries) if queries else {}
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


def _label(answerable: bool | None) -> Label | None:
    if answerable is None:
        return None
    return Label.ANSWERABLE if answerable else Label.UNANSWERABLE


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"{visible(str(path))} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{visible(str(path))} is no UTF-8: byte {error.start}") from error


def _labelled(path: Path) -> Iterator[tuple[int, tuple[str, bool]]]:
    """By line: the question as it is named there, and whether it can be answered."""
    lines = _lines(path)
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        for number, row in _json_rows(lines, path):
            yield number, _row(row, path, number)
    elif "," in first:
        for number, found in enumerate(csv.DictReader(lines), start=2):
            yield number, _row(found, path, number)
    else:
        yield from _qrels(lines, path)


def _json_rows(lines: Sequence[str], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{visible(str(path))}:{number} is no JSON") from error
        if not isinstance(row, dict):
            raise InputError(f"{visible(str(path))}:{number} is no object")
        yield number, row


def _row(row: Mapping[str, Any], path: Path, number: int) -> tuple[str, bool]:
    named = next((row[key] for key in _IDS if row.get(key)), None)
    if named is None:
        text = next((row[key] for key in _TEXTS if row.get(key)), None)
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
    for number, line in enumerate(lines, start=1):
        words = line.split()
        is_row = len(words) in {3, 4}
        has_number = bool(words) and words[-1].lstrip("-").isdigit()
        if not words or (number == 1 and is_row and not has_number):
            continue  # the head of a table
        if not (is_row and has_number):
            raise InputError(
                f"{visible(str(path))}:{number} is no line of qrels",
                hint="topic, iteration, document and relevance, or the same without iteration",
            )
        topic, is_relevant = words[0], int(words[-1]) > 0
        at, before = relevant.get(topic, (number, False))
        relevant[topic] = (at, before or is_relevant)
    for topic, (at, answerable) in relevant.items():
        yield at, (topic, answerable)


def _texts(path: Path) -> dict[str, str]:
    """By a query's own id, the id of its text."""
    found: dict[str, str] = {}
    for number, row in _json_rows(_lines(path), path):
        id_ = next((row[key] for key in _IDS if isinstance(row.get(key), str)), None)
        text = next((row[key] for key in _TEXTS if isinstance(row.get(key), str)), None)
        if id_ is None or text is None:
            raise InputError(f"{visible(str(path))}:{number} has no id and text of a query")
        found[id_] = question_id(text)
    return found
