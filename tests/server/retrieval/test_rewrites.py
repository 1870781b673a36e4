"""Rewrites of a query: deterministic, different from each other, and never more than asked for."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.server.retrieval.rewrites import feedback, keywords, rewrites

GATES = "Approval gates hold a workflow run. Reviewers open approval gates."
PAUSE = "The pause endpoint stops a workflow run; reviewers may resume the run."


def test_the_keyword_core_leaves_function_words_out() -> None:
    """What is left carries the meaning, each word once, in its order."""
    assert keywords("How do the Workflow gates hold a workflow?") == ["workflow", "gates", "hold"]


def test_the_best_texts_give_the_words_they_share() -> None:
    """Words of several texts come first, then those that are said often; those of the query are known."""
    assert feedback([GATES, PAUSE], ["workflow"])[:2] == ["run", "reviewers"]
    assert "workflow" not in feedback([GATES, PAUSE], ["workflow"])


def test_the_first_rewrite_is_the_core_and_the_next_add_feedback() -> None:
    """In the order of promise."""
    found = rewrites("What holds the workflow?", [GATES, PAUSE], 3)
    assert found[0] == "holds workflow"
    assert found[1].startswith("holds workflow run reviewers")
    assert len(found) == 3


def test_no_more_rewrites_than_asked_for() -> None:
    """expansion_max_queries is a limit."""
    assert [len(rewrites("What holds the workflow?", [GATES, PAUSE], n)) for n in (1, 2, 4)] == [
        1,
        2,
        4,
    ]


def test_a_query_of_keywords_alone_is_not_repeated() -> None:
    """A rewrite that says the same in other order or case would only cost time."""
    assert rewrites("approval gates", [], 8) == ()
    assert "approval gates" not in rewrites("Approval gates", [GATES], 8)


def test_a_query_of_function_words_alone_has_no_core() -> None:
    """Nothing is asked with an empty query."""
    assert rewrites("what is it", [], 8) == ()


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=80), st.lists(st.text(max_size=120), max_size=3), st.integers(1, 8))
def test_rewrites_are_deterministic_distinct_and_never_blank(
    query: str, texts: list[str], most: int
) -> None:
    """For any text whatever."""
    found = rewrites(query, texts, most)
    assert found == rewrites(query, texts, most)
    assert len({frozenset(one.split()) for one in found}) == len(found) <= most
    assert all(one.strip() for one in found)
