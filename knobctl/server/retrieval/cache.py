"""The result cache: candidate sets before any floor, so that hit and miss count the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from knobctl.knobs import KnobValue
    from knobctl.server.candidates.interface import Vector
    from knobctl.server.retrieval.model import Fused

MOST_CANDIDATES: Final = 100_000
"""Over all sets kept; one takes about 450 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """A candidate set, and what else is known about it."""

    fused: Fused
    at: float
    """When the rankers were asked, in seconds of the monotonic clock."""
    is_whole: bool
    """Whether every ranker answered in time."""
    query_vector: Vector | None = None
    cosines: dict[str, float] = field(default_factory=dict)
    """Between the query and those chunks for which it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """Everything that can change a candidate set."""

    tenant: str
    sources: frozenset[str] | None
    """Those that scope and ACL admit; None for all."""
    query: str
    expands: bool
    """Whether the confidence gate had its say."""
    ranking: tuple[KnobValue, ...]
    corpus_version: int


class ResultCache:
    """The sets of this process, least recently used first out. Safe to use from several threads."""

    def __init__(self, *, most_candidates: int = MOST_CANDIDATES) -> None:
        self._most = most_candidates
        self._held = 0
        self._sets: OrderedDict[CacheKey, Retrieved] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: CacheKey, *, now: float, ttl_s: float) -> Retrieved | None:
        """Give a set that is not older than the reader allows, whatever was allowed when it was put here."""
        with self._lock:
            found = self._sets.get(key)
            if found is None or now - found.at > ttl_s:
                return None
            self._sets.move_to_end(key)
            return found

    def put(self, key: CacheKey, retrieved: Retrieved) -> None:
        """Keep a set that every ranker had its part in; what is larger than the cache is not kept."""
        size = _size(retrieved)
        if not retrieved.is_whole or size > self._most:
            return
        with self._lock:
            replaced = self._sets.pop(key, None)
            self._sets[key] = retrieved
            self._held += size - (_size(replaced) if replaced else 0)
            while self._held > self._most:
                self._held -= _size(self._sets.popitem(last=False)[1])


def _size(retrieved: Retrieved) -> int:
    """In candidates; an empty set takes room too."""
    return len(retrieved.fused.candidates) + 1
