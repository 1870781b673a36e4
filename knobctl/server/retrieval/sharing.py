"""What one call was answered already: no query is embedded twice for it, and no ranker asked twice for the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.server.candidates.interface import Vector
    from knobctl.server.retrieval.fanout import Answered

Rows: TypeAlias = "list[tuple[str, float]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What rankers are asked."""

    tenant: str
    sources: frozenset[str] | None
    """Those that scope and ACL admit; None for all."""
    queries: tuple[str, ...]
    depths: Mapping[str, int]
    """Rows wanted of each ranker that takes part."""
    recent_since: str
    """RFC 3339; the recency ranker offers nothing older."""
    timeout_s: float
    """The time that a ranker has for one query and its rewrites."""
    corpus_version: int | None = None
    """What the catalogue was at a moment ago; None where that is not known."""

    def part_of(self, ranker: str) -> tuple[object, ...]:
        """Whatever can change this ranker's answer while corpus, tenant and sources stay."""
        since = self.recent_since if ranker == "recency" else ""
        return (ranker, self.queries, self.depths[ranker], since, self.timeout_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one ranker found: its lists, one a query; that of recency is of all queries."""

    lists: Sequence[Sequence[str]]
    """Chunk ids, best first."""
    rows: Sequence[Rows] = ()
    """Of the vector ranker: the same lists with the cosine to their own query."""
    vectors: Sequence[Vector] = ()
    """Of the vector ranker: the queries' own."""

    def of(self, number: int) -> Found:
        """What it found for one of the queries."""
        if len(self.lists) == 1:
            return self
        this = slice(number, number + 1)
        return Found(lists=self.lists[this], rows=self.rows[this], vectors=self.vectors[this])


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What is known within one call, on one version of the corpus."""

    vectors: dict[str, Vector] = field(default_factory=dict)
    """By text. They hold whatever the corpus is."""
    answers: dict[tuple[object, ...], Answered[Found]] = field(default_factory=dict)
    """Of rankers that answered in time, by `Question.part_of`."""
