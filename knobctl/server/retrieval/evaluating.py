"""What queries would get under proposed sets, all of it of one version of the corpus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.server.retrieval.attesting import (
    assembled,
    ranked,
    spelled_version,
    wanted_in_prompt,
)
from knobctl.server.retrieval.hits import bare_hits, hits, unmeasured
from knobctl.server.retrieval.model import Evaluation, Wish
from knobctl.server.retrieval.retrieving import Request
from knobctl.server.retrieval.sharing import Shared
from knobctl.server.retrieval.view import TRIES, Standing, View, answered, without_the_gone
from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knobctl.server.candidates.interface import Vector
    from knobctl.server.retrieval.cache import Retrieved
    from knobctl.server.retrieval.retrieving import Retrieval
    from knobctl.server.retrieval.settings import Settings
    from knobctl.server.store.corpus import Chunk, CorpusSession
    from knobctl.server.store.interface import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What the queries of one call have in common."""

    tenant: str
    sources: frozenset[str] | None
    proposed: Sequence[Settings]
    """The sets, each instead of the one in force."""
    wish: Wish

    @property
    def most(self) -> int | None:
        """Most candidates that come back; None for all."""
        return self.wish.top_k or None


@dataclass(frozen=True, slots=True)
class _Query:
    """One query under one set: its candidates without and with a say of the confidence gate."""

    text: str
    settings: Settings
    first: Retrieved
    whole: Retrieved

    def without_the_gone(self, there: Mapping[str, Chunk], version: int) -> _Query:
        first, whole = (without_the_gone(one, there, version) for one in (self.first, self.whole))
        return replace(self, first=first, whole=whole)


class Evaluating:
    """Safe to use from several threads."""

    def __init__(self, store: Store, retrieval: Retrieval) -> None:
        self._store = store
        self._retrieval = retrieval

    def evaluated(
        self, asking: Asking, queries: Sequence[str]
    ) -> tuple[list[list[Evaluation]], str]:
        """Evaluate queries.

        The version of the corpus is read before and after. Where it changed in between, everything is
        ranked once more; where it changes all the time, chunks that are gone by now are no candidates.

        Returns:
            One list a set, in the order of the queries, and the version of the corpus that they are of.

        Raises:
            StoreUnavailableError: If a ranker answered and the store cannot give the chunks.
        """
        vectors: dict[str, Vector] = {}
        for tries_left in reversed(range(TRIES)):
            found = self._tried(asking, queries, vectors, is_last=not tries_left)
            if found:
                return found
        raise AssertionError("the last try gives something")

    def _tried(
        self,
        asking: Asking,
        queries: Sequence[str],
        vectors: dict[str, Vector],
        *,
        is_last: bool,
    ) -> tuple[list[list[Evaluation]], str] | None:
        version = self._version(asking.tenant)
        sets = self._retrieved(asking, queries, version, Shared(vectors=vectors))
        if not any(answered(one.whole.fused) for queries_ in sets for one in queries_):
            return _evaluations(asking, sets, version, {}), spelled_version(version)
        with self._store.reading() as session:
            now = session.corpus.version(asking.tenant)
            if now != version:
                if not is_last:
                    return None
                there = session.corpus.chunks(asking.tenant, _every_id(sets))
                sets = [[one.without_the_gone(there, now) for one in queries_] for queries_ in sets]
            chunks = _read(session.corpus, asking, sets)
        return _evaluations(asking, sets, now, chunks), spelled_version(now)

    def _version(self, tenant: str) -> int | None:
        try:
            with self._store.reading() as session:
                return session.corpus.version(tenant)
        except StoreUnavailableError:
            return None

    def _retrieved(
        self, asking: Asking, queries: Sequence[str], version: int | None, shared: Shared
    ) -> list[list[_Query]]:
        requests = [
            Request(
                tenant=asking.tenant, sources=asking.sources, query=query, corpus_version=version
            )
            for query in queries
        ]
        by_ranking: dict[tuple[object, ...], list[tuple[Retrieved, Retrieved]]] = {}
        sets = []
        for settings in asking.proposed:
            if settings.ranking not in by_ranking:
                by_ranking[settings.ranking] = self._retrieval.retrieve_each(
                    requests, settings, shared
                )
            pairs = zip(queries, by_ranking[settings.ranking], strict=True)
            sets.append([_Query(query, settings, *both) for query, both in pairs])
        return sets


def _every_id(sets: Iterable[Iterable[_Query]]) -> set[str]:
    return {
        candidate.chunk_id
        for queries in sets
        for query in queries
        for retrieved in (query.first, query.whole)
        for candidate in retrieved.fused.candidates
    }


def _read(
    corpus: CorpusSession, asking: Asking, sets: Iterable[Iterable[_Query]]
) -> dict[str, Chunk]:
    """The chunks that answers are made of: with vectors where a cosine or a prompt needs them."""
    plain: set[str] = set()
    with_vectors: set[str] = set()
    for queries in sets:
        for query in queries:
            shown = [one.chunk_id for one in query.first.fused.candidates[: asking.most]]
            with_vectors.update(unmeasured(shown, query.first))
            if asking.wish.ranking_only:
                with_vectors.update(unmeasured(_best(query), query.whole))
            else:
                plain.update(shown)
                with_vectors.update(wanted_in_prompt(query.whole.fused, query.settings))
    found = corpus.chunks(asking.tenant, with_vectors, vectors=True) if with_vectors else {}
    plain -= found.keys()
    return found | (corpus.chunks(asking.tenant, plain) if plain else {})


def _best(query: _Query) -> list[str]:
    """The best candidate of the expansion pass, where there was one."""
    fused = query.whole.fused
    return [one.chunk_id for one in fused.candidates[:1]] if fused.expanded else []


def _evaluations(
    asking: Asking,
    sets: Iterable[Iterable[_Query]],
    version: int | None,
    chunks: Mapping[str, Chunk],
) -> list[list[Evaluation]]:
    return [[_evaluation(asking, query, version, chunks) for query in queries] for queries in sets]


def _evaluation(
    asking: Asking, query: _Query, version: int | None, chunks: Mapping[str, Chunk]
) -> Evaluation:
    fused = query.first.fused
    view = View(
        standing=Standing(settings=query.settings, corpus_version=version),
        retrieved=query.whole,
        chunks=chunks,
    )
    shown = fused.candidates[: asking.most]
    only = asking.wish.ranking_only
    return Evaluation(
        query=query.text,
        candidates=(bare_hits if only else hits)(shown, chunks, query.first),
        rankers=fused.rankers,
        best_cosine=fused.best_cosine,
        assembled=ranked(view) if only else assembled(None, view),
    )
