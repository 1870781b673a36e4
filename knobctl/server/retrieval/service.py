"""Search, AssembleContext and Evaluate, for every way in."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.server.auth import READ, Caller, admit
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.retrieval.asked import (
    accepted_queries,
    accepted_query,
    accepted_sets,
    accepted_text,
    accepted_top_k,
    effective_sources,
    search_floor,
)
from knobctl.server.retrieval.attesting import (
    assembled,
    no_query,
    wanted_in_prompt,
)
from knobctl.server.retrieval.evaluating import Asking, Evaluating
from knobctl.server.retrieval.floor import apply_floor, histogram
from knobctl.server.retrieval.hits import hits
from knobctl.server.retrieval.model import Assembled, Evaluation, SearchAnswer, Wish
from knobctl.server.retrieval.probing import UNKNOWN, Admitted, Probing
from knobctl.server.retrieval.rankers import Rankers
from knobctl.server.retrieval.relevance import with_relevance
from knobctl.server.retrieval.retrieving import Retrieval
from knobctl.server.retrieval.view import TRIES, View, Views, Wanted, answered
from knobctl.server.retrieval.watching import Watchers
from knobctl.server.store.corpus import corpus_version
from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from knobctl.server.candidates.interface import Candidates, Vector
    from knobctl.server.knobs import KnobsService
    from knobctl.server.retrieval.embedder import Embedder
    from knobctl.server.retrieval.model import Fused
    from knobctl.server.retrieval.off_topic import OffTopic
    from knobctl.server.retrieval.settings import Settings

log: Final = logging.getLogger(__name__)
WHOLE: Final = Wish()
ANYONE: Final = 0
"""The clearance that retrieval needs, beyond the tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """What the queries of one call have in common."""

    tenant: str
    sources: frozenset[str] | None


class ContextService:
    """Retrieval for the tenants of one store. Safe to call from several threads.

    Every method raises `ServiceError` where it refuses.
    """

    def __init__(
        self,
        knobs: KnobsService,
        embedder: Embedder,
        candidates: Candidates,
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        watchers: Watchers | None = None,
    ) -> None:
        """Put it together; nothing is loaded.

        Args:
            knobs: The sets in force, and the store with the catalogue.
            embedder: Of the store's vectors.
            candidates: The indexes over the catalogue.
            clock: Tells the time, with its zone.
            monotonic: Seconds that never go back.
            watchers: Who is told of fan-outs and of the cache.
        """
        self.knobs = knobs
        self.embedder = embedder
        self._rankers = Rankers(knobs.store, embedder, candidates, monotonic=monotonic)
        retrieval = Retrieval(
            knobs.store,
            self._rankers,
            clock=clock,
            monotonic=monotonic,
            watchers=watchers or Watchers(),
        )
        self._views = Views(knobs, retrieval)
        self._probing = Probing(knobs.store, embedder, candidates)
        self._evaluating = Evaluating(knobs.store, retrieval)

    def search(
        self,
        caller: Caller,
        tenant: str | None,
        *,
        query: str,
        top_k: int = 0,
        min_score: float = 0.0,
        source_ids: Sequence[str] = (),
    ) -> SearchAnswer:
        """Rank chunks for a query under the tenant's ranking knobs, in one pass.

        Args:
            caller: Who asks.
            tenant: Whose corpus; None for the caller's only tenant.
            query: What is searched for.
            top_k: Most results, up to 500; 10 if 0.
            min_score: The floor; 0.7 if 0 or negative, whatever the tenant's knobs say.
            source_ids: Only chunks of these sources, of those that the caller may search; all if empty.
        """
        tenant = admit(caller, tenant, ANYONE)
        top_k, floor = accepted_top_k(top_k), search_floor(min_score)

        def shown(fused: Fused, _: Settings) -> list[str]:
            kept = apply_floor(fused.candidates, floor).kept
            return [candidate.chunk_id for candidate in kept[:top_k]]

        view = self._view(
            Wanted(
                tenant=tenant,
                sources=effective_sources(caller, source_ids),
                query=accepted_query(query),
                expands=False,
                chunk_ids=shown,
            )
        )
        if not answered(view.fused):
            raise _nobody_answered(view)
        return _search_answer(view, top_k=top_k, floor=floor)

    def assemble(
        self,
        caller: Caller,
        tenant: str | None,
        *,
        task: str,
        source_ids: Sequence[str] = (),
        relevance: bool = False,
    ) -> Assembled:
        """Retrieve for a task and assemble a prompt; every knob of the tenant holds.

        Args:
            caller: Who asks.
            tenant: Whose corpus; None for the caller's only tenant.
            task: What the prompt is for. A blank one is answered without retrieval: `no_query`.
            source_ids: As in `search`.
            relevance: Whether to say how the task stands beside queries that are off topic.
        """
        tenant = admit(caller, tenant, ANYONE)
        sources = effective_sources(caller, source_ids)
        accepted_text(task, "task")
        asking = _Asking(tenant=tenant, sources=sources)
        if not task.strip():
            answer = no_query(self._views.standing(tenant))
            return with_relevance(answer, UNKNOWN) if relevance else answer
        if relevance:
            return self._beside_off_topic(asking, task)
        return assembled(task, self._assembling(asking, task))

    def evaluate(
        self,
        caller: Caller,
        tenant: str | None,
        config: Mapping[str, object],
        queries: Sequence[str],
        *,
        source_ids: Sequence[str] = (),
        wish: Wish = WHOLE,
    ) -> tuple[list[Evaluation], str]:
        """Answer queries as under a proposed set, without writing it.

        Args:
            caller: Who asks; needs L3.
            tenant: Whose corpus; None for the caller's only tenant.
            config: The proposed set by canonical names, checked as an Update would check it.
            queries: At most 100.
            source_ids: As in `search`.
            wish: How much of each is wanted; see `ranked` for the ranking half alone.

        Returns:
            One evaluation a query, and the version of the corpus that they are of.
        """
        (found,), version = self.evaluate_each(
            caller, tenant, [config], queries, source_ids=source_ids, wish=wish
        )
        return found, version

    def evaluate_each(
        self,
        caller: Caller,
        tenant: str | None,
        configs: Sequence[Mapping[str, object]],
        queries: Sequence[str],
        *,
        source_ids: Sequence[str] = (),
        wish: Wish = WHOLE,
    ) -> tuple[list[list[Evaluation]], str]:
        """Answer queries as under each of several proposed sets; see `evaluate`.

        A query is embedded once for all of them, and a ranker asked once for those of the same depths.

        Returns:
            One list a set, in the order of the queries.
        """
        tenant = admit(caller, tenant, READ)
        proposed = accepted_sets(self.knobs.catalogue, configs)
        accepted = accepted_queries(queries)
        if wish.top_k < 0:
            raise ServiceError(Code.INVALID_ARGUMENT, "topK must not be negative")
        asking = Asking(
            tenant=tenant,
            sources=effective_sources(caller, source_ids),
            proposed=proposed,
            wish=wish,
        )
        try:
            return self._evaluating.evaluated(asking, accepted)
        except StoreUnavailableError as error:
            raise _no_texts(tenant, error) from error

    def close(self) -> None:
        """Take no more calls. The store and the candidates are not closed: they were given."""
        self._rankers.close()

    def _assembling(self, asking: _Asking, task: str, vector: Vector | None = None) -> View:
        return self._view(
            Wanted(
                tenant=asking.tenant,
                sources=asking.sources,
                query=task,
                query_vector=vector,
                expands=True,
                chunk_ids=wanted_in_prompt,
                with_vectors=True,
            )
        )

    def _beside_off_topic(self, asking: _Asking, task: str) -> Assembled:
        """Assemble, and probe the very corpus that was asked; nothing is known of one that changes all the time."""
        view = self._assembling(asking, task)
        for _ in range(TRIES - 1):
            off_topic = self._off_topic(asking, view)
            if off_topic is not None:
                return with_relevance(assembled(task, view), off_topic)
            view = self._assembling(asking, task, view.retrieved.query_vector)
        return with_relevance(assembled(task, view), UNKNOWN)

    def _off_topic(self, asking: _Asking, view: View) -> OffTopic | None:
        """What off-topic probes come to in the corpus of a view; None where it has changed since."""
        version = view.standing.corpus_version
        if version is None or view.fused.best_cosine is None:
            return UNKNOWN
        if version != view.fused.corpus_version:
            return None
        return self._probing.off_topic(
            Admitted(tenant=asking.tenant, sources=asking.sources, corpus_version=version)
        )

    def _view(self, wanted: Wanted) -> View:
        try:
            return self._views.view(wanted)
        except StoreUnavailableError as error:
            raise _no_texts(wanted.tenant, error) from error


def _search_answer(view: View, *, top_k: int, floor: float) -> SearchAnswer:
    fused = view.fused
    floored = apply_floor(fused.candidates, floor)
    return SearchAnswer(
        results=hits(floored.kept[:top_k], view.chunks, view.retrieved),
        effective_min_score=floor,
        results_below_threshold=floored.removed,
        outcome=floored.outcome,
        rankers=fused.rankers,
        best_removed_score=floored.best_removed_score,
        corpus_version=corpus_version(fused.corpus_version),
        score_histogram=histogram(fused.candidates),
        last_good_knobs=view.standing.last_good,
    )


def _nobody_answered(view: View) -> ServiceError:
    timeout_ms = view.standing.settings.timeout_s * 1000
    states = "; ".join(
        f"{name}: {report.error or f'no answer within {timeout_ms:.0f} ms'}"
        for name, report in view.fused.rankers.items()
    )
    return ServiceError(Code.UNAVAILABLE, f"no ranker answered: {states}")


def _no_texts(tenant: str, error: StoreUnavailableError) -> ServiceError:
    log.critical("the store cannot be asked for texts of %r: %s", tenant, error)
    return ServiceError(
        Code.UNAVAILABLE, "the store cannot be asked for the texts of what was found"
    )
