"""Asks an engine what its rankers find, under open floors, so that sets can be simulated without it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knobctl import __version__
from knobctl.errors import EngineError
from knobctl.evidence.rankings import Heading, Pass, Ranked, RankedChunk
from knobctl.evidence.replaying import AT_ONCE, OPEN, searched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from threading import Event

    from knobctl.engine.interface import Engine, LiveSet
    from knobctl.evidence.harvest.asked import Question
    from knobctl.evidence.simulating import Asked
    from knobctl.knobs import Catalogue, KnobValue

_OPENED: Final = ("floor.fused", "floor.expansion")
_AT_MOST: Final = (
    *("ranker.timeout", "assembly_max_chunks", "assembly_token_budget"),
    *("max_chunks_per_document", "mmr_lambda", "dedup_min_similarity"),
)
"""Knobs, by role or name, that let everything through at their most: then a prompt lists what its pass found."""
_PLACES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Whose corpus is asked."""

    engine: Engine
    catalogue: Catalogue
    live: LiveSet
    parallelism: int
    stop: Event
    failures: list[str] = field(default_factory=list)
    """Why questions could not be asked."""

    @property
    def knobs(self) -> dict[str, KnobValue]:
        """The tenant's set with open floors, and nothing that leaves a chunk out of a prompt."""
        catalogue = self.catalogue
        gate = catalogue.by_role.get("floor.no_match")
        knobs = {
            name: one for name, one in self.live.knobs.items() if not gate or name != gate.name
        }
        for name in _AT_MOST:
            knob = catalogue.by_role.get(name) or catalogue.by_name.get(name)
            if knob and knob.maximum is not None:
                knobs[knob.name] = knob.maximum
        roles = [catalogue.by_role[role].name for role in _OPENED if role in catalogue.by_role]
        return knobs | dict.fromkeys(roles, OPEN)


def recorded(
    recorder: Recorder,
    questions: Sequence[tuple[Question, Asked]],
    *,
    kind: str,
    made_at: datetime,
    tell: Callable[[], object],
) -> tuple[Heading, list[Ranked]]:
    """Ask all questions; those that fail are left out.

    Raises:
        InputError: If the tenant has no text.
        EngineError: If the engine does not say what it searches.
    """
    encoder, corpus = searched(recorder.engine, recorder.live.tenant)
    found = [*_asked_all(recorder, questions, tell)]
    heading = Heading(
        made_at=made_at,
        made_by=f"knobctl {__version__}",
        engine=kind,
        tenant=recorder.live.tenant,
        encoder=encoder,
        corpus=corpus,
        knobs=recorder.catalogue.effective(recorder.knobs),
        configured=recorder.live.knobs,
        questions=len(found),
    )
    return heading, found


def _asked_all(
    recorder: Recorder, questions: Sequence[tuple[Question, Asked]], tell: Callable[[], object]
) -> Iterator[Ranked]:
    def ask(batch: Sequence[tuple[Question, Asked]]) -> list[Ranked]:
        found = _asked(recorder, batch)
        for _ in batch:
            tell()
        return found

    batches = [questions[at : at + AT_ONCE] for at in range(0, len(questions), AT_ONCE)]
    with ThreadPoolExecutor(recorder.parallelism, thread_name_prefix="record") as pool:
        for found in pool.map(ask, batches):
            yield from found


def _asked(recorder: Recorder, batch: Sequence[tuple[Question, Asked]]) -> list[Ranked]:
    if recorder.stop.is_set():
        return []
    request = {"config": recorder.knobs, "queries": [one.question for one, _ in batch]}
    try:
        answers = recorder.engine.evaluate(recorder.live.tenant, request)["evaluations"]
        found = [
            _ranked(recorder, asked, one) for (_, asked), one in zip(batch, answers, strict=True)
        ]
        return [one for one in found if one]
    except EngineError as error:
        why = str(error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"{recorder.engine.name} answered nonsense: {type(error).__name__} {error}"
    if len(batch) > 1:
        return [found for one in batch for found in _asked(recorder, (one,))]
    recorder.failures.append(why)
    return []


def _ranked(recorder: Recorder, asked: Asked, answer: Mapping[str, Any]) -> Ranked | None:
    quality = answer.get("quality", {})
    reports = [*answer.get("rankers", {}).values(), *quality.get("rankers", {}).values()]
    if any(one.get("error") or one.get("timedOut") for one in reports):
        recorder.failures.append(f"{recorder.engine.name}: a ranker failed or was late")
        return None
    first = _pass(answer, answer.get("candidates", []), most=None)
    if not quality.get("expanded"):
        return Ranked(asked=asked, first=first)
    limit = recorder.catalogue.by_name.get("assembly_max_chunks")
    most = int(limit.maximum) if limit and limit.maximum is not None else 0
    return Ranked(
        asked=asked, first=first, wide=_pass(quality, answer.get("chunks", []), most=most)
    )


def _pass(said: Mapping[str, Any], hits: Sequence[Mapping[str, Any]], *, most: int | None) -> Pass:
    return Pass(
        rows={name: int(one.get("rows", 0)) for name, one in said.get("rankers", {}).items()},
        chunks=tuple(
            RankedChunk(
                str(hit["chunkId"]),
                str(hit["documentId"]),
                {name: int(rank) for name, rank in hit["ranks"].items()},
                float(hit["score"]),
                _rounded(hit.get("cosine")),
            )
            for hit in hits
        ),
        best_cosine=said.get("bestCosine"),
        is_whole=most is None or len(hits) < most,
    )


def _rounded(cosine: float | None) -> float | None:
    return None if cosine is None else round(cosine, _PLACES)
