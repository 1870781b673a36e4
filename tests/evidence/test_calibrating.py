"""The noise floor in the default mode: what it says, and that it never says more than it can."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.calibrating import (
    Asked,
    Calibration,
    calibrated,
    from_vectors,
    probes_needed,
)
from knobctl.evidence.chunk_pairs import copies, drawn_pairs
from knobctl.evidence.closest import MOST, Chunks, closest_of, closest_told
from knobctl.evidence.noise_floor import measure
from knobctl.server.retrieval.off_topic import Tier

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUICK = Asked(resamples=20)
WORST_FIRST = (Tier.NOT_MEASURABLE, Tier.NO_MATCH, Tier.WEAK, Tier.MODERATE, Tier.STRONG)


def vectors(seed: int, rows: int, dims: int = 8) -> NDArray[np.float32]:
    """Rows in all directions, of all lengths."""
    chance = np.random.default_rng(seed)
    return chance.normal(size=(rows, dims)).astype(np.float32)


def chunks(matrix: NDArray[np.float32]) -> Chunks:
    """Named by their places."""
    return Chunks.of([f"c{at:04}" for at in range(len(matrix))], matrix)


def measured(
    matrix: NDArray[np.float32],
    probes: NDArray[np.float32],
    *,
    alpha: float = 0.05,
    seed: int = 0,
    resamples: int = 20,
) -> Calibration:
    """With few resamples."""
    return from_vectors(chunks(matrix), probes, Asked(alpha=alpha, seed=seed, resamples=resamples))


def test_the_floor_is_the_conformal_quantile_of_the_maxima() -> None:
    """Of 99 probes at 5 % the fifth largest; the share that passes has a beta distribution."""
    found = measured(vectors(1, 200), vectors(2, 99))
    matrix = vectors(1, 200).astype(np.float64)
    probes = vectors(2, 99).astype(np.float64)
    cosines = (probes @ matrix.T) / np.outer(
        np.linalg.norm(probes, axis=1), np.linalg.norm(matrix, axis=1)
    )
    maxima = np.sort(cosines.max(axis=1))
    assert found.noise_floor == pytest.approx(maxima[-5], abs=1e-12)
    assert found.highest == pytest.approx(maxima[-1], abs=1e-12)
    assert found.false_accept is not None
    assert found.false_accept.expected == 0.05
    assert (found.false_accept.low, found.false_accept.high) == pytest.approx(
        (0.0166, 0.1002), abs=1e-4
    )
    assert found.attained is not None
    assert found.attained.without_probe == pytest.approx(maxima[-6], abs=1e-12)


def test_what_a_floor_hangs_on_one_probe_by_is_told_by_moving_it_away() -> None:
    """Taken out of the set instead it may even rise: of 98 probes the fourth largest is the floor at 5 %."""
    matrix, probes = vectors(1, 200), vectors(2, 99)
    found = measured(matrix, probes)
    order = np.argsort(found.off_topic.maxima)
    for place in order[-5:]:
        moved = probes.copy()
        moved[place] = probes[order[0]] + 1e-3 * probes[order[1]]
        assert found.attained
        assert measured(matrix, moved).noise_floor == found.attained.without_probe
    assert found.noise_floor is not None
    fewer = measured(matrix, np.delete(probes, order[-5], axis=0)).noise_floor
    assert fewer is not None
    assert fewer > found.noise_floor


@pytest.mark.parametrize(
    ("probes", "expected", "high"), [(8, 1 / 9, 0.312), (19, 0.05, 0.146), (59, 1 / 60, 0.0495)]
)
def test_the_largest_of_few_lets_through_what_mathematics_says(
    probes: int, expected: float, high: float
) -> None:
    """The published bounds of the maximum of 8, 19 and 59 probes; the one-sided 95 % is the two-sided 90 %."""
    from knobctl.evidence.rates import beta_quantile

    found = measured(vectors(1, 60), vectors(2, probes), alpha=round(expected + 1e-4, 4))
    assert found.false_accept is not None
    assert found.false_accept.expected == pytest.approx(expected)
    assert beta_quantile(0.95, 1, probes) == pytest.approx(high, abs=1e-3)


def test_new_probes_pass_no_oftener_than_stated() -> None:
    """Over 120 corpora, each with 39 probes and 40 more of the same kind."""
    passed, of = 0, 120 * 40
    for seed in range(120):
        near = closest_of(chunks(vectors(seed, 40)), vectors(10_000 + seed, 79)).maxima
        floor = np.sort(near[:39])[-4]
        passed += int((near[39:] > floor).sum())
    assert passed / of == pytest.approx(0.1, abs=0.018)


def test_what_compat_measures_is_the_same_floor() -> None:
    """The largest maximum is the given package's N, and over all pairs mu and sigma are its own."""
    matrix, probes = vectors(3, 60), vectors(4, 20)
    found = measured(matrix, probes)
    theirs = measure(dict(enumerate_names(matrix)), [*probes])
    assert found.highest == pytest.approx(theirs.noise_floor, abs=1e-12)
    assert found.among is not None
    assert found.among.mu == pytest.approx(theirs.mu, abs=1e-6)
    assert found.among.sigma == pytest.approx(theirs.sigma, abs=1e-6)
    assert found.among.pairs == theirs.pairs


def enumerate_names(matrix: NDArray[np.float32]) -> list[tuple[str, NDArray[np.float32]]]:
    """Rows by the names that `chunks` gives them."""
    return [(f"c{at:04}", row) for at, row in enumerate(matrix)]


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), order=st.randoms(use_true_random=False))
def test_the_order_of_chunks_and_probes_changes_nothing(seed: int, order: object) -> None:
    """Chunks to the last bit, whatever is reckoned; probes in everything but their numbers."""
    assert hasattr(order, "shuffle")
    matrix, probes = vectors(seed, 40), vectors(seed + 1, 21)
    found = measured(matrix, probes)
    places = [*range(40)]
    order.shuffle(places)
    again = from_vectors(Chunks.of([f"c{at:04}" for at in places], matrix[places]), probes, QUICK)
    assert again == found
    turned = measured(matrix, probes[::-1].copy())
    assert turned.noise_floor == found.noise_floor
    assert (turned.mean, turned.deviation) == (found.mean, found.deviation)
    assert sorted(turned.off_topic.maxima) == sorted(found.off_topic.maxima)


BAD = st.sampled_from([0.0, math.nan, math.inf, -math.inf, 3e38, 1e-38])


@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(1, 45),
    probes=st.integers(1, 30),
    bad=st.lists(st.tuples(st.integers(0, 44), BAD), max_size=3),
    alike=st.booleans(),
    alpha=st.sampled_from([0.01, 0.05, 0.2]),
    cosines=st.lists(st.floats(-1.1, 1.1) | st.sampled_from([math.nan, math.inf]), max_size=6),
)
def test_no_label_is_better_than_deserved(
    rows: int,
    probes: int,
    bad: list[tuple[int, float]],
    alike: bool,
    alpha: float,
    cosines: list[float],
) -> None:
    """Few chunks, few probes, one point for a corpus, vectors that are none: then there is no label at all.

    Where there is one, what does not clear the floor is no match, and a nearer chunk never reads worse.
    """
    matrix = np.repeat(vectors(1, 1), rows, axis=0) if alike else vectors(5, rows)
    for place, value in bad:
        matrix[place % rows] = value
    try:
        found = from_vectors(chunks(matrix), vectors(6, probes), replace(QUICK, alpha=alpha))
    except ValueError:
        return
    spoilt = any(not math.isfinite(value) or value == 0 for _, value in bad)
    few = rows < 30 or probes < probes_needed(alpha)
    if spoilt or few:
        assert found.faults
        assert found.noise_floor is None
    assert bool(found.faults) == (found.noise_floor is None)
    order = sorted(one for one in cosines if abs(one) <= 1)
    tiers = [found.relevance(one).tier for one in order]
    if found.noise_floor is None:
        assert set(tiers) <= {Tier.NOT_MEASURABLE}
        assert found.relevance(1.0).tier is Tier.NOT_MEASURABLE
    else:
        ranks = [WORST_FIRST.index(tier) for tier in tiers]
        assert ranks == sorted(ranks)
        for one, tier in zip(order, tiers, strict=True):
            assert (tier is Tier.NO_MATCH) == (one <= found.noise_floor)
    for one in cosines:
        if not abs(one) <= 1 + 1e-6:
            assert found.relevance(one).tier is Tier.NOT_MEASURABLE


def test_copies_of_a_far_probe_do_not_lower_the_floor() -> None:
    """Nineteen probes and forty copies of the farthest are nineteen probes."""
    matrix, probes = vectors(7, 100), vectors(8, 19)
    found = measured(matrix, probes)
    farthest = int(np.argmin(found.off_topic.maxima))
    more = np.concatenate([probes, np.repeat(probes[farthest : farthest + 1], 40, axis=0)])
    again = measured(matrix, more)
    assert again.noise_floor == found.noise_floor
    assert (found.repeated, again.repeated) == (0, 40)
    assert again.attained == found.attained


def test_copies_of_chunks_are_counted_and_lower_no_floor() -> None:
    """They come no nearer to a probe; mu and sigma feel them, so they are told of."""
    matrix = vectors(9, 50)
    found = measured(matrix, vectors(10, 19))
    again = measured(np.concatenate([matrix, matrix[:7]]), vectors(10, 19))
    assert again.noise_floor == found.noise_floor
    assert (found.among and found.among.copies, again.among and again.among.copies) == (0, 7)


def test_copies_of_few_chunks_are_no_more_than_few() -> None:
    """Four hundred copies of one vector say nothing of a corpus; thirty different ones among them do."""
    one = vectors(1, 1)
    alone = measured(np.repeat(one, 400, axis=0), vectors(2, 99))
    assert alone.noise_floor is None
    assert any("1 different vector among 400 chunks" in fault for fault in alone.faults)
    enough = np.concatenate([np.repeat(one, 400, axis=0), vectors(3, 29)])
    assert measured(enough, vectors(2, 99)).noise_floor is not None


def test_a_hub_is_named_with_the_floor_without_it() -> None:
    """A chunk in the middle of the probes is closest to all of them; without it the floor falls."""
    probes = vectors(11, 30) + 4
    matrix = np.concatenate([vectors(12, 40), probes.mean(axis=0, keepdims=True)])
    found = measured(matrix, probes)
    assert found.hub is not None
    assert (found.hub.chunk, found.hub.probes) == ("c0040", 30)
    without = measured(matrix[:40], probes)
    assert found.hub.without == without.noise_floor
    assert found.attained is not None
    assert found.attained.chunk == "c0040"
    assert found.attained.without_chunk == without.noise_floor


def test_what_the_faults_are_is_said() -> None:
    """With the numbers that are missing."""
    assert measured(vectors(1, 29), vectors(2, 99)).faults == ("29 chunks; 30 are the fewest",)
    assert measured(vectors(1, 40), vectors(2, 8)).faults == (
        "8 probes of different maxima; a share of 0.05 takes 19: 11 more",
    )
    spoilt = vectors(1, 40)
    spoilt[3, 2] = math.nan
    assert measured(spoilt, vectors(2, 19)).faults == (
        "1 chunk without a vector to compare: all zeros, or not finite",
    )
    one_point = np.repeat(vectors(1, 1), 40, axis=0)
    assert measured(one_point, np.repeat(vectors(2, 1), 19, axis=0)).faults


def test_another_share_can_be_asked_of_what_was_measured() -> None:
    """The maxima are all it takes; with too few of them there is no label."""
    found = measured(vectors(1, 60), vectors(2, 99))
    assert found.floor_at(0.05) == found.noise_floor
    assert (found.floor_at(0.2) or 1) < (found.noise_floor or 0)
    assert found.floor_at(0.001) is None
    assert found.relevance(0.99, 0.001).tier is Tier.NOT_MEASURABLE


def test_resamples_hold_fewer_chunks_so_the_floor_can_only_fall() -> None:
    """And mu and sigma lie in their intervals; the seed decides, and is recorded."""
    found = measured(vectors(1, 200), vectors(2, 40))
    told, among = found.intervals, found.among
    assert told is not None
    assert told.noise_floor is not None
    assert told.mu is not None
    assert told.sigma is not None
    assert among is not None
    assert told.noise_floor[1] <= (found.noise_floor or 0)
    assert told.mu[0] < (among.mu or 0) < told.mu[1]
    assert told.sigma[0] < (among.sigma or 0) < told.sigma[1]
    assert measured(vectors(1, 200), vectors(2, 40)) == found
    assert measured(vectors(1, 200), vectors(2, 40), seed=1).intervals != told


@pytest.mark.slow
def test_the_interval_of_mu_holds_the_truth_as_often_as_stated() -> None:
    """Over 200 corpora of 120 chunks, of which the truth is known: 95 % of the time, as near as 200 can tell."""
    truth = np.mean([_mean_cosine(vectors(50_000 + seed, 400) + 0.5) for seed in range(200)])
    held = 0
    for seed in range(200):
        found = measured(vectors(seed, 120) + np.float32(0.5), vectors(1, 1), resamples=200)
        assert found.intervals is not None
        assert found.intervals.mu is not None
        low, high = found.intervals.mu
        held += bool(low <= truth <= high)
    assert 0.90 <= held / 200 <= 0.99


def _mean_cosine(matrix: NDArray[np.float32]) -> float:
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    total, number = float((unit @ unit.T).sum()), len(unit)
    return (total - number) / (number * (number - 1))


def test_pairs_are_drawn_once_each_and_by_the_seed() -> None:
    """All where there are few; of many so many, other ones by another seed."""
    corpus = chunks(vectors(1, 60))
    whole = drawn_pairs(corpus, seed=0)
    assert len({*zip(whole.first, whole.second, strict=True)}) == 60 * 59 // 2
    some, again, other = (drawn_pairs(corpus, seed, most=500) for seed in (0, 0, 1))
    assert len({*zip(some.first, some.second, strict=True)}) == 500
    assert (some.first < some.second).all()
    assert (some.cosines == again.cosines).all()
    assert not (some.cosines == other.cosines).all()
    assert drawn_pairs(chunks(vectors(1, 1)), seed=0).mu is None


def test_very_long_and_very_short_vectors_have_a_direction() -> None:
    """Their squares are beyond single precision; their cosines are not."""
    matrix = vectors(1, 40)
    scaled = matrix * np.where(np.arange(40) % 2, np.float32(1e30), np.float32(1e-30))[:, None]
    found, again = (measured(one.astype(np.float32), vectors(2, 19)) for one in (matrix, scaled))
    assert again.faults == ()
    assert again.noise_floor == pytest.approx(found.noise_floor, abs=1e-6)
    assert copies(chunks(scaled.astype(np.float32))) == 0


def test_what_an_engine_tells_gives_the_same_but_what_needs_vectors() -> None:
    """The closest chunks of each probe by id; mu, sigma and copies are not known then."""
    corpus, probes = chunks(vectors(1, 80)), vectors(2, 25)
    near = closest_of(corpus, probes)
    told = [
        {near.ids[place]: float(one) for place, one in zip(places, cosines, strict=True)}
        for places, cosines in zip(near.places, near.cosines, strict=True)
    ]
    assert {len(one) for one in told} == {MOST}
    found = calibrated(closest_told(told, 80), QUICK)
    own = from_vectors(corpus, probes, QUICK)
    assert found.among is None
    for name in ("off_topic", "noise_floor", "false_accept", "attained", "hub", "faults"):
        assert getattr(found, name) == getattr(own, name)
    assert found.intervals is not None
    assert found.intervals.noise_floor is not None
    assert found.intervals.mu is None


def test_questions_on_topic_are_held_against_the_floor() -> None:
    """Those that it would silence, counted, and how well the cosine tells them from the probes."""
    matrix, probes = vectors(1, 60), vectors(2, 19)
    near = matrix[:10] + vectors(3, 10) * np.float32(0.01)
    found = from_vectors(chunks(matrix), probes, QUICK, near)
    assert found.on_topic is not None
    assert found.on_topic.at_or_under is not None
    assert (found.on_topic.at_or_under.numerator, found.on_topic.at_or_under.denominator) == (0, 10)
    assert found.on_topic.auc == 1
    few = from_vectors(chunks(matrix), probes[:3], QUICK, near)
    assert few.on_topic is not None
    assert (few.on_topic.at_or_under, few.on_topic.auc) == (None, 1)


def test_no_vector_at_all_is_refused() -> None:
    """There is nothing to be near to."""
    with pytest.raises(ValueError, match="no vectors"):
        measured(np.zeros((3, 4), np.float32), vectors(1, 2, 4))
