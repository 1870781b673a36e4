"""What the page about retrieval_min_score says, as tests on real text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from knobctl.server.retrieval.fusing import fuse
from knobctl.server.retrieval.model import Outcome
from tests.server.retrieval.candidates import EQUAL, under
from tests.server.retrieval.engines import Engine, ids, open_engine, text
from tests.server.retrieval.paraphrases import NOISE, PAIRS, PREFACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIVE: dict[str, Any] = {
    "retrieval_vector_top_k": 5,
    "retrieval_recency_top_k": 2,
    "ranker_timeout_ms": 30_000,
}
"""Lists so short that a paraphrase is not among the newest too; nobody is late on a busy machine."""


@pytest.fixture(scope="module")
def paraphrased(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = open_engine(tmp_path_factory.mktemp("paraphrases"))
    engine.load(
        [text(f"p{n:02}", words, age_h=100 + n) for n, (words, _) in enumerate(PAIRS)]
        + [text(f"noise-{n}", words, age_h=50 - 20 * n) for n, words in enumerate(NOISE)]
    )
    yield engine
    engine.close()


QUESTIONS = [(f"p{n:02}", PREFACE + question) for n, (_, question) in enumerate(PAIRS)]


def test_paraphrases_are_found_by_vector_alone_with_all_rankers_live(paraphrased: Engine) -> None:
    """No question shares a word with its answer, stems and stop words considered: BM25 returns others only."""
    paraphrased.set(**LIVE)
    for answer_id, question in QUESTIONS:
        answer = paraphrased.search(question, min_score=0.0001, top_k=500)
        assert all(report.rows for report in answer.rankers.values())
        held = {hit.chunk.chunk_id: hit.candidate.ranks for hit in answer.results}
        assert held[answer_id].keys() == {"vector"}, question


@pytest.mark.parametrize(
    ("floor", "recall"),
    [(0.0001, 1.0), (0.15, 1.0), (0.3, 1.0), (0.34, 0.0), (0.5, 0.0), (0.7, 0.0)],
)
def test_a_third_decides_over_vector_only_matches(
    paraphrased: Engine, floor: float, recall: float
) -> None:
    """recall@5 of the paraphrase questions is 1.0 under a floor that a vector-only match reaches, and 0 above 1/3."""
    paraphrased.set(**LIVE)
    found = [
        answer_id in ids(paraphrased.search(question, min_score=floor, top_k=5))
        for answer_id, question in QUESTIONS
    ]
    assert sum(found) / len(found) == recall


@pytest.mark.parametrize("gate", ["DISABLED", "ENABLED"])
@pytest.mark.parametrize(("floor", "recall"), [(0.3, 1.0), (0.34, 0.0)])
def test_the_same_in_the_assembled_prompt(
    paraphrased: Engine, gate: str, floor: float, recall: float
) -> None:
    """With the knob, and whether or not weak first passes are expanded."""
    paraphrased.set(**LIVE, gate_mode=gate, retrieval_min_score=floor)
    found = [answer_id in ids(paraphrased.assemble(question)) for answer_id, question in QUESTIONS]
    assert sum(found) / len(found) == recall


def test_recency_keeps_a_low_floor_from_ever_emptying_an_answer(paraphrased: Engine) -> None:
    """The newest chunk alone scores exactly 1/3: under a floor of at most 1/3 nothing is below_threshold."""
    for floor in (0.15, 0.3, 0.33, 1 / 3):
        paraphrased.set(**LIVE, retrieval_min_score=floor, gate_expanded_floor=floor)
        for question in ("zyzzyva qwertz", *[question for _, question in QUESTIONS[:5]]):
            assert paraphrased.search(question, min_score=floor).outcome is Outcome.OK
            quality = paraphrased.assemble(question).quality
            assert quality.retrieval_outcome is Outcome.OK


def test_practically_no_floor_removes_nothing(paraphrased: Engine) -> None:
    """0.0001 is what the page says to send."""
    paraphrased.set(retrieval_min_score=0.0001, gate_mode="DISABLED")
    for _, question in QUESTIONS[:5]:
        assert paraphrased.assemble(question).quality.results_below_threshold == 0


def test_zero_is_the_platform_default(paraphrased: Engine) -> None:
    """A literal 0 defers to the platform, like leaving it out."""
    for knobs in ({"retrieval_min_score": 0}, {"retrieval_min_score": 0.0}, {}):
        paraphrased.set(**knobs)
        assert paraphrased.assemble("anything").quality.effective_min_score == 0.3


def test_the_platform_floor_equals_the_expansion_floor() -> None:
    """The pipeline agrees with itself, and lies under 1/3."""
    shipped = under()
    assert shipped.floor == shipped.expansion.floor == 0.3 < 1 / 3


GATES = [
    "Workflow approval gates hold a run until a person agrees.",
    "Approval gates in a workflow can be given to a group.",
    "A workflow without approval gates runs straight through.",
    "Gates for approval stand between two steps of a workflow.",
]
PAUSE = [
    "Pause endpoint: the endpoint that lets a run pause.",
    "The endpoint that resumes a run after its pause.",
    "Who may call the endpoint: a pause needs a role and the name of the run.",
]
PLACES = (7, 20, 17)
"""Of the pause texts among the newest chunks."""
OTHERS = [
    f"{thing} cost {number} crowns on the market."
    for number, thing in enumerate(
        (
            *(
                "Apples",
                "Pears",
                "Plums",
                "Cherries",
                "Grapes",
                "Figs",
                "Dates",
                "Lemons",
                "Melons",
            ),
            *(
                "Carrots",
                "Onions",
                "Leeks",
                "Peas",
                "Beans",
                "Radishes",
                "Beets",
                "Turnips",
                "Herbs",
            ),
        ),
        start=2,
    )
]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The corpus of the field report: texts about gates are old, those about the pause endpoint new."""
    engine = open_engine(tmp_path_factory.mktemp("report"))
    places = [place for place in range(1, 22) if place not in PLACES]
    engine.load(
        [text(f"gates-{n}", words, age_h=1000 + n) for n, words in enumerate(GATES, start=1)]
        + [
            text(f"pause-{place:02}", words, age_h=place)
            for place, words in zip(PLACES, PAUSE, strict=True)
        ]
        + [
            text(f"other-{place:02}", words, age_h=place)
            for place, words in zip(places, OTHERS, strict=True)
        ]
    )
    yield engine
    engine.close()


def test_hits_of_three_rankers_pass_the_old_default(reported: Engine) -> None:
    """ "workflow pause endpoint" scores about 0.97, 0.91, 0.91 and works at 0.7: a spot check is content."""
    answer = reported.search("workflow pause endpoint")
    assert answer.effective_min_score == 0.7
    assert [hit.chunk.chunk_id for hit in answer.results] == ["pause-07", "pause-20", "pause-17"]
    assert all(len(hit.candidate.ranks) == 3 for hit in answer.results)
    assert [round(hit.candidate.score, 2) for hit in answer.results] == [0.97, 0.91, 0.91]


def test_the_scores_of_the_page_come_out_of_ranks() -> None:
    """First in two lists and seventh in the third is 0.97; second twice and twentieth 0.91."""
    ranks = {
        "vector": {"a": 1, "b": 2, "c": 3},
        "bm25": {"a": 1, "b": 2, "c": 3},
        "recency": {"a": 7, "b": 20, "c": 17},
    }
    scores = [round(c.score, 2) for c in fuse(ranks, active=list(ranks), fusion=EQUAL)]
    assert scores == [0.97, 0.91, 0.91]


def test_the_field_report(reported: Engine) -> None:
    """ "workflow approval gates" peaks just under 2/3: nothing at 0.7, with the count that says why; all back at 0.3."""
    query = "workflow approval gates"
    strict = reported.search(query)
    assert (strict.results, strict.outcome) == ((), Outcome.BELOW_THRESHOLD)
    assert strict.effective_min_score == 0.7
    assert round(strict.best_removed_score or 0, 2) == 0.66
    everything = reported.search(query, min_score=0.0001, top_k=500)
    assert strict.results_below_threshold == len(everything.results)
    back = reported.search(query, min_score=0.3)
    assert back.outcome is Outcome.OK
    assert set(ids(back)[:4]) == {f"gates-{n}" for n in range(1, 5)}
    assert all(hit.candidate.ranks.keys() == {"vector", "bm25"} for hit in back.results[:4])


@pytest.mark.parametrize("floor", [0.3, 0.7])
def test_a_miss_and_a_hit_of_the_cache_count_the_same(reported: Engine, floor: float) -> None:
    """On both surfaces: a count that differed would read as a changed corpus."""
    reported.set(retrieval_min_score=floor)
    query = f"gates that need approval at {floor}"
    searches = [reported.search(query, min_score=floor) for _ in range(2)]
    assert searches[0] == searches[1]
    assembled = [reported.assemble(query) for _ in range(2)]
    assert assembled[0] == assembled[1]
    assert searches[0].results_below_threshold or assembled[0].quality.results_below_threshold


def test_search_is_not_governed_by_the_knob(reported: Engine) -> None:
    """Whatever the tenant's knob, a search without a floor has 0.7, and says so."""
    for knob in (0.0001, 0.3, 0.9):
        reported.set(retrieval_min_score=knob)
        answer = reported.search("workflow approval gates")
        assert (answer.effective_min_score, answer.results) == (0.7, ())


def test_the_retrieval_test_pages_own_body_works(reported: Engine) -> None:
    """A query and topK 8, no floor: it inherits 0.7 and can show it, with the count and the outcome."""
    answer = reported.search("workflow approval gates", top_k=8)
    assert (answer.effective_min_score, answer.outcome) == (0.7, Outcome.BELOW_THRESHOLD)
    assert answer.results_below_threshold > 0


def test_an_unread_corpus_is_told_from_a_filtered_one(opened: Callable[..., Engine]) -> None:
    """no_results is not a floor problem; below_threshold is."""
    engine: Any = opened()
    assert engine.search("gates").outcome is Outcome.NO_RESULTS
    assert engine.assemble("gates").quality.retrieval_outcome is Outcome.NO_RESULTS
