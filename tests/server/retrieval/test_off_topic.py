"""A query is labelled by where it stands beside off-topic ones, and never better than that says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.server.retrieval.off_topic import (
    FEWEST_CHUNKS,
    MODERATE_MAX_Z,
    SMALLEST_SPREAD,
    WEAK_MAX_Z,
    OffTopic,
    Relevance,
    Tier,
    from_above,
    mean_and_deviation,
)
from knobctl.server.retrieval.off_topic_probes import GIVEN_PROBES, PROBES

COSINES = st.floats(-1, 1)
MAXIMA = st.lists(COSINES, min_size=1, max_size=60).map(tuple)
SPREAD_OUT = tuple(number / 100 for number in range(1, 40))
"""39 maxima from 0.01 to 0.39; at 0.05 the cut-off is the second largest."""
ALPHAS = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.25, 0.5, 0.9])
GOODNESS = [Tier.NO_MATCH, Tier.WEAK, Tier.MODERATE, Tier.STRONG]
NO_COSINES = [math.nan, math.inf, -math.inf, 1.01, -1.01, 1e308]


def passes(relevance: Relevance) -> bool:
    """Whether the label says that there is a match."""
    return relevance.tier not in {Tier.NO_MATCH, Tier.NOT_MEASURABLE}


@pytest.mark.parametrize(
    ("maxima", "alpha", "place"),
    [
        (8, 0.05, 0),
        (18, 0.05, 0),
        (19, 0.05, 1),
        (39, 0.05, 2),
        (99, 0.05, 5),
        (99, 0.01, 1),
        (98, 0.01, 0),
        (8, 0.2, 1),
        (59, 0.1, 6),
        (9, 0.1, 1),
        (1, 0.5, 1),
        (0, 0.5, 0),
    ],
)
def test_the_cut_off_is_the_place_that_the_share_says(
    maxima: int, alpha: float, place: int
) -> None:
    """ceil((m + 1)(1 - alpha)) from below; below 1/alpha - 1 probes there is none."""
    values = tuple(number / 1000 for number in range(maxima))

    assert from_above(alpha, maxima) == place
    assert OffTopic(values, 100).cut_off(alpha) == (values[-place] if place else None)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 2.0, math.nan, math.inf])
def test_what_is_no_share_has_no_cut_off(alpha: float) -> None:
    """And gives no label."""
    off_topic = OffTopic(SPREAD_OUT, 100)

    assert off_topic.cut_off(alpha) is None
    assert off_topic.relevance(1.0, alpha).tier is Tier.NOT_MEASURABLE


@given(values=st.lists(COSINES, min_size=2, max_size=60), alpha=ALPHAS)
@settings(deadline=None, max_examples=100)
def test_of_exchangeable_queries_no_more_than_the_share_pass(
    values: list[float], alpha: float
) -> None:
    """Whichever of them is the query and the others are the probes: the law that the p-value stands on, exactly."""
    passing = sum(
        passes(OffTopic((*values[:at], *values[at + 1 :]), 1000).relevance(value, alpha))
        for at, value in enumerate(values)
    )

    assert passing <= alpha * len(values)


@given(maxima=MAXIMA, cosine=COSINES, alpha=ALPHAS)
@settings(deadline=None, max_examples=100)
def test_a_match_is_what_has_a_small_p_value(
    maxima: tuple[float, ...], cosine: float, alpha: float
) -> None:
    """Cut-off and p-value are one verdict in two words."""
    off_topic = OffTopic(maxima, 1000)
    relevance = off_topic.relevance(cosine, alpha)

    if relevance.tier is Tier.NOT_MEASURABLE:
        assert (relevance.p_value, relevance.z) == (None, None)
        return
    assert relevance.p_value == off_topic.p_value(cosine)
    assert passes(relevance) == (relevance.p_value <= alpha)


@given(maxima=st.permutations(SPREAD_OUT), cosines=st.tuples(COSINES, COSINES))
@settings(deadline=None, max_examples=50)
def test_a_nearer_query_never_reads_worse_and_order_says_nothing(
    maxima: list[float], cosines: tuple[float, float]
) -> None:
    """Monotone in the cosine, whatever the order of the probes."""
    shuffled, sorted_ones = OffTopic(tuple(maxima), 100), OffTopic(SPREAD_OUT, 100)
    further, nearer = (shuffled.relevance(cosine) for cosine in sorted(cosines))

    assert GOODNESS.index(further.tier) <= GOODNESS.index(nearer.tier)
    assert [sorted_ones.relevance(one) for one in sorted(cosines)] == [further, nearer]


@given(
    maxima=MAXIMA,
    cosine=COSINES,
    more=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    alpha=ALPHAS,
)
@settings(deadline=None, max_examples=100)
def test_off_topic_queries_that_come_as_near_never_make_a_match(
    maxima: tuple[float, ...], cosine: float, more: list[float], alpha: float
) -> None:
    """What was no match is none beside more probes that reach as high."""
    before = OffTopic(maxima, 1000)
    nearer = tuple(cosine + (1 - cosine) * share for share in more)
    after = OffTopic((*maxima, *nearer), 1000)

    assert after.p_value(cosine) >= before.p_value(cosine)
    if before.relevance(cosine, alpha).tier is Tier.NO_MATCH:
        assert not passes(after.relevance(cosine, alpha))


@pytest.mark.parametrize("bad", NO_COSINES)
def test_what_is_no_cosine_gets_no_label(bad: float) -> None:
    """As the query's, and among the maxima, wherever it stands there."""
    whole = OffTopic(SPREAD_OUT, 100)

    assert whole.relevance(bad).tier is Tier.NOT_MEASURABLE
    for at in (0, 20, len(SPREAD_OUT)):
        damaged = OffTopic((*SPREAD_OUT[:at], bad, *SPREAD_OUT[at:]), 100)
        assert damaged.cut_off() is None
        assert damaged.relevance(0.99) == Relevance(Tier.NOT_MEASURABLE)
    assert whole.p_value(math.nan) == 1.0
    assert OffTopic((math.nan,), 100).p_value(0.5) == 1.0


@pytest.mark.parametrize(
    "maxima",
    [
        (),
        (0.1,),
        SPREAD_OUT[:18],
        (0.2,) * 50,
        tuple(0.2 + number * 1e-7 for number in range(50)),
        SPREAD_OUT[:8] * 20,
    ],
    ids=["none", "one", "too few", "all alike", "alike but for rounding", "copies of too few"],
)
def test_probes_that_say_nothing_give_no_label(maxima: tuple[float, ...]) -> None:
    """A perfect match is not strong beside a distribution that is none."""
    assert OffTopic(maxima, 1000).relevance(1.0) == Relevance(Tier.NOT_MEASURABLE)


def test_a_corpus_of_few_chunks_gives_no_label() -> None:
    """29 are too few, 30 will do."""
    assert OffTopic(SPREAD_OUT, FEWEST_CHUNKS - 1).relevance(0.9).tier is Tier.NOT_MEASURABLE
    assert OffTopic(SPREAD_OUT, FEWEST_CHUNKS).relevance(0.9).tier is Tier.STRONG


def test_the_bands_lie_above_the_cut_off_in_spreads_of_the_maxima() -> None:
    """The cut-off itself is no match; each band has its upper end."""
    off_topic = OffTopic(SPREAD_OUT, 100)
    cut_off = off_topic.cut_off()
    _, spread = mean_and_deviation(SPREAD_OUT)
    assert cut_off == 0.38
    ends = [cut_off, cut_off + WEAK_MAX_Z * spread, cut_off + MODERATE_MAX_Z * spread]

    for at, below, above in zip(ends, GOODNESS[:-1], GOODNESS[1:], strict=True):
        assert off_topic.relevance(at - 1e-9).tier is below
        assert off_topic.relevance(at + 1e-9).tier is above
    assert off_topic.relevance(cut_off).tier is Tier.NO_MATCH


def test_z_counts_from_the_mean_of_the_maxima() -> None:
    """In sample standard deviations; a query of a usual off-topic cosine has z 0 and is no match."""
    off_topic = OffTopic(SPREAD_OUT, 100)
    mean, spread = mean_and_deviation(SPREAD_OUT)

    usual, two_above = off_topic.relevance(mean), off_topic.relevance(mean + 2 * spread)

    assert mean == pytest.approx(0.2)
    assert spread == pytest.approx(math.sqrt(13 / 1000))
    assert usual.tier is Tier.NO_MATCH
    assert usual.z == pytest.approx(0)
    assert two_above.z == pytest.approx(2)
    assert spread > SMALLEST_SPREAD


def test_the_probes_of_the_engine_are_ninety_nine_different_texts() -> None:
    """The given ones first, so that one in a hundred can be asked for."""
    assert PROBES[: len(GIVEN_PROBES)] == GIVEN_PROBES
    assert len(PROBES) == len({probe.casefold() for probe in PROBES}) == 99
    assert all(probe == probe.strip() and probe.isprintable() for probe in PROBES)
