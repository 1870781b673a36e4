"""The result cache: what it keeps, for whom, and how long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from knobctl.knobs import load_catalogue
from knobctl.server.retrieval.cache import CacheKey, ResultCache, Retrieved
from tests.server.retrieval.candidates import fused, scored, under

KEY = CacheKey(
    tenant="acme",
    sources=None,
    query="gates",
    expands=False,
    ranking=under().ranking,
    corpus_version=7,
)


def retrieved(*scores: float, at: float = 0.0, is_whole: bool = True) -> Retrieved:
    return Retrieved(fused=fused(scored(*scores)), at=at, is_whole=is_whole)


def test_the_age_is_looked_at_when_a_set_is_read() -> None:
    """A limit that was lowered since holds at once; the limit itself is still fresh."""
    cache = ResultCache()
    cache.put(KEY, retrieved(0.5, at=100.0))
    assert cache.get(KEY, now=400.0, ttl_s=300)
    assert cache.get(KEY, now=400.5, ttl_s=300) is None
    assert cache.get(KEY, now=110.0, ttl_s=5) is None
    assert cache.get(KEY, now=110.0, ttl_s=300)


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": "bolt"},
        {"sources": frozenset({"docs"})},
        {"query": "Gates"},
        {"expands": True},
        {"corpus_version": 8},
        {"ranking": under(rrf_k=61).ranking},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_set_is_only_given_for_what_made_it(change: dict[str, Any]) -> None:
    """Tenant, sources, query, expansion, corpus and ranking knobs are all part of the key."""
    cache = ResultCache()
    cache.put(KEY, retrieved(0.5))
    assert cache.get(replace(KEY, **change), now=0, ttl_s=300) is None


BEHIND = {
    "retrieval_min_score",
    "no_match_min_cosine",
    "assembly_max_chunks",
    "assembly_token_budget",
    "max_chunks_per_document",
    "mmr_lambda",
    "dedup_min_similarity",
    "result_cache_mode",
    "result_cache_ttl_seconds",
}


@pytest.mark.parametrize("knob", load_catalogue(), ids=lambda knob: knob.name)
def test_every_knob_that_changes_the_set_is_in_the_key(knob: Any) -> None:
    """A floor or a limit of assembly may change without losing what is cached; any other knob may not."""
    other = "DISABLED" if knob.choices else (1 if knob.default != 1 else 0.5)
    if knob.minimum is not None and other != "DISABLED":
        other = max(knob.minimum, other)
    shares = under(**{knob.name: other}).ranking == under().ranking
    assert shares is (knob.name in BEHIND)


def test_a_set_that_a_ranker_is_missing_from_is_not_kept() -> None:
    """A failure is not remembered."""
    cache = ResultCache()
    cache.put(KEY, retrieved(0.5, is_whole=False))
    assert cache.get(KEY, now=0, ttl_s=300) is None


def test_what_was_not_read_for_longest_goes_first() -> None:
    """The cache holds so many candidates, not so many sets: three sets of three do not fit into ten."""
    cache = ResultCache(most_candidates=10)
    keys = [replace(KEY, query=query) for query in ("a", "b", "c")]
    for key in keys[:2]:
        cache.put(key, retrieved(0.5, 0.4, 0.3))
    assert cache.get(keys[0], now=0, ttl_s=300)
    cache.put(keys[2], retrieved(0.5, 0.4, 0.3))
    there = [cache.get(key, now=0, ttl_s=300) is not None for key in keys]
    assert there == [True, False, True]


def test_a_set_put_again_takes_its_place() -> None:
    """And does not take room twice."""
    cache = ResultCache(most_candidates=10)
    for _ in range(10):
        cache.put(KEY, retrieved(0.5, 0.4, 0.3))
    cache.put(replace(KEY, query="b"), retrieved(0.5, 0.4, 0.3))
    assert cache.get(KEY, now=0, ttl_s=300)
    cache.put(KEY, retrieved(*[0.1] * 20))
    assert cache.get(KEY, now=0, ttl_s=300), "what is larger than the cache is not kept"
