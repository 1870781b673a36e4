"""Brings the indexes of one tenant to the version of the catalogue, and has its graph built beside the searches."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from knobctl.server.candidates import graph_files
from knobctl.server.candidates.graph import Coverage, build, cover, keys_of
from knobctl.server.candidates.moment import Moment
from knobctl.server.candidates.rows import Rows
from knobctl.server.candidates.tuning import tune
from knobctl.server.candidates.words import WordIndex

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.server.store.corpus import Changes, CorpusSession
    from knobctl.server.store.interface import Store

_LOGGER: Final = logging.getLogger("knobctl.server.candidates")
_PAGE: Final = 2_000
"""Chunks read at once: some megabytes."""
_FEW_DEAD: Final = 1_000
"""Rows that are no more and that nobody minds."""


class TenantIndex:
    """One tenant's indexes."""

    def __init__(
        self,
        store: Store,
        tenant: str,
        *,
        index_folder: Path | None,
        exact_up_to: int,
        turn: threading.Lock,
    ) -> None:
        """Take the place; nothing is read yet.

        Args:
            store: Whose catalogue is indexed.
            tenant: Whose chunks.
            index_folder: Where graphs are kept; None to keep none.
            exact_up_to: Chunks that are scanned; with more there is a graph.
            turn: Held while a graph is built: one at a time.
        """
        self.moment: Moment | None = None
        """What can be searched now; None before the first `follow`."""
        self._store = store
        self._tenant = tenant
        self._index_folder = index_folder
        self._exact_up_to = exact_up_to
        self._turn = turn
        self._following = threading.Lock()
        self._rows: Rows | None = None
        self._words = WordIndex()
        self._builder: threading.Thread | None = None
        self._closing = threading.Event()

    @property
    def chunks(self) -> int:
        """How many chunks are held in memory."""
        return self.moment.chunks if self.moment else 0

    def follow(self) -> int:
        """Bring the indexes to the newest version, and give that."""
        with self._store.reading() as session:
            newest = session.corpus.version(self._tenant)
        moment = self.moment
        if moment is not None and moment.version == newest:
            return newest
        with self._following:
            self._bring_forward()
            self._have_graph()
            assert self.moment is not None, "bringing forward leaves a moment"
            return self.moment.version

    def settle(self) -> None:
        """Wait until no graph is being built."""
        while (builder := self._builder) is not None:
            builder.join()

    def give_up(self) -> None:
        """Build no graph any more; one that is being built ends soon."""
        self._closing.set()

    def _bring_forward(self) -> None:
        before, rows = self.moment, self._rows
        self._rows = None  # what fails on the way is begun again
        with self._store.reading() as session:
            newest = session.corpus.version(self._tenant)
            if before is not None and rows is not None and before.version == newest:
                self._rows = rows
                return
            # A version that went back is another history: the file was restored.
            if before is None or rows is None or newest < before.version or _mostly_dead(rows):
                before = None
                rows = self._empty_rows(session.corpus)
            size = rows.size
            lost = self._read(session.corpus, rows, before.version if before else 0)
        if before is None or lost:
            # A text that was taken out would go on counting in the statistics of BM25.
            self._words, size = WordIndex(), 0
        self._words.add(
            (row, int(rows.sources[row]), rows.texts[row])
            for row in (np.flatnonzero(rows.alive[size : rows.size]) + size).tolist()
        )
        self._rows = rows
        self.moment = self._moment(rows, newest, before.coverage if before else None)

    def _read(self, corpus: CorpusSession, rows: Rows, after: int) -> bool:
        """Read what changed; say whether a text that was there is no more."""
        lost = False
        complete = False
        while not complete:
            changes: Changes = corpus.changes(self._tenant, after=after, limit=_PAGE)
            lost |= rows.apply(changes)
            after, complete = changes.version, changes.complete
        return lost

    def _empty_rows(self, corpus: CorpusSession) -> Rows:
        identity = corpus.embedder()
        rows = Rows(dimensions=identity.dimensions if identity else 1)
        rows.make_room(corpus.describe(self._tenant, None).chunks)
        return rows

    def _moment(self, rows: Rows, version: int, coverage: Coverage | None) -> Moment:
        usable = rows.usable[: rows.size].copy()
        return Moment(
            version=version,
            ids=rows.ids,
            chunks=len(rows.row_of),
            source_numbers=dict(rows.source_numbers),
            matrix=rows.matrix[: rows.size],
            sources=rows.sources[: rows.size],
            usable=usable,
            all_usable=bool(usable.all()),
            words=self._words.words(),
            coverage=coverage if np.count_nonzero(usable) > self._exact_up_to else None,
        )

    def _have_graph(self) -> None:
        """Begin to build a graph where one is due. The caller follows."""
        moment, rows = self.moment, self._rows
        if moment is None or rows is None or self._builder or self._closing.is_set():
            return
        if np.count_nonzero(moment.usable) <= self._exact_up_to:
            return
        if moment.coverage is not None and not moment.coverage.is_outdated(moment.usable):
            return
        self._builder = threading.Thread(
            target=self._build, args=(moment, rows), name="knobctl-graph", daemon=True
        )
        self._builder.start()

    def _build(self, moment: Moment, rows: Rows) -> None:
        """Build the graph for a moment, in a thread of its own."""
        attached = True
        try:
            while not self._turn.acquire(timeout=0.1):
                if self._closing.is_set():
                    return
            try:
                attached = self._build_in_turn(moment, rows)
            finally:
                self._turn.release()
        except (RuntimeError, ValueError, MemoryError):
            _LOGGER.exception("a graph could not be built; its tenant's chunks are scanned")
        finally:
            with self._following:
                self._builder = None
                if not attached:
                    self._have_graph()

    def _build_in_turn(self, moment: Moment, rows: Rows) -> bool:
        """Build or load; say whether it is of use: the rows may have been begun again meanwhile."""
        present = np.flatnonzero(moment.usable)
        keys = keys_of(moment.ids, moment.matrix, present)
        upto = len(moment.matrix)
        if self._index_folder and moment.coverage is None:
            kept = graph_files.load(self._index_folder, self._tenant, moment.matrix.shape[1])
            if kept:
                coverage = cover(kept, keys, present, upto=upto)
                if not coverage.is_outdated(moment.usable):
                    tune(coverage, moment.matrix, present)
                    return self._attach(coverage, rows)
        graph = build(keys, moment.matrix, present, stop=self._closing.is_set)
        if graph is None:
            return True
        coverage = cover(graph, keys, present, upto=upto)
        tune(coverage, moment.matrix, present)
        attached = self._attach(coverage, rows)
        if self._index_folder:
            graph_files.save(graph, self._index_folder, self._tenant, moment.version)
        return attached

    def _attach(self, coverage: Coverage, rows: Rows) -> bool:
        with self._following:
            if self._rows is not rows or self.moment is None:
                return False
            self.moment = replace(self.moment, coverage=coverage)
            return True


def _mostly_dead(rows: Rows) -> bool:
    dead = rows.size - len(rows.row_of)
    return dead > max(_FEW_DEAD, len(rows.row_of))
