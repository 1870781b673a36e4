"""From a query to its candidate set: cache, first pass, confidence gate, expansion pass. No floor is applied here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from knobctl.server.audit import rfc3339
from knobctl.server.retrieval.cache import CacheKey, ResultCache, Retrieved
from knobctl.server.retrieval.fusing import best_ranks, fuse
from knobctl.server.retrieval.gate import accepts, survivors
from knobctl.server.retrieval.model import Fused, RankerReport
from knobctl.server.retrieval.rankers import NEAREST
from knobctl.server.retrieval.rewrites import rewrites
from knobctl.server.retrieval.sharing import Question, Shared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from knobctl.server.candidates.interface import Vector
    from knobctl.server.retrieval.rankers import Pass, Rankers
    from knobctl.server.retrieval.settings import Settings
    from knobctl.server.retrieval.sharing import Found
    from knobctl.server.retrieval.watching import Watchers
    from knobctl.server.store.interface import Store

FEEDBACK_ROWS: Final = 3
"""Lexical rows whose texts an expansion takes words from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A query as the pipeline takes it."""

    tenant: str
    sources: frozenset[str] | None
    """Those that scope and ACL admit; None for all."""
    query: str
    corpus_version: int | None
    """What the catalogue is at when the call begins; None where it could not be asked."""
    query_vector: Vector | None = None
    """Of the query, where it is known already."""


class Retrieval:
    """Gives candidate sets. Safe to use from several threads."""

    def __init__(
        self,
        store: Store,
        rankers: Rankers,
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        watchers: Watchers,
    ) -> None:
        self._store = store
        self._rankers = rankers
        self._clock = clock
        self._monotonic = monotonic
        self._watchers = watchers
        self._cache = ResultCache()

    def retrieve(self, request: Request, settings: Settings, *, expands: bool) -> Retrieved:
        """Give the candidates of a query.

        Args:
            request: The query.
            settings: What its tenant's set, or a proposed one, says.
            expands: Whether the confidence gate has its say.

        Raises:
            StoreUnavailableError: If an expansion could not read the texts that it takes words from.
        """
        if kept := self._kept(request, settings, expands=expands):
            return kept
        shared = Shared()
        if request.query_vector is not None:
            shared.vectors[request.query] = request.query_vector
        if not expands:
            return self._first_passes([request], settings, shared)[0]
        first = self.retrieve(request, settings, expands=False)
        return self._put(
            self._expanded(first, request, settings, shared), request, settings, expands=True
        )

    def retrieve_each(
        self, requests: Sequence[Request], settings: Settings, shared: Shared
    ) -> list[tuple[Retrieved, Retrieved]]:
        """Give the candidates of many queries to one corpus, without and with a say of the confidence gate.

        Args:
            requests: The queries, of one tenant and scope.
            settings: What a proposed set says.
            shared: What the call was answered under other sets.

        Raises:
            StoreUnavailableError: As `retrieve`.
        """
        firsts = [self._kept(one, settings, expands=False) for one in requests]
        missing = [one for one, kept in zip(requests, firsts, strict=True) if kept is None]
        fresh = iter(self._first_passes(missing, settings, shared) if missing else ())
        found = []
        for request, kept in zip(requests, firsts, strict=True):
            first = kept or next(fresh)
            found.append((first, self._whole(first, request, settings, shared)))
        return found

    def _whole(
        self, first: Retrieved, request: Request, settings: Settings, shared: Shared
    ) -> Retrieved:
        if accepts(first.fused, settings.expansion):
            return first
        if kept := self._kept(request, settings, expands=True):
            return kept
        return self._put(
            self._expanded(first, request, settings, shared), request, settings, expands=True
        )

    def _kept(self, request: Request, settings: Settings, *, expands: bool) -> Retrieved | None:
        """What the cache holds, where the set has it asked."""
        key = _key(request, settings, expands=expands)
        if key is None:
            return None
        found = self._cache.get(key, now=self._monotonic(), ttl_s=settings.cache_ttl_s)
        self._watchers.looked_up(is_hit=found is not None)
        return found

    def _put(
        self, retrieved: Retrieved, request: Request, settings: Settings, *, expands: bool
    ) -> Retrieved:
        if key := _key(request, settings, expands=expands):
            self._cache.put(key, retrieved)
        return retrieved

    def _first_passes(
        self, requests: Sequence[Request], settings: Settings, shared: Shared
    ) -> list[Retrieved]:
        at = self._monotonic()
        question = self._question(requests[0], settings, [one.query for one in requests])
        found = []
        for request, answers in zip(
            requests, self._rankers.ask_each(question, shared), strict=True
        ):
            fused = replace(
                _fused(answers, question, settings), corpus_version=request.corpus_version or 0
            )
            self._watchers.asked(fused.rankers)
            retrieved = Retrieved(fused=fused, at=at, is_whole=not answers.failures)
            retrieved = _measured(retrieved, answers.found.get("vector"))
            found.append(self._put(retrieved, request, settings, expands=False))
        return found

    def _expanded(
        self, first: Retrieved, request: Request, settings: Settings, shared: Shared
    ) -> Retrieved:
        if accepts(first.fused, settings.expansion):
            return first
        ways = rewrites(
            request.query,
            self._best_lexical_texts(first.fused, request.tenant),
            settings.expansion.max_queries,
        )
        question = replace(
            self._question(request, settings, [request.query, *ways]), depths=settings.widened()
        )
        if first.query_vector is not None:
            shared.vectors[request.query] = first.query_vector
        answers = self._rankers.ask(question, shared)
        if not answers.found:
            self._watchers.asked(answers.failures)
            return replace(first, is_whole=False)
        wide = _fused(answers, question, settings)
        self._watchers.asked(wide.rankers)
        candidates, removed = survivors(wide.candidates, settings.expansion)
        fused = replace(
            first.fused,
            candidates=candidates,
            rankers=wide.rankers,
            expanded=True,
            rewrites=ways,
            removed_by_expansion_floor=removed,
        )
        is_whole = first.is_whole and not answers.failures
        return _measured(
            replace(first, fused=fused, is_whole=is_whole), answers.found.get("vector")
        )

    def _best_lexical_texts(self, first: Fused, tenant: str) -> list[str]:
        in_order = sorted(
            (rank, candidate.chunk_id)
            for candidate in first.candidates
            if (rank := candidate.ranks.get("bm25", FEEDBACK_ROWS + 1)) <= FEEDBACK_ROWS
        )
        if not in_order:
            return []
        ids = [chunk_id for _, chunk_id in in_order]
        with self._store.reading() as session:
            chunks = session.corpus.chunks(tenant, ids)
        return [chunks[chunk_id].text for chunk_id in ids if chunk_id in chunks]

    def _question(self, request: Request, settings: Settings, queries: Sequence[str]) -> Question:
        since = self._clock() - timedelta(hours=settings.recency_window_hours)
        return Question(
            tenant=request.tenant,
            sources=request.sources,
            queries=tuple(queries),
            depths=settings.depths,
            recent_since=rfc3339(since),
            timeout_s=settings.timeout_s,
            corpus_version=request.corpus_version,
        )


def _measured(retrieved: Retrieved, vector: Found | None) -> Retrieved:
    """Add what the vector ranker knows of the query itself: its vector, and how near the chunks are to it.

    Of a first pass without that ranker's answer nothing of it is known; an expansion pass can make up for that.
    """
    if vector is None:
        return retrieved
    rows = vector.rows[0]
    nearest = tuple(rows[:NEAREST])
    return replace(
        retrieved,
        fused=replace(retrieved.fused, best_cosine=rows[0][1] if rows else None, nearest=nearest),
        query_vector=vector.vectors[0],
        cosines=dict(rows),
    )


def _key(request: Request, settings: Settings, *, expands: bool) -> CacheKey | None:
    """Where the set is kept; None where it is not."""
    if request.corpus_version is None or not settings.caches:
        return None
    return CacheKey(
        tenant=request.tenant,
        sources=request.sources,
        query=request.query,
        expands=expands,
        ranking=settings.ranking,
        corpus_version=request.corpus_version,
    )


def _fused(answers: Pass, question: Question, settings: Settings) -> Fused:
    """Make one ranking a ranker, and fuse them."""
    ranks: dict[str, Mapping[str, int]] = {}
    reports = dict(answers.failures)
    for name, found in answers.found.items():
        depth = question.depths[name]
        before = best_ranks(found.lists, depth)
        near = _near_enough(found, settings.vector_min_cosine)
        after = before if near is found.lists else best_ranks(near, depth)
        ranks[name] = after
        reports[name] = RankerReport(
            rows=len(before),
            removed_by_cosine_floor=len(before.keys() - after.keys()),
            latency_ms=answers.latencies_ms[name],
        )
    active = [name for name, report in reports.items() if report.rows]
    return Fused(
        candidates=fuse(ranks, active=active, fusion=settings.fusion),
        rankers={name: reports[name] for name in question.depths},
        best_cosine=None,
    )


def _near_enough(found: Found, min_cosine: float) -> Sequence[Sequence[str]]:
    """The lists without rows under the vector ranker's own floor. Such rows are the last of their list, so ranks stay."""
    if min_cosine == 0 or not found.rows:
        return found.lists
    return [[chunk_id for chunk_id, cosine in row if cosine >= min_cosine] for row in found.rows]
