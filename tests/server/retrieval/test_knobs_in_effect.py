"""One case a knob: a call whose answer the knob changes, and how."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from knobctl.knobs import load_catalogue
from knobctl.server.candidates.local import LocalCandidates
from knobctl.server.retrieval.model import Outcome
from tests.server.retrieval.engines import Engine, ids, open_engine
from tests.server.retrieval.workflows import CORPUS, GATES, NARROW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knobctl.server.retrieval.model import Assembled, SearchAnswer

    Case = Callable[[Engine], None]

CASES: Final[dict[str, Case]] = {}
FELINE: Final = "feline naps"
"""Found by vector alone."""


class SlowWords(LocalCandidates):
    """An index whose lexical half can be made slow."""

    delay_s = 0.0

    def by_words(self, *args: Any, **how: Any) -> list[str]:
        time.sleep(self.delay_s)
        return super().by_words(*args, **how)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = open_engine(
        tmp_path_factory.mktemp("knobs"),
        candidates=lambda store: SlowWords(store, index_folder=None),
    )
    opened.load(CORPUS)
    opened.search("warm up")
    yield opened
    opened.close()


def shows(case: Case) -> Case:
    """Enter a case under the knob that it is named after."""
    CASES[case.__name__] = case
    return case


@pytest.mark.parametrize("knob", [knob.name for knob in load_catalogue()])
def test_the_knob_changes_what_it_says_it_changes(knob: str, engine: Engine) -> None:
    """Every knob of the schema has a case, and the case holds."""
    CASES[knob](engine)


def test_there_is_no_case_without_a_knob() -> None:
    """A knob that is gone takes its case along."""
    assert CASES.keys() == {knob.name for knob in load_catalogue()}


def assembled(engine: Engine, task: str = GATES, **knobs: Any) -> Assembled:
    engine.set(**knobs)
    return engine.assemble(task)


def searched(engine: Engine, query: str = GATES, **knobs: Any) -> SearchAnswer:
    engine.set(**knobs)
    return engine.search(query, min_score=0.0001, top_k=100)


def ranked_by(ranker: str, answer: SearchAnswer) -> list[str]:
    """The chunks that a ranker returned, in its order."""
    held = [hit for hit in answer.results if ranker in hit.candidate.ranks]
    return [hit.chunk.chunk_id for hit in sorted(held, key=lambda hit: hit.candidate.ranks[ranker])]


def score_of(chunk_id: str, answer: SearchAnswer) -> float:
    return next(hit.candidate.score for hit in answer.results if hit.chunk.chunk_id == chunk_id)


@shows
def retrieval_min_score(engine: Engine) -> None:
    """The newest chunk, found by recency alone, scores 1/3: it passes at 0.33 and not at 0.34."""
    low = assembled(engine, **NARROW, retrieval_min_score=0.33)
    high = assembled(engine, **NARROW, retrieval_min_score=0.34)
    assert "lunch" in ids(low)
    assert "lunch" not in ids(high)
    assert (low.quality.effective_min_score, high.quality.effective_min_score) == (0.33, 0.34)
    assert high.quality.results_below_threshold > low.quality.results_below_threshold


@shows
def vector_min_cosine(engine: Engine) -> None:
    """Vector rows under it are dropped and counted; the ranker stays active, so that others score as before."""
    without = searched(engine, **NARROW)
    cosines = sorted(hit.cosine or 0 for hit in without.results if "vector" in hit.candidate.ranks)
    with_floor = searched(engine, **NARROW, vector_min_cosine=cosines[2])
    assert without.rankers["vector"].removed_by_cosine_floor == 0
    report = with_floor.rankers["vector"]
    assert (report.rows, report.removed_by_cosine_floor) == (4, 2)
    assert ranked_by("vector", with_floor) == ranked_by("vector", without)[:2]
    assert score_of("lunch", with_floor) == score_of("lunch", without) == pytest.approx(1 / 3)


@shows
def retrieval_vector_top_k(engine: Engine) -> None:
    """So many nearest neighbours take part."""
    for depth in (1, 6):
        answer = searched(engine, **NARROW | {"retrieval_vector_top_k": depth})
        assert len(ranked_by("vector", answer)) == answer.rankers["vector"].rows == depth


@shows
def retrieval_bm25_top_k(engine: Engine) -> None:
    """So many lexical matches take part."""
    for depth in (1, 3):
        answer = searched(engine, **NARROW, retrieval_bm25_top_k=depth)
        assert len(ranked_by("bm25", answer)) == answer.rankers["bm25"].rows == depth


@shows
def retrieval_recency_top_k(engine: Engine) -> None:
    """So many of the newest chunks take part, whatever was asked."""
    one = searched(engine, **NARROW | {"retrieval_recency_top_k": 1})
    three = searched(engine, **NARROW | {"retrieval_recency_top_k": 3})
    assert ranked_by("recency", one) == ["lunch"]
    assert ranked_by("recency", three) == ["lunch", "office", "soup"]


@shows
def rrf_k(engine: Engine) -> None:
    """A second place is worth (k + 1)/(k + 2) of a first one."""
    for k in (1, 60, 1000):
        answer = searched(engine, **NARROW, rrf_k=k)
        assert score_of("office", answer) == pytest.approx((k + 1) / (k + 2) / 3)


@shows
def rrf_weight_vector(engine: Engine) -> None:
    """With twice the weight, a match found by vector alone scores up to 1/2."""
    for weight, ceiling in ((1, 1 / 3), (2, 1 / 2)):
        answer = searched(engine, "feline naps in workflow", **NARROW, rrf_weight_vector=weight)
        assert ranked_by("vector", answer)[0] == "cats"
        assert score_of("cats", answer) == pytest.approx(ceiling)


@shows
def rrf_weight_bm25(engine: Engine) -> None:
    """With a tenth of the weight, vector and BM25 together reach 1.1/2.1."""
    for weight in (1, 0.1):
        answer = searched(engine, **NARROW, rrf_weight_bm25=weight)
        best = answer.results[0].candidate
        parts = {"vector": 1.0, "bm25": weight}
        expected = sum(parts[name] * 61 / (60 + rank) for name, rank in best.ranks.items())
        assert best.ranks.keys() == parts.keys()
        assert best.score == pytest.approx(expected / (2 + weight))


@shows
def rrf_weight_recency(engine: Engine) -> None:
    """With a tenth of the weight, what is merely new scores at most 1/21."""
    for weight, ceiling in ((1, 1 / 3), (0.1, 1 / 21)):
        assert score_of("lunch", searched(engine, **NARROW, rrf_weight_recency=weight)) == (
            pytest.approx(ceiling)
        )


@shows
def recency_ranker_mode(engine: Engine) -> None:
    """Off, nothing is there for being new, and a match of one of the two others scores up to 1/2."""
    off = searched(engine, **NARROW, recency_ranker_mode="DISABLED")
    on = searched(engine, **NARROW)
    assert off.rankers.keys() == {"vector", "bm25"}
    assert "lunch" not in ids(off)
    assert off.results[0].candidate.score == pytest.approx(on.results[0].candidate.score * 3 / 2)


@shows
def recency_window_hours(engine: Engine) -> None:
    """What is older is not offered as recent."""
    wide = searched(engine, **NARROW | {"retrieval_recency_top_k": 50})
    narrow = searched(engine, **NARROW | {"retrieval_recency_top_k": 50, "recency_window_hours": 5})
    assert len(ranked_by("recency", wide)) == len(CORPUS)
    assert ranked_by("recency", narrow) == ["lunch", "office"]


WIDE: Final[dict[str, Any]] = NARROW | {"gate_mode": "ENABLED", "gate_min_confident": 0.9}
"""Everything is expanded."""


@shows
def gate_mode(engine: Engine) -> None:
    """Off, a weak first pass stands."""
    assert assembled(engine, **WIDE).quality.expanded
    assert not assembled(engine, **WIDE | {"gate_mode": "DISABLED"}).quality.expanded


@shows
def gate_min_confident(engine: Engine) -> None:
    """A best score that reaches it needs no expansion."""
    first = searched(engine, **WIDE).results[0].candidate.score
    for confident, expands in ((first, False), (first + 1e-9, True)):
        answer = assembled(engine, **WIDE | {"gate_min_confident": confident})
        assert answer.quality.expanded is expands


@shows
def gate_expanded_floor(engine: Engine) -> None:
    """What an expansion brings back under it is removed, and counted apart from the floor."""
    for floor, removes in ((0.0001, False), (0.33, True)):
        quality = assembled(
            engine, **WIDE, gate_expanded_floor=floor, retrieval_min_score=0.0001
        ).quality
        assert (quality.removed_by_expansion_floor > 0) is removes
        assert quality.results_below_threshold == 0


@shows
def expansion_max_queries(engine: Engine) -> None:
    """So many rewrites are asked."""
    for most in (1, 4):
        quality = assembled(engine, **WIDE, expansion_max_queries=most).quality
        assert len(quality.rewrites) == most


@shows
def expansion_top_k_multiplier(engine: Engine) -> None:
    """So many times as many rows take part in an expansion."""
    for factor, rows in ((1.0, 4), (2.5, 10)):
        quality = assembled(engine, **WIDE, expansion_top_k_multiplier=factor).quality
        assert quality.rankers["vector"].rows == rows
        assert quality.rankers["recency"].rows == rows // 2


@shows
def assembly_max_chunks(engine: Engine) -> None:
    """So many chunks enter the prompt; the others are above the floor and counted as left out."""
    for most in (1, 3):
        answer = assembled(engine, **NARROW, assembly_max_chunks=most)
        assert len(answer.chunks) == most
        assert answer.quality.omitted.max_chunks > 0


@shows
def assembly_token_budget(engine: Engine) -> None:
    """Two long chunks do not fit into 256 tokens; the second is passed over."""
    everything = {"retrieval_vector_top_k": 50, "retrieval_min_score": 0.0001}
    small = assembled(engine, **NARROW | everything, assembly_token_budget=256)
    large = assembled(engine, **NARROW | everything, assembly_token_budget=2000)
    steps = {"steps-1", "steps-2"}
    assert len(steps & set(ids(small))) < len(steps & set(ids(large)))
    assert small.quality.prompt_tokens <= 256 < large.quality.prompt_tokens
    assert small.quality.omitted.token_budget > 0 == large.quality.omitted.token_budget


@shows
def max_chunks_per_document(engine: Engine) -> None:
    """One document gives no more than that."""
    for most in (1, 2):
        answer = assembled(engine, **NARROW, max_chunks_per_document=most)
        assert sum(hit.chunk.document_id == "gates" for hit in answer.chunks) == most
        assert answer.quality.omitted.per_document > 0


@shows
def mmr_lambda(engine: Engine) -> None:
    """At 1 the order is that of the scores; near 0 the second chunk is one that says something else."""
    by_score = assembled(engine, **NARROW, mmr_lambda=1.0)
    diverse = assembled(engine, **NARROW, mmr_lambda=0.0001)
    scores = [hit.candidate.score for hit in by_score.chunks]
    assert scores == sorted(scores, reverse=True)
    assert ids(by_score)[1].startswith("gates")
    assert not ids(diverse)[1].startswith("gates")
    assert ids(diverse)[0] == ids(by_score)[0]


@shows
def dedup_min_similarity(engine: Engine) -> None:
    """The handbook says what gates-1 says: one of them is enough, unless only the very same is a copy."""
    copies = {"gates-1", "handbook"}
    assert len(copies & set(ids(assembled(engine, **NARROW)))) == 1
    assert assembled(engine, **NARROW).quality.omitted.duplicates == 1
    assert copies <= set(ids(assembled(engine, **NARROW, dedup_min_similarity=1.0)))


FRESH: Final[dict[str, Any]] = NARROW | {"retrieval_recency_top_k": 50, "recency_window_hours": 5}


@shows
def result_cache_mode(engine: Engine) -> None:
    """Two hours later the office is no longer new: a cached set still has it, a fresh one does not."""
    for mode, newest in (("ENABLED", ["lunch", "office"]), ("DISABLED", ["lunch"])):
        knobs = FRESH | {"result_cache_mode": mode, "result_cache_ttl_seconds": 86400}
        assert ranked_by("recency", searched(engine, **knobs)) == ["lunch", "office"]
        with later(engine, hours=3.5):
            assert ranked_by("recency", searched(engine, **knobs)) == newest


@shows
def result_cache_ttl_seconds(engine: Engine) -> None:
    """The age is looked at when a set is read: a limit lowered since holds at once."""
    query = "gates of approval"
    knobs = FRESH | {"result_cache_ttl_seconds": 86400}
    assert ranked_by("recency", searched(engine, query, **knobs)) == ["lunch", "office"]
    with later(engine, hours=3.5):
        old = searched(engine, query, **knobs)
        new = searched(engine, query, **knobs | {"result_cache_ttl_seconds": 12_599})
    assert ranked_by("recency", old) == ["lunch", "office"]
    assert ranked_by("recency", new) == ["lunch"]


@shows
def ranker_timeout_ms(engine: Engine) -> None:
    """A ranker that takes two seconds is left out at less, and the others share the weights."""
    assert isinstance(engine.candidates, SlowWords)
    engine.candidates.delay_s = 2.0
    patient = searched(engine, **NARROW)
    hasty = searched(engine, **NARROW | {"ranker_timeout_ms": 1000})
    engine.candidates.delay_s = 0.0
    assert not patient.rankers["bm25"].timed_out
    assert hasty.rankers["bm25"].timed_out
    assert score_of("lunch", patient) == pytest.approx(1 / 3)
    assert score_of("lunch", hasty) == pytest.approx(1 / 2)


@shows
def no_match_min_cosine(engine: Engine) -> None:
    """Nothing is near enough: nothing is assembled, every candidate counts, and the nearest are shown."""
    open_gate = assembled(engine, FELINE, **NARROW, no_match_min_cosine=0.0001)
    closed = assembled(engine, FELINE, **NARROW, no_match_min_cosine=0.99)
    assert not open_gate.quality.no_match
    assert open_gate.chunks
    quality = closed.quality
    assert (quality.no_match, quality.retrieval_outcome) == (True, Outcome.BELOW_THRESHOLD)
    assert closed.chunks == ()
    assert quality.results_below_threshold == sum(quality.score_histogram) > 0
    assert quality.nearest[0][0].chunk_id == "cats"
    assert quality.nearest[0][1] == quality.best_cosine
    assert len(quality.nearest) == 5


@contextmanager
def later(engine: Engine, *, hours: float) -> Iterator[None]:
    """Some hours later, and back."""
    engine.clocks.pass_by(hours * 3600)
    yield
    engine.clocks.pass_by(-hours * 3600)
