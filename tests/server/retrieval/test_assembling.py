"""AssembleContext and Evaluate: the fields of the attestation, the gate, and answers without writing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.server.auth import Caller
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.retrieval.model import (
    Assembled,
    Evaluation,
    Fallback,
    Hit,
    Outcome,
    Quality,
    Wish,
)
from knobctl.server.store.corpus import Chunk
from tests.server.retrieval.engines import Engine, ids, open_engine
from tests.server.retrieval.failing import FragileEmbedder, FragileIndex
from tests.server.retrieval.workflows import CORPUS, GATES, NARROW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from knobctl.server.retrieval.model import RankerReport

WIDE: dict[str, Any] = NARROW | {"gate_mode": "ENABLED", "gate_min_confident": 0.9}
"""Everything is expanded."""
FELINE = "feline naps"
"""Found by vector alone."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = open_engine(tmp_path_factory.mktemp("assembly"))
    opened.load(CORPUS)
    yield opened
    opened.close()


def test_the_knob_is_the_floor_here(engine: Engine) -> None:
    """0.3 where it is not set, and what is set otherwise."""
    engine.set(**NARROW)
    assert engine.assemble(GATES).quality.effective_min_score == 0.3
    engine.set(**NARROW, retrieval_min_score=0.15)
    assert engine.assemble(GATES).quality.effective_min_score == 0.15


def test_kept_or_removed_or_left_out(engine: Engine) -> None:
    """Chunks in the prompt, omitted ones and removed ones are the candidates before the floor."""
    engine.set(**NARROW, assembly_max_chunks=2)
    answer = engine.assemble(GATES)
    quality, left = answer.quality, answer.quality.omitted
    omitted = left.duplicates + left.per_document + left.max_chunks + left.token_budget
    candidates = sum(quality.score_histogram)
    assert len(answer.chunks) + omitted + quality.results_below_threshold == candidates
    assert omitted > 0


def test_the_prompt_has_the_chunks_in_their_order_and_the_task(engine: Engine) -> None:
    """What the model gets is what the answer lists."""
    engine.set(**NARROW)
    answer = engine.assemble(GATES)
    places = [answer.prompt.index(hit.chunk.text) for hit in answer.chunks]
    assert places == sorted(places)
    assert answer.prompt.endswith(f"Task:\n{GATES}")
    assert answer.quality.prompt_tokens > 0


def test_hit_and_miss_of_the_cache_count_the_same(engine: Engine) -> None:
    """With an expansion too; and a changed floor needs no new retrieval."""
    engine.set(**WIDE)
    miss = engine.assemble("how do people approve a workflow?")
    assert miss.quality.expanded
    assert engine.assemble("how do people approve a workflow?") == miss
    engine.set(**WIDE, retrieval_min_score=0.34)
    other = engine.assemble("how do people approve a workflow?").quality
    assert other.rankers is miss.quality.rankers
    assert other.results_below_threshold > miss.quality.results_below_threshold


def test_an_expanded_query_is_cut_at_the_expanded_floor_whatever_the_knob(engine: Engine) -> None:
    """A lower retrieval_min_score rescues nothing; the answer counts what was cut, and where."""
    engine.set(**WIDE, gate_expanded_floor=0.48, retrieval_min_score=0.48)
    at_the_floor = engine.assemble(FELINE)
    engine.set(**WIDE, gate_expanded_floor=0.48, retrieval_min_score=0.0001)
    below = engine.assemble(FELINE)
    assert below.quality.expanded
    assert below.quality.removed_by_expansion_floor > 0
    assert ids(below) == ids(at_the_floor)
    assert (
        below.quality.results_below_threshold == at_the_floor.quality.results_below_threshold == 0
    )
    engine.set(**WIDE, gate_expanded_floor=0.0001, retrieval_min_score=0.0001)
    assert len(engine.assemble(FELINE).chunks) > len(below.chunks)


def test_an_expansion_that_is_cut_altogether_is_below_threshold(engine: Engine) -> None:
    """The floor itself removed nothing, and that is what the count says."""
    engine.set(**WIDE, gate_expanded_floor=1.0)
    quality = engine.assemble(FELINE).quality
    assert quality.retrieval_outcome is Outcome.BELOW_THRESHOLD
    assert quality.results_below_threshold == 0
    assert quality.removed_by_expansion_floor > 0
    assert quality.score_histogram == (0,) * 20


def test_a_confident_first_pass_is_the_search(engine: Engine) -> None:
    """Accepted without expansion, AssembleContext and Search rank alike."""
    confident = WIDE | {"gate_min_confident": 0.5}
    loose = {"dedup_min_similarity": 1.0, "max_chunks_per_document": 9}
    engine.set(**confident, **loose, retrieval_min_score=0.0001)
    answer = engine.assemble(GATES)
    search = engine.search(GATES, min_score=0.0001, top_k=500)
    assert not answer.quality.expanded
    assert sorted(ids(answer)) == sorted(ids(search))
    assert answer.quality.score_histogram == search.score_histogram


def test_the_best_cosine_is_of_the_task_itself(engine: Engine) -> None:
    """Rewrites and the vector ranker's floor do not move it."""
    engine.set(**NARROW)
    plain = engine.assemble(FELINE).quality.best_cosine
    engine.set(**WIDE, vector_min_cosine=0.99)
    strict = engine.assemble(FELINE).quality
    assert strict.expanded
    assert strict.best_cosine == plain


@pytest.mark.parametrize("task", ["", " \n"])
def test_a_blank_task_is_answered_without_retrieval(engine: Engine, task: str) -> None:
    """No error; the reason is no_query, and nothing was classified."""
    engine.set(**NARROW, retrieval_min_score=0.2)
    answer = engine.assemble(task)
    assert (answer.prompt, answer.chunks) == ("", ())
    quality = answer.quality
    assert quality.fallback is Fallback.NO_QUERY
    assert quality.retrieval_outcome is Outcome.UNSPECIFIED
    assert (quality.effective_min_score, quality.corpus_version) == (0.2, "c1")


def test_an_empty_scope_has_no_results(engine: Engine) -> None:
    """And the prompt is the task."""
    engine.set(**WIDE)
    answer = engine.assemble(GATES, source_ids=["nowhere"])
    assert answer.quality.retrieval_outcome is Outcome.NO_RESULTS
    assert answer.quality.fallback is None
    assert answer.prompt == GATES


SETS: list[dict[str, Any]] = [
    {},
    NARROW,
    WIDE | {"retrieval_min_score": 0.34},
    {"recency_ranker_mode": "DISABLED", "rrf_k": 10, "mmr_lambda": 0.3},
    {"no_match_min_cosine": 0.95},
    {"vector_min_cosine": 0.4, "rrf_weight_bm25": 3, "assembly_max_chunks": 2},
]


@pytest.mark.parametrize("proposed", SETS, ids=range(len(SETS)))
def test_evaluate_agrees_with_what_is_answered_once_the_set_is_written(
    engine: Engine, proposed: dict[str, Any]
) -> None:
    """Candidates with Search, all but the prompt's text with AssembleContext; caches are off: both really ask."""
    proposed = proposed | {"result_cache_mode": "DISABLED"}
    engine.set(rrf_k=7)
    evaluations, version = engine.evaluate([GATES, FELINE], **proposed)
    engine.set(**proposed)
    for query, evaluation in zip([GATES, FELINE], evaluations, strict=True):
        search = engine.search(query, min_score=1e-9, top_k=500)
        assert search.results_below_threshold == 0
        assert evaluation.candidates == search.results
        assert without_times(evaluation.rankers) == without_times(search.rankers)
        whole = timeless(engine.assemble(query))
        assert timeless(evaluation.assembled) == replace(whole, prompt="")
        assert evaluation.best_cosine == evaluation.assembled.quality.best_cosine
    assert version == "c1"


@pytest.mark.parametrize("proposed", SETS, ids=range(len(SETS)))
def test_the_ranking_half_is_that_of_the_whole(engine: Engine, proposed: dict[str, Any]) -> None:
    """The same candidates and reports, as many as wanted; of an expanded query the best one after the expansion pass."""
    proposed = proposed | {
        "result_cache_mode": "DISABLED",
        "retrieval_min_score": 0.0001,
        "no_match_min_cosine": 0,
    }
    queries = [GATES, FELINE]
    whole, _ = engine.evaluate(queries, **proposed)
    half, version = engine.context.evaluate(
        engine.caller, "acme", proposed, queries, wish=Wish(ranking_only=True, top_k=3)
    )
    assert version == "c1"
    for one, other in zip(half, whole, strict=True):
        assert one.candidates == tuple(map(bare, other.candidates[:3]))
        assert without_times(one.rankers) == without_times(other.rankers)
        assert one.best_cosine == other.best_cosine
        ours, theirs = one.assembled.quality, other.assembled.quality
        assert (ours.expanded, ours.rewrites) == (theirs.expanded, theirs.rewrites)
        assert without_times(ours.rankers) == without_times(theirs.rankers)
        best = max((hit.candidate.score for hit in other.assembled.chunks), default=None)
        assert [hit.candidate.score for hit in one.assembled.chunks] == (
            [best] if ours.expanded and best is not None else []
        )


@pytest.mark.parametrize("wish", [Wish(), Wish(ranking_only=True, top_k=3)], ids=str)
@pytest.mark.parametrize("caches", ["ENABLED", "DISABLED"])
def test_several_sets_in_one_call_are_answered_as_each_in_its_own(
    engine: Engine, caches: str, wish: Wish
) -> None:
    """To the bit, whatever they have in common."""
    proposed = [one | {"result_cache_mode": caches} for one in SETS]
    queries = [GATES, FELINE, "zyzzyva", GATES]
    ask = partial(engine.context.evaluate_each, engine.caller, "acme", wish=wish)
    together, version = ask(proposed, queries)
    assert version == "c1"
    for one, config in zip(together, proposed, strict=True):
        alone = [ask([config], [query])[0][0][0] for query in queries]
        assert [*map(timeless_evaluation, one)] == [*map(timeless_evaluation, alone)]


def test_each_query_is_embedded_once_and_a_ranker_asked_once_for_what_sets_share(
    opened: Callable[..., Engine],
) -> None:
    """Fusion, floors and assembly differ; another depth of one ranker has that one asked again."""
    embedder = FragileEmbedder()
    engine = opened(embedder=embedder, candidates=FragileIndex)
    engine.load(CORPUS[:8])
    index: Any = engine.candidates
    asked: list[str] = []
    index.first_by_vector = lambda _: asked.append("vector")
    index.first_by_words = lambda _: asked.append("bm25")
    embedded = embedder.asked
    off = NARROW | {"result_cache_mode": "DISABLED", "gate_mode": "DISABLED"}
    sets = [off, off | {"rrf_k": 5}, off | {"retrieval_min_score": 0.6, "mmr_lambda": 0.3}]
    engine.context.evaluate_each(engine.caller, "acme", sets, [GATES, FELINE])
    assert embedder.asked == embedded + 1
    assert sorted(asked) == ["bm25", "bm25", "vector"]  # words query by query, vectors in one go
    asked.clear()
    deeper = [off, off | {"retrieval_bm25_top_k": 7}]
    engine.context.evaluate_each(engine.caller, "acme", deeper, [GATES])
    assert sorted(asked) == ["bm25", "bm25", "vector"]


def test_a_fault_of_a_further_set_says_in_which(engine: Engine) -> None:
    """And nine sets are one too many."""
    with pytest.raises(ServiceError) as caught:
        engine.context.evaluate_each(engine.caller, "acme", [{}, {}, {"rrf_k": 0.5}], [GATES])
    assert [one.field for one in caught.value.violations] == ["further_configs[1].rrf_k"]
    with pytest.raises(ServiceError) as caught:
        engine.context.evaluate_each(engine.caller, "acme", [{}] * 9, [GATES])
    assert [one.field for one in caught.value.violations] == ["further_configs"]


def test_a_number_of_candidates_below_zero_is_refused(engine: Engine) -> None:
    """As everywhere."""
    with pytest.raises(ServiceError) as caught:
        engine.context.evaluate(engine.caller, "acme", {}, [GATES], wish=Wish(top_k=-1))
    assert caught.value.code is Code.INVALID_ARGUMENT


def test_evaluate_writes_nothing(engine: Engine) -> None:
    """Neither the set nor an event: revision and log are what they were."""
    engine.set(**NARROW)
    before = engine.knobs.get(engine.caller, "acme")
    events = engine.knobs.audit_events(engine.caller, tenant="acme", page_size=1000).items
    evaluations, _ = engine.evaluate([GATES], rrf_k=1, retrieval_min_score=0.9)
    assert isinstance(evaluations[0], Evaluation)
    assert engine.knobs.get(engine.caller, "acme") == before
    assert engine.knobs.audit_events(engine.caller, tenant="acme", page_size=1000).items == events


def test_evaluate_checks_a_set_like_an_update(engine: Engine) -> None:
    """Every knob at fault is named."""
    with pytest.raises(ServiceError) as caught:
        engine.evaluate([GATES], rrf_k=0.5, retrieval_min_score=float("nan"), sharpness=1)
    assert caught.value.code is Code.INVALID_ARGUMENT
    assert {v.field for v in caught.value.violations} == {
        "rrf_k",
        "retrieval_min_score",
        "sharpness",
    }


def test_evaluate_takes_a_hundred_queries_and_no_blank_one(engine: Engine) -> None:
    """The place of a blank query is named."""
    for queries, field in (([GATES] * 101, "queries"), ([GATES, " "], "queries[1]")):
        with pytest.raises(ServiceError) as caught:
            engine.evaluate(queries)
        assert [v.field for v in caught.value.violations] == [field]
    assert engine.evaluate([]) == ([], "c1")


def test_who_may_ask_what(engine: Engine) -> None:
    """Search and AssembleContext need the tenant alone, Evaluate needs L3."""
    engine.set(**NARROW)
    for clearance in (0, 2, 3):
        reader = Caller(subject="r", clearance=clearance, tenants=frozenset(["acme"]))
        assert engine.context.search(reader, None, query=GATES).corpus_version == "c1"
        assert engine.context.assemble(reader, None, task=GATES).chunks
        if clearance < 3:
            with pytest.raises(ServiceError) as caught:
                engine.context.evaluate(reader, None, {}, [GATES])
            assert caught.value.code is Code.PERMISSION_DENIED
        else:
            assert engine.context.evaluate(reader, None, {}, [GATES])


def test_every_legal_end_of_every_range_runs(opened: Callable[..., Engine]) -> None:
    """Each knob at the smallest and the largest value, and at 0: search and assembly answer, and rows hold the floor."""
    engine = opened()
    engine.load(CORPUS[:6])
    for knob in engine.knobs.catalogue:
        ends = knob.choices or (0, knob.minimum, knob.maximum)
        for value in ends:
            knobs = {"ranker_timeout_ms": 30_000, knob.name: value}
            if knob.name == "ranker_timeout_ms" and value == 10:
                continue  # a machine under load is too slow for it; its own case is in test_knobs_in_effect
            evaluations, _ = engine.evaluate([GATES], **knobs)
            quality = evaluations[0].assembled.quality
            assert quality.retrieval_outcome in {Outcome.OK, Outcome.BELOW_THRESHOLD}
            for hit in evaluations[0].assembled.chunks:
                assert quality.effective_min_score <= hit.candidate.score <= 1.0


def timeless(answer: Assembled) -> Assembled:
    """An answer without how long the rankers took."""
    quality: Quality = replace(answer.quality, rankers=without_times(answer.quality.rankers))
    return replace(answer, quality=quality)


def timeless_evaluation(one: Evaluation) -> Evaluation:
    """The same for an evaluation."""
    return replace(one, rankers=without_times(one.rankers), assembled=timeless(one.assembled))


def bare(hit: Hit) -> Hit:
    """A hit with nothing of its chunk but the id."""
    chunk = Chunk(chunk_id=hit.chunk.chunk_id, document_id="", source_id="", text="", created_at="")
    return replace(hit, chunk=chunk)


def without_times(reports: Mapping[str, RankerReport]) -> dict[str, RankerReport]:
    return {name: replace(report, latency_ms=0) for name, report in reports.items()}
