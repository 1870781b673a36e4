"""Search against the sum of its parts, and a cached Search against one that is not.

Run: python -m tests.benchmarks.search [small|large] [FOLDER]

small: 28,000 chunks, queries embedded by the shipped model: embedding, an exact scan by numpy, tantivy.
large: 200,000 synthetic unit vectors, no embedder: the graph by usearch, tantivy, and its recall.
The parts are asked by themselves, as anyone would ask those libraries, tantivy also as leanly as we do; every figure of a line is taken in
turn with the others, query by query. A FOLDER keeps the store and its graph for the next run: building the graph
takes minutes.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from tantivy import Document, Index, Occur, Query, SchemaBuilder

from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.candidates.local import LocalCandidates
from knobctl.server.knobs import KnobsService
from knobctl.server.retrieval.embedding import open_embedder
from knobctl.server.retrieval.service import ContextService
from knobctl.server.store import open_store
from knobctl.server.store.corpus import Chunk, EmbedderIdentity
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from knobctl.server.retrieval.embedder import Embedder
    from knobctl.server.retrieval.model import SearchAnswer
    from knobctl.server.store.interface import Store

    Vectors = NDArray[np.float32]

SMALL, LARGE = 28_000, 200_000
DIMENSIONS = 384
DEPTH = 50
"""Rows of each ranker, as the platform's defaults have it."""
QUERIES = 200
WHOLE_TO_PARTS = 1.3
RECALL = 0.97
CACHED = 1 / 5
SPECTRUM = 1 / np.sqrt(1 + np.arange(DIMENSIONS) / 30)
"""Directions differ in weight, as an embedder's do."""
OWN = 0.2
"""How much a vector has of its own, beside what it has of its centres."""
A = TypeVar("A")
T = TypeVar("T")
ME = local_caller("bench")
JUDGED = Path(__file__).parents[2] / "examples/squad2-dev"


class Ready:
    """An embedder that knows its texts' vectors already."""

    identity = EmbedderIdentity(model="ready", revision="1", pooling="none", dimensions=DIMENSIONS)
    longest = 256

    def __init__(self, vectors: Mapping[str, Vectors]) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])


class Parts:
    """The libraries by themselves, over the indexes of one tenant."""

    def __init__(self, candidates: LocalCandidates, embedder: Embedder) -> None:
        index = candidates._tenants["acme"]
        assert index.moment
        self._embedder = embedder
        self._moment = index.moment
        self._words = index.moment.words
        self._plain = plain(index._rows.texts if index._rows else [])

    @property
    def width(self) -> int:
        """How widely the graph is searched."""
        assert self._moment.coverage
        return self._moment.coverage.graph.index.expansion_search

    def embedding(self, query: str) -> Vectors:
        vector: Vectors = self._embedder.embed([query])[0]
        return vector

    def scan(self, vector: Vectors, rows: int = DEPTH) -> NDArray[np.intp]:
        scores = np.vecdot(self._moment.matrix, vector)  # without threads, which is quicker
        top = np.argpartition(scores, -rows)[-rows:]
        return top[np.argsort(-scores[top])]

    def graph(self, vector: Vectors) -> Any:
        assert self._moment.coverage
        return self._moment.coverage.graph.index.search(vector, DEPTH).keys

    def plain(self, query: str) -> list[str]:
        """Tantivy as it comes: its default analyzer keeps words such as `the`."""
        words = set(re.findall(r"\w+", query.lower()))
        clauses = [
            (Occur.Should, Query.term_query(self._plain.schema, "text", word)) for word in words
        ]
        searcher = self._plain.searcher()
        hits = searcher.search(Query.boolean_query(clauses), DEPTH, count=False).hits
        rows = searcher.fast_field_values("row", [address for _, address in hits])
        return [self._moment.ids[int(row or 0)] for row in rows]

    def lean(self, query: str) -> list[str]:
        """Tantivy over our own index, without English stop words."""
        words = self._words
        clauses = [
            (Occur.Should, Query.term_query(words._schema, "text", word, "freq"))
            for word in set(words._analyzer.analyze(query))
        ]
        hits = words._searcher.search(Query.boolean_query(clauses), DEPTH, count=False).hits
        rows = words._searcher.fast_field_values("row", [address for _, address in hits])
        return [self._moment.ids[int(row or 0)] for row in rows]


def small(folder: Path) -> None:
    """Against the embedder, the scan and tantivy."""
    embedder = open_embedder()
    texts, queries = sentences(), questions()
    with engine(folder, embedder) as (service, candidates, store):

        def whole(query: str) -> SearchAnswer:
            return service.search(ME, "acme", query=query)

        if not store.holds():
            store.fill(SMALL, texts, mixtures(embedder.embed(texts[::8][:400]), SMALL))
        candidates.follow("acme")
        parts = Parts(candidates, embedder)
        seconds: dict[str, list[float]] = {}
        for turn, query in enumerate(queries[:QUERIES]):
            if turn % 2:  # neither always finds what the other has just read
                timed(seconds, "whole", whole, query)
            vector = timed(seconds, "embedding", parts.embedding, query)
            timed(seconds, "scan", parts.scan, vector)
            timed(seconds, "tantivy", parts.plain, query)
            timed(seconds, "tantivy without stop words", parts.lean, query)
            if not turn % 2:
                timed(seconds, "whole", whole, query)
            timed(seconds, "cached", whole, query)
        report(seconds, ["embedding", "scan"])
        ratio = undisturbed(seconds["cached"]) / undisturbed(seconds["whole"])
        print(line("a cached Search to one that is not", ratio, CACHED))


def large(folder: Path) -> None:
    """Against the graph and tantivy, with the graph's recall."""
    centres = unit(np.random.default_rng(1).normal(size=(600, DIMENSIONS)) * SPECTRUM)
    texts, queries = sentences(), questions()[:QUERIES]
    vectors = np.concatenate(list(mixtures(centres, QUERIES, seed=2)))
    embedder = Ready(dict(zip(queries, vectors, strict=True)))
    with engine(folder, embedder) as (service, candidates, store):

        def whole(query: str) -> SearchAnswer:
            return service.search(ME, "acme", query=query)

        if not store.holds():
            store.fill(LARGE, texts, mixtures(centres, LARGE))
        candidates.follow("acme")
        start = time.perf_counter()
        candidates.settle("acme")
        parts = Parts(candidates, embedder)
        print(f"the graph was there after {time.perf_counter() - start:.1f} s, {parts.width} wide")
        seconds: dict[str, list[float]] = {}
        found, exact = [], []
        for turn, (query, vector) in enumerate(zip(queries, vectors, strict=True)):
            if turn % 2:
                timed(seconds, "whole", whole, query)
            timed(seconds, "graph", parts.graph, vector)
            timed(seconds, "tantivy", parts.plain, query)
            timed(seconds, "tantivy without stop words", parts.lean, query)
            if not turn % 2:
                timed(seconds, "whole", whole, query)
        report(seconds, ["graph"])
        for vector in vectors:  # behind the times: a scan leaves nothing in the caches
            best = candidates.by_vector("acme", vector, limit=10, sources=None)
            found.append({name for name, _ in best})
            exact.append({parts._moment.ids[row] for row in parts.scan(vector, 10)})
        recall = statistics.mean(len(a & b) / 10 for a, b in zip(found, exact, strict=True))
        print(
            f"{'holds' if recall >= RECALL else 'FALLS SHORT':<12}recall@10 against exact: ", end=""
        )
        print(f"{recall:.3f} (at least {RECALL})")


class Filling:
    """The store, and a way to fill it."""

    def __init__(self, store: Store, identity: EmbedderIdentity) -> None:
        self._store, self._identity = store, identity

    def holds(self) -> bool:
        with self._store.reading() as session:
            return bool(session.corpus.version("acme"))

    def fill(self, count: int, texts: Sequence[str], vectors: Iterator[Vectors]) -> None:
        """Write chunks of about 135 characters, a minute apart."""
        entropy = random.Random(3)

        def drawn(block: Vectors) -> list[str]:
            return [f"{entropy.choice(texts)} {entropy.choice(texts)}"[:135] for _ in block]

        self.write(((drawn(block), block) for block in vectors), count)

    def write(self, blocks: Iterable[tuple[Sequence[str], Vectors]], count: int = 0) -> None:
        """Write blocks of texts with their vectors, a minute apart, the last one now."""
        start = datetime.now(UTC) - timedelta(minutes=count)
        numbers = itertools.count()
        with self._store.writing() as session:
            session.corpus.set_embedder(self._identity)
        for texts, block in blocks:
            chunks = []
            for number, text, vector in zip(numbers, texts, block, strict=False):
                created = (start + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                chunk = Chunk(
                    chunk_id=f"c{number:06}",
                    document_id=f"d{number // 4:06}",
                    source_id=f"s{number % 7}",
                    text=text,
                    created_at=created,
                    vector=vector.astype("<f4").tobytes(),
                )
                chunks.append((chunk, f"{number}"))
            with self._store.ingesting("acme") as session:
                session.corpus.write("acme", chunks, [])


@contextmanager
def engine(
    folder: Path, embedder: Embedder
) -> Iterator[tuple[ContextService, LocalCandidates, Filling]]:
    """A service on a store in the folder, with what it searches in."""
    catalogue = load_catalogue()
    store = open_store(f"embedded:{folder / 'engine.db'}", catalogue)
    candidates = LocalCandidates(store, index_folder=folder / "index")
    knobs = KnobsService(store, catalogue, clock=lambda: datetime.now(UTC), entropy=os.urandom)
    service = ContextService(
        knobs, embedder, candidates, clock=lambda: datetime.now(UTC), monotonic=time.monotonic
    )
    with closing(knobs), closing(candidates), closing(service):
        yield service, candidates, Filling(store, embedder.identity)


def plain(texts: Sequence[str]) -> Index:
    """Tantivy over texts, as it comes."""
    builder = SchemaBuilder()
    builder.add_text_field("text")
    builder.add_integer_field("row", fast=True)
    index = Index(builder.build())
    writer = index.writer()
    for row, text in enumerate(texts):
        writer.add_document(Document(text=text, row=row))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index


def mixtures(centres: Vectors, count: int, *, seed: int = 1) -> Iterator[Vectors]:
    """Unit vectors between pairs of centres, each with something of its own, some thousands at once."""
    entropy = np.random.default_rng(seed)
    for begin in range(0, count, 5_000):
        size = min(5_000, count - begin)
        first, second = centres[entropy.integers(0, len(centres), (2, size))]
        share = entropy.uniform(0.3, 1, (size, 1))
        own = unit(entropy.normal(size=(size, DIMENSIONS)) * SPECTRUM)
        yield unit(share * first + (1 - share) * second + OWN * own)


def unit(vectors: NDArray[Any]) -> Vectors:
    """The vectors at unit length."""
    whole: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return whole


def sentences() -> list[str]:
    """Of the judged corpus."""
    texts = (json.loads(row)["text"] for row in (JUDGED / "docs.jsonl").open(encoding="utf-8"))
    return [part.strip() for text in texts for part in text.split(". ") if len(part) > 40]


def questions() -> list[str]:
    """Of the judged corpus, each once."""
    rows = (JUDGED / "queries.jsonl").open(encoding="utf-8")
    return list(dict.fromkeys(json.loads(row)["text"] for row in rows))


def timed(seconds: dict[str, list[float]], name: str, act: Callable[[A], T], about: A) -> T:
    """Do it, and keep how long it took."""
    start = time.perf_counter()
    answer = act(about)
    seconds.setdefault(name, []).append(time.perf_counter() - start)
    return answer


def undisturbed(seconds: Sequence[float]) -> float:
    """The lower quartile, without what warmed up: what else the machine does shows least there."""
    return statistics.quantiles(seconds[10:], n=4)[0]


def report(seconds: Mapping[str, Sequence[float]], parts: Sequence[str]) -> None:
    """Print the times, and the ratio of the whole to the parts with either way to ask tantivy."""
    times = ", ".join(f"{name} {undisturbed(row) * 1000:.2f} ms" for name, row in seconds.items())
    print(f"lower quartiles: {times}")
    for lexical in ("tantivy", "tantivy without stop words"):
        named = [*parts, lexical]
        sums = list(map(sum, zip(*(seconds[name] for name in named), strict=True)))
        ratio = undisturbed(seconds["whole"]) / undisturbed(sums)
        print(line(f"a whole Search to {' + '.join(named)}", ratio, WHOLE_TO_PARTS))


def main() -> None:
    """Print each ratio beside its limit."""
    wanted = sys.argv[1:2] or ["small", "large"]
    for name in wanted:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
            {"small": small, "large": large}[name](folder)


if __name__ == "__main__":
    main()
