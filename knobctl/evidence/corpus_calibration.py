"""Measures the noise floor of a tenant's corpus on an engine: from the store's vectors, or from what Evaluate tells."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from knobctl.checks.evidence_record import corpus_digest
from knobctl.engine.interface import HoldsVectors
from knobctl.errors import EngineError, InputError, RefusedError
from knobctl.evidence.calibrating import calibrated, from_vectors
from knobctl.evidence.closest import Chunks, closest_told
from knobctl.evidence.noise_floor import measure
from knobctl.evidence.replaying import patience
from knobctl.evidence.snapshot import Corpus, Encoder
from knobctl.server.retrieval.off_topic import is_cosine
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from threading import Event

    from numpy.typing import NDArray

    from knobctl.engine.interface import Engine
    from knobctl.evidence.calibrating import Asked, Calibration
    from knobctl.evidence.noise_floor import Measurement
    from knobctl.knobs import Catalogue

T = TypeVar("T")
AT_ONCE: Final = 12
"""Texts in one call: so few that a call stays far from its deadline."""
_CHANGED: Final = "the corpus changed while it was measured"


class StoppedError(Exception):
    """Somebody stopped the run; nothing was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusOnEngine:
    """A tenant's corpus, as its engine describes it."""

    engine: Engine
    tenant: str
    catalogue: Catalogue
    encoder: Encoder
    corpus: Corpus
    parallelism: int
    """Calls at a time."""
    stop: Event
    """Set where no further call may begin."""

    def moved(self) -> bool:
        """Whether it is no longer what it was described as."""
        return corpus_digest(self.engine.describe(self.tenant, {})) != self.corpus.digest


def corpus_on(
    engine: Engine, tenant: str, catalogue: Catalogue, *, parallelism: int, stop: Event
) -> CorpusOnEngine:
    """Ask an engine what it searches for a tenant.

    Raises:
        InputError: If that is nothing.
        EngineError: If the engine does not say.
    """
    described = engine.describe(tenant, {})
    if not described.get("chunks"):
        raise InputError(
            f"{tenant} has no text on {engine.name}: there is nothing to measure",
            hint=f"load some: knobctl engine load FILE.jsonl --tenant {tenant}",
        )
    try:
        encoder = _encoder(described.get("embedder", {}))
        chunks, documents = int(described["chunks"]), int(described.get("documents", 0))
    except (TypeError, ValueError, AttributeError) as error:
        raise _nonsense(engine, f"{type(error).__name__} {error}") from error
    return CorpusOnEngine(
        engine=engine,
        tenant=tenant,
        catalogue=catalogue,
        encoder=encoder,
        corpus=Corpus(chunks=chunks, digest=corpus_digest(described), documents=documents),
        parallelism=parallelism,
        stop=stop,
    )


def _encoder(told: Mapping[str, Any]) -> Encoder:
    """Our engine puts nothing before a text and makes every vector unit length."""
    return Encoder(
        model=told.get("model"),
        revision=told.get("revision", ""),
        dims=told.get("dimensions"),
        pooling=told.get("pooling", ""),
        prefix="",
        normalised=True,
    )


def measured_compat(on: CorpusOnEngine, probes: Sequence[str]) -> Measurement:
    """Measure as the given package does.

    Raises:
        RefusedError: If the store is elsewhere.
        EngineError: If the store or the embedder cannot be asked.
    """
    if not isinstance(on.engine, HoldsVectors):
        raise RefusedError(
            f"{on.engine.name} does not give its vectors, and the given package measures them",
            hint="run it where the store is: --engine embedded:FILE; or leave --compat out",
        )
    stored = on.engine.stored_vectors(on.tenant)
    vectors = dict(zip(stored.chunk_ids, stored.vectors, strict=True))
    found = measure(vectors, [*on.engine.embed(probes)], on.encoder.dims)
    return _of_one_corpus(on, found)


def measured(
    on: CorpusOnEngine,
    probes: Sequence[str],
    asked: Asked,
    on_topic: Sequence[str] = (),
    step: Callable[[int], None] = lambda _: None,
) -> Calibration:
    """Measure in the default mode.

    Args:
        on: The corpus.
        probes: Texts that it says nothing about.
        asked: What is wanted.
        on_topic: Questions that it is about.
        step: Told how many texts are done more.

    Raises:
        EngineError: If the engine cannot be asked, or what it answers is no cosine.
        StoppedError: If somebody stopped it.
    """
    if isinstance(on.engine, HoldsVectors):
        stored = on.engine.stored_vectors(on.tenant)
        chunks = Chunks.of(stored.chunk_ids, stored.vectors)
        off = _embedded(on, on.engine, probes, step)
        aside = _embedded(on, on.engine, on_topic, step) if on_topic else None
        return _of_one_corpus(on, from_vectors(chunks, off, asked, aside))
    told = _told(on, (*probes, *on_topic), step)
    found = calibrated(
        closest_told(told[: len(probes)], on.corpus.chunks),
        asked,
        doubts=() if on.encoder.model else ("the engine does not say which embedder it has",),
        on_topic=[max(one.values()) for one in told[len(probes) :]],
    )
    return _of_one_corpus(on, found)


def _embedded(
    on: CorpusOnEngine, engine: HoldsVectors, texts: Sequence[str], step: Callable[[int], None]
) -> NDArray[np.float32]:
    """The vectors of texts, few at a time, so that a stop is heard."""
    found = []
    for at in range(0, len(texts), AT_ONCE):
        if on.stop.is_set():
            raise StoppedError
        found.append(engine.embed(texts[at : at + AT_ONCE]))
        step(len(found[-1]))
    return np.concatenate(found)


def _of_one_corpus(on: CorpusOnEngine, found: T) -> T:
    if on.moved():
        raise EngineError(f"{on.engine.name}: {_CHANGED}", hint="measure again")
    return found


def _told(
    on: CorpusOnEngine, texts: Sequence[str], step: Callable[[int], None]
) -> list[dict[str, float]]:
    """Of each text, the cosines of the closest chunks by id; nothing is written to the engine."""
    knobs = patience(on.catalogue)

    def ask(batch: Sequence[str]) -> list[dict[str, float]]:
        if on.stop.is_set():
            raise StoppedError
        request = {"config": knobs, "queries": list(batch), "rankingOnly": True}
        answers = on.engine.evaluate(on.tenant, request).get("evaluations", [])
        if not isinstance(answers, list) or len(answers) != len(batch):
            raise _nonsense(on.engine, f"no {len(batch)} evaluations")
        step(len(batch))
        return [_cosines(on, answer) for answer in answers]

    batches = [texts[at : at + AT_ONCE] for at in range(0, len(texts), AT_ONCE)]
    with ThreadPoolExecutor(on.parallelism, thread_name_prefix="calibrate") as pool:
        return [one for found in pool.map(ask, batches) for one in found]


def _cosines(on: CorpusOnEngine, answer: Mapping[str, Any]) -> dict[str, float]:
    """The chunks that the vector ranker found; the best of them must be what the engine says it is."""
    try:
        failed = answer["rankers"].get("vector", {})
        if failed.get("error") or failed.get("timedOut"):
            raise EngineError(
                f"{on.engine.name}: the vector ranker failed: {visible(str(failed.get('error') or 'no answer in time'))}"
            )
        found = {
            str(hit["chunkId"]): float(hit["cosine"])
            for hit in answer["candidates"]
            if "cosine" in hit
        }
        best = float(answer["bestCosine"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _nonsense(on.engine, f"{type(error).__name__} {error}") from error
    if not found or not all(map(is_cosine, (best, *found.values()))):
        raise _nonsense(on.engine, "an evaluation without cosines, or with what is none")
    nearest = max(found, key=lambda name: found[name])
    return found | {nearest: max(best, found[nearest])}


def _nonsense(engine: Engine, what: str) -> EngineError:
    return EngineError(f"{engine.name} answered nonsense: {visible(what)}")
