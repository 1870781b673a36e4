"""An engine in the process on a store of the test's own, with clocks that the test moves."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from knobctl.knobs import load_catalogue
from knobctl.server.auth import Caller, local_caller
from knobctl.server.candidates.local import LocalCandidates
from knobctl.server.knobs import open_service
from knobctl.server.retrieval.ingest import IngestService
from knobctl.server.retrieval.minilm import MiniLm
from knobctl.server.retrieval.model import Text
from knobctl.server.retrieval.service import ContextService

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from knobctl.server.candidates.interface import Candidates
    from knobctl.server.retrieval.embedder import Embedder, Vectors
    from knobctl.server.retrieval.model import Assembled, Evaluation, SearchAnswer
    from knobctl.server.store.interface import Store

TENANT = "acme"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Remembering(MiniLm):
    """The real embedder; what it has embedded once for a test is not embedded again for the next."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        missing = [one for one in dict.fromkeys(texts) if one not in self._known]
        if missing:
            self._known.update(zip(missing, super().embed(missing), strict=True))
        return np.array([self._known[one] for one in texts], np.float32).reshape(len(texts), -1)


@cache
def minilm() -> MiniLm:
    """Loaded once for a run of tests."""
    return Remembering()


@dataclass
class Clocks:
    """What time it is for the engine."""

    now: datetime = START
    ahead_s: float = 0.0
    """How far the monotonic clock is ahead of the real one."""

    def pass_by(self, seconds: float) -> None:
        """Move both."""
        self.now += timedelta(seconds=seconds)
        self.ahead_s += seconds

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s


@dataclass
class Engine:
    """Asks and changes one tenant, as the local user unless another caller is named."""

    context: ContextService
    ingest: IngestService
    candidates: Candidates
    clocks: Clocks
    caller: Caller = field(default_factory=lambda: local_caller("anna"))
    tenant: str = TENANT

    @property
    def knobs(self) -> Any:
        return self.context.knobs

    def load(self, texts: Sequence[Text]) -> str:
        """Take texts in, and give the corpus version."""
        return self.ingest.upsert(self.caller, self.tenant, texts).corpus_version

    def set(self, **knobs: Any) -> None:
        """Replace the tenant's whole set."""
        self.knobs.update(self.caller, self.tenant, knobs)

    def search(self, query: str, **how: Any) -> SearchAnswer:
        return self.context.search(self.caller, self.tenant, query=query, **how)

    def assemble(self, task: str, **how: Any) -> Assembled:
        return self.context.assemble(self.caller, self.tenant, task=task, **how)

    def evaluate(self, queries: Sequence[str], **knobs: Any) -> tuple[list[Evaluation], str]:
        return self.context.evaluate(self.caller, self.tenant, knobs, queries)

    def close(self) -> None:
        self.context.close()
        self.candidates.close()
        self.knobs.close()


def open_engine(
    folder: Path,
    *,
    embedder: Embedder | None = None,
    candidates: Callable[[Store], Candidates] | None = None,
) -> Engine:
    """Open one on an empty store, or on the one that the folder holds.

    Args:
        folder: Where the store is.
        embedder: The real one if None.
        candidates: Made of the store; the indexes in the process if None.
    """
    clocks = Clocks()
    catalogue = load_catalogue()
    knobs = open_service(f"embedded:{folder / 'engine.db'}", catalogue, clock=lambda: clocks.now)
    embedder = embedder or minilm()
    indexes = (candidates or _local)(knobs.store)
    context = ContextService(
        knobs, embedder, indexes, clock=lambda: clocks.now, monotonic=clocks.monotonic
    )
    ingest = IngestService(knobs.store, lambda: embedder, indexes, clock=lambda: clocks.now)
    return Engine(context=context, ingest=ingest, candidates=indexes, clocks=clocks)


def _local(store: Store) -> Candidates:
    return LocalCandidates(store, index_folder=None)


def text(chunk_id: str, words: str, *, age_h: float, document: str = "", source: str = "") -> Text:
    """A chunk of a known age; its document is named like it if not said otherwise."""
    return Text(
        document_id=document or chunk_id,
        chunk_id=chunk_id,
        source_id=source,
        text=words,
        created_at=(START - timedelta(hours=age_h)).isoformat(),
    )


def ids(answer: SearchAnswer | Assembled) -> list[str]:
    """The chunks of an answer, in its order."""
    hits = answer.chunks if hasattr(answer, "chunks") else answer.results
    return [hit.chunk.chunk_id for hit in hits]
