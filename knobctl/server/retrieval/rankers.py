"""The three rankers: what each is asked, of whom, and what a pass of all of them brings."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError
from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.request_id import current_request_id
from knobctl.server.retrieval.embedder import EmbedderUnavailableError
from knobctl.server.retrieval.embedding import described
from knobctl.server.retrieval.fanout import PREPARATION_S, Answered, FanOut, Stopwatch
from knobctl.server.retrieval.model import RANKERS, RankerReport
from knobctl.server.retrieval.sharing import Found, Question, Shared
from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from knobctl.server.candidates.interface import Candidates, Vector
    from knobctl.server.retrieval.embedder import Embedder
    from knobctl.server.store.corpus import EmbedderIdentity
    from knobctl.server.store.interface import Store

log: Final = logging.getLogger("knobctl.server.retrieval")
WARNING: Final = "retrieval: fan-out produced zero rows or had searcher failures (#2047)"
"""Clients match it by its words."""
NEAREST: Final = 5
"""Closest chunks that are kept for disclosure, however few rows fusion wants."""


class OtherEmbedderError(Exception):
    """The store's vectors are not of the embedder that embeds the queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What the rankers that answered found, and what became of each."""

    found: Mapping[str, Found]
    failures: Mapping[str, RankerReport] = field(default_factory=dict)
    """Of those that failed or were late."""
    latencies_ms: Mapping[str, float] = field(default_factory=dict)


class Rankers:
    """Vector, BM25 and recency over one store. Safe to use from several threads."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        candidates: Candidates,
        *,
        monotonic: Callable[[], float],
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._candidates = candidates
        self._fan_out = FanOut(RANKERS, monotonic=monotonic)
        self._monotonic = monotonic
        self._loading_since: float | None = None
        self._has_embedded = False
        self._fits: EmbedderIdentity | None = None

    def ask(self, question: Question, shared: Shared) -> Pass:
        """Ask the rankers that take part, all at once; warn where one failed or all found nothing.

        Args:
            question: A query and its rewrites.
            shared: What the call was answered before; it remembers this too.
        """
        return _passed(question, self._answers(question, shared, timeout_s=question.timeout_s))

    def ask_each(self, question: Question, shared: Shared) -> list[Pass]:
        """Ask as `ask` does for each of many queries, all in one go: each ranker has the time of all of them.

        They are embedded before, in one go too, which takes less than one by one and gives the same
        vectors. Where the embedder does not answer, they are asked one by one, and each says why.
        """
        queries = question.queries
        alone = [replace(question, queries=(one,)) for one in queries]
        if len(queries) == 1 or not self._embeds_ahead(question, shared):
            return [self.ask(one, shared) for one in alone]
        answers = self._answers(question, shared, timeout_s=question.timeout_s * len(queries))
        return [
            _passed(one, {name: _of(answer, number, alone) for name, answer in answers.items()})
            for number, one in enumerate(alone)
        ]

    def close(self) -> None:
        """Take no more questions."""
        self._fan_out.close()

    def _answers(
        self, question: Question, shared: Shared, *, timeout_s: float
    ) -> dict[str, Answered[Found]]:
        """What each ranker answers, or has answered to the same before."""
        doing = {"vector": self._by_vector, "bm25": self._by_words, "recency": self._recent}
        parts = {name: question.part_of(name) for name in question.depths}
        tasks: dict[str, Callable[[Stopwatch], Found]] = {
            name: partial(doing[name], question, shared)
            for name, part in parts.items()
            if part not in shared.answers
        }
        fresh = self._fan_out.ask(tasks, timeout_s=timeout_s) if tasks else {}
        shared.answers.update(
            (parts[name], answer) for name, answer in fresh.items() if answer.value is not None
        )
        return {name: fresh.get(name) or shared.answers[part] for name, part in parts.items()}

    def _embeds_ahead(self, question: Question, shared: Shared) -> bool:
        """Have all vectors that will be needed; say whether they are there."""
        missing = [one for one in question.queries if one not in shared.vectors]
        if missing and "vector" in question.depths:
            try:
                shared.vectors.update(zip(missing, self._embedder.embed(missing), strict=True))
            except (EmbedderUnavailableError, EngineError):
                return False
        return True

    def _by_vector(self, question: Question, shared: Shared, watch: Stopwatch) -> Found:
        vectors = self._vectors(question, shared, watch)
        limit = max(question.depths["vector"], NEAREST)
        rows = self._candidates.by_vectors(
            question.tenant, vectors, limit=limit, sources=question.sources
        )
        lists = [[chunk_id for chunk_id, _ in row] for row in rows]
        return Found(lists=lists, rows=rows, vectors=vectors)

    def _vectors(self, question: Question, shared: Shared, watch: Stopwatch) -> list[Vector]:
        with watch.preparation():
            self._candidates.follow(question.tenant, known=question.corpus_version)
            self._require_same_embedder()
        missing = [one for one in question.queries if one not in shared.vectors]
        shared.vectors.update(zip(missing, self._embedded(missing, watch), strict=True))
        return [shared.vectors[one] for one in question.queries]

    def _embedded(self, texts: Sequence[str], watch: Stopwatch) -> Iterable[Vector]:
        """Embed; what loads the model at first is preparation, unless that has been tried for long."""
        if not texts:
            return ()
        if self._loading_since is None:
            self._loading_since = self._monotonic()
        if self._has_embedded or self._monotonic() - self._loading_since > PREPARATION_S:
            vectors = self._embedder.embed(texts)
        else:
            with watch.preparation():
                vectors = self._embedder.embed(texts)
        self._has_embedded = True
        return vectors

    def _by_words(self, question: Question, _: Shared, watch: Stopwatch) -> Found:
        with watch.preparation():
            self._candidates.follow(question.tenant, known=question.corpus_version)
        return Found(
            lists=[
                self._candidates.by_words(
                    question.tenant,
                    query,
                    limit=question.depths["bm25"],
                    sources=question.sources,
                )
                for query in question.queries
            ]
        )

    def _recent(self, question: Question, _: Shared, __: Stopwatch) -> Found:
        with self._store.reading() as session:
            ids = session.corpus.recent(
                question.tenant,
                question.sources,
                since=question.recent_since,
                limit=question.depths["recency"],
            )
        return Found(lists=[ids])

    def _require_same_embedder(self) -> None:
        """See that the vectors are comparable. What made a store's vectors never changes, so it is asked until known."""
        if self._fits is None:
            with self._store.reading() as session:
                kept = session.corpus.embedder()
            if kept is not None and kept != self._embedder.identity:
                raise OtherEmbedderError(f"the store's vectors are of {described(kept)}")
            self._fits = kept


def _of(answer: Answered[Found], number: int, all_: Sequence[Question]) -> Answered[Found]:
    """One query's part of what a ranker answered to all of them."""
    return replace(
        answer,
        value=answer.value.of(number) if answer.value else None,
        latency_ms=answer.latency_ms / len(all_),
    )


def _passed(question: Question, answers: Mapping[str, Answered[Found]]) -> Pass:
    found = {name: answer.value for name, answer in answers.items() if answer.value is not None}
    failures = {
        name: _failure(name, answer) for name, answer in answers.items() if name not in found
    }
    if failures or not any(any(one.lists) for one in found.values()):
        _warn(question, found, failures)
    latencies = {name: answers[name].latency_ms for name in found}
    return Pass(found=found, failures=failures, latencies_ms=latencies)


def _failure(name: str, answer: Answered[Found]) -> RankerReport:
    if answer.error is None:
        return RankerReport(timed_out=True, latency_ms=answer.latency_ms)
    return RankerReport(error=_in_words(name, answer.error), latency_ms=answer.latency_ms)


def _in_words(ranker: str, error: BaseException) -> str:
    """Say for callers what failed; what exactly went wrong goes to the log."""
    match error:
        case EmbedderUnavailableError() | EngineError():
            words = "the embedder did not answer"
        case CandidatesUnavailableError():
            words = "the index could not be asked"
        case StoreUnavailableError():
            words = "the store could not be asked"
        case OtherEmbedderError():
            words = "the store's vectors are of another embedder"
        case _:
            request_id = current_request_id()
            words = f"failed (request {request_id})" if request_id else "failed; the log says how"
            log.error("the ranker %s failed", ranker, exc_info=error)
            return words
    log.error("the ranker %s failed: %s: %s", ranker, words, error)
    return words


def _warn(
    question: Question, found: Mapping[str, Found], failures: Mapping[str, RankerReport]
) -> None:
    rows = {
        name: sum(map(len, found[name].lists)) if name in found else 0 for name in question.depths
    }
    errors = {
        name: failure.error or f"no answer within {question.timeout_s * 1000:.0f} ms"
        for name, failure in failures.items()
    }
    sources: int | str = "all" if question.sources is None else len(question.sources)
    log.warning(
        "%s: rows %s; errors %s; sources %s",
        WARNING,
        rows,
        errors or "none",
        sources,
        extra={"rows": rows, "errors": errors, "sources": sources, "tenant": question.tenant},
    )
