"""Which of the kept chunks enter the prompt, and what left out the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.server.retrieval import assembly
from knobctl.server.retrieval.hits import stacked
from tests.server.retrieval.candidates import hit, under, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.server.retrieval.model import Hit
    from knobctl.server.retrieval.settings import AssemblyLimits

NORTH, EAST, NEARLY_NORTH = [1.0, 0.0], [0.0, 1.0], [1.0, 0.1]
FEW = {"assembly_max_chunks": 2}


def pick(
    hits: list[Hit], limits: AssemblyLimits, count_tokens: Callable[[str], int]
) -> assembly.Picked:
    return assembly.pick(hits, stacked([one.chunk for one in hits]), limits, count_tokens)


def picked(hits: list[Hit], **knobs: object) -> list[str]:
    return [one.chunk.chunk_id for one in pick(hits, under(**knobs).limits, words).hits]


def test_a_near_copy_of_a_better_chunk_is_a_duplicate() -> None:
    """The better one stays; at 1.0 nothing but the very same vector is a copy."""
    hits = [hit("a", 0.9, NORTH), hit("b", 0.8, NEARLY_NORTH), hit("c", 0.7, EAST)]
    found = pick(hits, under(mmr_lambda=1.0).limits, words)
    assert [one.chunk.chunk_id for one in found.hits] == ["a", "c"]
    assert found.omitted.duplicates == 1
    assert picked(hits, mmr_lambda=1.0, dedup_min_similarity=1.0) == ["a", "b", "c"]


def test_the_very_same_vector_is_a_copy_at_the_end_of_the_scale() -> None:
    """The product of a float32 vector with itself is seldom 1: rounding does not decide what is a copy."""
    vectors = np.random.default_rng(1).normal(size=(20, 384)).tolist()
    hits = [hit(f"{at:02}{name}", 0.9, vectors[at]) for at in range(20) for name in "ab"]
    found = pick(hits, under(dedup_min_similarity=1.0, assembly_max_chunks=40).limits, words)
    assert found.omitted.duplicates == 20
    assert all(one.chunk.chunk_id.endswith("a") for one in found.hits)


def test_a_copy_of_a_duplicate_alone_stays() -> None:
    """Similarity is to what is kept: b is dropped for a, and c is near b but not near a."""
    angles = [0.0, 0.30, 0.60]
    hits = [
        hit(name, score, [np.cos(angle), np.sin(angle)])
        for name, score, angle in zip("abc", (0.9, 0.8, 0.7), angles, strict=True)
    ]
    assert picked(hits, mmr_lambda=1.0) == ["a", "c"]


def test_mmr_prefers_what_is_new_over_what_is_only_better() -> None:
    """With lambda 1 by score alone; with the default the chunk that says something else comes second."""
    hits = [hit("a", 0.9, NORTH), hit("b", 0.8, [1.0, 0.4]), hit("c", 0.7, EAST)]
    assert picked(hits, mmr_lambda=1.0, **FEW) == ["a", "b"]
    assert picked(hits, **FEW) == ["a", "c"]


def test_equals_are_taken_by_id() -> None:
    """The same score, and equally far from everything: the smaller id is first."""
    hits = [hit("b", 0.5, EAST), hit("a", 0.5, NORTH)]
    assert picked(hits) == ["a", "b"]


def test_a_document_gives_no_more_than_its_share() -> None:
    """What comes later from other documents takes the place."""
    hits = [
        hit("a1", 0.9, [1, 0, 0], document="a"),
        hit("a2", 0.8, [0, 1, 0], document="a"),
        hit("b1", 0.7, [0, 0, 1], document="b"),
    ]
    found = pick(hits, under(max_chunks_per_document=1).limits, words)
    assert [one.chunk.chunk_id for one in found.hits] == ["a1", "b1"]
    assert found.omitted.per_document == 1


def test_a_chunk_that_does_not_fit_is_passed_over_and_a_smaller_one_may_fit() -> None:
    """The budget is in tokens of the texts, and the sum is told."""
    hits = [
        hit("a", 0.9, [1, 0, 0], words="w " * 200),
        hit("b", 0.8, [0, 1, 0], words="w " * 57),
        hit("c", 0.7, [0, 0, 1], words="w " * 56),
    ]
    found = pick(hits, under(assembly_token_budget=256).limits, words)
    assert [one.chunk.chunk_id for one in found.hits] == ["a", "c"]
    assert (found.tokens, found.omitted.token_budget) == (256, 1)


def test_what_is_left_when_the_prompt_is_full_counts_for_the_limit() -> None:
    """Each chunk is counted once, for what left it out."""
    hits = [hit(name, 0.5, vector) for name, vector in zip("abcd", np.eye(4).tolist(), strict=True)]
    found = pick(hits, under(assembly_max_chunks=1).limits, words)
    assert (len(found.hits), found.omitted.max_chunks) == (1, 3)


def test_nothing_kept_gives_nothing() -> None:
    """No chunks, no vectors, no trouble."""
    found = pick([], under().limits, words)
    assert (found.hits, found.tokens) == ((), 0)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.floats(0.01, 1), st.sampled_from("xyz"), st.integers(0, 7), st.integers(1, 90)
        ),
        max_size=15,
    ),
    st.integers(1, 8),
    st.integers(1, 5),
    st.sampled_from([0.0001, 0.3, 0.7, 1.0]),
)
@pytest.mark.filterwarnings("error")
def test_every_chunk_is_in_the_prompt_or_counted_once(
    rows: list[tuple[float, str, int, int]], most: int, per_document: int, mmr_lambda: float
) -> None:
    """Hits and omitted are what was given, and every limit holds."""
    axes = np.eye(8).tolist()
    hits = [
        hit(f"c{i:02}", score, axes[axis], document=document, words="w " * length)
        for i, (score, document, axis, length) in enumerate(sorted(rows, reverse=True))
    ]
    limits = under(
        assembly_max_chunks=most,
        max_chunks_per_document=per_document,
        mmr_lambda=mmr_lambda,
        assembly_token_budget=256,
    ).limits
    found = pick(hits, limits, words)
    left = found.omitted
    counted = left.duplicates + left.per_document + left.max_chunks + left.token_budget
    assert len(found.hits) + counted == len(hits)
    assert len(found.hits) <= most
    assert found.tokens == sum(words(one.chunk.text) for one in found.hits) <= 256
    documents = [one.chunk.document_id for one in found.hits]
    assert all(documents.count(document) <= per_document for document in documents)
