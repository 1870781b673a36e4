"""What changes for questions between two sets, counted by hand."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.checks.evidence_statement import statement
from knobctl.evidence.both_sets import seen_in
from knobctl.evidence.qrels import Qrels
from knobctl.evidence.rates import Rate
from knobctl.evidence.recording import Corpus
from knobctl.evidence.simulating import CHANGES, Asked, Judged, Pair, Seen, Shown, Simulated
from knobctl.evidence.simulation import summed_up, together
from knobctl.evidence.simulation_record import figures_of, record_of
from knobctl.knobs import load_catalogue

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
RANKERS = ("vector", "bm25", "recency")


def seen(*chunks: str, match: str | None = None, by: str = "vector", passes: bool = True) -> Seen:
    """A prompt of chunks `document/number`, and the best match of its question."""
    shown = {one: Shown(one, one.split("/")[0], (by,), 0.5) for one in (*chunks, match or "-")}
    return Seen(
        chunks=tuple(shown[one] for one in chunks),
        tokens=10 * len(chunks),
        match=shown[match] if match else None,
        passes=bool(match) and passes,
    )


def pair(number: int, before: Seen, after: Seen, *tags: str) -> Pair:
    """One question under both sets."""
    return Pair(Asked(id=f"q{number}", source="question_list", tags=tags), before, after)


def simulated(*pairs: Pair, **more: object) -> Simulated:
    """Some questions of acme, the floor raised."""
    values = {
        "tenant": "acme",
        "before": {"retrieval_min_score": 0.3, "rrf_k": 60},
        "after": {"retrieval_min_score": 0.34, "rrf_k": 60},
        "pairs": pairs,
    }
    return Simulated(**{**values, **more})  # type: ignore[arg-type]  # values of many types


@pytest.mark.parametrize(
    ("before", "after", "ways"),
    [
        ("a b", "a b", set()),
        ("a b", "b a", {"reordered"}),
        ("a b", "a", {"lost"}),
        ("a", "a b", {"gained"}),
        ("a b", "a c", {"lost", "gained"}),
        ("a b", "", {"lost", "emptied"}),
        ("", "a", {"gained", "filled"}),
        ("", "", set()),
    ],
)
def test_what_happens_to_a_question(before: str, after: str, ways: set[str]) -> None:
    """It may lose and gain at a time; only what keeps its chunks is in another order."""
    one = pair(1, seen(*before.split()), seen(*after.split()))
    assert {name for name, happened in CHANGES.items() if happened(one)} == ways
    assert one.changed == bool(ways)


LISTS = st.lists(st.sampled_from("abcdef"), unique=True)


@settings(deadline=None, max_examples=100)
@given(LISTS, LISTS)
def test_the_way_back_is_the_same_change_backwards(before: list[str], after: list[str]) -> None:
    """What is lost one way is gained the other; nothing changes where both are the same."""
    there, back = pair(1, seen(*before), seen(*after)), pair(1, seen(*after), seen(*before))
    assert set(there.lost) == set(back.gained)
    assert (there.emptied, there.reordered) == (back.filled, back.reordered)
    assert not pair(1, seen(*before), seen(*before)).changed


QRELS = Qrels({"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {"d3": 1, "d9": 0}, "q4": {"d4": 0}})


def test_who_loses_what_answers_is_counted_by_rankers() -> None:
    """Above the floors and in the prompt are two things: what passes may not fit."""
    found = simulated(
        pair(1, seen("d1/1", "x", match="d1/1"), seen("x", match="d1/1", passes=False)),
        pair(2, seen("x", match="d2/1"), seen("x", match="d2/1", passes=False)),
        pair(3, seen("d3/1", match="d3/1", by="bm25"), seen("d3/2", match="d3/1", by="bm25")),
        pair(4, seen("x"), seen()),
        judged=Judged(qrels=QRELS),
    )
    assert found.passing is not None
    assert found.served is not None
    assert found.passing.lost == Rate(2, 3)
    assert (found.served.before, found.served.after) == (Rate(2, 3), Rate(1, 3))
    assert found.by_rankers[("vector",)].lost == Rate(2, 2)
    assert found.by_rankers[("bm25",)].lost == Rate(0, 1)
    assert found.vector_alone == (Rate(0, 2), Rate(2, 2))
    assert found.silenced == (Rate(0, 1), Rate(1, 1))
    assert found.empty == (Rate(0, 4), Rate(1, 4))


@pytest.mark.parametrize(
    ("labels", "question", "answerable"),
    [
        ({}, "q1", True),
        ({}, "q4", False),
        ({}, "q5", None),
        ({"q1": False}, "q1", False),
        ({"q1": False}, "q2", None),
        ({"q5": True}, "q5", None),
        ({"q5": False}, "q5", False),
    ],
)
def test_labels_beside_qrels_are_what_counts(
    labels: dict[str, bool], question: str, answerable: bool | None
) -> None:
    """A question that can be answered by nobody knows what is in no count of lost answers."""
    assert Judged(qrels=QRELS, labels=labels).answerable(question) is answerable


def test_with_labels_alone_a_question_loses_its_whole_context() -> None:
    """Nobody knows which chunk answers, so any context counts."""
    labels = {"q1": True, "q2": True, "q3": False}
    found = simulated(
        pair(1, seen("a"), seen("b")),
        pair(2, seen("a"), seen()),
        pair(3, seen("a"), seen()),
        judged=Judged(labels=labels),
    )
    assert found.passing is None
    assert found.served is not None
    assert found.served.lost == Rate(1, 2)
    assert found.silenced == (Rate(0, 1), Rate(1, 1))


def test_slices_are_those_of_tags() -> None:
    """One source is no slice: it is all of them."""
    found = simulated(
        pair(1, seen("a"), seen(), "de"), pair(2, seen("a"), seen("a"), "de", "long"), pair(3, seen(), seen())
    )  # fmt: skip
    summary = summed_up(found, (), seed=0)
    assert {one.name: one.changed for one in summary.slices} == {
        "tag de": Rate(1, 2),
        "tag long": Rate(0, 1),
    }
    assert summary.tokens is not None
    assert summary.tokens.difference == pytest.approx(-10 / 3)


def test_tenants_are_counted_together_under_what_they_share() -> None:
    """Knobs that differ among them are in no set; questions of each are its own."""
    one = simulated(pair(1, seen("a"), seen()), rankers=("vector", "recency"))
    other = simulated(
        pair(1, seen("a"), seen("a")),
        tenant="bolt",
        rankers=("vector", "bm25"),
        before={"retrieval_min_score": 0.2, "rrf_k": 60},
        unknown={"failed": 2},
    )
    both = together([one, other], RANKERS)
    assert both.rankers == RANKERS
    assert both.before == {"rrf_k": 60}
    assert both.changes["emptied"] == Rate(1, 2)
    assert both.unknown == {"failed": 2}
    assert together([one], RANKERS) is one


def test_a_record_has_shares_with_their_counts() -> None:
    """And null for what was not measured."""
    figures = figures_of(summed_up(simulated(pair(1, seen("a"), seen())), (), seed=0))
    assert figures["answerable_lost"] is None
    assert figures["emptied"].numerator == 1  # type: ignore[union-attr]  # a share


ANSWER = {
    "candidates": [
        {"chunkId": "a", "documentId": "d1", "score": 0.9, "ranks": {"vector": 1, "bm25": 1}},
        {"chunkId": "b", "documentId": "d2", "score": 0.3333, "ranks": {"vector": 2}},
    ],
    "chunks": [{"chunkId": "a", "documentId": "d1", "score": 0.9, "ranks": {"vector": 1}}],
    "quality": {
        "effectiveMinScore": 0.3,
        "promptTokens": 7,
        "rankers": {"vector": {"rows": 2}, "bm25": {"rows": 1}, "recency": {}},
    },
}


def test_an_evaluation_is_read_as_the_prompt_and_the_best_match() -> None:
    """By document or chunk; a match passes where it is not under the floor and no gate is closed."""
    found = seen_in(ANSWER, RANKERS, frozenset({"d2"}))
    assert found is not None
    assert (found.ids, found.tokens, found.live) == (("a",), 7, ("vector", "bm25"))
    assert (found.match, found.passes) == (Shown("b", "d2", ("vector",), 0.3333), True)
    quality = {**ANSWER["quality"], "effectiveMinScore": 0.34}  # type: ignore[dict-item]  # it is one
    floored = seen_in({**ANSWER, "quality": quality}, RANKERS, frozenset({"d2"}))
    closed = seen_in({**ANSWER, "quality": {**quality, "noMatch": True}}, RANKERS, frozenset({"a"}))
    best = seen_in(ANSWER, RANKERS, None)
    assert floored is not None
    assert closed is not None
    assert best is not None
    assert best.match is not None
    assert (floored.passes, closed.passes, best.match.chunk) == (False, False, "a")


@pytest.mark.parametrize("report", [{"error": "gone"}, {"timedOut": True}])
def test_where_a_ranker_failed_nothing_is_read(report: dict[str, object]) -> None:
    """The others rank otherwise without it."""
    quality = {"rankers": {"vector": {"rows": 1}, "bm25": report}}
    assert seen_in({**ANSWER, "quality": quality}, RANKERS, None) is None


def test_of_an_expanded_question_only_what_is_shown_is_known() -> None:
    """Its candidates are those of the first pass, which the floor did not cut."""
    expanded = {**ANSWER, "quality": {**ANSWER["quality"], "expanded": True}}  # type: ignore[dict-item]  # it is one
    found = seen_in(expanded, RANKERS, frozenset({"d2"}))
    assert found is not None
    assert (found.match, found.passes) == (None, False)


def test_a_record_says_what_the_floors_cut_and_what_of_it_reaches_the_prompt() -> None:
    """In the sentence that plans and comments carry."""
    found = simulated(
        pair(1, seen("d1/1", match="d1/1"), seen("x", match="d1/1", passes=False)),
        pair(2, seen("d2/1", match="d2/1"), seen("d2/1", match="d2/1")),
        judged=Judged(qrels=QRELS),
        corpus=Corpus(digest="ab", documents=2, chunks=3),
    )
    record = record_of(summed_up(found, (), seed=0), load_catalogue(), made_at=NOON)
    assert statement(record) == (
        "1 of 2 answerable questions loses its document to the floors (1.2..98.8%); 1 of 2 in the prompt; "
        "1 of 2 vector-only best matches under them; 2026-11-30, 2 questions"
    )
