"""Opens everything that a reference engine offers over one store."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from knobctl.server.knobs import KnobsService
from knobctl.server.retrieval.watching import Watchers
from knobctl.server.store import embedded_file, open_store
from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from knobctl.knobs import Catalogue
    from knobctl.server.candidates.interface import Candidates
    from knobctl.server.retrieval.embedder import Embedder
    from knobctl.server.retrieval.ingest import IngestService
    from knobctl.server.retrieval.service import ContextService
    from knobctl.server.store.interface import Store

log: Final = logging.getLogger(__name__)

_ENGINE: Final = ("numpy", "onnxruntime", "tantivy", "tokenizers", "usearch")
"""What the extra `engine` brings and retrieval imports."""


@dataclass(frozen=True, kw_only=True)
class RetrievalParts:
    """What retrieval works with, besides the store."""

    clock: Callable[[], datetime]
    monotonic: Callable[[], float] = time.monotonic
    candidates_url: str | None = None
    """Of a Milvus; None for indexes in this process."""
    embedder: str = "minilm"
    """See `knobctl.server.retrieval.embedding.open_embedder`."""
    embedder_key: str | None = None
    index_folder: Path | None = None
    """Where indexes in this process are kept; None to keep none."""

    @cached_property
    def opened_embedder(self) -> Embedder:
        """The embedder; its model loads with its first text."""
        from knobctl.server.retrieval.embedding import open_embedder

        return open_embedder(self.embedder, key=self.embedder_key)

    def fitting_embedder(self, store: Store) -> Embedder:
        """The embedder, if the store's vectors are of it or there are none.

        One that cannot be asked who it is passes: the vector ranker looks again before it compares vectors.

        Raises:
            EngineError: If another embedder made the store's vectors.
        """
        from knobctl.server.retrieval.embedder import EmbedderUnavailableError
        from knobctl.server.retrieval.embedding import require_same

        try:
            with store.reading() as session:
                kept = session.corpus.embedder()
            if kept:
                require_same(kept, self.opened_embedder.identity)
        except (StoreUnavailableError, EmbedderUnavailableError) as error:
            log.warning("not known yet whether the embedder is that of the store: %s", error)
        return self.opened_embedder

    def open_candidates(self, store: Store) -> Candidates:
        """The indexes over a store."""
        if self.candidates_url:
            from knobctl.server.candidates.milvus import MilvusCandidates

            return MilvusCandidates(store, self.candidates_url)
        from knobctl.server.candidates.local import LocalCandidates

        return LocalCandidates(store, index_folder=self.index_folder)


class Services:
    """The services over one store. Retrieval's are made when they are first asked for: knobs never wait for them."""

    def __init__(self, knobs: KnobsService, parts: RetrievalParts, *, missing: str = "") -> None:
        """Put them together.

        Args:
            knobs: The knobs service, with its store.
            parts: What retrieval works with.
            missing: Why retrieval is not offered; empty if it is.
        """
        self.knobs = knobs
        self.missing = missing
        self.watchers = Watchers()
        self._parts = parts

    def ask_embedder(self) -> None:
        """See whether the embedder answers, where retrieval is offered.

        Raises:
            EngineError: As `context`.
            UsageError: As `context`.
            EmbedderUnavailableError: If it does not.
        """
        if self.context:
            self.context.embedder.embed(["ready"])

    def ask_index(self) -> None:
        """See whether the index answers, where retrieval is offered.

        Raises:
            EngineError: As `context`.
            UsageError: As `context`.
            CandidatesUnavailableError: If it does not.
        """
        if self.context:
            self._candidates.ask()

    @cached_property
    def context(self) -> ContextService | None:
        """Search, assembly and evaluation; None where `missing` says why.

        Raises:
            EngineError: If the embedder or the index cannot be opened, or the store's vectors are of another embedder.
            UsageError: If the embedder's name means none.
        """
        if self.missing:
            return None
        from knobctl.server.retrieval.service import ContextService

        return ContextService(
            self.knobs,
            self._parts.fitting_embedder(self.knobs.store),
            self._candidates,
            clock=self._parts.clock,
            monotonic=self._parts.monotonic,
            watchers=self.watchers,
        )

    @cached_property
    def ingest(self) -> IngestService | None:
        """Taking texts in; None where `missing` says why.

        Raises:
            EngineError: As `context`.
            UsageError: As `context`.
        """
        if self.missing:
            return None
        from knobctl.server.retrieval.ingest import IngestService

        return IngestService(
            self.knobs.store,
            lambda: self._parts.opened_embedder,
            self._candidates,
            clock=self._parts.clock,
        )

    def close(self) -> None:
        """Give back connections, threads and files."""
        if "context" in self.__dict__ and self.context:
            self.context.close()
        if "_candidates" in self.__dict__:
            self._candidates.close()
        self.knobs.close()

    @cached_property
    def _candidates(self) -> Candidates:
        return self._parts.open_candidates(self.knobs.store)


def open_services(  # noqa: PLR0913  what an engine is made of, each with a name
    store_url: str,
    catalogue: Catalogue,
    *,
    clock: Callable[[], datetime],
    monotonic: Callable[[], float] = time.monotonic,
    entropy: Callable[[int], bytes] = os.urandom,
    candidates_url: str | None = None,
    embedder: str | None = None,
    embedder_key: str | None = None,
) -> Services:
    """Open an engine's services. No model and no index is loaded yet.

    Args:
        store_url: As `knobctl.server.store.open_store` takes it.
        catalogue: The knobs.
        clock: Tells the time, with its zone.
        monotonic: Seconds that never go back, for deadlines and ages.
        entropy: Gives that many random bytes.
        candidates_url: A Milvus that holds the indexes; None for indexes in this process.
        embedder: `minilm` if None; else as `open_embedder` takes it.
        embedder_key: For an endpoint that wants one.

    Raises:
        UsageError: If the URL names no store that is offered.
        EngineError: If the store cannot be used.
    """
    store = open_store(store_url, catalogue)
    knobs = KnobsService(store, catalogue, clock=clock, entropy=entropy, monotonic=monotonic)
    file = embedded_file(store_url)
    parts = RetrievalParts(
        clock=clock,
        monotonic=monotonic,
        candidates_url=candidates_url,
        embedder=embedder or "minilm",
        embedder_key=embedder_key,
        index_folder=file.with_name(f"{file.name}.index") if file else None,
    )
    return Services(knobs, parts, missing=_missing())


def _missing() -> str:
    absent = [name for name in _ENGINE if find_spec(name) is None]
    if not absent:
        return ""
    return f"retrieval needs {', '.join(absent)}: pip install 'knobctl[engine]'"
