"""Measures, when somebody asks for it, how near off-topic queries come to a corpus, and remembers it."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError
from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.retrieval.embedder import EmbedderUnavailableError
from knobctl.server.retrieval.off_topic import OffTopic
from knobctl.server.retrieval.off_topic_probes import PROBES
from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.server.candidates.interface import Candidates
    from knobctl.server.retrieval.embedder import Embedder, Vectors
    from knobctl.server.store.interface import Store

log: Final = logging.getLogger(__name__)
MOST_REMEMBERED: Final = 1_000
"""Measurements; one takes some three kilobytes."""
UNKNOWN: Final = OffTopic(maxima=(), chunks=0)
"""What stands where nothing was measured: it gives no label."""


class _MovedError(Exception):
    """The corpus is not, or no longer, at the version that was asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What a query may look at, at one moment."""

    tenant: str
    sources: frozenset[str] | None
    """Those that scope and ACL admit; None for all."""
    corpus_version: int


class Probing:
    """The measurements of this process, least recently used first out. Safe to use from several threads."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        candidates: Candidates,
        *,
        probes: Sequence[str] = PROBES,
        most: int = MOST_REMEMBERED,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._candidates = candidates
        self._probes = probes
        self._most = most
        self._vectors: Vectors | None = None
        self._known: OrderedDict[Admitted, OffTopic] = OrderedDict()
        self._turns: dict[Admitted, threading.Lock] = {}
        self._lock = threading.Lock()

    def off_topic(self, admitted: Admitted) -> OffTopic | None:
        """Say what the probes come to; the first one to ask for a version of a corpus waits for the measurement.

        The caller has a cosine of the vector ranker, so that the embedder is known to be the one of the store.

        Returns:
            `UNKNOWN` where embedder, index or store could not be asked; None if the corpus changed meanwhile.
        """
        with self._lock:
            turn = self._turns.setdefault(admitted, threading.Lock())
        try:
            with turn:  # who comes second waits, and measures nothing
                return self._remembered(admitted) or self._remember(admitted)
        except _MovedError:
            return None
        except (
            EmbedderUnavailableError,
            EngineError,
            CandidatesUnavailableError,
            StoreUnavailableError,
        ) as error:
            log.warning("what is off topic for %r was not measured: %s", admitted.tenant, error)
            return UNKNOWN
        finally:
            with self._lock:
                self._turns.pop(admitted, None)

    def _remembered(self, admitted: Admitted) -> OffTopic | None:
        with self._lock:
            found = self._known.get(admitted)
            if found is not None:
                self._known.move_to_end(admitted)
            return found

    def _remember(self, admitted: Admitted) -> OffTopic:
        found = self._measured(admitted)
        with self._lock:
            self._known[admitted] = found
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return found

    def _measured(self, admitted: Admitted) -> OffTopic:
        vectors = self._embedded()
        self._require_version(admitted, self._candidates.follow(admitted.tenant))
        found = self._candidates.by_vectors(
            admitted.tenant, [*vectors], limit=1, sources=admitted.sources
        )
        self._require_version(admitted, self._candidates.follow(admitted.tenant))
        with self._store.reading() as session:
            described = session.corpus.describe(admitted.tenant, admitted.sources)
        self._require_version(admitted, described.version)
        maxima = tuple(rows[0][1] for rows in found if rows)
        return OffTopic(maxima, chunks=described.chunks)

    def _embedded(self) -> Vectors:
        """The vectors of the probes, embedded as a query is, once a process."""
        if self._vectors is None:
            self._vectors = self._embedder.embed(self._probes)
        return self._vectors

    @staticmethod
    def _require_version(admitted: Admitted, found: int) -> None:
        if found != admitted.corpus_version:
            raise _MovedError
