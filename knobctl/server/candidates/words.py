"""The lexical index of one tenant: BM25 by tantivy, in memory."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tantivy import (
    Document,
    Filter,
    Index,
    Occur,
    Query,
    SchemaBuilder,
    TextAnalyzerBuilder,
    Tokenizer,
)

from knobctl.server.candidates.interface import CandidatesUnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from tantivy import Schema, Searcher, TextAnalyzer

_ANALYZER: Final = "english"
_WRITER_BYTES: Final = 64_000_000
"""What one writing thread fills before it starts another segment."""
_SAME: Final = 1e-5
"""Relative difference under which two scores are a tie: tantivy adds the words of a query up in an order that
depends on how its segments came about, in float32 (2e-7 seen between two orders)."""
_SPARE: Final = 16
"""Rows fetched beyond those asked for, so that ties at the cut seldom need a second search."""


class WordIndex:
    """Texts under their row numbers. One thread adds; searches run beside it on searchers of their own."""

    def __init__(self) -> None:
        builder = SchemaBuilder()
        builder.add_text_field("text", tokenizer_name=_ANALYZER, index_option="freq")
        # Integers, not unsigned: a document's numbers are signed, and an unsigned column ends the writer's thread.
        builder.add_integer_field("row", fast=True)
        builder.add_integer_field("source", indexed=True)
        self._schema = builder.build()
        self._analyzer = _analyzer()
        self._index = Index(self._schema)
        self._index.register_tokenizer(_ANALYZER, self._analyzer)

    def add(self, rows: Iterable[tuple[int, int, str]]) -> None:
        """Take in texts, each with its row and its source's number."""
        try:
            # One thread, so that the order within a segment is that of the rows.
            writer = self._index.writer(_WRITER_BYTES, 1)
            for row, source, text in rows:
                writer.add_document(Document(row=row, source=source, text=_encodable(text)))
            writer.commit()
            writer.wait_merging_threads()
            self._index.reload()
        except ValueError as error:
            raise CandidatesUnavailableError("the lexical index cannot be written") from error

    def words(self) -> Words:
        """What is in the index now, whatever is added later."""
        return Words(self._schema, self._analyzer, self._index.searcher())


class Words:
    """One moment of a lexical index."""

    def __init__(self, schema: Schema, analyzer: TextAnalyzer, searcher: Searcher) -> None:
        self._schema = schema
        self._analyzer = analyzer
        self._searcher = searcher

    def ranked(
        self, text: str, ids: Sequence[str], *, limit: int, sources: Collection[int] | None
    ) -> list[str]:
        """The ids of the best matches, best first, then by id.

        Args:
            text: Of a query. No syntax is read in it.
            ids: Of the chunks, by row.
            limit: Most rows.
            sources: Numbers of the admitted sources; None for all.
        """
        words = dict.fromkeys(self._analyzer.analyze(_encodable(text)))
        if not words or not self._searcher.num_docs or limit < 1:
            return []
        query = self._query(words, sources)
        fetched = min(limit + _SPARE, self._searcher.num_docs)
        while True:
            scores, rows = self._best(query, fetched)
            ends = ends_of_ties(scores)
            complete = len(rows) < fetched or fetched == self._searcher.num_docs
            if complete or any(end >= limit for end in ends[:-1]):
                return by_ties([ids[row] for row in rows], ends)[:limit]
            fetched = min(2 * fetched, self._searcher.num_docs)

    def _query(self, words: Iterable[str], sources: Collection[int] | None) -> Query:
        any_word = Query.boolean_query(
            [(Occur.Should, Query.term_query(self._schema, "text", word, "freq")) for word in words]
        )
        if sources is None:
            return any_word
        admitted = Query.term_set_query(self._schema, "source", list(sources))
        return Query.boolean_query(
            [(Occur.Must, any_word), (Occur.Must, Query.const_score_query(admitted, 0.0))]
        )

    def _best(self, query: Query, limit: int) -> tuple[list[float], list[int]]:
        try:
            hits = self._searcher.search(query, limit, count=False).hits
            addresses = [address for _, address in hits]
            rows = self._searcher.fast_field_values("row", addresses)
        except ValueError as error:
            raise CandidatesUnavailableError("the lexical index cannot be searched") from error
        return [score for score, _ in hits], [int(row) for row in rows if row is not None]


def words_of(text: str) -> list[str]:
    """The words of a text as the index knows them, one for each time that they occur."""
    return _analyzer().analyze(_encodable(text))


@cache
def _analyzer() -> TextAnalyzer:
    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.lowercase())
        .filter(Filter.stopword("english"))
        .filter(Filter.stemmer("english"))
        .build()
    )


def _encodable(text: str) -> str:
    """The text without lone surrogates, which JSON can carry and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def ends_of_ties(scores: Sequence[float]) -> list[int]:
    """Behind which positions a lower score begins; the last end is that of the list."""
    ends = [
        position
        for position, (higher, lower) in enumerate(pairwise(scores), 1)
        if higher - lower > _SAME * higher
    ]
    return [*ends, len(scores)]


def by_ties(ids: list[str], ends: Iterable[int]) -> list[str]:
    """The ids with each run of ties sorted."""
    ordered: list[str] = []
    begin = 0
    for end in ends:
        ordered += sorted(ids[begin:end]) if end - begin > 1 else ids[begin:end]
        begin = end
    return ordered
