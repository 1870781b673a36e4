"""Which documents or chunks answer which question: TREC's qrels, in and out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knobctl.errors import InputError
from knobctl.evidence.judged_files import lines_of, qrels_rows, query_ids
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Qrels:
    """The judgements of some questions."""

    by_question: Mapping[str, Mapping[str, int]]
    """By question id, the relevance of each judged document or chunk; positive is relevant."""
    topics: Mapping[str, str] = field(default_factory=dict)
    """What the file itself calls a question, by its id, where it has an id of its own."""

    def relevant(self, question: str) -> frozenset[str]:
        """What answers a question; empty where nothing does, or nobody judged it."""
        judged = self.by_question.get(question, {})
        return frozenset(name for name, relevance in judged.items() if relevance > 0)

    def topic(self, question: str) -> str:
        """What a question is called in files of TREC."""
        return self.topics.get(question, question)

    @property
    def names(self) -> frozenset[str]:
        """All that is judged, for whatever question."""
        return frozenset(name for judged in self.by_question.values() for name in judged)


def read_qrels(path: Path, queries: Path | None = None) -> Qrels:
    """Read qrels: four columns (topic, iteration, document, relevance) or three, with or without a head.

    Args:
        path: The file.
        queries: JSON Lines with the id and the text of each query, where topics are not question ids.

    Raises:
        InputError: At the first line that is none, or that judges a document otherwise than another did.
    """
    ids = query_ids(queries) if queries else {}
    judged: dict[str, dict[str, int]] = {}
    topics: dict[str, str] = {}
    for number, topic, name, relevance in qrels_rows(lines_of(path), path):
        id_ = ids.get(topic, topic)
        topics.setdefault(id_, topic)
        if judged.setdefault(id_, {}).setdefault(name, relevance) != relevance:
            raise InputError(
                f"{visible(str(path))}:{number}: {visible(name)} is judged otherwise above"
            )
    if not judged:
        raise InputError(f"{visible(str(path))} judges no document")
    return Qrels(judged, topics)


def qrels_lines(qrels: Qrels, questions: Iterable[str]) -> Iterator[str]:
    """Write the judgements of some questions in four columns, as `run_lines` names things."""
    for one in questions:
        for name, relevance in qrels.by_question.get(one, {}).items():
            yield f"{as_column(qrels.topic(one))} 0 {as_column(name)} {relevance}\n"


def run_lines(rankings: Iterable[tuple[str, Sequence[str]]], *, tag: str) -> Iterator[str]:
    """Write a run: topic, `Q0`, document, rank, score, tag.

    Tools order by the score alone, so it is the place counted from below.

    Args:
        rankings: By topic, what was found, best first.
        tag: Names the run.
    """
    for topic, names in rankings:
        for rank, name in enumerate(names, start=1):
            yield f"{as_column(topic)} Q0 {as_column(name)} {rank} {len(names) + 1 - rank} {tag}\n"


def as_column(name: str) -> str:
    """A name without what separates columns and lines: that, and the percent sign, as in URLs."""
    return "".join(
        "".join(f"%{byte:02X}" for byte in one.encode("utf-8", "replace"))
        if one.isspace() or one == "%" or not one.isprintable()
        else one
        for one in name
    )
