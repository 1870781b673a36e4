"""Asks a fleet's probe questions: what tenants are answered under a set, and under the one in force."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from knobctl.documents.sources import read_enclosed
from knobctl.documents.strict_json import read_json
from knobctl.errors import EngineError, InputError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from knobctl.documents.model import Document
    from knobctl.engine.interface import Engine
    from knobctl.knobs import KnobValue

AT_ONCE: Final = 20
"""Questions in one call of Evaluate: so few that a call stays far from its deadline."""
BELOW_THRESHOLD: Final = "below_threshold"


@dataclass(frozen=True, slots=True)
class Question:
    """A question that ought to be answered."""

    text: str
    relevant: frozenset[str] = frozenset()
    """Documents or chunks of which one must come; empty where any context is an answer."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What one tenant's questions came to."""

    questions: int
    below_threshold: frozenset[int]
    """The questions, by index, of which everything was removed by a floor."""
    empty: frozenset[int]
    """Those for which nothing was assembled, for whatever reason."""
    answered: frozenset[int]
    """Those that got a context, of something relevant where that is known."""
    corpus_version: str
    """Empty where the engine does not say."""


class Probes:
    """The probe questions of one fleet. Files are read when a tenant needs them, each once."""

    def __init__(self, fleet: Document | None, root: Path) -> None:
        self._fleet = fleet
        self._root = root
        self._read: dict[str, tuple[Question, ...]] = {}
        self._of: dict[tuple[str, ...], tuple[Question, ...]] = {}
        """By files: tenants of one kind share their questions, however many they are."""

    @cached_property
    def _entries(self) -> list[Mapping[str, Any]]:
        written: Any = self._fleet.value.get("probes") if self._fleet else None
        return list(written or ())

    def questions_for(self, tenant: str, labels: Mapping[str, str]) -> tuple[Question, ...]:
        """The questions of all probes that are for a tenant, in the order of the document, each once.

        Raises:
            InputError: If a file of questions cannot be read.
        """
        files = tuple(
            str(entry["questions"]) for entry in self._entries if _concerns(entry, tenant, labels)
        )
        if files not in self._of:
            found: dict[str, Question] = {}
            for file in files:
                for question in self._questions(file):
                    found.setdefault(question.text, question)
            self._of[files] = tuple(found.values())
        return self._of[files]

    def _questions(self, path: str) -> tuple[Question, ...]:
        if path not in self._read:
            self._read[path] = read_questions(self._root, path)
        return self._read[path]


def _concerns(entry: Mapping[str, Any], tenant: str, labels: Mapping[str, str]) -> bool:
    names: Sequence[str] = entry.get("tenants") or ()
    wanted: Mapping[str, str] = entry.get("labels") or {}
    if tenant in names or not (names or wanted):
        return True
    return bool(wanted) and all(labels.get(name) == value for name, value in wanted.items())


def read_questions(root: Path, path: str) -> tuple[Question, ...]:
    """Read a file of questions: JSON lines, such as `{"question": "Who may approve?"}`.

    `relevant` lists documents or chunks of which one must come; what is marked `"answerable": false`
    is left out, for silence is the right answer to it. Other keys are somebody else's.

    Args:
        root: The repository: nothing outside it is read, and no link is followed.
        path: The file, as the fleet names it.

    Raises:
        InputError: If it is no such file, or holds no question.
    """
    try:
        lines = read_enclosed(root, path).splitlines()
    except OSError as error:
        why = error.strerror or "it cannot be read"
        raise InputError(f"the probe questions cannot be read: {visible(path)}: {why}") from error
    asked = [
        _question(line, f"{visible(path)}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    found = tuple(one for one in asked if one is not None)
    if not found:
        raise InputError(f"{visible(path)} holds no question that can be answered")
    return found


def _question(line: bytes, place: str) -> Question | None:
    try:
        value = read_json(line)
    except ValueError as error:
        raise InputError(f"{place} is no JSON: {error}") from error
    text = value.get("question") if isinstance(value, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise InputError(f'{place} must be an object with a question: {{"question": "..."}}')
    relevant = value.get("relevant") or []
    if not (isinstance(relevant, list) and all(isinstance(name, str) for name in relevant)):
        raise InputError(f"{place}: relevant must be a list of documents or chunks")
    return None if value.get("answerable") is False else Question(text, frozenset(relevant))


def answers_under(
    engine: Engine, tenant: str, knobs: Mapping[str, KnobValue], questions: Sequence[Question]
) -> Answers:
    """Ask what a tenant would be answered under a set, without writing it.

    Raises:
        NotOfferedError: If the engine does not evaluate.
        EngineError: If it cannot be asked, or does not answer every question.
    """
    found: list[Mapping[str, Any]] = []
    for start in range(0, len(questions), AT_ONCE):
        texts = [one.text for one in questions[start : start + AT_ONCE]]
        answer = engine.evaluate(tenant, {"config": dict(knobs), "queries": texts})
        evaluations = answer.get("evaluations")
        if not isinstance(evaluations, list) or len(evaluations) != len(texts):
            raise EngineError(
                f"{engine.name} did not answer the {count(len(texts), 'question')} that {tenant} was asked"
            )
        found += evaluations
    return _answers(questions, found)


class AskingStoppedError(Exception):
    """The run was asked to stop while it asked."""


def answers_in_force(
    engine: Engine, tenant: str, questions: Sequence[Question], stop: Event
) -> Answers:
    """Ask what a tenant is answered under the set in force, as its users are.

    Raises:
        NotOfferedError: If the engine does not retrieve.
        EngineError: If it cannot be asked.
        AskingStoppedError: If `stop` is set meanwhile.
    """
    found = []
    for one in questions:
        if stop.is_set():
            raise AskingStoppedError
        found.append(engine.assemble(tenant, {"task": one.text}))
    return _answers(questions, found)


def _answers(questions: Sequence[Question], given: Iterable[Mapping[str, Any]]) -> Answers:
    below, empty, answered = set(), set(), set()
    version = ""
    for index, (question, answer) in enumerate(zip(questions, given, strict=True)):
        quality, chunks = answer.get("quality") or {}, answer.get("chunks") or []
        version = quality.get("corpusVersion") or version
        if quality.get("retrievalOutcome") == BELOW_THRESHOLD:
            below.add(index)
        if not chunks:
            empty.add(index)
        elif not question.relevant or any(_names(one) & question.relevant for one in chunks):
            answered.add(index)
    return Answers(len(questions), frozenset(below), frozenset(empty), frozenset(answered), version)


def _names(chunk: Mapping[str, Any]) -> set[str]:
    return {str(chunk.get("chunkId")), str(chunk.get("documentId"))}
