"""AssembleContext says, where it is asked, how a task stands beside queries that are off topic."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.server.auth import Caller
from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.retrieval.embedder import EmbedderUnavailableError
from knobctl.server.retrieval.model import Outcome
from knobctl.server.retrieval.off_topic import OffTopic, Tier
from knobctl.server.retrieval.off_topic_probes import PROBES
from knobctl.server.retrieval.probing import UNKNOWN
from knobctl.server.retrieval.relevance import TaskRelevance, with_relevance
from tests.server.retrieval.engines import Engine, open_engine, text
from tests.server.retrieval.failing import FragileEmbedder, FragileIndex, nothing, raises
from tests.server.retrieval.workflows import NARROW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARTS = ("approval gate", "pause endpoint", "retry limit", "run history", "audit log", "time limit")
DOINGS = ("stops", "records", "shows", "allows", "counts", "delays")
CORPUS = [
    text(f"{part}-{doing}", f"The {part} of a workflow {doing} its runs.", age_h=age)
    for age, (part, doing) in enumerate(product(PARTS, DOINGS), 1)
]
"""36 chunks about workflows and nothing else."""
ON_TOPIC, OFF_TOPIC = "which approval gate stops a workflow run?", PROBES[1]


def relevance(engine: Engine, task: str, **how: Any) -> TaskRelevance:
    found = engine.assemble(task, relevance=True, **how).quality.relevance
    assert found is not None
    return found


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = open_engine(tmp_path_factory.mktemp("relevance"))
    opened.load(CORPUS)
    opened.set(**NARROW)
    yield opened
    opened.close()


def test_what_the_corpus_is_about_is_strong_and_everyday_questions_are_no_match(
    engine: Engine,
) -> None:
    """With the numbers from which the label follows."""
    on, off = relevance(engine, ON_TOPIC), relevance(engine, OFF_TOPIC)

    assert (on.tier, off.tier) == (Tier.STRONG, Tier.NO_MATCH)
    assert (on.probes, on.chunks, on.alpha, on.probe_set_version) == (99, 36, 0.05, 2)
    assert on.p_value == 0.01
    assert off.p_value is not None
    assert off.p_value > 0.05
    assert on.cosine is not None
    assert on.cut_off is not None
    assert on.z is not None
    assert on.cosine > on.cut_off > (off.cosine or 1)
    assert on.z > 2.5


def test_nothing_is_said_that_was_not_asked_for(engine: Engine) -> None:
    """And the rest of the answer is the same."""
    plain, asked = engine.assemble(ON_TOPIC), engine.assemble(ON_TOPIC, relevance=True)

    assert plain.quality.relevance is None
    assert replace(asked, quality=replace(asked.quality, relevance=None)) == plain


def test_the_cosine_is_that_of_the_closest_chunk_whatever_the_floors_remove(
    opened: Callable[..., Engine],
) -> None:
    """A label removes nothing and is removed by nothing: it is the same where a gate empties the prompt."""
    engine = opened()
    engine.load(CORPUS)
    engine.set(**NARROW, no_match_min_cosine=0.999)

    answer = engine.assemble(ON_TOPIC, relevance=True)

    assert answer.quality.retrieval_outcome is Outcome.BELOW_THRESHOLD
    assert answer.quality.relevance is not None
    assert answer.quality.relevance.tier is Tier.STRONG
    assert answer.quality.relevance.cosine == answer.quality.best_cosine


def test_probes_look_where_the_call_may_look(opened: Callable[..., Engine]) -> None:
    """A source that holds a probe's answer spoils nothing for callers who cannot see that source."""
    engine = opened()
    engine.load(CORPUS)
    engine.load(
        [text(f"kitchen-{at}", probe, age_h=1, source="kitchen") for at, probe in enumerate(PROBES)]
    )
    engine.set(**NARROW)
    cook = Caller(
        subject="cook", clearance=0, tenants=frozenset(["acme"]), sources=frozenset(["kitchen"])
    )

    everything = relevance(engine, ON_TOPIC)
    workflows = relevance(engine, ON_TOPIC, source_ids=["default"])
    engine.caller = cook
    kitchen = relevance(engine, OFF_TOPIC)

    assert (workflows.tier, workflows.chunks) == (Tier.STRONG, 36)
    assert (everything.tier, everything.chunks) == (Tier.NOT_MEASURABLE, 135)
    assert (kitchen.tier, kitchen.chunks) == (Tier.NOT_MEASURABLE, 99)


def test_a_corpus_that_changes_is_measured_anew(opened: Callable[..., Engine]) -> None:
    """Texts on what was off topic raise the cut-off; a corpus that shrinks loses its labels."""
    engine = opened(embedder=(embedder := FragileEmbedder()))
    engine.load(CORPUS)
    engine.set(**NARROW)
    before = relevance(engine, OFF_TOPIC)
    asked = embedder.asked
    engine.load([text(f"other-{at}", probe, age_h=1) for at, probe in enumerate(PROBES[:20])])

    after = relevance(engine, "the price of a used bicycle")
    assert before.cut_off is not None
    assert after.cut_off is not None
    assert after.cut_off > before.cut_off
    assert after.chunks == 56
    assert embedder.asked == asked + 2, "the texts and the query; the probes are embedded once"

    others = [one.document_id for one in CORPUS[9:]] + [f"other-{at}" for at in range(20)]
    engine.ingest.delete_documents(engine.caller, engine.tenant, others)
    few = relevance(engine, ON_TOPIC)
    assert (few.tier, few.chunks, few.p_value, few.cut_off) == (Tier.NOT_MEASURABLE, 9, None, None)


def test_a_version_is_measured_once(opened: Callable[..., Engine]) -> None:
    """The searches of a second task are its own."""
    engine = opened(candidates=FragileIndex)
    engine.load(CORPUS)
    engine.set(**NARROW)
    relevance(engine, OFF_TOPIC)
    searches: list[int] = []
    assert isinstance(engine.candidates, FragileIndex)
    engine.candidates.first_by_vector = searches.append

    relevance(engine, ON_TOPIC)

    assert len(searches) == 1


def test_a_corpus_that_changes_under_the_probes_is_asked_again(
    opened: Callable[..., Engine],
) -> None:
    """The label is of the corpus of the answer; where that never stands still, there is none."""
    engine = opened(candidates=FragileIndex)
    engine.load(CORPUS)
    engine.set(**NARROW)
    index = engine.candidates
    assert isinstance(index, FragileIndex)
    texts = iter(range(1000))

    def change(limit: int) -> None:
        if limit == 1:  # a probe's
            engine.load([text(f"new-{next(texts)}", "Violins have four strings.", age_h=1)])

    def change_once(limit: int) -> None:
        if limit == 1:
            index.first_by_vector = lambda _: None
            change(limit)

    index.first_by_vector = change_once
    answer = engine.assemble(ON_TOPIC, relevance=True)
    assert answer.quality.relevance is not None
    assert answer.quality.corpus_version == "c2"
    assert (answer.quality.relevance.tier, answer.quality.relevance.chunks) == (Tier.STRONG, 37)

    engine.load([text("another", "Flutes are blown across a hole.", age_h=1)])
    index.first_by_vector = once_a_measurement(change)
    restless = relevance(engine, ON_TOPIC)
    assert (restless.tier, restless.probes) == (Tier.NOT_MEASURABLE, 0)


def once_a_measurement(change: Callable[[int], None]) -> Callable[[int], object]:
    """Change the corpus at the first probe after each query of a caller's own."""
    due = [True]

    def first(limit: int) -> None:
        if limit == 1 and due[0]:
            due[0] = False
            change(limit)
        elif limit != 1:
            due[0] = True

    return first


@pytest.mark.parametrize(
    "broken", [EmbedderUnavailableError("refused"), CandidatesUnavailableError("no index")]
)
def test_what_cannot_be_measured_costs_the_label_and_nothing_else(
    opened: Callable[..., Engine], broken: Exception
) -> None:
    """The prompt is there; the next call measures."""
    embedder = FragileEmbedder()
    engine = opened(embedder=embedder, candidates=FragileIndex)
    engine.load(CORPUS)
    engine.set(**NARROW, result_cache_ttl_seconds=3600)
    whole = engine.assemble(ON_TOPIC)
    assert isinstance(engine.candidates, FragileIndex)
    if isinstance(broken, EmbedderUnavailableError):
        embedder.first = raises(broken)
    else:
        engine.candidates.first_by_vector = raises(broken)

    answer = engine.assemble(ON_TOPIC, relevance=True)

    assert answer.prompt == whole.prompt
    best = whole.quality.best_cosine
    assert answer.quality.relevance == TaskRelevance(cosine=best)
    embedder.first = engine.candidates.first_by_vector = nothing
    assert relevance(engine, ON_TOPIC).tier is Tier.STRONG


def test_without_a_cosine_there_is_no_label(opened: Callable[..., Engine]) -> None:
    """Nor for a blank task, nor of an empty corpus."""
    engine = opened(candidates=FragileIndex)
    assert relevance(engine, ON_TOPIC) == TaskRelevance()
    engine.load(CORPUS)
    engine.set(**NARROW)
    assert relevance(engine, "  ") == TaskRelevance()
    assert isinstance(engine.candidates, FragileIndex)
    engine.candidates.first_by_vector = raises(CandidatesUnavailableError("no index"))
    assert relevance(engine, ON_TOPIC) == TaskRelevance()


def test_a_label_is_the_distributions_own(engine: Engine) -> None:
    """Nothing is rounded or softened on the way into the answer."""
    answer = engine.assemble(ON_TOPIC)
    off_topic = OffTopic(tuple(at / 100 for at in range(1, 40)), chunks=36)
    found = with_relevance(answer, off_topic).quality.relevance
    best = answer.quality.best_cosine
    assert found is not None
    assert best is not None

    expected = off_topic.relevance(best)
    assert (found.tier, found.p_value) == (expected.tier, expected.p_value)
    assert (found.z, found.cut_off) == (expected.z, 0.38)
    assert with_relevance(answer, UNKNOWN).quality.relevance == TaskRelevance(cosine=best)
