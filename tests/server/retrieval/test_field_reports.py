"""Troubles that people had with other engines (the number of the report is in the docstring), and that this one must not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.server.retrieval.floor import apply_floor
from knobctl.server.retrieval.fusing import fuse
from knobctl.server.retrieval.model import Outcome
from knobctl.server.retrieval.settings import Fusion
from tests.server.retrieval.candidates import candidate
from tests.server.retrieval.engines import Engine, ids, open_engine, text
from tests.server.retrieval.workflows import CORPUS, GATES, NARROW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATA = Path(__file__).parents[2] / "data" / "field_reports.json"
REPORTS = [
    {"id": report["id"], **report["case"], **(report.get("computed") or {})}
    for report in json.loads(DATA.read_text(encoding="utf-8"))["reports"]
]
CUTS = [
    report
    for report in REPORTS
    if (report["type"], report.get("direction")) == ("cut", "higher_is_better")
]
FUSED = [report for report in REPORTS if report["type"] == "rrf_normalised"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = open_engine(tmp_path_factory.mktemp("reports"))
    opened.load(CORPUS)
    opened.set(**NARROW)
    yield opened
    opened.close()


@pytest.mark.parametrize("report", CUTS, ids=lambda report: report["id"])
def test_a_floor_removes_what_the_report_says(report: dict[str, Any]) -> None:
    """Scores on which higher is better, cut with >=: the kept rows and the count of the others."""
    scores = sorted(report["scores"], reverse=True)
    rows = [candidate(str(n), score) for n, score in enumerate(scores)]
    found = apply_floor(rows, report["floor"])
    assert [row.score for row in found.kept] == sorted(report["kept"], reverse=True)
    assert found.removed == report["removed"]


@pytest.mark.parametrize("report", FUSED, ids=lambda report: report["id"])
def test_a_fused_score_is_what_the_report_computed(report: dict[str, Any]) -> None:
    """Normalised by the weights of the rankers that are live."""
    fusion = Fusion(k=report["k"], weights=report["weights"])
    ranks = {name: {"a": rank} for name, rank in report["ranks"].items()}
    (found,) = fuse(ranks, active=report["active_legs"], fusion=fusion)
    assert found.score == pytest.approx(report["score"])
    assert (found.score >= report["floor"]) is report["passes"]


def test_both_limits_of_a_prompt_hold(engine: Engine) -> None:
    """FR-027: a token budget does not switch the number of chunks off, and the answer says which one bound."""
    engine.set(
        **NARROW | {"retrieval_vector_top_k": 50},
        retrieval_min_score=0.0001,
        assembly_max_chunks=3,
        assembly_token_budget=256,
        mmr_lambda=1.0,
        dedup_min_similarity=1.0,
    )
    quality = engine.assemble("approval gates in detail: the approver reads the plan").quality
    assert quality.prompt_tokens <= 256
    assert quality.omitted.token_budget > 0
    assert quality.omitted.max_chunks > 0
    engine.set(**NARROW)


def test_how_many_are_shown_does_not_change_what_is_found(engine: Engine) -> None:
    """FR-077: three of eight are the first three, with the same scores."""
    three = engine.search(GATES, min_score=0.0001, top_k=3)
    eight = engine.search(GATES, min_score=0.0001, top_k=8)
    assert eight.results[:3] == three.results
    assert eight.score_histogram == three.score_histogram


def test_a_lone_match_has_a_defined_score(opened: Callable[..., Engine]) -> None:
    """FR-088: one chunk, found by everything, scores exactly 1, and passes a floor of 1 (FR-092, FR-093)."""
    engine = opened()
    engine.load([text("only", "Gates hold a run.", age_h=1)])
    answer = engine.search("gates", min_score=1.0)
    assert [hit.candidate.score for hit in answer.results] == [1.0]
    engine.set(retrieval_min_score=1.0)
    assert engine.assemble("gates").quality.retrieval_outcome is Outcome.OK


def test_a_floor_of_one_empties_without_failing(engine: Engine) -> None:
    """FR-093: the end of the range runs on both surfaces."""
    assert engine.search(GATES, min_score=1.0).outcome is Outcome.BELOW_THRESHOLD
    engine.set(**NARROW, retrieval_min_score=1.0)
    answer = engine.assemble(GATES)
    assert answer.quality.retrieval_outcome is Outcome.BELOW_THRESHOLD
    assert (answer.chunks, answer.prompt) == ((), GATES)
    engine.set(**NARROW)


def test_a_keyword_match_alone_scores_its_weights_share(opened: Callable[..., Engine]) -> None:
    """FR-089: BM25's own unbounded score never reaches the fused one."""
    engine = opened()
    engine.load(
        [
            text(f"filler-{n}", words, age_h=n + 1)
            for n, words in enumerate(["Tea at five.", "Boats."])
        ]
        + [text("code", "zq7781 " * 20, age_h=50)]
    )
    engine.set(retrieval_vector_top_k=1, retrieval_recency_top_k=1)
    answer = engine.search("Is there tea at five? zq7781", min_score=0.0001)
    by_words = {hit.chunk.chunk_id: hit.candidate for hit in answer.results}["code"]
    assert by_words.ranks.keys() == {"bm25"}
    assert by_words.score == pytest.approx(61 / (60 + by_words.ranks["bm25"]) / 3)


def test_the_two_floors_are_both_asked(engine: Engine) -> None:
    """FR-019, FR-037, FR-084: the vector ranker's cosine floor before fusion, the fused floor behind it; a row needs both."""
    engine.set(**NARROW, vector_min_cosine=0.99)
    loose = engine.search(GATES, min_score=0.0001, top_k=500)
    assert loose.rankers["vector"].removed_by_cosine_floor == 4
    assert all("vector" not in hit.candidate.ranks for hit in loose.results)
    strict = engine.search(GATES, min_score=0.34, top_k=500)
    assert strict.results == ()
    assert strict.results_below_threshold == len(loose.results)
    engine.set(**NARROW)


def test_a_cached_set_is_not_served_past_its_age(engine: Engine) -> None:
    """FR-102: the age is looked at when it is read; a second past the limit the rankers are asked."""
    engine.set(**NARROW, result_cache_ttl_seconds=60)
    first = engine.search("gates and ages", min_score=0.3)
    engine.clocks.ahead_s += 59
    assert engine.search("gates and ages", min_score=0.3).rankers is first.rankers
    engine.clocks.ahead_s += 2
    assert engine.search("gates and ages", min_score=0.3).rankers is not first.rankers
    engine.set(**NARROW)


def test_absent_and_zero_are_the_defaults_of_each_surface(engine: Engine) -> None:
    """FR-063: without a floor nothing is lost that the default keeps: 0.3 for assembly, 0.7 for search."""
    engine.set(**NARROW)
    absent = engine.assemble(GATES)
    engine.set(**NARROW, retrieval_min_score=0)
    zero = engine.assemble(GATES)
    assert ids(absent) == ids(zero) != []
    assert engine.search(GATES, min_score=0) == engine.search(GATES)
