"""Files that say what is known of questions: their lines, JSON Lines among them, and TREC's qrels."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import InputError
from knobctl.evidence.harvest.asked import question_id
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TEXTS: Final = ("question", "query", "text", "prompt")
"""The keys under which a question's text stands, the first that is there."""
IDS: Final = ("question_id", "id", "query_id", "qid")
"""The same of its id."""
_LEAST: Final = -1_000
_MOST: Final = 1_000
"""Of a relevance: what trec_eval takes is a small number."""
_NUMBER: Final = re.compile(r"-?[0-9]{1,9}")


def lines_of(path: Path) -> list[str]:
    """Read the lines of a file.

    Raises:
        InputError: If it cannot be read, or is no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"{visible(str(path))} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{visible(str(path))} is no UTF-8: byte {error.start}") from error


def json_rows(lines: Sequence[str], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of JSON Lines, each with the number of its line.

    Raises:
        InputError: At the first line that is none.
    """
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


def query_ids(path: Path) -> dict[str, str]:
    """By a query's own id, the question id of its text; from JSON Lines.

    Raises:
        InputError: At the first line that has no id and text.
    """
    found: dict[str, str] = {}
    for number, row in json_rows(lines_of(path), path):
        id_ = next((row[key] for key in IDS if isinstance(row.get(key), str)), None)
        text = next((row[key] for key in TEXTS if isinstance(row.get(key), str)), None)
        if id_ is None or text is None:
            raise InputError(f"{visible(str(path))}:{number} has no id and text of a query")
        found[id_] = question_id(text)
    return found


def qrels_rows(lines: Sequence[str], path: Path) -> Iterator[tuple[int, str, str, int]]:
    """The rows of qrels: line, topic, document, relevance.

    Raises:
        InputError: At the first line that is none.
    """
    for number, line in enumerate(lines, start=1):
        words = line.split()
        is_row = len(words) in {3, 4}
        has_number = bool(words) and _NUMBER.fullmatch(words[-1]) is not None
        if not words or (number == 1 and is_row and not has_number):
            continue  # the head of a table
        if not (is_row and has_number and _LEAST <= int(words[-1]) <= _MOST):
            raise InputError(
                f"{visible(str(path))}:{number} is no line of qrels",
                hint="topic, iteration, document and relevance, or the same without iteration",
            )
        yield number, words[0], words[-2], int(words[-1])
