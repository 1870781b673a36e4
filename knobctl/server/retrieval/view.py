"""One moment of a tenant: the set in force, the candidates of a query, and their texts, all of one corpus version."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knobctl.server.retrieval.hits import needs_vectors
from knobctl.server.retrieval.retrieving import Request, Retrieval
from knobctl.server.retrieval.settings import Settings, settings_of
from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from knobctl.server.candidates.interface import Vector
    from knobctl.server.knobs import KnobsService
    from knobctl.server.retrieval.cache import Retrieved
    from knobctl.server.retrieval.model import Fused
    from knobctl.server.store.corpus import Chunk

TRIES: Final = 5
"""How often a query is asked while its corpus changes under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a call goes by."""

    settings: Settings
    last_good: bool = False
    """Whether the store could not give the set, so that these are the last good ones."""
    corpus_version: int | None = None
    """None where the store could not be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a call answers from."""

    standing: Standing
    retrieved: Retrieved
    chunks: Mapping[str, Chunk]
    """Those that were wanted, by id."""

    @property
    def fused(self) -> Fused:
        """The candidates before the floor."""
        return self.retrieved.fused


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a call asks for."""

    tenant: str
    sources: frozenset[str] | None
    query: str
    expands: bool
    chunk_ids: Callable[[Fused, Settings], Collection[str]]
    """The candidates whose texts are needed."""
    with_vectors: bool = False
    query_vector: Vector | None = None
    """Of the query, where it is known already."""


class Views:
    """Gives views. Safe to use from several threads."""

    def __init__(self, knobs: KnobsService, retrieval: Retrieval) -> None:
        self._knobs = knobs
        self._retrieval = retrieval

    def standing(self, tenant: str) -> Standing:
        """Read what a call goes by.

        Raises:
            ServiceError: `unavailable` where the store cannot be asked and no good set is remembered.
        """
        try:
            with self._knobs.store.reading() as session:
                version = session.corpus.version(tenant)
                stored = self._knobs.in_force_within(session, tenant)
        except StoreUnavailableError as error:
            version, stored = None, self._knobs.last_good(tenant, error)
        settings = settings_of(self._knobs.catalogue, stored.knobs)
        return Standing(settings=settings, last_good=stored.last_good, corpus_version=version)

    def view(self, wanted: Wanted) -> View:
        """Retrieve, and read texts of the very corpus that was ranked.

        The version is read before and after. Where the corpus changed in between, everything is asked
        once more; where it changes all the time, chunks that are gone by now are no candidates.

        Raises:
            ServiceError: As `standing`.
            StoreUnavailableError: If a ranker answered and the store cannot give the texts.
        """
        for tries_left in reversed(range(TRIES)):
            standing = self.standing(wanted.tenant)
            retrieved = self._retrieve(wanted, standing)
            if not answered(retrieved.fused):
                return View(standing=standing, retrieved=retrieved, chunks={})
            view = self._read(wanted, standing, retrieved, is_last=not tries_left)
            if view:
                return view
        raise AssertionError("the last try gives a view")

    def _retrieve(self, wanted: Wanted, standing: Standing) -> Retrieved:
        request = Request(
            tenant=wanted.tenant,
            sources=wanted.sources,
            query=wanted.query,
            query_vector=wanted.query_vector,
            corpus_version=standing.corpus_version,
        )
        return self._retrieval.retrieve(request, standing.settings, expands=wanted.expands)

    def _read(
        self, wanted: Wanted, standing: Standing, retrieved: Retrieved, *, is_last: bool
    ) -> View | None:
        with self._knobs.store.reading() as session:
            version = session.corpus.version(wanted.tenant)
            if version != standing.corpus_version:
                if not is_last:
                    return None
                every_id = [candidate.chunk_id for candidate in retrieved.fused.candidates]
                there = session.corpus.chunks(wanted.tenant, every_id)
                retrieved = without_the_gone(retrieved, there, version)
            ids = wanted.chunk_ids(retrieved.fused, standing.settings)
            vectors = wanted.with_vectors or needs_vectors(ids, retrieved)
            chunks = session.corpus.chunks(wanted.tenant, ids, vectors=vectors) if ids else {}
        return View(standing=standing, retrieved=retrieved, chunks=chunks)


def answered(fused: Fused) -> bool:
    """Whether any ranker did."""
    return any(not report.error and not report.timed_out for report in fused.rankers.values())


def without_the_gone(retrieved: Retrieved, there: Mapping[str, Chunk], version: int) -> Retrieved:
    """Candidates of an earlier version, as far as their chunks are still there."""
    fused = retrieved.fused
    left = tuple(candidate for candidate in fused.candidates if candidate.chunk_id in there)
    return replace(
        retrieved, fused=replace(fused, candidates=left, corpus_version=version), is_whole=False
    )
