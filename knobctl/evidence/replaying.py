"""Puts questions to an engine under open floors and records what each scores: no LLM, nothing written."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knobctl import __version__
from knobctl.checks.evidence_record import corpus_digest
from knobctl.errors import EngineError, InputError
from knobctl.evidence.reading import fault_of
from knobctl.evidence.recording import Corpus, Heading, Question, Why
from knobctl.fusion import exact, reach
from knobctl.knobs.fusion_setup import InForce
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from threading import Event

    from knobctl.engine.interface import Engine, LiveSet
    from knobctl.evidence.harvest.asked import Question as Asked
    from knobctl.fusion import Reach
    from knobctl.knobs import Catalogue, KnobValue

OPEN: Final = 0.0001
"""A floor that nothing falls under; 0 would mean the platform default."""
AT_ONCE: Final = 32
"""Questions in one call: so few that a call stays far from its deadline."""
_OPENED: Final = ("floor.fused", "floor.expansion")
_PATIENT: Final = "ranker.timeout"
"""How long a ranker is waited for: one that was late on a busy day would be missing in what is measured."""
_LEFT_OUT: Final = ("floor.no_match",)
"""At its default that gate is off; it would hide what a floor has to be chosen among."""
_PLACES: Final = 6
"""Of cosines: they are sums of floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Whose corpus is asked, and how."""

    engine: Engine
    catalogue: Catalogue
    live: LiveSet
    """The tenant's set: everything of it but the floors is in force."""
    top_k: int
    parallelism: int
    """Calls at a time."""
    stop: Event
    """Set where no further call may begin."""
    failures: list[str] = field(default_factory=list)
    """Why questions could not be asked, or what they were answered is no score."""
    answering: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By question id, the documents or chunks that answer it, as far as somebody said so."""
    answer_scores: dict[str, float] = field(default_factory=dict)
    """By id of a question that was asked, the best fused score of a chunk that answers it, where one was found."""

    @property
    def tenant(self) -> str:
        """Whose corpus."""
        return self.live.tenant

    @property
    def knobs(self) -> dict[str, KnobValue]:
        """The tenant's set with open floors, and all the time that a ranker may take."""
        roles = self.catalogue.by_role
        knobs = dict(self.live.knobs)
        for role in _LEFT_OUT:
            if role in roles:
                knobs.pop(roles[role].name, None)
        return (
            knobs
            | patience(self.catalogue)
            | {roles[role].name: OPEN for role in _OPENED if role in roles}
        )


def patience(catalogue: Catalogue) -> dict[str, KnobValue]:
    """All the time that a ranker may take: one that was late on a busy day would be missing in what is measured."""
    knob = catalogue.by_role.get(_PATIENT)
    return {knob.name: knob.maximum} if knob and knob.maximum is not None else {}


def searched(engine: Engine, tenant: str) -> tuple[str, Corpus]:
    """The embedder, `unknown` where nobody says, and what is searched.

    Raises:
        InputError: If the tenant has no text.
        EngineError: If the engine does not say what it searches.
    """
    described = engine.describe(tenant, {})
    if not described.get("chunks"):
        raise InputError(
            f"{tenant} has no text on {engine.name}: there is nothing to find",
            hint=f"load some: knobctl engine load FILE.jsonl --tenant {tenant}",
        )
    try:
        encoder = str(described.get("embedder", {}).get("model") or "unknown")
        documents, chunks = int(described.get("documents", 0)), int(described["chunks"])
    except (TypeError, ValueError, AttributeError) as error:
        why = f"{type(error).__name__} {error}"
        raise EngineError(f"{engine.name} answered nonsense: {visible(why)}") from error
    return encoder, Corpus(digest=corpus_digest(described), documents=documents, chunks=chunks)


def heading_for(replay: Replay, *, kind: str, made_at: datetime, questions: int) -> Heading:
    """Describe what the questions are asked of.

    Args:
        replay: The engine and the tenant.
        kind: What kind of engine it is, without address or secret.
        made_at: Now.
        questions: How many there are.

    Raises:
        InputError: If there is nothing.
        EngineError: If the engine does not say what it searches.
    """
    encoder, corpus = searched(replay.engine, replay.tenant)
    values = replay.catalogue.effective(replay.knobs)
    force = InForce(replay.catalogue, values, lambda name: exact(str(values[name])))
    expansion = replay.catalogue.by_role.get("floor.expansion")
    return Heading(
        made_at=made_at,
        made_by=f"knobctl {__version__}",
        engine=kind,
        tenant=replay.tenant,
        encoder=encoder,
        corpus=corpus,
        knobs=values,
        configured=replay.catalogue.effective(replay.live.knobs),
        weights=force.weights,
        k=force.k,
        depths=force.depths,
        formula=replay.catalogue.formula,
        floor=OPEN,
        expansion_floor=OPEN if expansion else 0,
        top_k=replay.top_k,
        questions=questions,
    )


def replayed(
    replay: Replay,
    heading: Heading,
    questions: Sequence[Asked],
    tell: Callable[[Question], object],
) -> list[Question]:
    """Ask, and give what each question scored, in the order of the questions; errors end no run.

    Args:
        replay: The engine and the tenant.
        heading: What is asked; a score that it rules out is none.
        questions: What is asked, each once.
        tell: Told of each as soon as it is known, in whatever order, from several threads.
    """
    reached = reach(heading.setup(exact(heading.floor)))
    # Of about one length in a call, so that little of what is embedded is padding; the long ones first, so that
    # no long call is left for the end.
    by_length = sorted(questions, key=lambda one: -len(one.question))

    def ask(batch: Sequence[Asked]) -> list[Question]:
        found = [_sound(replay, heading, reached, one) for one in _asked(replay, batch)]
        for one in found:
            tell(one)
        return found

    batches = [by_length[at : at + AT_ONCE] for at in range(0, len(by_length), AT_ONCE)]
    with ThreadPoolExecutor(replay.parallelism, thread_name_prefix="replay") as pool:
        found = {one.id: one for batch in pool.map(ask, batches) for one in batch}
    return [found[one.question_id] for one in questions if one.question_id in found]


def _sound(replay: Replay, heading: Heading, reached: Reach, question: Question) -> Question:
    """The question where what it scored can be, else without a score."""
    if fault := fault_of(heading, reached, question):
        replay.failures.append(f"{replay.engine.name} answered what is no score: {fault}")
        return Question(id=question.id, source=question.source, fused=None, why=Why.FAILED)
    return question


def _asked(replay: Replay, batch: Sequence[Asked]) -> list[Question]:
    """What a call gives; where it fails, each of its questions is asked alone."""
    if replay.stop.is_set():
        return []
    request = {
        "config": replay.knobs,
        "queries": [one.question for one in batch],
        "rankingOnly": True,  # an engine that does not know it answers more than is read
        "topK": replay.top_k,
    }
    if replay.answering:  # what answers stands anywhere, and a ranking names no documents
        request |= {"rankingOnly": False, "topK": 0}
    try:
        answers = replay.engine.evaluate(replay.tenant, request)["evaluations"]
        return [scored(one, answer, replay) for one, answer in zip(batch, answers, strict=True)]
    except EngineError as error:
        why = str(error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"{replay.engine.name} answered nonsense: {type(error).__name__} {error}"
    if len(batch) > 1:
        return [found for one in batch for found in _asked(replay, (one,))]
    replay.failures.append(why)
    return [_unscored(batch[0], Why.FAILED)]


def scored(asked: Asked, answer: Mapping[str, Any], replay: Replay) -> Question:
    """Read the signals of one answer: those that a fused floor is held against, and those of a cosine floor.

    The best chunk is that of the prompt where the question went through the expansion pass, else the
    best of all candidates. Where a ranker failed, nothing is scored: the others score otherwise without it.
    """
    quality = answer.get("quality", {})
    expanded = bool(quality.get("expanded", False))
    candidates = answer.get("candidates", [])
    rows = (quality if expanded else answer).get("rankers", {})
    if any(report.get("error") or report.get("timedOut") for report in rows.values()):
        return _unscored(asked, Why.FAILED)
    fused = answer.get("chunks", []) if expanded else candidates
    if not fused:
        return _unscored(asked, Why.EMPTY)
    best = max(fused, key=lambda hit: hit["score"])
    _note_answer(asked, replay, fused, candidates)
    rendered = candidates[: replay.top_k]
    cosines = sorted((hit["cosine"] for hit in rendered if "cosine" in hit), reverse=True)
    nearest = quality.get("bestCosine", answer.get("bestCosine"))
    return Question(
        id=asked.question_id,
        source=asked.source,
        fused=best["score"],
        ranks=best.get("ranks", {}),
        live=tuple(name for name in replay.catalogue.rankers if rows.get(name, {}).get("rows")),
        expanded=expanded,
        max_cosine=round(cosines[0], _PLACES) if cosines else None,
        nearest_cosine=None if nearest is None else round(nearest, _PLACES),
        margin=round(cosines[0] - cosines[1], _PLACES) if len(cosines) > 1 else None,
        hits=len(rendered),
    )


def _note_answer(asked: Asked, replay: Replay, *found: Sequence[Mapping[str, Any]]) -> None:
    """Note what the best chunk that answers scores, in the first list that holds one."""
    names = replay.answering.get(asked.question_id, frozenset())
    for hits in found:
        scores = [
            hit["score"] for hit in hits if names & {hit.get("documentId"), hit.get("chunkId")}
        ]
        if scores:
            replay.answer_scores[asked.question_id] = max(scores)
            return


def _unscored(asked: Asked, why: Why) -> Question:
    return Question(id=asked.question_id, source=asked.source, fused=None, why=why)
