"""What fails, what is late, what is gone: each has a truthful answer."""

from __future__ import annotations

import logging
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.errors import EngineError
from knobctl.knobs import load_catalogue
from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.opening import open_services
from knobctl.server.refusal import Code, ServiceError
from knobctl.server.request_id import begin_request
from knobctl.server.retrieval.embedder import EmbedderUnavailableError
from knobctl.server.retrieval.model import Fallback, Outcome
from knobctl.server.store.corpus import EmbedderIdentity
from tests.server.retrieval.engines import START, Engine, ids, text
from tests.server.retrieval.failing import (
    FragileEmbedder,
    FragileIndex,
    dawdles,
    nothing,
    raises,
)
from tests.server.retrieval.workflows import CORPUS, GATES, NARROW

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOGGER = "knobctl.server.retrieval"
WARNING = "retrieval: fan-out produced zero rows or had searcher failures (#2047)"
DEAD = EmbedderUnavailableError("connection refused by 10.0.0.7")
SOON = NARROW | {"ranker_timeout_ms": 200}


@pytest.fixture
def embedder() -> FragileEmbedder:
    return FragileEmbedder()


@pytest.fixture
def engine(opened: Callable[..., Engine], embedder: FragileEmbedder) -> Engine:
    """Loaded and warm, with parts that can be broken."""
    engine = opened(embedder=embedder, candidates=FragileIndex)
    engine.load(CORPUS[:8])
    engine.set(**NARROW)
    engine.search("warm up")
    return engine


@pytest.fixture
def index(engine: Engine) -> FragileIndex:
    assert isinstance(engine.candidates, FragileIndex)
    return engine.candidates


def test_a_dead_embedder_leaves_the_other_rankers(
    engine: Engine, embedder: FragileEmbedder
) -> None:
    """Vector is inactive and named, the normalisation leaves it out, and cosines are not made up."""
    embedder.first = raises(DEAD)
    answer = engine.search(GATES, min_score=0.0001)
    assert answer.rankers["vector"].error == "the embedder did not answer"
    assert not answer.rankers["vector"].timed_out
    for hit in answer.results:
        ranks = hit.candidate.ranks.values()
        assert hit.candidate.score == pytest.approx(sum(61 / (60 + rank) / 2 for rank in ranks))
    assert {name for hit in answer.results for name in hit.candidate.ranks} == {"bm25", "recency"}
    assert all(hit.cosine is None for hit in answer.results)


def test_a_failure_is_not_remembered(engine: Engine, embedder: FragileEmbedder) -> None:
    """The next call of the same query has all rankers again."""
    embedder.first = raises(DEAD)
    assert engine.search(GATES).rankers["vector"].error
    embedder.first = nothing
    assert not engine.search(GATES).rankers["vector"].error


def test_a_cached_set_needs_no_embedder(engine: Engine, embedder: FragileEmbedder) -> None:
    """What was kept before answers, its cosines included."""
    before = engine.search(GATES, min_score=0.0001)
    embedder.first = raises(DEAD)
    assert engine.search(GATES, min_score=0.0001) == before


def test_a_late_ranker_is_named_as_late(engine: Engine, embedder: FragileEmbedder) -> None:
    """It did not fail: it has no error, and is no part of the normalisation either."""
    engine.set(**SOON)
    embedder.first = dawdles(0.6)
    report = engine.search(GATES, min_score=0.0001).rankers["vector"]
    assert (report.timed_out, report.error, report.rows) == (True, "", 0)
    assert report.latency_ms >= 200


def test_loading_the_model_is_not_the_rankers_time(
    opened: Callable[..., Engine], embedder: FragileEmbedder
) -> None:
    """The first query of a process waits for the model longer than a ranker may take; the next one does not."""
    engine = opened(embedder=embedder)
    engine.load(CORPUS[:3])
    engine.set(**SOON)
    embedder.first = dawdles(0.5)
    assert not engine.search(GATES).rankers["vector"].timed_out
    assert engine.search("another").rankers["vector"].timed_out


def test_an_index_that_cannot_be_asked(engine: Engine, index: FragileIndex) -> None:
    """BM25 is left out, in words of ours; the reason itself is not told to callers."""
    index.first_by_words = raises(CandidatesUnavailableError("segment 7 of /data is damaged"))
    answer = engine.search(GATES, min_score=0.0001)
    assert answer.rankers["bm25"].error == "the index could not be asked"
    assert "/data" not in repr(answer)


def test_an_unforeseen_failure_is_named_by_its_request(
    engine: Engine, index: FragileIndex, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the exception, the answer only where to look."""
    index.first_by_words = raises(RuntimeError("password=hunter2"))
    begin_request("r-42")
    answer = engine.search(GATES, min_score=0.0001)
    begin_request("")
    assert answer.rankers["bm25"].error == "failed (request r-42)"
    assert "hunter2" not in repr(answer)
    assert "hunter2" in caplog.text


WITHOUT_RECENCY = SOON | {"recency_ranker_mode": "DISABLED"}


@pytest.mark.parametrize(
    ("failing", "fallback", "words"),
    [
        (
            (raises(DEAD), raises(CandidatesUnavailableError("x"))),
            Fallback.RETRIEVAL_FAILED,
            "vector: the embedder did not answer; bm25: the index could not be asked",
        ),
        (
            (dawdles(0.6), dawdles(0.6)),
            Fallback.RETRIEVAL_TIMEOUT,
            "vector: no answer within 200 ms; bm25: no answer within 200 ms",
        ),
        (
            (raises(DEAD), dawdles(0.6)),
            Fallback.RETRIEVAL_TIMEOUT,
            "vector: the embedder did not answer; bm25: no answer within 200 ms",
        ),
    ],
    ids=["all failed", "all late", "one of each"],
)
def test_when_no_ranker_answers(
    engine: Engine,
    embedder: FragileEmbedder,
    index: FragileIndex,
    failing: tuple[Callable[..., object], Callable[..., object]],
    fallback: Fallback,
    words: str,
) -> None:
    """Search refuses and says who did what; AssembleContext answers that retrieval did not run, and why."""
    engine.set(**WITHOUT_RECENCY, retrieval_min_score=0.2)
    embedder.first, index.first_by_words = failing
    with pytest.raises(ServiceError) as caught:
        engine.search(GATES)
    assert caught.value.code is Code.UNAVAILABLE
    assert caught.value.message == f"no ranker answered: {words}"
    answer = engine.assemble(GATES)
    quality = answer.quality
    assert (quality.fallback, quality.retrieval_outcome) == (fallback, Outcome.UNSPECIFIED)
    assert (answer.prompt, answer.chunks, quality.results_below_threshold) == ("", (), 0)
    assert (quality.effective_min_score, quality.corpus_version) == (0.2, "c1")
    assert quality.rankers.keys() == {"vector", "bm25"}


def test_a_ranker_that_answers_nothing_is_no_failure(
    engine: Engine, embedder: FragileEmbedder
) -> None:
    """One ranker failed and the other found nothing: retrieval ran, and there are no results."""
    engine.set(**NARROW | {"recency_ranker_mode": "DISABLED"})
    embedder.first = raises(DEAD)
    assert engine.search("zyzzyva").outcome is Outcome.NO_RESULTS
    quality = engine.assemble("zyzzyva").quality
    assert (quality.fallback, quality.retrieval_outcome) == (None, Outcome.NO_RESULTS)


def test_an_expansion_that_fails_altogether_leaves_the_first_pass(
    engine: Engine, index: FragileIndex
) -> None:
    """The answer is that of the first pass, and is not kept."""
    without = {"recency_ranker_mode": "DISABLED"}
    engine.set(**NARROW | without | {"gate_mode": "ENABLED", "gate_min_confident": 1.0})
    first = engine.search("who agrees to a run?", min_score=0.3)

    def only_narrow(limit: int) -> None:
        if limit not in {5, 50}:  # the depths of the first pass; vector looks at five at least
            raise CandidatesUnavailableError("too wide")

    index.first_by_words = index.first_by_vector = only_narrow
    answer = engine.assemble("who agrees to a run?")
    assert not answer.quality.expanded
    assert answer.quality.rewrites == ()
    assert sum(answer.quality.score_histogram) == sum(first.score_histogram)
    index.first_by_words = index.first_by_vector = nothing
    assert engine.assemble("who agrees to a run?").quality.expanded


def test_the_no_match_gate_stays_open_where_nobody_can_judge(
    engine: Engine, embedder: FragileEmbedder
) -> None:
    """Without an answer of the vector ranker there is no best cosine."""
    engine.set(**NARROW, no_match_min_cosine=0.99)
    assert engine.assemble(GATES).quality.no_match
    embedder.first = raises(DEAD)
    quality = engine.assemble("approval gates of a workflow").quality
    assert (quality.no_match, quality.best_cosine) == (False, None)
    assert quality.retrieval_outcome is Outcome.OK


@pytest.mark.parametrize("no_match_min_cosine", [0.0, 0.99])
def test_an_expansion_pass_makes_up_for_a_vector_ranker_that_failed_at_first(
    engine: Engine, embedder: FragileEmbedder, no_match_min_cosine: float
) -> None:
    """There is a best cosine, each chunk has its own, and the no-match gate can judge."""
    wide = NARROW | {
        "gate_mode": "ENABLED",
        "gate_min_confident": 1.0,
        "result_cache_mode": "DISABLED",
    }
    engine.set(**wide | {"no_match_min_cosine": no_match_min_cosine})
    usual = engine.evaluate([GATES], **wide)[0][0].best_cosine
    asked = embedder.asked

    def at_first() -> None:
        if embedder.asked == asked + 1:
            raise DEAD

    embedder.first = at_first
    answer = engine.assemble(GATES)
    quality = answer.quality
    assert quality.expanded
    assert not quality.rankers["vector"].error
    assert quality.best_cosine == usual
    assert quality.no_match == (no_match_min_cosine > 0)
    assert all(hit.cosine is not None for hit in answer.chunks)


def test_the_fan_out_warning_has_its_words_and_facts(
    engine: Engine, embedder: FragileEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows and error per ranker, and how many sources the ACL admits; in the text, and for machines."""
    embedder.first = raises(DEAD)
    with caplog.at_level(logging.WARNING, LOGGER):
        engine.search(GATES, source_ids=["default", "elsewhere"])
    record = next(one for one in caplog.records if WARNING in one.getMessage())
    assert (record.name, record.levelname) == (LOGGER, "WARNING")
    assert record.getMessage() == (
        f"{WARNING}: rows {{'vector': 0, 'bm25': 7, 'recency': 2}};"
        " errors {'vector': 'the embedder did not answer'}; sources 2"
    )
    facts: Any = record
    assert facts.rows == {"vector": 0, "bm25": 7, "recency": 2}
    assert facts.errors == {"vector": "the embedder did not answer"}
    assert (facts.sources, facts.tenant) == (2, "acme")


def test_zero_rows_are_warned_of_too(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """An empty scope is no failure, and still what somebody looks for in the log."""
    with caplog.at_level(logging.WARNING, LOGGER):
        engine.search(GATES, source_ids=["nowhere"])
    assert f"{WARNING}: rows {{'vector': 0, 'bm25': 0, 'recency': 0}}; errors none; sources 1" in (
        caplog.text
    )


def test_a_good_fan_out_warns_of_nothing(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """Also where the floor removes everything: that is not the rankers' doing."""
    with caplog.at_level(logging.WARNING, LOGGER):
        engine.search(GATES, min_score=1.0)
    assert caplog.records == []


def gone(engine: Engine, folder: Path) -> None:
    """Make the store's file useless under the running engine."""
    engine.knobs.store.close()
    for file in folder.glob("engine.db*"):
        file.write_bytes(b"gone" * 1000)


def test_a_store_that_is_gone(engine: Engine, tmp_path: Path) -> None:
    """The last good set stays in force and is marked; nothing can be searched, and both surfaces say so."""
    engine.set(**NARROW, retrieval_min_score=0.2)
    engine.assemble(GATES)
    gone(engine, tmp_path)
    with pytest.raises(ServiceError) as caught:
        engine.search(GATES)
    assert caught.value.code is Code.UNAVAILABLE
    assert "recency: the store could not be asked" in caught.value.message
    quality = engine.assemble(GATES).quality
    assert quality.fallback is Fallback.RETRIEVAL_FAILED
    assert (quality.effective_min_score, quality.last_good_knobs) == (0.2, True)
    assert quality.corpus_version == ""
    blank = engine.assemble(" ").quality
    assert (blank.fallback, blank.last_good_knobs) == (Fallback.NO_QUERY, True)


def test_without_a_good_set_in_memory_no_defaults_are_served(
    opened: Callable[..., Engine], tmp_path: Path
) -> None:
    """An engine that has not seen the tenant's set refuses, whatever is asked."""
    opened().set(retrieval_min_score=0.9)
    engine = opened()
    gone(engine, tmp_path)
    for ask in (
        lambda: engine.search("x"),
        lambda: engine.assemble("x"),
        lambda: engine.assemble(""),
    ):
        with pytest.raises(ServiceError) as caught:
            ask()
        assert caught.value.code is Code.UNAVAILABLE


@pytest.mark.parametrize("surface", ["search", "assembly"])
def test_a_store_that_goes_while_the_rankers_work(
    engine: Engine, embedder: FragileEmbedder, tmp_path: Path, surface: str
) -> None:
    """Something was found and its texts cannot be read: that is said, and nothing else."""
    ask = engine.search if surface == "search" else engine.assemble
    embedder.first = lambda: gone(engine, tmp_path)
    with pytest.raises(ServiceError) as caught:
        ask("approval")
    assert caught.value.code is Code.UNAVAILABLE
    assert caught.value.message == "the store cannot be asked for the texts of what was found"


def test_a_chunk_that_goes_while_the_rankers_work(
    engine: Engine, embedder: FragileEmbedder
) -> None:
    """The query is asked again: candidates, texts and corpus version belong together."""

    def delete_once() -> None:
        embedder.first = nothing
        engine.ingest.delete_documents(engine.caller, "acme", ["gates"])

    embedder.first = delete_once
    answer = engine.search(GATES, min_score=0.0001)
    assert answer.corpus_version == "c2"
    assert not any(name.startswith("gates-") for name in ids(answer))
    assert sum(answer.score_histogram) == len(answer.results)


def test_a_corpus_that_changes_all_the_time_is_answered_in_the_end(
    engine: Engine, embedder: FragileEmbedder
) -> None:
    """What is gone by then is no candidate any more; every number is about the rest."""
    engine.load(CORPUS[8:11])
    order = iter(["steps", "cats", "handbook", "dogs", "pause"])

    def delete_another() -> None:
        engine.ingest.delete_documents(engine.caller, "acme", [next(order)])

    engine.set(retrieval_min_score=0.0001, gate_mode="DISABLED")
    embedder.first = delete_another
    answer = engine.search(GATES, min_score=0.34, top_k=500)
    assert answer.corpus_version == "c7"
    assert list(order) == []
    assert "pause" not in ids(answer)
    assert "gates-1" in ids(answer)
    assert len(answer.results) + answer.results_below_threshold == sum(answer.score_histogram)


def test_an_evaluation_is_of_one_corpus(engine: Engine, index: FragileIndex) -> None:
    """What was evaluated before the corpus changed is evaluated once more."""
    asked = count(1)

    def delete_once(_: int) -> None:
        if next(asked) == 2:  # the second query
            engine.ingest.delete_documents(engine.caller, "acme", ["gates"])

    index.first_by_words = delete_once
    evaluations, version = engine.evaluate(["approval", "gates", "cats"])
    assert version == "c2"
    for evaluation in evaluations:
        assert evaluation.assembled.quality.corpus_version == "c2"
        assert not any(hit.chunk.document_id == "gates" for hit in evaluation.candidates)


def test_an_evaluation_embeds_all_its_queries_at_once(
    engine: Engine, embedder: FragileEmbedder
) -> None:
    """One call for all of them; where that fails each is asked alone and says why."""
    before = embedder.asked
    engine.evaluate(["approval", "gates", "cats"])
    assert embedder.asked == before + 1
    embedder.first = raises(EmbedderUnavailableError("down"))
    evaluations, _ = engine.evaluate(["a pause", "handbook"])
    assert {one.rankers["vector"].error for one in evaluations} == {"the embedder did not answer"}


def test_an_evaluation_without_a_store(engine: Engine, tmp_path: Path) -> None:
    """Each query says that retrieval did not run; the version of the corpus is not known."""
    gone(engine, tmp_path)
    evaluations, version = engine.evaluate([GATES], retrieval_min_score=0.4)
    quality = evaluations[0].assembled.quality
    assert (evaluations[0].candidates, version, quality.corpus_version) == ((), "", "")
    assert quality.fallback is Fallback.RETRIEVAL_FAILED
    assert (quality.effective_min_score, quality.last_good_knobs) == (0.4, False)


def test_vectors_of_another_embedder_are_not_compared(
    opened: Callable[..., Engine], embedder: FragileEmbedder
) -> None:
    """Refused when retrieval opens; and by the vector ranker, where they came in later."""
    engine = opened(embedder=embedder)
    other = EmbedderIdentity(model="other", revision="1", pooling="mean", dimensions=384)
    with engine.knobs.store.writing() as session:
        session.corpus.set_embedder(other)
    answer_of = engine.context.evaluate(engine.caller, "acme", {}, ["x"])[0][0]
    assert answer_of.rankers["vector"].error == "the store's vectors are of another embedder"


def test_opening_refuses_a_store_of_another_embedder(tmp_path: Path) -> None:
    """It says which model made the vectors, which one this is, and what to do."""
    services = open_services(
        f"embedded:{tmp_path / 'engine.db'}", load_catalogue(), clock=lambda: START
    )
    other = EmbedderIdentity(model="other", revision="1", pooling="mean", dimensions=384)
    with services.knobs.store.writing() as session:
        session.corpus.set_embedder(other)
    with pytest.raises(EngineError, match=r"are of other \(1, mean, 384 dimensions\)"):
        _ = services.context
    services.close()


def test_opening_is_lazy_and_closing_complete(tmp_path: Path) -> None:
    """Knobs work without retrieval being touched; what was opened is closed."""
    services = open_services(
        f"embedded:{tmp_path / 'engine.db'}", load_catalogue(), clock=lambda: START
    )
    assert services.missing == ""
    services.close()
    services = open_services(
        f"embedded:{tmp_path / 'engine.db'}", load_catalogue(), clock=lambda: START
    )
    assert services.context is services.context
    assert services.ingest is services.ingest
    services.close()


def test_a_text_that_no_one_can_spell_is_found(opened: Callable[..., Engine]) -> None:
    """Control characters, other scripts and query syntax are text, in a query as in a chunk."""
    engine = opened()
    engine.load([text("odd", "Ärger: «no» AND (the) [brackets] \u200b日本語 \x07", age_h=1)])
    for query in ("AND OR NOT ( ] *", "日本語", "\x07 ärger", '"unclosed', "a" * 5000):
        assert engine.search(query, min_score=0.0001).outcome is Outcome.OK
