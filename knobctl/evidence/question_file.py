"""The held-out set: a question a line, as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from knobctl.errors import InputError
from knobctl.evidence.harvest.asked import SOURCES, Question, question_id
from knobctl.evidence.harvest.harvesting import HeldOut
from knobctl.evidence.judged_files import json_rows, lines_of
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def question_lines(questions: Iterable[Question]) -> Iterator[bytes]:
    """Lay out questions, a line each; what ends a line elsewhere is escaped."""
    for one in questions:
        record = {
            "question_id": one.question_id,
            "question": one.question,
            "source": one.source,
            "historical_refused": one.historical_refused,
        }
        yield json.dumps(record, ensure_ascii=True).encode() + b"\n"


def read_questions(path: Path) -> list[Question]:
    """Read a held-out set; a question that stands there twice is one.

    Raises:
        InputError: If it cannot be read, or a line is none of ours: naming the line.
    """
    held = HeldOut()
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if raw.strip():
                    held.add(_question(raw, f"{visible(str(path))}:{number}"))
    except OSError as error:
        raise InputError(f"{visible(str(path))} cannot be read: {error.strerror}") from error
    return [*held.questions.values()]


def read_tags(path: Path) -> dict[str, tuple[str, ...]]:
    """Read the tags of a held-out set: what a line has under `tags`, by question id; others have none.

    Raises:
        InputError: If it cannot be read, or tags are no list of texts: naming the line.
    """
    found: dict[str, dict[str, None]] = {}
    for number, row in json_rows(lines_of(path), path):
        tags, question = row.get("tags", []), row.get("question")
        if not isinstance(tags, list) or not all(isinstance(one, str) and one for one in tags):
            raise InputError(f"{visible(str(path))}:{number}: tags must be a list of texts")
        if tags and isinstance(question, str):
            found.setdefault(question_id(question), {}).update(dict.fromkeys(tags))
    return {id_: tuple(tags) for id_, tags in found.items()}


def _question(raw: bytes, place: str) -> Question:
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is no JSON") from error
    question = record.get("question") if isinstance(record, dict) else None
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"{place} holds no question", hint='a line is {"question": "...", ...}')
    return Question(
        question=question,
        source=_one_of(record, "source", SOURCES, place),
        historical_refused=_one_of(record, "historical_refused", (True, False, None), place),
    )


def _one_of(record: dict[str, Any], key: str, known: tuple[Any, ...], place: str) -> Any:  # noqa: ANN401  a text or a truth value
    value = record.get(key)
    if not any(value is one or (isinstance(one, str) and value == one) for one in known):
        told = ", ".join("null" if one is None else str(one).lower() for one in known)
        raise InputError(f"{place}: {key} is {visible(repr(value))}; it must be one of {told}")
    return value
