"""Takes texts in: cuts, embeds, and writes what changed."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError
from knobctl.server.audit import rfc3339
from knobctl.server.auth import EDIT, READ, Caller, admit
from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.retrieval.comparing import Cut, compare, cut_of, hidden_from
from knobctl.server.retrieval.embedder import EmbedderUnavailableError
from knobctl.server.retrieval.embedding import require_same
from knobctl.server.retrieval.model import Deleted, Upserted
from knobctl.server.retrieval.texts import (
    DEFAULT_SOURCE,
    require_acceptable,
    require_ids,
)
from knobctl.server.store.corpus import EmbedderIdentity, corpus_version
from knobctl.server.store.interface import OutcomeUnknownError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from knobctl.server.candidates.interface import Candidates
    from knobctl.server.retrieval.embedder import Embedder
    from knobctl.server.retrieval.model import Text
    from knobctl.server.store.corpus import CorpusSession, Description
    from knobctl.server.store.interface import Session, Store

log: Final = logging.getLogger(__name__)

EMBEDDED_AT_ONCE: Final = 64
"""Pieces between two reports of progress."""


class IngestService:
    """The corpora of every tenant in one store. Safe to call from several threads.

    Every method raises `ServiceError` where it refuses; then nothing was written.
    """

    def __init__(
        self,
        store: Store,
        embedder: Callable[[], Embedder],
        candidates: Candidates,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        """Put it together; nothing is loaded.

        Args:
            store: Holds the catalogue.
            embedder: Gives the embedder when there is something to embed.
            candidates: The indexes that follow the catalogue.
            clock: Tells the time, with its zone.
        """
        self._store = store
        self._embedder = embedder
        self._candidates = candidates
        self._clock = clock

    def upsert(
        self,
        caller: Caller,
        tenant: str | None,
        texts: Sequence[Text],
        *,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Upserted:
        """Take texts in: all of them or none. What is there already, unchanged, is not embedded again.

        Args:
            caller: Who writes; needs L4.
            tenant: Whose; None for the caller's only tenant.
            texts: At most `MOST_TEXTS`, no two of one chunk or document.
            progress: Told how many chunks were embedded, after every few.
        """
        tenant = admit(caller, tenant, EDIT)
        require_acceptable(texts)
        _require_sources(caller, (text.source_id or DEFAULT_SOURCE for text in texts))
        embedder, longest = self._opened()
        cuts = [cut_of(text, longest) for text in texts]
        now = rfc3339(self._clock())
        with self._reading() as session:
            version = session.corpus.version(tenant)
            difference = compare(session.corpus, tenant, caller, cuts, now)
            if difference.written:
                self._require_same(session.corpus, embedder)
        if not difference:
            return Upserted(
                written=0,
                unchanged=difference.unchanged,
                removed=0,
                corpus_version=corpus_version(version),
            )
        vectors: dict[str, bytes] = {}
        wanted = [chunk.text for chunk, _ in difference.written]
        while True:
            # Outside the write transaction: a model is slow, and others want to write.
            self._embed(embedder, wanted, vectors, progress)
            written = self._write(caller, tenant, cuts, now, embedder, vectors)
            if written:
                break
            # Another writer came between and took away what was there unchanged: embed that too.
            wanted = [piece for cut in cuts for piece in cut.pieces.values()]
        self._follow(tenant)
        return written

    def delete_documents(
        self, caller: Caller, tenant: str | None, document_ids: Sequence[str]
    ) -> Deleted:
        """Take documents away with all their chunks; those that are not there are no fault.

        Args:
            caller: Who writes; needs L4. Chunks of sources that it may not search stay.
            tenant: Whose; None for the caller's only tenant.
            document_ids: The documents.
        """
        tenant = admit(caller, tenant, EDIT)
        require_ids("document_ids", document_ids)
        with self._writing(tenant) as session:
            chunks = session.corpus.documents_of(tenant, document_ids)
            doomed = {one for ids in chunks.values() for one in ids}
            doomed -= hidden_from(session.corpus, tenant, caller, doomed)
            version = session.corpus.write(tenant, [], doomed) if doomed else None
            documents = sum(not doomed.isdisjoint(ids) for ids in chunks.values())
            found = Deleted(
                documents=documents,
                chunks=len(doomed),
                corpus_version=corpus_version(version or session.corpus.version(tenant)),
            )
        if doomed:
            self._follow(tenant)
        return found

    def describe(
        self, caller: Caller, tenant: str | None
    ) -> tuple[str, Description, EmbedderIdentity | None]:
        """Count what a tenant's corpus holds, as far as the caller may search it.

        Args:
            caller: Who asks; needs L3.
            tenant: Whose; None for the caller's only tenant.

        Returns:
            The tenant, the counts, and what made the vectors; None while there are none.
        """
        tenant = admit(caller, tenant, READ)
        with self._reading() as session:
            described = session.corpus.describe(tenant, caller.sources)
            return tenant, described, session.corpus.embedder()

    def ready(self) -> EmbedderIdentity:
        """Load the embedder and see that the store's vectors are its own.

        Raises:
            EngineError: If it cannot be used, or another made them.
        """
        embedder = self._embedder()
        try:
            embedder.embed(["ready"])
            with self._store.reading() as session:
                require_same(session.corpus.embedder(), embedder.identity)
        except EmbedderUnavailableError as error:
            raise EngineError(f"the embedder cannot be used: {error}") from error
        except StoreUnavailableError as error:
            raise EngineError(f"the store cannot be used: {error}") from error
        return embedder.identity

    def _opened(self) -> tuple[Embedder, int]:
        """The embedder, and how much it reads."""
        try:
            embedder = self._embedder()
            return embedder, embedder.longest
        except EngineError as error:
            raise _no_embedder(error) from error

    def _embed(
        self,
        embedder: Embedder,
        texts: Iterable[str],
        vectors: dict[str, bytes],
        progress: Callable[[int], None],
    ) -> None:
        """Add the vectors of the texts that have none yet, texts of about one length together."""
        chunks = Counter(text for text in texts if text not in vectors)
        missing = sorted(chunks, key=lambda one: (len(one), one))
        for start in range(0, len(missing), EMBEDDED_AT_ONCE):
            part = missing[start : start + EMBEDDED_AT_ONCE]
            try:
                found = embedder.embed(part).astype("<f4")
            except (EmbedderUnavailableError, EngineError) as error:
                raise _no_embedder(error) from error
            vectors.update(
                (text, vector.tobytes()) for text, vector in zip(part, found, strict=True)
            )
            progress(sum(chunks[text] for text in part))

    def _write(
        self,
        caller: Caller,
        tenant: str,
        cuts: Sequence[Cut],
        now: str,
        embedder: Embedder,
        vectors: dict[str, bytes],
    ) -> Upserted | None:
        """Write what differs now; None if a vector is missing for that."""
        with self._writing(tenant) as session:
            corpus = session.corpus
            difference = compare(corpus, tenant, caller, cuts, now)
            if any(chunk.text not in vectors for chunk, _ in difference.written):
                return None
            if difference.written:
                self._require_same(corpus, embedder)
                if corpus.embedder() is None:
                    corpus.set_embedder(embedder.identity)
            chunks = [
                (replace(chunk, vector=vectors[chunk.text]), digest)
                for chunk, digest in difference.written
            ]
            version = (
                corpus.write(tenant, chunks, difference.removed)
                if difference
                else corpus.version(tenant)
            )
        return Upserted(
            written=len(chunks),
            unchanged=difference.unchanged,
            removed=len(difference.removed),
            corpus_version=corpus_version(version),
        )

    def _require_same(self, corpus: CorpusSession, embedder: Embedder) -> None:
        try:
            require_same(corpus.embedder(), embedder.identity)
        except EmbedderUnavailableError as error:
            raise _no_embedder(error) from error
        except EngineError as error:
            raise ServiceError(Code.FAILED_PRECONDITION, error.message) from error

    def _follow(self, tenant: str) -> None:
        """Bring the index on; where that fails the write stands, and the next call catches up."""
        try:
            self._candidates.follow(tenant)
        except (CandidatesUnavailableError, StoreUnavailableError) as error:
            log.warning("the index of %r stays behind its catalogue for now: %s", tenant, error)

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with _store_troubles("asked"), self._store.reading() as session:
            yield session

    @contextmanager
    def _writing(self, tenant: str) -> Iterator[Session]:
        with _store_troubles("written to"), self._store.ingesting(tenant) as session:
            yield session


def _require_sources(caller: Caller, sources: Iterable[str]) -> None:
    if caller.sources is None:
        return
    other = sorted(set(sources) - caller.sources)
    if other:
        raise ServiceError(
            Code.PERMISSION_DENIED, f"the caller may not write to the source {other[0]}"
        )


def _no_embedder(error: Exception) -> ServiceError:
    log.critical("the embedder cannot be used: %s", error)
    return ServiceError(Code.UNAVAILABLE, "the embedder did not answer; nothing was written")


@contextmanager
def _store_troubles(done: str) -> Iterator[None]:
    try:
        yield
    except OutcomeUnknownError as error:
        log.critical("what became of a write is not known: %s", error)
        raise ServiceError(
            Code.UNAVAILABLE,
            "the store was lost while it wrote; whether it did is not known: send the same again",
        ) from error
    except StoreUnavailableError as error:
        log.critical("the store cannot be %s: %s", done, error)
        raise ServiceError(
            Code.UNAVAILABLE, f"the store cannot be {done}; nothing was written"
        ) from error
