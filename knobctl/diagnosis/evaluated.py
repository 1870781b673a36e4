"""What a tenant would be answered under a set that need not be in force: one evaluation as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from knobctl.diagnosis.fields import Fields
from knobctl.diagnosis.reading import from_object, read_row
from knobctl.errors import InputError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.diagnosis.answer import Answer


class Fate(StrEnum):
    """What became of a candidate."""

    PROMPT = "prompt"
    LEFT_OUT = "left-out"
    """Above the floor; a duplicate, or a limit of the assembly left it out."""
    FLOOR = "floor"
    NO_MATCH = "no-match"
    """The no-match gate closed: every candidate counts as removed."""
    UNTOLD = "untold"
    """An expansion ranked anew, or retrieval did not run: the answer does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One chunk that was found, and what became of it."""

    chunk_id: str
    document_id: str
    score: float | None
    """What the floor was held against; of the first pass where it did not enter the prompt."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    cosine: float | None = None
    text: str = ""
    """Empty where the answer does not carry it."""
    fate: Fate
    place: int | None = None
    """Its place in the prompt, from 1."""


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """One question under one set."""

    question: str
    answer: Answer
    """What AssembleContext would answer."""
    candidates: tuple[Candidate, ...]
    """The prompt in its order, then the others by score, best first; each chunk once."""
    best_cosine: float | None
    oddities: tuple[str, ...] = ()

    @cached_property
    def prompt(self) -> tuple[Candidate, ...]:
        """What a model would get, in its order."""
        return tuple(one for one in self.candidates if one.fate is Fate.PROMPT)

    @cached_property
    def by_id(self) -> Mapping[str, Candidate]:
        """The candidates by chunk."""
        return {one.chunk_id: one for one in self.candidates}


def read_evaluations(value: Mapping[str, Any], source: str) -> list[Evaluated]:
    """Read the answer to Evaluate, in the order of the questions.

    Args:
        value: The answer in the wire's JSON. What in it is odd is noted and left out.
        source: Who gave it, for people.

    Raises:
        InputError: If it is no such answer.
    """
    oddities: list[str] = []
    fields = Fields(value, "", oddities)
    if "evaluations" not in fields:
        raise InputError(f"{visible(source)} gave no answer of Evaluate")
    return [
        _evaluated(one, source, oddities)
        for one in fields.items("evaluations")
        if isinstance(one, dict)
    ]


def _evaluated(value: Mapping[str, Any], source: str, oddities: list[str]) -> Evaluated:
    fields = Fields(value, "", oddities)
    assembled = {"chunks": fields.items("chunks"), "quality": fields.mapping("quality")}
    answer = from_object(assembled, source)
    return Evaluated(
        question=fields.text("query"),
        answer=answer,
        candidates=tuple(_candidates(fields, answer)),
        best_cosine=fields.number("bestCosine"),
        oddities=(*oddities, *answer.oddities),
    )


def _candidates(fields: Fields, answer: Answer) -> Iterator[Candidate]:
    seen: set[str] = set()
    for place, one in enumerate(fields.objects("chunks"), 1):
        found = _candidate(one, Fate.PROMPT, place)
        if found.chunk_id not in seen:
            seen.add(found.chunk_id)
            yield found
    rest = []
    for one in fields.objects("candidates"):
        found = _candidate(one, _fate(one.number("score"), answer), None)
        if found.chunk_id not in seen:
            seen.add(found.chunk_id)
            rest.append(found)
    yield from sorted(rest, key=lambda one: (-(one.score or 0.0), one.chunk_id))


def _candidate(fields: Fields, fate: Fate, place: int | None) -> Candidate:
    row = read_row(fields)
    return Candidate(
        chunk_id=row.chunk_id,
        document_id=fields.text("documentId"),
        score=row.score,
        ranks=row.ranks,
        cosine=fields.number("cosine"),
        text=fields.text("text"),
        fate=fate,
        place=place,
    )


def _fate(score: float | None, answer: Answer) -> Fate:
    """What became of a candidate of the first pass that is not in the prompt."""
    if answer.no_match:
        return Fate.NO_MATCH
    if answer.expanded or answer.fallback_used or answer.floor is None or score is None:
        return Fate.UNTOLD
    # The engine holds them against each other as doubles, and so they are here.
    return Fate.LEFT_OUT if score >= answer.floor else Fate.FLOOR
