"""What a score tells of the hit that has it, and when scores cannot be fused scores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knobctl.diagnosis import TenantKnobs, diagnose
from knobctl.diagnosis.case import Case, score_text
from knobctl.diagnosis.reading import from_object
from knobctl.diagnosis.scale import Scale
from knobctl.fusion import exact
from knobctl.knobs import load_catalogue
from tests.diagnosis.answers import ALL, hit_at, quality, rankers, search

CATALOGUE = load_catalogue()
DEFAULTS = TenantKnobs.defaults(CATALOGUE)
RANKS = st.dictionaries(st.sampled_from(ALL), st.integers(1, 20), min_size=1)


def scale(vector: int, bm25: int, recency: int) -> Scale:
    """The scale of an answer with that many rows by ranker."""
    return Scale.of(from_object(search([], rankers=rankers(vector, bm25, recency)), "x"), DEFAULTS)


@given(RANKS)
def test_the_rankers_that_found_a_hit_are_among_those_that_can_have(ranks: dict[str, int]) -> None:
    """Whatever the score, its own set is named."""
    score = hit_at("c", ranks)["score"]
    found_by = tuple(name for name in ALL if name in ranks)
    assert found_by in scale(50, 50, 20).can_score(score)


@given(st.integers(1, 31), st.integers(1, 31))
def test_lists_of_31_rows_tell_the_number_of_rankers(first: int, second: int) -> None:
    """Then every hit of two outranks every hit of one, and of three every one of two."""
    short = scale(31, 31, 31)
    for ranks in ({"vector": first}, {"vector": first, "bm25": second}):
        score = hit_at("c", ranks)["score"]
        assert {len(found_by) for found_by in short.can_score(score)} == {len(ranks)}


def test_the_score_of_the_field_report_is_first_and_second_in_two_rankers() -> None:
    """0.661, as it was reported, with three digits."""
    short = scale(31, 31, 20)
    assert short.two_ranks(("vector", "bm25"), 0.661) == (1, 2)
    assert short.equal_rank(("vector",), 0.333) == 1


@pytest.mark.parametrize(
    ("live", "fits"), [((50, 50, 20), False), ((50, 50, 0), True), ((50, 0, 0), True)]
)
def test_a_best_score_under_the_least_that_a_first_row_has_is_no_fused_score(
    live: tuple[int, int, int], fits: bool
) -> None:
    """0.4 can be the best of three live rankers and not of two or one, whatever the weights."""
    answer = search(
        [],
        outcome="below_threshold",
        resultsBelowThreshold=3,
        bestRemovedScore=0.4,
        scoreHistogram=[],
        rankers=rankers(*live),
    )
    assert Case(answer=from_object(answer, "x"), knobs=DEFAULTS).off_scale is fits


def test_the_cosine_filter_may_empty_the_heaviest_list_and_the_scale_is_right_all_the_same() -> (
    None
):
    """The ranker stays live and its first row is gone."""
    answer = search(
        [],
        outcome="below_threshold",
        resultsBelowThreshold=1,
        bestRemovedScore=0.2,
        scoreHistogram=[],
        rankers=rankers(50, 1, 0, vector={"removedByCosineFloor": 50}),
    )
    assert not Case(answer=from_object(answer, "x"), knobs=DEFAULTS).off_scale


def test_the_knobs_of_the_tenant_decide_shares_and_ceilings() -> None:
    """Weights by role, the widened lists of an expansion pass where the answer does not count rows."""
    values = CATALOGUE.effective({"rrf_weight_vector": 2.0, "recency_ranker_mode": "DISABLED"})
    mine = TenantKnobs(CATALOGUE, values, "acme")
    found = Scale.of(from_object(quality(effectiveMinScore=0.3, expanded=True), "x"), mine)
    assert (found.live, found.stated) == (("vector", "bm25"), False)
    assert found.classes == {("vector",): exact("2/3"), ("bm25",): exact("1/3"), found.live: 1}
    assert found.depths == {"vector": 100, "bm25": 100}


def test_a_ranker_that_is_not_in_the_schema_counts_as_one_more() -> None:
    """Another engine's: weight 1."""
    answer = from_object(search([], rankers={"vector": {"rows": 3}, "graph": {"rows": 2}}), "x")
    found = Scale.of(answer, DEFAULTS)
    assert found.classes[("graph",)] == exact("1/2")
    assert diagnose(answer, DEFAULTS).verdict


@pytest.mark.parametrize(
    ("score", "beside", "text"),
    [
        (0.6612903, None, "0.661"),
        (0.69996, "0.7", "0.69996"),
        (0.7, "0.7", "0.7"),
        (0.29999999999999993, "0.3", "0.2999999999999999"),
        (1.0, None, "1"),
        (0.0, None, "0"),
        (0.00002, None, "2e-05"),
    ],
)
def test_a_removed_score_never_looks_like_the_floor(
    score: float, beside: str | None, text: str
) -> None:
    """With as many decimals as it takes."""
    assert score_text(score, None if beside is None else exact(beside)) == text
