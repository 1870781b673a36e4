"""Search: its fields, its floor of its own, scope and ACL, and what it refuses."""

from __future__ import annotations

import math
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.server.auth import Caller
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.retrieval.model import Outcome
from tests.server.retrieval.engines import Engine, ids, open_engine, text
from tests.server.retrieval.workflows import CORPUS, GATES, NARROW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = open_engine(tmp_path_factory.mktemp("search"))
    opened.load(CORPUS)
    opened.set(**NARROW)
    yield opened
    opened.close()


@pytest.mark.parametrize("sent", [0, 0.0, -0.0, -1, -0.0001])
def test_without_a_floor_of_its_own_a_search_applies_the_strictest(
    engine: Engine, sent: float
) -> None:
    """0, negative and left out are one: 0.7, and the answer says so, whatever the knob says."""
    assert engine.search(GATES, min_score=sent).effective_min_score == 0.7
    assert engine.search(GATES).effective_min_score == 0.7


@pytest.mark.parametrize("floor", [0.0001, 0.3, 1 / 3, 0.34, 0.66, 0.7, 1.0])
def test_kept_and_removed_are_all_candidates(engine: Engine, floor: float) -> None:
    """At every floor, and no returned row is under it."""
    everything = engine.search(GATES, min_score=0.0001, top_k=500)
    answer = engine.search(GATES, min_score=floor, top_k=500)
    kept = [hit for hit in everything.results if hit.candidate.score >= floor]
    assert ids(answer) == [hit.chunk.chunk_id for hit in kept]
    assert len(answer.results) + answer.results_below_threshold == len(everything.results)
    assert sum(answer.score_histogram) == len(everything.results)
    removed = [hit.candidate.score for hit in everything.results if hit.candidate.score < floor]
    assert answer.best_removed_score == max(removed, default=None)


def test_what_top_k_leaves_out_is_not_counted(engine: Engine) -> None:
    """It is above the floor; the count is the same for any top_k."""
    one = engine.search(GATES, min_score=0.34, top_k=1)
    all_of_them = engine.search(GATES, min_score=0.34, top_k=500)
    assert (len(one.results), one.outcome) == (1, Outcome.OK)
    assert len(all_of_them.results) > 1
    assert one.results_below_threshold == all_of_them.results_below_threshold > 0


def test_hit_and_miss_of_the_cache_say_the_same(engine: Engine) -> None:
    """Also where the floor changes in between: the set is kept before the floor."""
    query = "who approves a workflow?"
    miss = engine.search(query, min_score=0.34, top_k=3)
    assert engine.search(query, min_score=0.34, top_k=3) == miss
    other = engine.search(query, min_score=0.0001, top_k=500)
    assert len(other.results) == sum(miss.score_histogram)
    assert other.rankers is miss.rankers, "it came from the cache"


def test_the_fields_of_a_hit(engine: Engine) -> None:
    """Chunk, document, source, text, score, a rank for each ranker that returned it, and its cosine."""
    answer = engine.search(GATES, min_score=0.0001, top_k=500)
    best = answer.results[0]
    assert (best.chunk.chunk_id, best.chunk.document_id) == ("gates-1", "gates")
    assert best.chunk.text.startswith("Workflow approval gates hold")
    ranks = best.candidate.ranks
    assert list(ranks) == ["vector", "bm25"]
    assert best.candidate.score == sum(1 / (60 + rank) for rank in ranks.values()) / (
        1 / 61 + 1 / 61 + 1 / 61
    )
    assert 0.5 < (best.cosine or 0) < 1
    newest = next(hit for hit in answer.results if hit.chunk.chunk_id == "lunch")
    assert newest.candidate.ranks == {"recency": 1}
    assert -0.2 < (newest.cosine or 0) < 0.3, "the cosine is told although vector did not return it"
    assert answer.corpus_version == "c1"


def test_a_cosine_is_the_same_whoever_found_the_chunk(tmp_path: Path) -> None:
    """To the last bit: how far the vector ranker looks does not change it."""
    with closing(open_engine(tmp_path)) as engine:
        engine.load(CORPUS)
        seen: dict[str, set[float | None]] = {}
        for depth in (1, 3, 500):
            engine.set(**NARROW | {"retrieval_vector_top_k": depth, "retrieval_recency_top_k": 200})
            for hit in engine.search(GATES, min_score=0.0001, top_k=500).results:
                seen.setdefault(hit.chunk.chunk_id, set()).add(hit.cosine)
    assert len(seen) == len(CORPUS)
    assert {len(cosines) for cosines in seen.values()} == {1}


def test_the_reports_of_the_rankers(engine: Engine) -> None:
    """Rows of each; no error, nobody late."""
    reports = engine.search(GATES).rankers
    assert list(reports) == ["vector", "bm25", "recency"]
    assert (reports["vector"].rows, reports["recency"].rows) == (4, 2)
    assert not any(report.error or report.timed_out for report in reports.values())


def test_a_scope_admits_its_sources_alone(engine: Engine) -> None:
    """To each ranker."""
    answer = engine.search(GATES, min_score=0.0001, top_k=500, source_ids=["pets"])
    assert set(ids(answer)) == {"cats", "dogs"}
    assert answer.rankers["recency"].rows == 2


@pytest.mark.parametrize("scope", [[], ["pets"], ["pets", "default"]])
def test_a_source_outside_the_acl_is_silently_not_there(engine: Engine, scope: list[str]) -> None:
    """Whether the scope names it or not; nobody learns that it exists."""
    keeper = Caller(
        subject="k", clearance=0, tenants=frozenset(["acme"]), sources=frozenset(["pets"])
    )
    answer = engine.context.search(
        keeper, None, query=GATES, min_score=0.0001, top_k=500, source_ids=scope
    )
    assert set(ids(answer)) == {"cats", "dogs"}
    nothing = engine.context.search(keeper, None, query=GATES, source_ids=["default"])
    assert (nothing.outcome, nothing.results_below_threshold) == (Outcome.NO_RESULTS, 0)


def test_one_query_under_two_acls_shares_no_cached_set(engine: Engine) -> None:
    """What a caller may not see does not come to it by way of the cache."""
    query = "animals that sleep"
    assert "lunch" in ids(engine.search(query, min_score=0.0001, top_k=500))
    keeper = Caller(subject="k", clearance=0, tenants=None, sources=frozenset(["pets"]))
    answer = engine.context.search(keeper, "acme", query=query, min_score=0.0001, top_k=500)
    assert set(ids(answer)) == {"cats", "dogs"}


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": " \n\t"}, "query"),
        ({"query": "\ud800"}, "query"),
        ({"query": "x", "top_k": -1}, "top_k"),
        ({"query": "x", "top_k": 501}, "top_k"),
        ({"query": "x", "min_score": math.nan}, "min_score"),
        ({"query": "x", "min_score": math.inf}, "min_score"),
        ({"query": "x", "min_score": -math.inf}, "min_score"),
        ({"query": "x", "min_score": 1.0001}, "min_score"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(
    engine: Engine, request_: dict[str, Any], field: str
) -> None:
    """Not clamped into something else."""
    with pytest.raises(ServiceError) as caught:
        engine.search(**request_)
    assert caught.value.code is Code.INVALID_ARGUMENT
    assert [violation.field for violation in caught.value.violations] == [field]


def test_top_k_is_ten_where_it_is_left_out(engine: Engine) -> None:
    """0 is left out."""
    wide = {"min_score": 0.0001, "top_k": 0}
    engine.set(retrieval_vector_top_k=50)
    try:
        assert len(engine.search(GATES, **wide).results) == 10
    finally:
        engine.set(**NARROW)


def test_a_foreign_tenant_is_not_found(engine: Engine) -> None:
    """Whether or not it exists."""
    stranger = Caller(subject="s", clearance=5, tenants=frozenset(["bolt"]))
    for ask in (
        lambda: engine.context.search(stranger, "acme", query="x"),
        lambda: engine.context.assemble(stranger, "acme", task="x"),
        lambda: engine.context.evaluate(stranger, "acme", {}, ["x"]),
    ):
        with pytest.raises(ServiceError) as caught:
            ask()
        assert caught.value.code is Code.NOT_FOUND


def test_tenants_share_nothing(opened: Callable[..., Engine]) -> None:
    """The same ids and the same query in two tenants, two answers."""
    engine = opened()
    engine.load([text("a", "Ours: the gate is green.", age_h=1)])
    engine.tenant = "bolt"
    engine.load([text("a", "Theirs: the gate is red.", age_h=1)])
    engine.set(rrf_k=1)
    assert engine.search("gate").results[0].chunk.text.startswith("Theirs")
    engine.tenant = "acme"
    assert engine.search("gate").results[0].chunk.text.startswith("Ours")


def test_ties_are_in_the_order_of_ids_in_every_ranker(opened: Callable[..., Engine]) -> None:
    """The same text at the same time under several ids: ranks follow the ids, run after run."""
    engine = opened()
    engine.load([text(name, "The gate is green.", age_h=1) for name in ("c", "a", "b")])
    answer = engine.search("gate", min_score=0.0001)
    assert {hit.chunk.chunk_id: dict(hit.candidate.ranks) for hit in answer.results} == {
        name: {"vector": rank, "bm25": rank, "recency": rank}
        for rank, name in enumerate("abc", start=1)
    }


def test_an_empty_corpus_has_no_results(opened: Callable[..., Engine]) -> None:
    """It is told apart from a filtered one; the version is that of nothing."""
    answer = opened().search("anything")
    assert (answer.outcome, answer.results, answer.corpus_version) == (Outcome.NO_RESULTS, (), "c0")
    assert (answer.results_below_threshold, answer.best_removed_score) == (0, None)


def test_a_changed_corpus_is_seen_by_the_next_call(opened: Callable[..., Engine]) -> None:
    """The cache keeps nothing of an older one."""
    engine = opened()
    engine.load([text("a", "The gate is green.", age_h=2)])
    before = engine.search("gate", min_score=0.0001)
    engine.load([text("b", "The gate is red.", age_h=1)])
    after = engine.search("gate", min_score=0.0001)
    assert (before.corpus_version, after.corpus_version) == ("c1", "c2")
    assert sorted(ids(after)) == ["a", "b"]
    engine.ingest.delete_documents(engine.caller, "acme", ["a"])
    gone = engine.search("gate", min_score=0.0001)
    assert (ids(gone), gone.corpus_version) == (["b"], "c3")
